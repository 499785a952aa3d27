// Package webhook tells others when a run has ended.
//
// # Laws
//
//   - A webhook is a follow-up of its run (see run.FollowUp): stored with the end of the run, sent until the receiver has
//     answered with a 2xx or was tried too often. Nobody waits for it, and no crash loses it.
//   - A receiver may get it more than once. The header webhook-id is the same each time and differs between runs.
//   - No address of this machine or its network is reached, by whatever name, unless the settings allow it (package
//     outbound); redirects are not followed.
//
// Each is signed in the manner of standardwebhooks.com: the header webhook-signature is "v1," and the base64 of the
// HMAC-SHA256 of id, timestamp and body, joined by dots.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
)

// Options are the settings of a [Sender]. Secret, Run and Report are required.
type Options struct {
	// Secret signs what is sent, so that a receiver knows that it is ours.
	Secret []byte
	// Run finds a run.
	Run func(ctx context.Context, who run.Identity, id string) (run.Run, error)
	// Report writes what is told of a run that has ended.
	Report func(context.Context, run.Run) ([]byte, error)
	// Allow is what webhooks may reach beside public addresses: whoever may create runs may then make the server call it.
	Allow outbound.Allow
	// Resolver finds addresses; nil for the system's.
	Resolver *net.Resolver
}

// Sender sends webhooks.
type Sender struct {
	opt    Options
	client *outbound.Client
}

// timeout bounds a try.
const timeout = 20 * time.Second

// New makes a sender.
func New(opt Options) (*Sender, error) {
	if len(opt.Secret) == 0 || opt.Run == nil || opt.Report == nil {
		return nil, errors.New("webhooks need a secret, runs and a report")
	}
	h := &Sender{opt: opt}
	h.client = outbound.New(outbound.Options{
		Allow: opt.Allow, Resolver: opt.Resolver, Setting: "webhooks.allow", Timeout: timeout, Single: true,
		MaxRedirects: -1, // somewhere else is somewhere that nobody asked for
	})
	return h, nil
}

// Handler carries out the follow-ups that run.Webhook makes.
func (h *Sender) Handler() run.Handler { return run.Handler{Do: h.Deliver, Timeout: timeout} }

// Deliver sends the webhook of a run once.
func (h *Sender) Deliver(ctx context.Context, f run.FollowUp) error {
	r, err := h.opt.Run(ctx, run.Identity{Owner: f.Owner}, f.Run)
	switch {
	case err == nil:
	case errors.Is(err, run.ErrNotFound) && len(f.Payload) > 0: // it was rolled back
		if err := json.Unmarshal(f.Payload, &r); err != nil {
			return fmt.Errorf("what was kept of run %s: %w", f.Run, err)
		}
	case errors.Is(err, run.ErrNotFound):
		return nil // deleted at this moment; who deletes a run does not want it to be told
	default:
		return err
	}
	return h.send(ctx, r, f.Key)
}

func (h *Sender) send(ctx context.Context, r run.Run, id string) error {
	body, err := h.opt.Report(ctx, r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Request.Webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "tributary")
	req.Header.Set("webhook-id", id)
	req.Header.Set("webhook-timestamp", at)
	req.Header.Set("webhook-signature", "v1,"+Sign(h.opt.Secret, id, at, body))
	res, err := h.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // without the address
		}
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4096) // what it says does not matter
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("the receiver answered %s", res.Status)
	}
	return nil
}

// Sign is the signature of a webhook, for receivers to compare.
func Sign(secret []byte, id, timestamp string, body []byte) string {
	m := hmac.New(sha256.New, secret)
	fmt.Fprintf(m, "%s.%s.", id, timestamp)
	m.Write(body)
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}
