package page_test

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/page"
)

var built = fstest.MapFS{
	"index.html":     {Data: []byte("<!doctype html><title>it</title>" + strings.Repeat("<p>same</p>", 50))},
	"page/app-x1.js": {Data: []byte(strings.Repeat("export {};\n", 50))},
	"page/t.css":     {Data: []byte("a{}")},
	"page/draw.html": {Data: []byte("<!doctype html><title>draws</title>")},
}

func serve(t *testing.T) http.Handler {
	t.Helper()
	p, err := page.New(built)
	if err != nil {
		t.Fatal(err)
	}
	routes := edge.NewRoutes(edge.Options{Identify: func(*http.Request) (run.Identity, error) { return run.Identity{}, nil }, Log: slog.New(slog.DiscardHandler)})
	routes.Section("page", "")
	p.Mount(routes)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.ServeDocument)
	mux.Handle("/", routes)
	return mux
}

func get(h http.Handler, path string, header ...string) *http.Response {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	var from io.Reader = res.Body
	if res.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		from = z
	}
	b, err := io.ReadAll(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheSameContentsInEveryEncoding(t *testing.T) {
	h := serve(t)
	for _, path := range []string{"/", "/page/app-x1.js", "/page/t.css"} {
		plain, zipped := get(h, path), get(h, path, "Accept-Encoding", "br, gzip;q=0.8")
		refused := get(h, path, "Accept-Encoding", "gzip;q=0, identity")
		if got, want := body(t, zipped), body(t, plain); got != want {
			t.Errorf("%s compressed: got %q, want %q", path, got, want)
		}
		if got := refused.Header.Get("Content-Encoding"); got != "" {
			t.Errorf("%s with gzip refused: encoded as %q", path, got)
		}
		if zipped.Header.Get("Content-Encoding") == "gzip" && zipped.Header.Get("ETag") == plain.Header.Get("ETag") {
			t.Errorf("%s: the same strong ETag for different bytes", path)
		}
		if got := plain.Header.Get("Vary"); got != "Accept-Encoding" {
			t.Errorf("%s: Vary is %q, want Accept-Encoding", path, got)
		}
	}
}

func TestWhatABrowserHasIsNotSentAgain(t *testing.T) {
	h := serve(t)
	for _, path := range []string{"/", "/page/app-x1.js"} {
		tag := get(h, path, "Accept-Encoding", "gzip").Header.Get("ETag")
		if strings.HasPrefix(tag, "W/") || tag == "" {
			t.Fatalf("%s: ETag is %q, want a strong one", path, tag)
		}
		again := get(h, path, "Accept-Encoding", "gzip", "If-None-Match", `"other", `+tag)
		if again.StatusCode != http.StatusNotModified || body(t, again) != "" {
			t.Errorf("%s with its ETag: got %d with a body of %d bytes, want 304 without", path, again.StatusCode, again.ContentLength)
		}
		if got := get(h, path, "If-None-Match", `"other"`).StatusCode; got != http.StatusOK {
			t.Errorf("%s with another ETag: got %d, want 200", path, got)
		}
	}
}

func TestFilesAreKeptForEverAndTheDocumentIsNot(t *testing.T) {
	h := serve(t)
	if got := get(h, "/page/app-x1.js").Header.Get("Cache-Control"); !strings.Contains(got, "immutable") {
		t.Errorf("a file: Cache-Control is %q, want immutable", got)
	}
	if got := get(h, "/").Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("the document: Cache-Control is %q, want no-cache", got)
	}
}

func TestTheDocumentAllowsNothingInline(t *testing.T) {
	policy := get(serve(t), "/").Header.Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || !strings.Contains(policy, "frame-src 'self';") {
		t.Errorf("the policy is %q, want nothing by default, nothing unsafe and no other host", policy)
	}
}

// What others wrote is drawn where it can reach nothing: the browser gives such a document no origin, even if it is opened by itself.
func TestADocumentOfTheFolderHasNoOriginAndNoNetwork(t *testing.T) {
	h := serve(t)
	res := get(h, "/page/draw.html")
	policy := "; " + res.Header.Get("Content-Security-Policy") + ";"
	for _, want := range []string{"; default-src 'none';", "; script-src 'self';", "; sandbox allow-scripts;", "; frame-ancestors 'self';", "; form-action 'none';"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy is %q, want %q in it", policy, want)
		}
	}
	for _, not := range []string{"http", "connect-src", "allow-same-origin", "allow-popups", "allow-top", "script-src 'unsafe"} {
		if strings.Contains(policy, not) {
			t.Errorf("the policy is %q, want nothing of %q in it", policy, not)
		}
	}
	if got := res.Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("Cache-Control is %q, want no-cache: its name does not change with it", got)
	}
	if got := res.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("the document may be read by %q, want nobody", got)
	}
	if got := get(h, "/page/app-x1.js", "Origin", "null").Header.Get("Access-Control-Allow-Origin"); got != "*" {
		t.Errorf("its code may be loaded by %q, want everybody: it has no origin to be named", got)
	}
}

func TestAFileOfAnotherVersionIsNotFound(t *testing.T) {
	res := get(serve(t), "/page/app-old.js")
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("got %d, want 404", res.StatusCode)
	}
}

func TestAPageWithoutADocumentIsRefused(t *testing.T) {
	if _, err := page.New(fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "index.html") {
		t.Errorf("got %v, want an error that names index.html", err)
	}
}
