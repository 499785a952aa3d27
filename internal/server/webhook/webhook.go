// Package webhook tells others when a run has ended.
//
// # Laws
//
//   - Nobody waits for a delivery: what cannot be queued is dropped, and told to the log.
//   - Deliveries wait in memory. What has not arrived when the process ends is lost; a receiver that must know asks for the
//     run.
//   - No address of this machine or its network is reached, by whatever name or redirect, unless the settings allow it.
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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// Options are the settings of [Deliveries]. Secret and Report are required.
type Options struct {
	// Secret signs what is sent, so that a receiver knows that it is ours.
	Secret []byte
	// Report writes what is told of a run that has ended.
	Report func(context.Context, run.Run) ([]byte, error)
	// AllowPrivate lets webhooks reach this machine and its network. Whoever may create runs may then make
	// the server call whatever it can reach.
	AllowPrivate bool
	// Tries is how often a delivery is tried; Wait the pause after the first, which doubles. Default 4 and 1 s.
	Tries int
	Wait  time.Duration
	Log   *slog.Logger
}

// Deliveries are what is on its way.
type Deliveries struct {
	opt    Options
	client *http.Client
	queue  chan run.Run
	stop   chan struct{} // no more tries
	once   sync.Once
	done   sync.WaitGroup
}

const (
	workers     = 4
	queueLength = 1024
)

// New starts the deliveries.
func New(opt Options) (*Deliveries, error) {
	if len(opt.Secret) == 0 || opt.Report == nil {
		return nil, errors.New("webhooks need a secret and a report")
	}
	if opt.Tries <= 0 {
		opt.Tries = 4
	}
	if opt.Wait <= 0 {
		opt.Wait = time.Second
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	h := &Deliveries{opt: opt, queue: make(chan run.Run, queueLength), stop: make(chan struct{})}
	// The address is looked at when the connection is made, not when the name is resolved: a name can stand for
	// something else a moment later.
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		return h.mayReach(address)
	}}
	h.client = &http.Client{
		Timeout:   15 * time.Second,
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, Proxy: nil, MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // somewhere else is somewhere that nobody asked for
		},
	}
	for range workers {
		h.done.Go(h.work)
	}
	return h, nil
}

// Close gives up what has not been delivered after the tries under way.
func (h *Deliveries) Close() {
	h.once.Do(func() { close(h.stop) })
	h.done.Wait()
}

var shared = netip.MustParsePrefix("100.64.0.0/10") // addresses of carriers, and of some clouds' own services

func (h *Deliveries) mayReach(address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("webhook address %s: %w", address, err)
	}
	ip := at.Addr().Unmap()
	if !h.opt.AllowPrivate && (!ip.IsGlobalUnicast() || ip.IsPrivate() || shared.Contains(ip)) {
		return fmt.Errorf("webhook address %s is not a public one", ip)
	}
	return nil
}

// Ended is told of every run that has ended; it belongs into run.Options. It never waits.
func (h *Deliveries) Ended(r run.Run) {
	if r.Request.Webhook == "" {
		return
	}
	select {
	case h.queue <- r:
	default:
		h.opt.Log.Error("too many webhooks wait; one is dropped", "run", r.ID)
	}
}

func (h *Deliveries) work() {
	for {
		select {
		case r := <-h.queue:
			h.deliver(r)
		case <-h.stop:
			return
		}
	}
}

// deliver tries until it arrived or nobody waits any more.
func (h *Deliveries) deliver(r run.Run) {
	wait := h.opt.Wait
	for try := 1; ; try++ {
		err := h.send(r)
		if err == nil {
			return
		}
		// What is asked for may hold a secret in its address: the log gets only the host.
		h.opt.Log.Warn("a webhook was not delivered", "run", r.ID, "host", hostOf(r.Request.Webhook), "try", try, "err", err)
		if try >= h.opt.Tries {
			return
		}
		select {
		case <-time.After(wait):
			wait *= 2
		case <-h.stop:
			return
		}
	}
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

func (h *Deliveries) send(r run.Run) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	body, err := h.opt.Report(ctx, r)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.Request.Webhook, bytes.NewReader(body))
	if err != nil {
		return err
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	id := "run_" + r.ID
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
