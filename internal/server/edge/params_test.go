package edge

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestWordsWithoutAValueAreAbsentOnEveryRoute(t *testing.T) {
	var got string
	routes := NewRoutes(Options{Identify: func(*http.Request) (run.Identity, error) { return run.Identity{}, nil }})
	routes.Section("s", "")
	routes.Handle("GET /things/{id}", func(_ http.ResponseWriter, r *http.Request, _ run.Identity) error {
		got = r.PathValue("id") + "?" + r.URL.RawQuery
		return nil
	}, Doc{})
	for query, want := range map[string]string{
		"":                          "7?",
		"?stream_mode=":             "7?",
		"?stream_mode":              "7?",
		"?a=1&stream_mode=&b=2":     "7?a=1&b=2",
		"?limit=&offset=&status=":   "7?",
		"?a=%20&b=":                 "7?a=%20",
		"?metadata=%7B%7D&status=x": "7?metadata=%7B%7D&status=x",
	} {
		routes.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/things/7"+query, nil))
		if got != want {
			t.Errorf("%s: the route sees %s, want %s", query, got, want)
		}
	}
}
