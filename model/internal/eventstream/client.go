package eventstream

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"

	"github.com/tributary-ai/tributary/model"
)

// Client returns a client that does as c does, but follows no redirect to another host, where neither keys nor the
// conversation have any business, and reads no more of an answer than the limits allow. nil is a client without
// time-outs.
//
// What counts is what the caller is handed: an answer that was compressed counts as it is when it no longer is.
func Client(c *http.Client, l model.Limits) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	own.CheckRedirect = redirects{own.CheckRedirect}.check
	own.Transport = bounded{own.Transport, l.WithDefaults().WireBytes}
	return &own
}

// RedirectError says that a server sent a call to another host.
type RedirectError struct{ Host string }

func (e *RedirectError) Error() string {
	return "the server redirects to " + e.Host + ", and keys and conversations go to no other host; correct the base URL if that is where it is"
}

type redirects struct {
	and func(*http.Request, []*http.Request) error // the caller's own rule
}

func (r redirects) check(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	if req.URL.Host != first.Host || first.Scheme == "https" && req.URL.Scheme != "https" {
		return &RedirectError{Host: req.URL.Scheme + "://" + req.URL.Host}
	}
	if r.and != nil {
		return r.and(req, via)
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}

// maxErrorBody is as much of an error's body as anybody reads to find out why.
const maxErrorBody = 1 << 20

// usual is the transport of clients that have none. Nobody needs megabytes of headers.
var usual = func() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // somebody put another in its place
		return http.DefaultTransport
	}
	own := t.Clone()
	own.MaxResponseHeaderBytes = 256 << 10
	return own
}()

// bounded limits the bodies of answers.
type bounded struct {
	next  http.RoundTripper // nil: the usual
	limit int
}

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(b.next, usual).RoundTrip(req)
	if err != nil || resp.Body == nil {
		return resp, err
	}
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxErrorBody), resp.Body}
	case b.limit >= 0:
		resp.Body = &boundedBody{resp.Body, b.limit, b.limit}
	}
	return resp, nil
}

// CloseIdleConnections passes on what http.Client asks of its transport.
func (b bounded) CloseIdleConnections() {
	if c, ok := cmp.Or(b.next, usual).(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type boundedBody struct {
	io.ReadCloser
	left, limit int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	// A line without anything in it is work, too.
	if b.left -= n + model.LineBytes*bytes.Count(p[:n], []byte{'\n'}); b.left < 0 {
		return 0, &model.LimitError{Setting: "wire_bytes", Limit: b.limit}
	}
	return n, err
}
