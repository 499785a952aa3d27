package webhook

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// report tells the least that a receiver wants to know.
func report(_ context.Context, r run.Run) ([]byte, error) {
	return json.Marshal(map[string]string{"run_id": r.ID, "status": string(r.Status)})
}

func webhooks(t *testing.T, change func(*Options)) *Deliveries {
	t.Helper()
	opt := Options{Secret: []byte("s"), Report: report, Wait: time.Millisecond, AllowPrivate: true}
	if change != nil {
		change(&opt)
	}
	h, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	return h
}

func TestAWebhookIsSignedAndTriedAgain(t *testing.T) {
	type delivery struct {
		header http.Header
		body   []byte
	}
	got := make(chan delivery, 10)
	tries := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if tries++; tries < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		got <- delivery{r.Header, body}
	}))
	defer receiver.Close()
	h := webhooks(t, nil)
	h.Ended(run.Run{ID: "without"})
	h.Ended(run.Run{ID: "r1", Status: run.Success, Request: run.Request{Webhook: receiver.URL + "/hook"}})
	d := <-got
	var body struct {
		RunID  string `json:"run_id"`
		Status string `json:"status"`
	}
	if err := json.Unmarshal(d.body, &body); err != nil || body.RunID != "r1" || body.Status != "success" {
		t.Errorf("got %s", d.body)
	}
	want := "v1," + Sign([]byte("s"), d.header.Get("webhook-id"), d.header.Get("webhook-timestamp"), d.body)
	if d.header.Get("webhook-signature") != want {
		t.Errorf("the signature is %q, want %q", d.header.Get("webhook-signature"), want)
	}
}

func TestAWebhookReachesNobodyInside(t *testing.T) {
	h := webhooks(t, func(o *Options) { o.AllowPrivate = false })
	for _, inside := range []string{
		"127.0.0.1:80", "[::1]:80", "10.1.2.3:80", "192.168.1.1:443", "172.16.0.1:80", "169.254.169.254:80", "[fe80::1]:80", "[fd00::1]:80",
		"0.0.0.0:80", "[::]:80", "100.64.1.1:80", "[::ffff:127.0.0.1]:80", "224.0.0.1:80", "not an address",
	} {
		if h.mayReach(inside) == nil {
			t.Errorf("%s may be reached", inside)
		}
	}
	if err := h.mayReach("93.184.216.34:443"); err != nil {
		t.Error(err)
	}
	// A name that stands for this machine is found out when the connection is made.
	hit := make(chan struct{}, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit <- struct{}{} }))
	defer receiver.Close()
	if err := h.send(run.Run{ID: "r", Request: run.Request{Webhook: receiver.URL}}); err == nil {
		t.Error("this machine was reached")
	}
	select {
	case <-hit:
		t.Error("the receiver was called")
	default:
	}
}

func TestAWebhookDoesNotFollowRedirects(t *testing.T) {
	hit := make(chan struct{}, 1)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hit <- struct{}{} }))
	defer elsewhere.Close()
	receiver := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer receiver.Close()
	h := webhooks(t, nil)
	if err := h.send(run.Run{ID: "r", Request: run.Request{Webhook: receiver.URL}}); err == nil {
		t.Error("a redirect counts as delivered")
	}
	select {
	case <-hit:
		t.Error("the redirect was followed")
	default:
	}
}

// Standard Webhooks: an HMAC of id, time and body with dots between them.
func TestSignatureIsTheStandardOne(t *testing.T) {
	if got, want := Sign([]byte("s"), "run_1", "1700000000", []byte("{}")), "WTUyw/uD8KfKA8dGME/47QZcsw5Ml7sxsSFw4d7RMsE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAWebhookIsGivenUp(t *testing.T) {
	tries := 0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tries++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	h := webhooks(t, func(o *Options) { o.Tries = 3 })
	h.deliver(run.Run{ID: "r", Request: run.Request{Webhook: receiver.URL}})
	receiver.Close()
	if tries != 3 {
		t.Errorf("tried %d times, want 3", tries)
	}
}
