package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/outbound/outboundtest"
	"github.com/tributary-ai/tributary/internal/run"
)

// report tells the least that a receiver wants to know.
func report(_ context.Context, r run.Run) ([]byte, error) {
	return json.Marshal(map[string]string{"run_id": r.ID, "status": string(r.Status)})
}

// sender knows one run, with a webhook.
func sender(t *testing.T, url string, change func(*Options)) *Sender {
	t.Helper()
	allow, err := outbound.ParseAllow([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	opt := Options{Secret: []byte("s"), Report: report, Allow: allow, Run: func(_ context.Context, who run.Identity, id string) (run.Run, error) {
		if who.Owner != "me" || id != "r1" {
			return run.Run{}, run.ErrNotFound
		}
		return run.Run{ID: "r1", Owner: "me", Status: run.Success, Request: run.Request{Webhook: url}}, nil
	}}
	if change != nil {
		change(&opt)
	}
	h, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

var followUp = run.FollowUp{Key: "run_r1", Kind: run.WebhookKind, Run: "r1", Owner: "me"}

type delivery struct {
	header http.Header
	body   []byte
}

func receive(t *testing.T, status int) (url string, got chan delivery) {
	t.Helper()
	got = make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- delivery{r.Header, body}
		w.WriteHeader(status)
	}))
	t.Cleanup(receiver.Close)
	return receiver.URL + "/hook", got
}

func TestAWebhookIsSignedAndHasTheSameIdEachTime(t *testing.T) {
	url, got := receive(t, 204)
	h := sender(t, url, nil)
	for range 2 {
		if err := h.Deliver(t.Context(), followUp); err != nil {
			t.Fatal(err)
		}
		d := <-got
		var body struct {
			RunID  string `json:"run_id"`
			Status string `json:"status"`
		}
		if err := json.Unmarshal(d.body, &body); err != nil || body.RunID != "r1" || body.Status != "success" {
			t.Errorf("got %s", d.body)
		}
		if id := d.header.Get("webhook-id"); id != "run_r1" {
			t.Errorf("the id is %q, want the follow-up's key", id)
		}
		want := "v1," + Sign([]byte("s"), d.header.Get("webhook-id"), d.header.Get("webhook-timestamp"), d.body)
		if d.header.Get("webhook-signature") != want {
			t.Errorf("the signature is %q, want %q", d.header.Get("webhook-signature"), want)
		}
	}
}

func TestARefusedWebhookIsNotDelivered(t *testing.T) {
	url, got := receive(t, http.StatusServiceUnavailable)
	if err := sender(t, url, nil).Deliver(t.Context(), followUp); err == nil {
		t.Error("a 503 counts as delivered")
	}
	<-got
}

// Of a run that was rolled back only the follow-up is left.
func TestAWebhookOfARunThatIsGone(t *testing.T) {
	url, got := receive(t, 200)
	h := sender(t, url, nil)
	gone := run.Run{ID: "r2", Owner: "me", Status: run.Cancelled, Cancel: run.RollbackRun, Request: run.Request{Webhook: url}}
	all := run.Webhook(gone)
	if len(all) != 1 || all[0].Key != "run_r2" || all[0].Lane == "" {
		t.Fatalf("its follow-ups are %+v", all)
	}
	f := all[0]
	f.Run, f.Owner = gone.ID, gone.Owner
	if err := h.Deliver(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	if d := <-got; string(d.body) != `{"run_id":"r2","status":"cancelled"}` {
		t.Errorf("got %s", d.body)
	}
	f.Payload = nil // deleted
	if err := h.Deliver(t.Context(), f); err != nil || len(got) > 0 {
		t.Errorf("a run that was deleted: %v, told %d times", err, len(got))
	}
	h.opt.Run = func(context.Context, run.Identity, string) (run.Run, error) { return run.Run{}, errors.New("busy") }
	if err := h.Deliver(t.Context(), f); err == nil {
		t.Error("a run that cannot be read now counts as delivered")
	}
}

func TestAWebhookReachesNobodyInside(t *testing.T) {
	url, got := receive(t, 200)
	for _, inside := range []string{url, strings.Replace(url, "127.0.0.1", "localhost", 1), "http://192.0.0.192/", "http://[64:ff9b::7f00:1]/", "file:///etc/passwd"} {
		h := sender(t, inside, func(o *Options) { o.Allow = outbound.Allow{} })
		err := h.Deliver(t.Context(), followUp)
		if err == nil {
			t.Errorf("%s was reached", inside)
		} else if inside == url && !strings.Contains(err.Error(), "webhooks.allow") {
			t.Errorf("%q does not say what to change", err)
		}
	}
	if len(got) > 0 {
		t.Error("the receiver was called")
	}
}

// Every address of the table, as the webhook of a run.
func TestNoHostileAddressIsTold(t *testing.T) {
	trap, names := outboundtest.NewTrap(t), outboundtest.Insider(t)
	deliver := func(address string, allow outbound.Allow) error {
		h := sender(t, address, func(o *Options) { o.Allow, o.Resolver = allow, names })
		defer h.client.Close()
		return h.Deliver(t.Context(), followUp)
	}
	for _, address := range trap.At() {
		if err := deliver(address, outbound.Allow{}); err == nil {
			t.Errorf("%s was told", address)
		}
		if n := trap.Hits.Swap(0); n > 0 {
			t.Errorf("%s reached the trap", address)
		}
	}
	// The trap is one.
	allow, err := outbound.ParseAllow([]string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := deliver("http://anything.test:"+trap.Port+"/", allow); err != nil || trap.Hits.Load() != 1 {
		t.Errorf("what is allowed is not reached: %v", err)
	}
}

func TestAWebhookDoesNotFollowRedirects(t *testing.T) {
	elsewhere, got := receive(t, 200)
	receiver := httptest.NewServer(http.RedirectHandler(elsewhere, http.StatusTemporaryRedirect))
	defer receiver.Close()
	if err := sender(t, receiver.URL, nil).Deliver(t.Context(), followUp); err == nil {
		t.Error("a redirect counts as delivered")
	}
	if len(got) > 0 {
		t.Error("the redirect was followed")
	}
}

// Standard Webhooks: an HMAC of id, time and body with dots between them.
func TestSignatureIsTheStandardOne(t *testing.T) {
	if got, want := Sign([]byte("s"), "run_1", "1700000000", []byte("{}")), "WTUyw/uD8KfKA8dGME/47QZcsw5Ml7sxsSFw4d7RMsE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
