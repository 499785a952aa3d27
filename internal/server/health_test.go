package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/internal/server/edge"
)

func ill(probe func(context.Context) error) *Server {
	s := &Server{opt: Options{Probe: probe, Log: slog.New(slog.DiscardHandler)}, closing: make(chan struct{})}
	s.routes = edge.NewRoutes(edge.Options{Log: s.opt.Log})
	s.routes.Section("server", "")
	s.mountHealth()
	return s
}

func (s *Server) asked(path string) (int, string) {
	rec := httptest.NewRecorder()
	s.routes.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
	return rec.Code, strings.TrimSpace(rec.Body.String())
}

func TestReadinessSaysWhyNotAndLivenessStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault error
		s := ill(func(context.Context) error { return fault })
		want := func(path string, code int, body string) {
			t.Helper()
			if c, b := s.asked(path); c != code || b != body {
				t.Errorf("%s: got %d %s, want %d %s", path, c, b, code, body)
			}
		}
		for _, path := range []string{"/ok", "/readyz", "/livez"} {
			want(path, 200, `{"ok":true}`)
		}
		fault = errors.New("no space left on device")
		time.Sleep(probeFresh)
		want("/readyz", 503, `{"ok":false,"reason":"no space left on device"}`)
		want("/ok", 503, `{"ok":false,"reason":"no space left on device"}`)
		want("/livez", 200, `{"ok":true}`)
		fault = nil
		time.Sleep(probeFresh)
		want("/ok", 200, `{"ok":true}`)
		close(s.closing)
		want("/readyz", 503, `{"ok":false,"reason":"the server is shutting down"}`)
		want("/livez", 200, `{"ok":true}`)
	})
}

func TestManyWhoAskShareOneProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var probes atomic.Int32
		held := make(chan struct{})
		s := ill(func(context.Context) error { probes.Add(1); <-held; return nil })
		codes := make([]int, 50)
		var all sync.WaitGroup
		for i := range codes {
			all.Go(func() { codes[i], _ = s.asked("/readyz") })
		}
		all.Wait() // the write hangs: nobody waits for ever
		for _, c := range codes {
			if c != http.StatusServiceUnavailable {
				t.Errorf("got %d while a write hangs", c)
			}
		}
		if n := probes.Load(); n != 1 {
			t.Errorf("%d writes for 50 who asked", n)
		}
		close(held)
		synctest.Wait()
		for range 10 {
			if c, body := s.asked("/readyz"); c != 200 {
				t.Errorf("got %d %s", c, body)
			}
		}
		if n := probes.Load(); n != 1 {
			t.Errorf("%d writes within %v", n, probeFresh)
		}
	})
}
