package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/tributary-ai/tributary/internal/server"
)

// sink is an answer that nobody keeps.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) WriteHeader(status int)      { s.status = status }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }

// On its way from the socket to the store, and back in the answer, an input is in memory three times at most, over all its life.
func TestALargeInputIsCopiedLittle(t *testing.T) {
	most, size := 3.2, 99<<20/10
	if racing { // what is taken from pools is made anew, and megabytes take seconds
		most, size = 5, 2<<20
	}
	w := newTasks(t, allGraphs())
	text := strings.Repeat("word and another ", size/17)
	for _, spaced := range []string{"", " "} {
		body := `{"assistant_id":"agent","after_seconds":3600,"input":` + spaced + `{"messages":` + spaced + `[{"role":"user","content":"` + text + `"}]}}`
		r := httptest.NewRequest("POST", "/runs", strings.NewReader(body))
		r.Header.Set("X-User", "me")
		r.Host = "localhost"
		answer := &sink{header: http.Header{}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		w.srv.ServeHTTP(answer, r)
		runtime.ReadMemStats(&after)
		if answer.status != http.StatusOK {
			t.Fatalf("got status %d", answer.status)
		}
		if times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(body)); times > most {
			t.Errorf("memory for %.1f times the input was taken, want at most %.1f", times, most)
		}
	}
}

// While large requests fill the room, small ones are answered; when it comes free, so are the large.
func TestLargeRequestsHoldNobodyUp(t *testing.T) {
	w := newTasks(t, allGraphs(), func(o *server.Options) { o.LargeBytes = 1 << 20 })
	half := make(chan struct{})
	ctx, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	large := strings.Repeat("x", 900<<10)
	slow := httptest.NewRequestWithContext(ctx, "POST", "/tasks", iotest.DataErrReader(&pausing{strings.NewReader(`{"input":"` + large + `","stream":true,"x":1}`), half}))
	slow.ContentLength = int64(len(large) + 32)
	slow.Header.Set("X-User", "me")
	slow.Host = "localhost"
	done := make(chan int, 1)
	go func() {
		rec := httptest.NewRecorder()
		w.srv.ServeHTTP(rec, slow)
		done <- rec.Code
	}()
	half <- struct{}{} // it is being read, and has the room
	defer close(half)
	w.must(200, "POST", "/threads", `{}`)
	other := make(chan reply, 1)
	go func() { other <- w.do("POST", "/threads", `{"metadata":{"a":"`+large[:200<<10]+`"}}`) }()
	select {
	case r := <-other:
		t.Fatalf("a large request got in beside another: %d", r.status)
	case <-time.After(50 * time.Millisecond): // not proof, but a chance to fail
	}
	half <- struct{}{} // the rest comes
	if code := <-done; code != 422 {
		t.Errorf("the first is answered with %d", code)
	}
	if r := <-other; r.status != 422 && r.status != 200 {
		t.Errorf("the second is answered with %d %s", r.status, r.body)
	}
}

// pausing stops before its first and before its second read until somebody looks.
type pausing struct {
	r    *strings.Reader
	look chan struct{}
}

func (p *pausing) Read(b []byte) (int, error) {
	if p.look != nil {
		<-p.look
		<-p.look
		p.look = nil
	}
	return p.r.Read(b)
}
