package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// world is a runtime that is served.
type world struct {
	*testing.T
	rt     *tributary.Runtime
	h      *httpapi.Handler
	server *httptest.Server
	dir    string // of the runtime
}

func serve(t *testing.T, ro tributary.Options, opt httpapi.Options) *world {
	t.Helper()
	if ro.Dir == "" {
		ro.Dir = t.TempDir()
	}
	rt, err := tributary.Open(t.Context(), ro)
	if err != nil {
		t.Fatal(err)
	}
	h, err := httpapi.New(rt, opt)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, rt, h, httptest.NewServer(h), ro.Dir}
	t.Cleanup(func() {
		h.Closing()
		w.server.Close()
		now, cancel := context.WithCancel(context.Background())
		cancel()
		if err := rt.Close(now); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) call(method, path, body string, headers ...string) (*http.Response, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.server.URL+path, strings.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res, string(text)
}

func TestBelowAPrefixEveryLinkLeadsBackBelowIt(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{Prefix: "/a/b"})
	res, text := w.call("POST", "/a/b/tasks", `{"input":"count to one"}`)
	at := res.Header.Get("Location")
	if res.StatusCode != 200 || !strings.HasPrefix(at, "/a/b/tasks/") {
		t.Fatalf("a task is %d, at %q: %s", res.StatusCode, at, text)
	}
	if res, text := w.call("GET", at, ""); res.StatusCode != 200 || !strings.Contains(text, "task.ended") && !strings.Contains(text, "one") {
		t.Errorf("there is %d %s", res.StatusCode, text)
	}
	for path, want := range map[string]string{"/a/b": "/a/b/", "/a/b/": "/a/b/docs"} {
		if res, _ := w.call("GET", path, "", "Accept", "text/html"); res.Header.Get("Location") != want {
			t.Errorf("%s leads to %q, want %q", path, res.Header.Get("Location"), want)
		}
	}
	if res, _ := w.call("GET", "/tasks", ""); res.StatusCode != 404 {
		t.Errorf("above the prefix there is a %d", res.StatusCode)
	}
}

func TestWhoAsksIsWhatIdentifySays(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{Identify: func(r *http.Request) (string, error) {
		switch who := r.Header.Get("Who"); who {
		case "mallory":
			return "mallory", errors.New("mallory may not come in")
		default:
			return who, nil
		}
	}})
	const body = `{"input":"count to one"}`
	for who, want := range map[string]string{"mallory": "mallory may not come in", "": "it is not known who asks"} {
		if res, text := w.call("POST", "/tasks", body, "Who", who); res.StatusCode != 401 || !strings.Contains(text, want) {
			t.Errorf("%q is told %d %s, want a 401 with %q", who, res.StatusCode, text, want)
		}
	}
	res, _ := w.call("POST", "/tasks", body, "Who", "anna")
	at := strings.TrimSuffix(res.Header.Get("Location"), "/events")
	for who, want := range map[string]int{"anna": 200, "bert": 404} {
		if res, text := w.call("GET", at, "", "Who", who); res.StatusCode != want {
			t.Errorf("%s gets %d %s, want %d", who, res.StatusCode, text, want)
		}
	}
	for owner, want := range map[string]int{"anna": 1, "bert": 0, "mallory": 0, "": 0} {
		if _, total, err := w.rt.Runs(t.Context(), owner, tributary.RunQuery{}); err != nil || total != want {
			t.Errorf("%q has %d runs, %v; want %d", owner, total, err, want)
		}
	}
}

func TestOnlyTheWiresThatAreWantedAreServed(t *testing.T) {
	paths := map[httpapi.Wire]string{httpapi.Tasks: "/tasks", httpapi.LangGraph: "/assistants/agent", httpapi.Docs: "/openapi.json", httpapi.MCP: "/mcp"}
	for only := range paths {
		w := serve(t, tributary.Options{}, httpapi.Options{Wires: []httpapi.Wire{only}})
		for wire, path := range paths {
			want := 404
			if wire == only {
				want = 200
				if wire == httpapi.MCP {
					want = 405 // it is spoken with POST
				}
			}
			if res, text := w.call("GET", path, ""); res.StatusCode != want {
				t.Errorf("with %s alone GET %s is %d %.200s, want %d", only, path, res.StatusCode, text, want)
			}
		}
		if res, _ := w.call("GET", "/ok", ""); res.StatusCode != 200 {
			t.Errorf("with %s alone GET /ok is %d", only, res.StatusCode)
		}
	}
}

func TestMistakesInTheOptionsAreTold(t *testing.T) {
	rt, err := tributary.Open(t.Context(), tributary.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	for want, opt := range map[string]httpapi.Options{
		`prefix "agents"`: {Prefix: "agents"}, `prefix "/agents/"`: {Prefix: "/agents/"}, `no wire "smoke"`: {Wires: []httpapi.Wire{"smoke"}},
	} {
		if _, err := httpapi.New(rt, opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", opt, err, want)
		}
	}
	if _, err := httpapi.New(nil, httpapi.Options{}); err == nil {
		t.Error("nothing is served")
	}
}

// What a Builder refuses is the caller's mistake on every wire.
func TestAMistakeInASettingIsAnsweredByItsName(t *testing.T) {
	w := serve(t, tributary.Options{Graphs: map[string]tributary.Builder{"picky": func(context.Context, tributary.Config) (*graph.Graph, error) {
		return nil, &tributary.InvalidError{Field: "config.configurable.mood", Reason: "must be good"}
	}}}, httpapi.Options{})
	for path, body := range map[string]string{
		"/tasks": `{"assistant":"picky","input":{}}`, "/runs/wait": `{"assistant_id":"picky","input":{}}`,
	} {
		if res, text := w.call("POST", path, body); res.StatusCode != 422 || !strings.Contains(text, "configurable.mood") {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
}

func TestClosingEndsStreamsAndLeavesRunsAlone(t *testing.T) {
	let := make(chan struct{})
	w := serve(t, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("first ").Wait(let).Say("second")))}, httpapi.Options{})
	res, err := http.Post(w.server.URL+"/tasks", "application/json", strings.NewReader(`{"input":"go","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), "task.text.delta") {
	}
	w.h.Closing()
	for lines.Scan() { // to the end of the stream
	}
	runs, _, err := w.rt.Runs(t.Context(), "", tributary.RunQuery{})
	if err != nil || len(runs) != 1 || runs[0].Ended() {
		t.Fatalf("the runs are %+v, %v", runs, err)
	}
	close(let)
	if r, err := w.rt.Wait(t.Context(), "", runs[0].ID); err != nil || r.Status != event.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestWebhooksAndCronsAreThereWhenTheyAreWanted(t *testing.T) {
	const body = `{"assistant_id":"agent","input":{"messages":[]},"webhook":"https://example.com/told"}`
	for secret, want := range map[string]int{"": 422, "s3cret": 200} {
		w := serve(t, tributary.Options{}, httpapi.Options{WebhookSecret: []byte(secret)})
		if res, text := w.call("POST", "/runs/crons", strings.Replace(body, `{`, `{"schedule":"0 0 1 1 *",`, 1)); res.StatusCode != want {
			t.Errorf("with the secret %q: %d %s, want %d", secret, res.StatusCode, text, want)
		}
		_, text := w.call("GET", "/info", "")
		var info struct{ Flags map[string]bool }
		if err := json.Unmarshal([]byte(text), &info); err != nil || !info.Flags["crons"] {
			t.Errorf("info: %s, %v", text, err)
		}
	}
}

func TestModelsAreListedWhereTheyAreKnown(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	if res, text := w.call("GET", "/models", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("without a list: %d %s, want 404", res.StatusCode, text)
	}
	w = serve(t, tributary.Options{}, httpapi.Options{Models: []httpapi.Model{{Name: "small", Provider: "ollama", Default: true, Usable: true}, {Name: "large", Thinking: true}}})
	res, text := w.call("GET", "/models", "")
	var got struct{ Models []httpapi.Model }
	if err := json.Unmarshal([]byte(text), &got); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %d %s, %v", res.StatusCode, text, err)
	}
	if len(got.Models) != 2 || got.Models[0].Name != "small" || !got.Models[0].Default || !got.Models[1].Thinking || got.Models[1].Usable {
		t.Errorf("the models are %+v", got.Models)
	}
}

func TestToolsAreListedWhereTheyAreKnownAndServersAskedWhenSomebodyWantsToKnow(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	if res, text := w.call("GET", "/tools", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("without a list: %d %s, want 404", res.StatusCode, text)
	}
	asked := 0
	look := tool.Func("look", "Looks.", func(context.Context, struct {
		At string `json:"at"`
	}) (string, error) {
		return "", nil
	})
	w = serve(t, tributary.Options{}, httpapi.Options{Tools: &httpapi.Toolbox{
		Tools: []tool.Tool{look}, Off: map[string]string{"web": "no key"}, Servers: []httpapi.ToolServer{{Name: "notes", Type: "http"}, {Name: "gone", Type: "stdio"}},
		Ask: func(_ context.Context, server string) ([]tool.Tool, error) {
			if asked++; server == "gone" {
				return nil, errors.New("it does not start")
			}
			return []tool.Tool{look}, nil
		},
	}})
	for path, want := range map[string][]string{
		"/tools":       {`"name":"look"`, `"description":"Looks."`, `"can":[]`, `"at"`, `"off":{"web":"no key"}`},
		"/mcp/servers": {`"name":"notes","type":"http","agents":[],"only":[]`, `"name":"gone"`},
	} {
		res, text := w.call("GET", path, "")
		for _, part := range want {
			if res.StatusCode != http.StatusOK || !strings.Contains(text, part) {
				t.Errorf("GET %s: %d %s, want %s in it", path, res.StatusCode, text, part)
			}
		}
	}
	if asked != 0 {
		t.Errorf("listing asked %d servers, want none", asked)
	}
	if res, text := w.call("GET", "/mcp/servers/notes/tools", ""); res.StatusCode != http.StatusOK || !strings.Contains(text, `"name":"look"`) || strings.Contains(text, "problem") {
		t.Errorf("a server's tools: %d %s", res.StatusCode, text)
	}
	if res, text := w.call("GET", "/mcp/servers/gone/tools", ""); res.StatusCode != http.StatusOK || !strings.Contains(text, `"tools":[],"problem":"it does not start"`) {
		t.Errorf("a server that is not there: %d %s", res.StatusCode, text)
	}
	if res, text := w.call("GET", "/mcp/servers/other/tools", ""); res.StatusCode != http.StatusNotFound || asked != 2 {
		t.Errorf("a server that nobody configured: %d %s, and %d were asked", res.StatusCode, text, asked)
	}
}

// The library and the wires are one: what one of them starts, the other follows.
func TestTheLibraryAndTheWiresSeeTheSame(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := w.rt.Start(ctx, tributary.Request{Text: "count to two"})
	if err != nil {
		t.Fatal(err)
	}
	if res, text := w.call("GET", "/threads/"+r.Thread+"/runs/"+r.ID+"/join", ""); res.StatusCode != 200 || !strings.Contains(text, `one\ntwo`) {
		t.Errorf("join: %d %s", res.StatusCode, text)
	}
	res, _ := w.call("POST", "/tasks", `{"input":"count to three","thread_id":"`+r.Thread+`"}`)
	id := strings.Split(res.Header.Get("Location"), "/")[2]
	var text strings.Builder
	for env, err := range w.rt.Follow(ctx, "", id, tributary.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := env.Event.(event.TextDelta); ok {
			text.WriteString(d.Text)
		}
	}
	if text.String() != "one\ntwo\nthree" {
		t.Errorf("the library reads %q", text.String())
	}
}
