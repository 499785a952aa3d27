package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/internal/server"
)

func TestMain(m *testing.M) {
	if os.Getenv(asClient) != "" { // started by a judge of clients
		if err := clientUnderTest(os.Args[len(os.Args)-1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// serving is a conformance server under test.
type serving struct {
	t   testing.TB
	w   *world
	url string
}

// start serves until the test ends.
func start(t testing.TB, opt options) *serving {
	t.Helper()
	w, err := open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(w)
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		w.server.Closing()
		h.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.close(ctx); err != nil {
			t.Error(err)
		}
	})
	return &serving{t, w, h.URL}
}

// response is an answer that was read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// call makes a request; body is JSON text, or what encodes as JSON, or nil.
func (s *serving) call(method, path string, body any, headers ...string) response {
	s.t.Helper()
	// What should have been refused may be a stream without an end.
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	res, err := s.open(ctx, method, path, body, headers...)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response{res.StatusCode, res.Header, data}
}

func (s *serving) open(ctx context.Context, method, path string, body any, headers ...string) (*http.Response, error) {
	var r io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		r = bytes.NewReader([]byte(b))
	case []byte:
		r = bytes.NewReader(b)
	default:
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		r = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, s.url+path, r)
	if err != nil {
		return nil, err
	}
	if r != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return http.DefaultClient.Do(req)
}

// want makes a request that must be answered with a status, and returns the decoded body.
func (s *serving) want(status int, method, path string, body any, headers ...string) map[string]any {
	s.t.Helper()
	res := s.call(method, path, body, headers...)
	if res.status != status {
		s.t.Fatalf("%s %s: got %d, want %d: %s", method, path, res.status, status, res.body)
	}
	var out map[string]any
	_ = json.Unmarshal(res.body, &out) // not all answers are objects
	return out
}

// thread makes a thread and returns its id.
func (s *serving) thread() string {
	s.t.Helper()
	return s.want(200, "POST", "/threads", `{}`)["thread_id"].(string)
}

// settle returns when nothing runs.
func (s *serving) settle(ctx context.Context) {
	s.t.Helper()
	for {
		runs, err := s.w.db.RunsInFlight(ctx, server.Local)
		if err != nil || len(runs) == 0 {
			return
		}
		for _, r := range runs {
			_, _ = s.w.engine.Wait(ctx, server.Local, r.ID) // one that was rolled back is not found
		}
	}
}

func withCancel(t testing.TB) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	return ctx, cancel
}
