// Package endpoint sends a model's requests: one call, one answer.
//
// # Laws
//
//   - A call is made once. Whether it may be made again is the caller's business, who knows what was read of its answer.
//   - An answer that is returned has a status of success and is no web page; any other is a [model.Error] that says why, in
//     the provider's words.
//   - What goes out is told first, byte for byte, to whoever wants to know.
//   - Neither the address of a call nor what proves who sends it is in an error.
package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// Endpoint is where the requests of a model go, and what proves who sends them.
type Endpoint struct {
	URL *url.URL
	// Sign adds the headers of every call. They are no data, so that whoever prints a model does not see its key.
	Sign func(http.Header)
	// Token, where set, gives the bearer token of each call. It is asked for every one, so it should keep the token while
	// that is valid.
	Token  func(context.Context) (eventstream.Key, error)
	Client *http.Client
	Fault  eventstream.Fault
}

// maxErrorBody is as much of an error's body as is read.
const maxErrorBody = 1 << 20

// Post sends a body and returns the answer, and a fault that keeps the secrets of this call too. sent, where it is not nil,
// is told the body.
func (e *Endpoint) Post(ctx context.Context, body []byte, sent func([]byte)) (*http.Response, eventstream.Fault, error) {
	fault := e.Fault
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL.String(), nil)
	if err != nil {
		return nil, fault, fault.BadRequest(err.Error())
	}
	req.Header.Set("Content-Type", "application/json")
	if e.Sign != nil {
		e.Sign(req.Header)
	}
	if e.Token != nil {
		token, err := e.Token(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, fault, fault.Err(ctx, err)
			}
			return nil, fault, &model.Error{Class: model.Auth, Provider: fault.Provider, Message: "no token could be had", Err: err}
		}
		fault.Secrets = append(fault.Secrets[:len(fault.Secrets):len(fault.Secrets)], token)
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
	}
	if sent != nil {
		sent(body)
	}
	sending := attach(req, body)
	resp, err := e.Client.Do(req)
	sending.drop()
	if err != nil {
		return nil, fault, fault.Err(ctx, withoutURL(err))
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 && !isPage(resp) {
		return resp, fault, nil
	}
	defer func() { _ = resp.Body.Close() }()
	why, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && ctx.Err() != nil {
		return nil, fault, fault.Err(ctx, err)
	}
	if resp.StatusCode < 300 {
		return nil, fault, fault.BadRequest("the answer is a web page" + title(why) + " and not that of an API; check base_url, which most often ends in /v1")
	}
	return nil, fault, fault.Status(resp.StatusCode, resp.Header, why)
}

// isPage reports a page for people: of a proxy that wants somebody to log in, or of a site whose API is elsewhere. It would
// be the same at the next try.
func isPage(resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return media == "text/html" || media == "application/xhtml+xml"
}

// title is that of a page, in quotation marks.
func title(page []byte) string {
	_, rest, ok := bytes.Cut(page[:min(len(page), 16<<10)], []byte("<title>"))
	text, _, end := bytes.Cut(rest, []byte("</title>"))
	if text = bytes.TrimSpace(text); !ok || !end || len(text) == 0 || len(text) > 100 {
		return ""
	}
	return ` ("` + string(text) + `")`
}

// withoutURL drops the URL of the call from an error: people put keys into its query.
func withoutURL(err error) error {
	var outer *url.Error
	if errors.As(err, &outer) {
		return outer.Err
	}
	return err
}

// Private reports that what is sent to an address can be read by nobody on the way: it is encrypted, or does not leave the
// machine.
func Private(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
