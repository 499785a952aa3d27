package endpoint_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

func at(t *testing.T, h http.HandlerFunc) *endpoint.Endpoint {
	t.Helper()
	srv := providertest.Serve(t, h)
	u, err := url.Parse(srv.URL + "/v1?key=canary-in-url")
	if err != nil {
		t.Fatal(err)
	}
	return &endpoint.Endpoint{URL: u, Client: srv.Client(), Fault: eventstream.Fault{Provider: "test", Secrets: eventstream.KeysIn(u)}}
}

func TestWhatGoesOutIsTold(t *testing.T) {
	var got string
	e := at(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("X-Signed") + " " + r.Header.Get("Authorization") + " " + r.Header.Get("Content-Type")
	})
	e.Sign = func(h http.Header) { h.Set("X-Signed", "yes") }
	e.Token = func(context.Context) (eventstream.Key, error) { return eventstream.NewKey("token-1"), nil }
	told := ""
	resp, fault, err := e.Post(t.Context(), []byte(`{"a":1}`), func(b []byte) { told = string(b) })
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got != "yes Bearer token-1 application/json" || told != `{"a":1}` {
		t.Errorf("sent %q, told %q", got, told)
	}
	if msg := fault.Broken("it said token-1", nil).Error(); strings.Contains(msg, "token-1") {
		t.Errorf("the token of the call is shown: %s", msg)
	}
}

func TestOtherStatusesAreErrorsInTheProvidersWords(t *testing.T) {
	for status, class := range map[int]model.Class{401: model.Auth, 429: model.RateLimit, 500: model.Server} {
		e := at(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(`{"error":{"message":"because of canary-in-url"}}`))
		})
		_, _, err := e.Post(t.Context(), nil, nil)
		var fault *model.Error
		if !errors.As(err, &fault) || fault.Class != class || fault.Status != status || !strings.Contains(fault.Message, "because") {
			t.Errorf("%d: %v", status, err)
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%d: a key is shown: %v", status, err)
		}
	}
}

func TestACallWithoutATokenIsNotMade(t *testing.T) {
	e := at(t, func(http.ResponseWriter, *http.Request) { t.Error("asked") })
	e.Token = func(context.Context) (eventstream.Key, error) { return eventstream.Key{}, errors.New("signed out") }
	_, _, err := e.Post(t.Context(), nil, func([]byte) { t.Error("told") })
	providertest.Check(t, err, model.Auth, 0)
}

func TestPrivateAddresses(t *testing.T) {
	for address, want := range map[string]bool{
		"https://example.com": true, "http://127.0.0.1:1": true, "http://localhost:8080/x": true, "http://[::1]/": true,
		"http://example.com": false, "http://10.0.0.1": false, "http://localhost.example.com": false,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if got := endpoint.Private(u); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// While an answer streams, the request is remembered by nobody: it may have megabytes, and answers take minutes.
func TestTheBodyIsLetGoWhenItIsAnswered(t *testing.T) {
	body := make([]byte, 8<<20)
	gone := make(chan struct{})
	runtime.SetFinalizer(&body[0], func(*byte) { close(gone) })
	e := at(t, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		if n != 8<<20 || err != nil {
			t.Errorf("%d bytes came: %v", n, err)
		}
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	resp, _, err := e.Post(t.Context(), body, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 500 {
		runtime.GC()
		select {
		case <-gone:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the body is still held")
}

// A redirect on the same host sends the body again.
func TestABodyCanBeSentAgain(t *testing.T) {
	var calls atomic.Int64
	e := at(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) != "hello" {
			t.Errorf("sent %q", body)
		}
		if calls.Add(1) == 1 {
			http.Redirect(w, r, r.URL.String(), http.StatusTemporaryRedirect)
		}
	})
	resp, _, err := e.Post(t.Context(), []byte("hello"), nil)
	if err != nil || calls.Load() != 2 {
		t.Fatalf("%v after %d calls", err, calls.Load())
	}
	_ = resp.Body.Close()
}
