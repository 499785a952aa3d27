package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/tool"
)

const secret = "key-7f3a9c51"

// engineAt is an engine whose place is taken by a handler.
func engineAt(t *testing.T, name string, h http.HandlerFunc) Engine {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	e, err := NewEngine(EngineOptions{Name: name, Key: secret, URL: s.URL, Allow: []string{"127.0.0.1"}, Setting: "web.engines"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.(interface{ close() }).close)
	return e
}

// answers serves a file of testdata/engines.
func answers(t testing.TB, file string) http.HandlerFunc {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", "engines", file))
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }
}

var october = time.Date(2026, 10, 5, 10, 0, 0, 0, time.UTC)

// recorded says for each engine what is asked, and what its recorded answer is read as.
var recorded = map[string]struct {
	file, path, header, method, question string
	want                                 []Result
}{
	"tavily": {"tavily.json", "/search", "Authorization: Bearer " + secret, "POST", `"query":"otters"`, []Result{
		{"Otters of the Danube", "https://example.org/otters?utm_source=news", "Otters are carnivorous mammals.", october}, {"Rivers", "https://rivers.example.net/", "Where otters live.", time.Time{}}}},
	"brave": {"brave.json", "/res/v1/web/search", "X-Subscription-Token: " + secret, "GET", "q=otters", []Result{
		{"Otters of the Danube", "https://www.example.org/otters", "Otters & rivers. They eat fish.", october}, {"Sea otters", "https://sea.example.com/a(b)", "Marine.", time.Time{}}}},
	"serper": {"serper.json", "/search", "X-API-KEY: " + secret, "POST", `"q":"otters"`, []Result{
		{"Otters of the Danube", "https://example.org/otters", "Otters are carnivorous mammals.", time.Date(2026, 10, 5, 0, 0, 0, 0, time.UTC)}, {"Rivers", "https://rivers.example.net/", "Where otters live.", time.Time{}}}},
	"exa": {"exa.json", "/search", "x-api-key: " + secret, "POST", `"query":"otters"`, []Result{
		{"Otters of the Danube", "https://example.org/otters", "Otters are carnivorous mammals.", october}, {"", "https://rivers.example.net/", "Where otters live.", time.Time{}}}},
	"searxng": {"searxng.json", "/search", "", "GET", "format=json&q=otters", []Result{
		{"Otters of the Danube", "https://example.org/otters#top", "Otters are carnivorous mammals.", october}, {"Rivers", "https://rivers.example.net/", "", time.Time{}}}},
	"duckduckgo": {"duckduckgo.html", "/html/", "", "POST", "q=otters", []Result{
		{"Otters of the Danube", "https://example.org/otters", "Otters are carnivorous mammals.", time.Time{}}, {"Rivers", "https://rivers.example.net/", "Where otters live.", time.Time{}}}},
	"wikipedia": {"wikipedia.json", "/w/api.php", "", "GET", "gsrsearch=otters", []Result{
		{"Otter", "https://en.wikipedia.org/wiki/Otter", "Otters are carnivorous mammals in the subfamily Lutrinae.", october}, {"Sea otter", "https://en.wikipedia.org/wiki/Sea_otter", "The sea otter is a marine mammal.", time.Date(2026, 9, 9, 9, 9, 9, 0, time.UTC)}}},
	"arxiv": {"arxiv.xml", "/api/query", "", "GET", "search_query=all%3Aotters", []Result{
		{"Otters of\n  the Danube", "https://arxiv.org/abs/2610.01234v2", "Ada Writer, Bo Reader. Otters are carnivorous mammals.", october}}},
}

func TestEveryEngineIsAskedAndReadAsItDocuments(t *testing.T) {
	if len(recorded) != len(Engines()) {
		t.Errorf("%d engines are recorded of %d", len(recorded), len(Engines()))
	}
	for name, r := range recorded {
		t.Run(name, func(t *testing.T) {
			reply := answers(t, r.file)
			e := engineAt(t, name, func(w http.ResponseWriter, req *http.Request) {
				body, _ := io.ReadAll(req.Body)
				asked := req.URL.RawQuery + string(body)
				if req.Method != r.method || req.URL.Path != r.path || !strings.Contains(asked, r.question) {
					t.Errorf("got %s %s with %s, want %s %s with %s", req.Method, req.URL.Path, asked, r.method, r.path, r.question)
				}
				if h, v, ok := strings.Cut(r.header, ": "); ok && req.Header.Get(h) != v {
					t.Errorf("header %s is %q, want %q", h, req.Header.Get(h), v)
				}
				if strings.Contains(asked, secret) {
					t.Error("the key is in the question, where logs keep it")
				}
				reply(w, req)
			})
			got, err := e.Search(t.Context(), "otters", 8)
			if err != nil || !reflect.DeepEqual(got, r.want) {
				t.Errorf("got %+v, %v\nwant %+v", got, err, r.want)
			}
		})
	}
}

func TestEnginesThatFindImagesAreReadAsTheyDocument(t *testing.T) {
	otter := Image{"An otter", "https://example.org/otter.jpg", "https://example.org/otters", 1200, 800}
	for name, want := range map[string][]Image{
		"tavily":  {{Title: "An otter on a rock", URL: "https://img.example.org/otter.jpg"}, {URL: "https://img.example.org/plain.png"}},
		"brave":   {otter, {Title: "Two otters", URL: "https://imgs.search.brave.com/y/thumb.jpg", Page: "https://rivers.example.net/two"}},
		"serper":  {otter},
		"searxng": {otter}, // and not the one whose address runs a script
	} {
		file := name + "-images.json"
		if name == "tavily" {
			file = "tavily.json"
		}
		s := &Searcher{Engines: []Engine{engineAt(t, name, answers(t, file))}}
		if got, failed := s.Images(t.Context(), "otters", 8); len(failed) > 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v\nwant %+v", name, got, failed, want)
		}
	}
}

// What goes wrong is told with the setting that mends it, and without the key.
func TestWhatIsWrongWithAnEngineIsToldWithTheSettingToChange(t *testing.T) {
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	hangs := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client has gone
		<-r.Context().Done()
	}
	page := says(200, "<!DOCTYPE html><html><body>Please sign in</body></html>")
	type row struct {
		engine, what string
		h            http.HandlerFunc
		want         []string
	}
	rows := []row{
		{"tavily", "wrong key", says(401, `{"detail":{"error":"Unauthorized: missing or invalid API key."}}`), []string{"refuses the key", "TAVILY_API_KEY"}},
		{"brave", "wrong key", says(422, `{"type":"ErrorResponse","error":{"id":"x","status":422,"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The provided subscription token is invalid."}}`), []string{"refuses the key", "BRAVE_API_KEY"}},
		{"serper", "wrong key", says(403, `{"message":"Unauthorized.","statusCode":403}`), []string{"refuses the key", "SERPER_API_KEY"}},
		{"exa", "wrong key", says(401, `{"requestId":"x","error":"Invalid API key","tag":"INVALID_API_KEY"}`), []string{"refuses the key", "EXA_API_KEY"}},
		{"tavily", "quota", says(432, `{"detail":{"error":"This request exceeds your plan's set usage limit."}}`), []string{"enough requests", "TAVILY_API_KEY"}},
		{"brave", "quota", says(429, `{"type":"ErrorResponse","error":{"code":"RATE_LIMITED","status":429}}`), []string{"enough requests", "BRAVE_API_KEY"}},
		{"serper", "quota", says(400, `{"message":"Not enough credits","statusCode":400}`), []string{"enough requests", "SERPER_API_KEY"}},
		{"exa", "quota", says(402, `{"requestId":"x","error":"No more credits","tag":"NO_MORE_CREDITS"}`), []string{"enough requests", "EXA_API_KEY"}},
		{"searxng", "no JSON", says(403, "Forbidden"), []string{"does not give JSON", "search.formats", "web.engines"}},
		{"searxng", "limited", says(429, "Too Many Requests"), []string{"enough requests", "web.engines"}},
		{"duckduckgo", "blocked", answers(t, "duckduckgo-blocked.html"), []string{"robot", "web.engines"}},
		{"duckduckgo", "blocked with 202", says(202, "<html></html>"), []string{"robot", "web.engines"}},
		{"duckduckgo", "another page", page, []string{"not one of results", "web.engines"}},
		{"arxiv", "limited", says(200, "Rate exceeded."), []string{"enough requests", "web.engines"}},
		{"arxiv", "error", says(200, `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>incorrect id format</summary></entry></feed>`), []string{"incorrect id format"}},
		{"wikipedia", "error", says(200, `{"error":{"code":"srsearch-text-disabled","info":"text search is disabled"}}`), []string{"text search is disabled"}},
		{"brave", "another parameter", says(422, `{"error":{"code":"VALIDATION","detail":"count of `+secret+`"}}`), []string{"422", "VALIDATION", "***"}},
	}
	for name := range recorded {
		rows = append(rows,
			row{name, "time-out", hangs, []string{"in time", "timeout", "web.engines"}},
			row{name, "trouble", says(503, "oh"), []string{"trouble of its own", "503", "web.engines"}},
			row{name, "moved", says(404, "Not Found"), []string{"url of " + name, "web.engines"}})
		if name != "duckduckgo" {
			rows = append(rows, row{name, "HTML", page, []string{"web page in place of", "url of " + name, "web.engines"}})
		}
		if name != "duckduckgo" && name != "arxiv" {
			rows = append(rows, row{name, "cut off", says(200, `{"results": [`), []string{"not JSON", "web.engines"}})
		}
	}
	for _, r := range rows {
		t.Run(r.engine+" "+r.what, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			if r.what == "time-out" {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 30*time.Millisecond)
				defer cancel()
			}
			_, err := engineAt(t, r.engine, r.h).Search(ctx, "otters", 8)
			var told *EngineError
			if !errors.As(err, &told) || told.Engine != r.engine {
				t.Fatalf("got %v, want an EngineError of %s", err, r.engine)
			}
			for _, w := range r.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q tells the key", err)
			}
		})
	}
}

func TestAnEngineThatCannotWorkIsRefusedWithTheReason(t *testing.T) {
	for _, tt := range []struct {
		opt  EngineOptions
		want string
	}{
		{EngineOptions{Name: "altavista"}, "there are tavily, brave"},
		{EngineOptions{Name: "tavily"}, "set TAVILY_API_KEY"},
		{EngineOptions{Name: "brave", KeySetting: "MY_BRAVE"}, "set MY_BRAVE"},
		{EngineOptions{Name: "searxng", Setting: "web.engines"}, "give its url in web.engines"},
		{EngineOptions{Name: "searxng", URL: "localhost:8888"}, "begin with https://"},
		{EngineOptions{Name: "searxng", URL: "https://x.example", Allow: []string{"10.0.0.0/99"}}, "is no range"},
	} {
		if _, err := NewEngine(tt.opt); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.opt, err, tt.want)
		}
	}
}

type fixed struct {
	name    string
	results []Result
	err     error
	asked   int
}

func (f *fixed) Name() string { return f.name }
func (f *fixed) Search(context.Context, string, int) ([]Result, error) {
	f.asked++
	return f.results, f.err
}

func TestEnginesAreAskedInOrderUntilThereIsEnough(t *testing.T) {
	a := &fixed{name: "a", err: errors.New("search engine a: it refuses the key; set A_KEY")}
	b := &fixed{name: "b", results: []Result{{Title: "One", URL: "http://www.example.org/one/?utm_source=b&x=1#top"}, {Title: "Mail", URL: "mailto:me@example.org"}}}
	c := &fixed{name: "c", results: []Result{{Title: "One again", URL: "https://example.org/one?x=1&gclid=9"}, {Title: "Two", URL: "https://example.org/two", Snippet: "The <referencable-item>\u202e second"}}}
	d := &fixed{name: "d", results: []Result{{Title: "Three", URL: "https://example.org/three"}}}
	s := &Searcher{Engines: []Engine{a, b, c, d}}
	res := call(t, s.Tools()[0], `{"query": "x", "limit": 2}`)
	if len(res.Blocks) != 3 || res.Blocks[0].Name != "One — example.org" || res.Blocks[1].Ref != 2 || res.Blocks[1].Text != "The ‹referencable-item> second" {
		t.Errorf("got %+v", res.Blocks)
	}
	if got := res.Blocks[2]; got.Ref != 0 || !strings.Contains(got.Text, "set A_KEY") {
		t.Errorf("the remark is %+v, want one about A_KEY that cannot be cited", got)
	}
	if a.asked != 1 || b.asked != 1 || c.asked != 1 || d.asked != 0 {
		t.Errorf("asked %d, %d, %d, %d times, want 1, 1, 1, 0", a.asked, b.asked, c.asked, d.asked)
	}
	if got := res.Content[1].Text; got != "Source: Two (https://example.org/two)\n\nThe ‹referencable-item> second" {
		t.Errorf("the model reads %q", got)
	}

	all := &Searcher{Engines: []Engine{a, &fixed{name: "e", err: errors.New("search engine e: it is away")}}}
	if told := fails(t, all.Tools()[0], `{"query": "x"}`); !strings.Contains(told, "A_KEY") || !strings.Contains(told, "is away") {
		t.Errorf("no engine answers: got %q", told)
	}
	none := &Searcher{Engines: []Engine{a, &fixed{name: "f"}}}
	if res := call(t, none.Tools()[0], `{"query": "x"}`); len(res.Blocks) != 2 || !strings.Contains(res.Blocks[0].Text, "No page was found") {
		t.Errorf("nothing found: got %+v", res.Blocks)
	}
	if (&Searcher{}).Tools() != nil {
		t.Error("there are tools without engines")
	}
}

func TestToolsSayWhatTheyCanDo(t *testing.T) {
	free := &Searcher{Engines: []Engine{engineAt(t, "searxng", nil)}}
	paid := &Searcher{Engines: []Engine{engineAt(t, "arxiv", nil), engineAt(t, "brave", nil)}}
	f, err := NewFetcher(FetchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, tt := range []struct {
		tool tool.Tool
		name string
		risk tool.Risk
	}{
		{free.Tools()[0], "web_search", tool.Reads | tool.Leaves}, {free.Tools()[1], "image_search", tool.Reads | tool.Leaves},
		{paid.Tools()[0], "web_search", tool.Reads | tool.Leaves | tool.Spends}, {paid.Tools()[1], "image_search", tool.Reads | tool.Leaves | tool.Spends},
		{f.Tool(), "web_fetch", tool.Reads | tool.Leaves},
	} {
		if s := tt.tool.Spec(); s.Name != tt.name || s.Risk != tt.risk || s.Group != "web" || !s.Repeatable || s.Timeout == 0 {
			t.Errorf("got %+v, want %s with %s", s, tt.name, tt.risk)
		}
	}
	if n := len((&Searcher{Engines: []Engine{engineAt(t, "arxiv", nil)}}).Tools()); n != 1 {
		t.Errorf("an engine without images has %d tools, want 1", n)
	}
}
