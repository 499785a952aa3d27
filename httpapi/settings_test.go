package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/registry"
)

// beginners are the routes that begin a run with settings, each with a body in which SETTINGS stands for what is said of them. Which routes there
// are is read from the description; one that is missing here fails.
var beginners = map[string]string{
	"POST /runs":                            `{"assistant_id":"GRAPH","input":{},SETTINGS}`,
	"POST /runs/wait":                       `{"assistant_id":"GRAPH","input":{},SETTINGS}`,
	"POST /runs/stream":                     `{"assistant_id":"GRAPH","input":{},SETTINGS}`,
	"POST /runs/batch":                      `[{"assistant_id":"GRAPH","input":{},SETTINGS}]`,
	"POST /threads/{thread_id}/runs":        `{"assistant_id":"GRAPH","input":{},"if_not_exists":"create",SETTINGS}`,
	"POST /threads/{thread_id}/runs/wait":   `{"assistant_id":"GRAPH","input":{},"if_not_exists":"create",SETTINGS}`,
	"POST /threads/{thread_id}/runs/stream": `{"assistant_id":"GRAPH","input":{},"if_not_exists":"create",SETTINGS}`,
	"POST /tasks":                           `{"assistant":"GRAPH","input":{},SETTINGS}`,
	"POST /threads/{thread_id}/commands":    `{"id":1,"method":"run.start","params":{"assistant_id":"GRAPH","input":{},SETTINGS}}`,
}

// keepers only keep settings, for runs that begin later and complain then.
var keepers = []string{"POST /assistants", "PATCH /assistants/{assistant_id}", "POST /runs/crons", "POST /threads/{thread_id}/runs/crons", "PATCH /runs/crons/{cron_id}"}

// settled are the settings of a request, in the words of its route: in configurable, in the context, or in both.
func settled(route, configurable, inner string) string {
	at := `"config":{"configurable":%s},"context":%s`
	if route == "POST /tasks" {
		at = `"configurable":%s,"context":%s`
	}
	return fmt.Sprintf(at, configurable, inner)
}

// settable lists the routes whose bodies have settings, by the description that the server gives of itself.
func (w *world) settable() (routes []string) {
	w.Helper()
	_, text := w.call("GET", "/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct {
			RequestBody struct {
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		w.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			schema := string(op.RequestBody.Content["application/json"].Schema)
			for name, named := range doc.Components.Schemas {
				if strings.Contains(schema, `"#/components/schemas/`+name+`"`) {
					schema = string(named)
				}
			}
			if strings.HasPrefix(path, "/api/") { // there a context is a text
				continue
			}
			if strings.Contains(schema, `"context":{`) || strings.Contains(schema, `"configurable":{`) {
				routes = append(routes, strings.ToUpper(method)+" "+path)
			}
		}
	}
	return routes
}

// Whatever begins a run tells of a model that there is not, wherever the request names it, and begins nothing.
func TestAModelThatIsNotThereIsToldOnEveryRoute(t *testing.T) {
	models, err := registry.New(registry.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	w := serve(t, tributary.Options{Models: models}, httpapi.Options{})
	for _, route := range w.settable() {
		if _, begins := beginners[route]; !begins && !slices.Contains(keepers, route) {
			t.Errorf("%s takes settings, and is not in the tables above", route)
		}
	}
	for route, body := range beginners {
		method, path, _ := strings.Cut(route, " ")
		for where, settings := range map[string]string{
			"configurable": settled(route, `{"model_name":"no-such-model"}`, `{}`), "context": settled(route, `{}`, `{"model_name":"no-such-model"}`),
		} {
			text := strings.NewReplacer("GRAPH", "agent", "SETTINGS", settings).Replace(body)
			res, answer := w.call(method, strings.ReplaceAll(path, "{thread_id}", "told"), text)
			refused := res.StatusCode == 422 || strings.HasSuffix(route, "commands") && strings.Contains(answer, `"type":"error"`)
			if !refused || !strings.Contains(answer, "no-such-model") || !strings.Contains(answer, "model_name") {
				t.Errorf("%s, %s: got %d %s, want a refusal that names the model", route, where, res.StatusCode, answer)
			}
		}
	}
	if _, body := w.call("GET", "/tasks", ""); !strings.Contains(body, `"total":0`) {
		t.Errorf("something has begun: %s", body)
	}
}

// Whatever begins a run, and however its settings are shared out between configurable and context: the graph is built from the same,
// and its nodes read the same.
func TestSettingsAreReadAlikeOnEveryRoute(t *testing.T) {
	type settings struct{ City, Unit string }
	var mu sync.Mutex
	var built, heard []settings
	note := func(to *[]settings, raw ...json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range raw {
			var s settings
			_ = json.Unmarshal(r, &s) // what is not said is empty
			*to = append(*to, s)
		}
	}
	field := graph.LastValue[string]("x")
	w := serve(t, tributary.Options{Graphs: map[string]tributary.Builder{"clerk": func(_ context.Context, c tributary.Config) (*graph.Graph, error) {
		note(&built, c.Configurable, c.Context)
		return graph.New("clerk", field).Node("listen", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			note(&heard, s.Config().Configurable, s.Context())
			return graph.Update(field.Set("heard")), nil
		}).Chain(graph.Start, "listen", graph.End), nil
	}}}, httpapi.Options{})
	want := settings{"Oslo", "kelvin"}
	for _, route := range slices.Sorted(maps.Keys(beginners)) {
		method, path, _ := strings.Cut(route, " ")
		for i, told := range []string{
			settled(route, `{"city":"Oslo","unit":"kelvin"}`, `{}`), settled(route, `{}`, `{"city":"Oslo","unit":"kelvin"}`),
			settled(route, `{"city":"Oslo"}`, `{"unit":"kelvin"}`), settled(route, `{"unit":"kelvin"}`, `{"city":"Oslo"}`),
		} {
			text := strings.NewReplacer("GRAPH", "clerk", "SETTINGS", told).Replace(strings.ReplaceAll(beginners[route], `"input":{}`, `"input":{"x":"go"}`))
			thread := fmt.Sprintf("told-%d-%d", len(path), i)
			res, answer := w.call(method, strings.ReplaceAll(path, "{thread_id}", thread), text)
			if res.StatusCode != 200 || strings.Contains(answer, `"type":"error"`) {
				t.Fatalf("%s: %d %s", route, res.StatusCode, answer)
			}
			w.idle()
			mu.Lock()
			if len(heard) != 2 || heard[0] != want || heard[1] != want || slices.ContainsFunc(built, func(s settings) bool { return s != want }) {
				t.Errorf("%s, %s: built from %v, and nodes read %v; want %v", route, told, built, heard, want)
			}
			built, heard = nil, nil
			mu.Unlock()
		}
	}
}

// idle returns when no task is under way.
func (w *world) idle() {
	w.Helper()
	for {
		_, list := w.call("GET", "/tasks?status=working,queued", "")
		if strings.Contains(list, `"total":0`) {
			return
		}
		_, id, _ := strings.Cut(list, `"task_id":"`)
		id, _, _ = strings.Cut(id, `"`)
		w.call("GET", "/tasks/"+id+"/events", "") // ends with the task
	}
}
