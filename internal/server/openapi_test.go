package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/chat"
)

// apiDoc is what these tests read of /openapi.json.
type apiDoc struct {
	OpenAPI    string
	Tags       []struct{ Name, Description string }
	Paths      map[string]map[string]*apiOperation
	Webhooks   map[string]map[string]*apiOperation
	Components struct {
		Schemas   map[string]json.RawMessage
		Responses map[string]json.RawMessage
	}
}

type apiOperation struct {
	OperationID string `json:"operationId"`
	Summary     string
	Tags        []string
	Parameters  []struct {
		Name, In string
		Required bool
		Schema   *jsonschema.Schema
	}
	RequestBody *struct{ Content apiContent } `json:"requestBody"`
	Responses   map[string]struct {
		Ref     string `json:"$ref"`
		Content apiContent
	}
}

type apiContent map[string]struct{ Schema json.RawMessage }

// apiWorld is a server with all that it can have, and its own description.
type apiWorld struct {
	*taskWorld
	doc apiDoc
	raw []byte
}

func newAPI(t *testing.T) *apiWorld {
	all := allGraphs()
	all["agent"] = graph.New("agent", messages, middleware.GoalField).Node("work", talkerNode).Edge(graph.Start, "work").Edge("work", graph.End)
	w := &apiWorld{taskWorld: newTasks(t, all, func(o *server.Options) {
		o.Ask = func(context.Context, string, chat.Server) ([]chat.ServerTool, error) {
			return []chat.ServerTool{{Name: "paint", Description: "Paints.", Schema: json.RawMessage(`{"type":"object"}`)}}, nil
		}
		o.Scheduler, o.Webhooks, o.Version = run.OpenScheduler(o.Engine, o.Store, nil), true, "1.2.3"
		t.Cleanup(o.Scheduler.Close)
		o.Memory = bookOn(o.Store)
		o.Write = func(context.Context, run.Identity, string, string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) { yield("better", nil) }
		}
	})}
	w.raw = w.must(200, "GET", "/openapi.json", "").body
	if err := json.Unmarshal(w.raw, &w.doc); err != nil {
		t.Fatal(err)
	}
	return w
}

// each calls for every operation, as "METHOD /path".
func (w *apiWorld) each(f func(route string, op *apiOperation)) {
	for _, path := range slices.Sorted(maps.Keys(w.doc.Paths)) {
		for method, op := range w.doc.Paths[path] {
			f(strings.ToUpper(method)+" "+path, op)
		}
	}
}

// schema reads a schema so that it can be used. A strict one knows all members that there are.
func (w *apiWorld) schema(raw json.RawMessage, strict bool) *jsonschema.Resolved {
	w.t.Helper()
	defs, err := json.Marshal(w.referred(raw, map[string]json.RawMessage{}))
	if err != nil {
		w.t.Fatal(err)
	}
	text := fmt.Sprintf(`{"$defs":%s,"allOf":[%s]}`, defs, raw)
	var any map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), &any); err != nil {
		w.t.Fatal(err)
	}
	if strict {
		closeObjects(any)
	}
	data, err := json.Marshal(any)
	if err != nil {
		w.t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		w.t.Fatalf("%v: %s", err, raw)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		w.t.Fatalf("%v: %s", err, raw)
	}
	return resolved
}

var reference = regexp.MustCompile(`"#/components/schemas/([^"]+)"`)

// referred adds the schemas that one refers to, and those to which they do. One that is not there is left out, and not found later.
func (w *apiWorld) referred(raw json.RawMessage, to map[string]json.RawMessage) map[string]json.RawMessage {
	for _, m := range reference.FindAllSubmatch(raw, -1) {
		name := string(m[1])
		if other, ok := w.doc.Components.Schemas[name]; ok && to[name] == nil {
			to[name] = other
			w.referred(other, to)
		}
	}
	return to
}

func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if v["type"] == "object" && v["properties"] != nil {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			closeObjects(x)
		}
	case []any:
		for _, x := range v {
			closeObjects(x)
		}
	}
}

func TestEveryRouteIsDescribed(t *testing.T) {
	w := newAPI(t)
	described := map[string]bool{}
	var tags []string
	for _, tag := range w.doc.Tags {
		if tag.Description == "" || slices.Contains(tags, tag.Name) {
			t.Errorf("the tag %q has no description, or two", tag.Name)
		}
		tags = append(tags, tag.Name)
	}
	ids := map[string]string{}
	check := func(route string, op *apiOperation) {
		described[route] = true
		if op.Summary == "" || len(op.Tags) != 1 || !slices.Contains(tags, op.Tags[0]) {
			t.Errorf("%s: its summary is %q, its tags are %v", route, op.Summary, op.Tags)
		}
		if other, ok := ids[op.OperationID]; ok || op.OperationID == "" {
			t.Errorf("%s and %s have the same id %q", route, other, op.OperationID)
		}
		ids[op.OperationID] = route
		declared := map[string]bool{}
		for _, p := range op.Parameters {
			if p.In == "path" && !p.Required || p.Schema == nil || declared[p.In+p.Name] {
				t.Errorf("%s: the parameter %s is not declared right", route, p.Name)
			}
			declared[p.In+p.Name] = true
		}
		for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(route, -1) {
			if !declared["path"+m[1]] {
				t.Errorf("%s: the parameter %s is not declared", route, m[1])
			}
		}
		if op.RequestBody != nil {
			w.schema(op.RequestBody.Content["application/json"].Schema, false)
		}
		for status, r := range op.Responses {
			switch {
			case status >= "4":
				if w.doc.Components.Responses[strings.TrimPrefix(r.Ref, "#/components/responses/")] == nil {
					t.Errorf("%s: nothing is said of %s", route, status)
				}
			case status == "200" && len(r.Content) == 0 && route != "GET /docs":
				t.Errorf("%s: nothing is said of what it answers", route)
			}
			for _, c := range r.Content {
				w.schema(c.Schema, true)
			}
		}
	}
	w.each(check)
	for name := range w.doc.Components.Schemas { // also one that no route refers to
		w.schema(json.RawMessage(`{"$ref":"#/components/schemas/`+name+`"}`), true)
	}
	for name, methods := range w.doc.Webhooks {
		check("POST "+name, methods["post"])
	}
	for _, route := range append(w.srv.Routes(), "GET /", "GET /ok", "GET /livez", "GET /readyz", "GET /info", "GET /docs", "GET /openapi.json", "POST run_ended") {
		if !described[route] {
			t.Errorf("%s is not described", route)
		}
		delete(described, route)
	}
	for route := range described {
		t.Errorf("%s is described and does not exist", route)
	}
	for _, ref := range regexp.MustCompile(`"\$ref":"#/components/schemas/(\w+)"`).FindAllSubmatch(w.raw, -1) {
		if w.doc.Components.Schemas[string(ref[1])] == nil {
			t.Errorf("%s leads nowhere", ref[0])
		}
	}
	for status, r := range w.doc.Components.Responses {
		if !strings.Contains(string(r), "schemas/Problem") || strings.Contains(string(r), `"description":""`) {
			t.Errorf("it is not said what %s means: %s", status, r)
		}
	}
}

// body is what a route takes: the members of one object, and those of them that are required.
func (w *apiWorld) body(op *apiOperation) (s struct {
	Ref        string `json:"$ref"`
	Type       string
	Items      json.RawMessage
	Required   []string
	Properties map[string]map[string]any
}) {
	w.t.Helper()
	raw := op.RequestBody.Content["application/json"].Schema
	for raw != nil {
		s.Ref, s.Items = "", nil
		if err := json.Unmarshal(raw, &s); err != nil {
			w.t.Fatal(err)
		}
		if raw = s.Items; s.Ref != "" {
			raw = w.doc.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		}
	}
	return s
}

// things are made once, for routes to speak of.
func (w *apiWorld) things() *strings.Replacer {
	thread := w.must(200, "POST", "/threads", `{"metadata":{"graph_id":"agent"}}`).object(w.t)["thread_id"].(string)
	w.must(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"agent","input":{"messages":"hi"}}`)
	var runs []struct {
		ID string `json:"run_id"`
	}
	if err := json.Unmarshal(w.must(200, "GET", "/threads/"+thread+"/runs", "").body, &runs); err != nil || len(runs) != 1 {
		w.t.Fatal(runs, err)
	}
	assistant := w.must(200, "POST", "/assistants", `{"graph_id":"agent"}`).object(w.t)["assistant_id"].(string)
	cron := w.must(200, "POST", "/runs/crons", `{"assistant_id":"agent","schedule":"0 0 1 1 *"}`).object(w.t)["cron_id"].(string)
	state := w.must(200, "GET", "/threads/"+thread+"/state", "").object(w.t)
	return strings.NewReplacer("{thread_id}", thread, "{run_id}", runs[0].ID, "{id}", runs[0].ID, "{run}", runs[0].ID, "{assistant_id}", assistant, "{cron_id}", cron,
		"{checkpoint_id}", state["checkpoint"].(map[string]any)["checkpoint_id"].(string), "{namespace}", "none")
}

// samples are values of the members that are required somewhere.
var samples = map[string]any{
	"assistant_id": "agent", "graph_id": "agent", "schedule": "0 0 1 1 *", "version": 1, "checkpoint": map[string]any{}, "namespace": []string{"a"},
	"key": "k", "value": map[string]any{}, "id": 1, "method": "state.get", "jsonrpc": "2.0", "channels": []string{"values"}, "input": "hi", "question": "hi", "prompt": "hi", "text": "hi", "content": "# A", "url": "https://example.com",
	"objective": "the sea", "rating": 1, "facts": []any{}, "enabled": true, "type": "cancel",
}

// ask sends a body, as one of a list where the route takes one, and reads what is wrong with it.
func (w *apiWorld) ask(op *apiOperation, method, path string, members map[string]any) (status int, field, detail string) {
	w.t.Helper()
	var body any = members
	if op.RequestBody.Content["application/json"].Schema[9] == 'a' {
		body = []any{members}
	}
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	var problem struct{ Field, Detail string }
	res, err := w.client.Do(w.request(method, path, string(data)))
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode >= 400 {
		if err := json.NewDecoder(res.Body).Decode(&problem); err != nil {
			w.t.Fatalf("%s %s: %d: %v", method, path, res.StatusCode, err)
		}
	}
	return res.StatusCode, strings.TrimPrefix(problem.Field, "0."), problem.Detail
}

func TestWhatIsRequiredIsRefusedWhereItIsMissing(t *testing.T) {
	w := newAPI(t)
	ids := w.things()
	asked := 0
	w.each(func(route string, op *apiOperation) {
		if op.RequestBody == nil {
			return
		}
		method, path, _ := strings.Cut(route, " ")
		path = ids.Replace(path)
		all := map[string]any{}
		for _, name := range w.body(op).Required {
			if all[name] = samples[name]; all[name] == nil {
				t.Fatalf("%s: there is no sample of %s", route, name)
			}
		}
		for name := range all {
			some := maps.Clone(all)
			delete(some, name)
			if status, field, detail := w.ask(op, method, path, some); status < 400 || status > 499 || field != name {
				t.Errorf("%s without %s: %d about %q: %s", route, name, status, field, detail)
			}
			asked++
		}
		if route == "POST /tasks/{id}/input" {
			return // takes one of two forms, as the description of its members says
		}
		if _, field, detail := w.ask(op, method, path, all); strings.Contains(detail, "required") {
			t.Errorf("%s: %s is required, and that is not said: %s", route, field, detail)
		}
	})
	if asked < 20 {
		t.Errorf("only %d members are required", asked)
	}
}

// What is described must be what is decoded: a value of another type is refused under the member's name, and so is a
// word that is none of those that are said, with all of them.
func TestMembersAreRefusedWhereTheyAreNotWhatIsSaid(t *testing.T) {
	w := newAPI(t)
	ids := w.things()
	asked := 0
	w.each(func(route string, op *apiOperation) {
		if op.RequestBody == nil {
			return
		}
		method, path, _ := strings.Cut(route, " ")
		path = ids.Replace(path)
		body := w.body(op)
		for name, schema := range body.Properties {
			if route+" "+name == "POST /threads/{thread_id}/commands params" {
				continue // is refused in an answer of the protocol's
			}
			members := map[string]any{}
			for _, r := range body.Required {
				members[r] = samples[r]
			}
			if route == "POST /tasks/{id}/input" {
				members = map[string]any{"interrupt_id": "x", "value": 1}
			}
			if schema["type"] != nil || schema["oneOf"] != nil || schema["$ref"] != nil {
				members[name] = true
				if schema["type"] == "boolean" {
					members[name] = "yes"
				}
				asked++
				if status, field, detail := w.ask(op, method, path, members); status < 400 || status > 499 || field != name && !strings.HasPrefix(field, name+".") {
					t.Errorf("%s with %s %v: %d about %q: %s", route, name, members[name], status, field, detail)
				}
			}
			if words, ok := schema["enum"].([]any); ok {
				members[name] = "none-of-them"
				status, field, detail := w.ask(op, method, path, members)
				if status != http.StatusUnprocessableEntity || field != name {
					t.Errorf("%s with a wrong %s: %d about %q: %s", route, name, status, field, detail)
				}
				for _, word := range words {
					if !strings.Contains(detail, word.(string)) {
						t.Errorf("%s: %s can be %s, of which the refusal says nothing: %s", route, name, word, detail)
					}
				}
			}
		}
	})
	if asked < 100 {
		t.Errorf("only %d members have a type", asked)
	}
}

func TestTheRootSendsPeopleToThePageAndTellsProgramsWhatThereIs(t *testing.T) {
	w := newAPI(t)
	w.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := w.must(http.StatusSeeOther, "GET", "/", "", "Accept", "text/html,application/xhtml+xml,*/*;q=0.8", "Origin", "http://localhost:3000")
	if at := got.header.Get("Location"); at != "/docs" || !slices.Equal(got.header.Values("Vary"), []string{"Origin", "Accept"}) {
		t.Errorf("Location is %q, Vary %q", at, got.header.Values("Vary"))
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		o := w.must(200, "GET", "/", "", "Accept", accept).object(t)
		if o["version"] != "1.2.3" || o["openapi"] != "/openapi.json" {
			t.Errorf("got %v", o)
		}
	}
	w.must(http.StatusNotFound, "GET", "/nothing", "", "Accept", "text/html")
	page := w.must(200, "GET", "/docs", "")
	if regexp.MustCompile(`(src|href)="?(https?:)?//|\burl\(`).Match(page.body) || page.header.Get("Content-Security-Policy") == "" {
		t.Error("the page loads from elsewhere, or may")
	}
}
