package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tributary-ai/tributary/internal/server"
)

func TestHostsAndOriginsThatMayCall(t *testing.T) {
	w := newTasks(t, allGraphs(), func(o *server.Options) {
		o.Hosts, o.Origins = []string{"chat.example"}, []string{"https://app.example"}
	})
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"localhost:8123", "", 200},
		{"127.0.0.1", "", 200},
		{"[::1]:8123", "", 200},
		{"Chat.Example:443", "", 200},
		{"evil.example", "", 403},
		{"chat.example.evil.example", "", 403},
		{"localhost", "http://localhost:3000", 200},
		{"localhost", "http://127.0.0.1:3000", 200},
		{"localhost", "https://app.example", 200},
		{"localhost", "http://app.example", 403},
		{"localhost", "https://192.0.2.1", 403}, // an address, but not this machine's
		{"localhost", "https://localhost.evil.example", 403},
		{"localhost", "null", 403},
	} {
		r := httptest.NewRequest("GET", "/ok", nil)
		r.Host = c.host
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		rec := httptest.NewRecorder()
		w.srv.ServeHTTP(rec, r)
		if rec.Code != c.want {
			t.Errorf("host %q, origin %q: %d, want %d", c.host, c.origin, rec.Code, c.want)
		}
		allowed := rec.Header().Get("Access-Control-Allow-Origin")
		if c.want == 200 && allowed != c.origin || c.want == 403 && allowed != "" {
			t.Errorf("host %q, origin %q: scripts of %q may read the answer", c.host, c.origin, allowed)
		}
	}
}

// A frame of the page has no origin. It may load the page's files, and call nothing.
func TestAFrameWithoutOriginHasTheFilesOfThePageAndNothingElse(t *testing.T) {
	w := newTasks(t, allGraphs(), func(o *server.Options) {
		o.Page = fstest.MapFS{"index.html": {Data: []byte("<!doctype html>")}, "page/a.js": {Data: []byte("export {}")}}
	})
	for route, want := range map[string]int{"GET /page/a.js": 200, "POST /page/a.js": 403, "GET /page": 403, "GET /": 403, "GET /tasks": 403, "POST /tasks": 403, "OPTIONS /page/a.js": 403} {
		method, path, _ := strings.Cut(route, " ")
		r := httptest.NewRequest(method, path, nil)
		r.Host = "localhost"
		r.Header.Set("Origin", "null")
		rec := httptest.NewRecorder()
		w.srv.ServeHTTP(rec, r)
		if rec.Code != want {
			t.Errorf("%s from nowhere: %d, want %d", route, rec.Code, want)
		}
	}
}
