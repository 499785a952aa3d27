// Package openapi describes the routes of LangGraph's API as an OpenAPI document, and has a page for people that shows it.
// What other dialects do is described in their own pages below docs/wire.
package openapi

import (
	_ "embed" // of the page
	"net/http"
	"regexp"
	"strings"

	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// operation describes a route for /openapi.json.
type operation struct {
	tag, summary string
	query        []string // names of query parameters
	required     []string // members that the body must have
	answer       string   // media type of the answer; JSON if empty
}

const events = "text/event-stream"

var runFields = []string{"assistant_id"}

// operations describes LangGraph's routes by their patterns. A test holds it against the table of routes.
var operations = map[string]operation{
	"POST /assistants":                                     {"assistants", "Create an assistant", nil, []string{"graph_id"}, ""},
	"POST /assistants/search":                              {"assistants", "Search assistants", nil, nil, ""},
	"POST /assistants/count":                               {"assistants", "Count assistants", nil, nil, ""},
	"GET /assistants/{assistant_id}":                       {"assistants", "Get an assistant, by id or by the name of its graph", nil, nil, ""},
	"PATCH /assistants/{assistant_id}":                     {"assistants", "Change an assistant, which makes a new version", nil, nil, ""},
	"DELETE /assistants/{assistant_id}":                    {"assistants", "Delete an assistant", []string{"delete_threads"}, nil, ""},
	"GET /assistants/{assistant_id}/graph":                 {"assistants", "Draw its graph", []string{"xray"}, nil, ""},
	"GET /assistants/{assistant_id}/schemas":               {"assistants", "Describe its input, output, state, configuration and context", nil, nil, ""},
	"GET /assistants/{assistant_id}/subgraphs":             {"assistants", "Describe its subgraphs", []string{"recurse"}, nil, ""},
	"GET /assistants/{assistant_id}/subgraphs/{namespace}": {"assistants", "Describe one of its subgraphs", []string{"recurse"}, nil, ""},
	"POST /assistants/{assistant_id}/versions":             {"assistants", "List its versions, newest first", nil, nil, ""},
	"POST /assistants/{assistant_id}/latest":               {"assistants", "Make a version the current one", nil, []string{"version"}, ""},

	"POST /threads":                                  {"threads", "Create a thread", nil, nil, ""},
	"POST /threads/search":                           {"threads", "Search threads", nil, nil, ""},
	"POST /threads/count":                            {"threads", "Count threads", nil, nil, ""},
	"POST /threads/prune":                            {"threads", "Delete threads, or all but their latest state", nil, []string{"thread_ids"}, ""},
	"GET /threads/{thread_id}":                       {"threads", "Get a thread", nil, nil, ""},
	"PATCH /threads/{thread_id}":                     {"threads", "Change a thread's metadata or time to live", nil, nil, ""},
	"DELETE /threads/{thread_id}":                    {"threads", "Delete a thread with all that is its", nil, nil, ""},
	"POST /threads/{thread_id}/copy":                 {"threads", "Copy a thread with its history", nil, nil, ""},
	"GET /threads/{thread_id}/state":                 {"threads", "Get its state", []string{"subgraphs"}, nil, ""},
	"GET /threads/{thread_id}/state/{checkpoint_id}": {"threads", "Get the state at a checkpoint", []string{"subgraphs"}, nil, ""},
	"POST /threads/{thread_id}/state/checkpoint":     {"threads", "Get the state at a checkpoint of any namespace", nil, []string{"checkpoint"}, ""},
	"POST /threads/{thread_id}/state":                {"threads", "Change the state, also as a node or from an older checkpoint", nil, nil, ""},
	"PATCH /threads/{thread_id}/state":               {"threads", "Change a thread's metadata", nil, nil, ""},
	"GET /threads/{thread_id}/history":               {"threads", "List checkpoints, newest first", []string{"limit", "before"}, nil, ""},
	"POST /threads/{thread_id}/history":              {"threads", "List checkpoints, newest first", nil, nil, ""},
	"GET /threads/{thread_id}/stream":                {"threads", "Follow all runs of a thread", nil, nil, events},

	"POST /threads/{thread_id}/runs":                 {"runs", "Start a run", nil, runFields, ""},
	"POST /threads/{thread_id}/runs/stream":          {"runs", "Start a run and follow it", nil, runFields, events},
	"POST /threads/{thread_id}/runs/wait":            {"runs", "Start a run and wait for its result", nil, runFields, ""},
	"GET /threads/{thread_id}/runs":                  {"runs", "List runs, newest first", []string{"limit", "offset", "status", "select"}, nil, ""},
	"GET /threads/{thread_id}/runs/{run_id}":         {"runs", "Get a run", nil, nil, ""},
	"DELETE /threads/{thread_id}/runs/{run_id}":      {"runs", "Delete a run with what it did", nil, nil, ""},
	"GET /threads/{thread_id}/runs/{run_id}/join":    {"runs", "Wait for the result of a run", []string{"cancel_on_disconnect"}, nil, ""},
	"GET /threads/{thread_id}/runs/{run_id}/stream":  {"runs", "Follow a run; the header Last-Event-ID says from where", []string{"cancel_on_disconnect", "stream_mode"}, nil, events},
	"POST /threads/{thread_id}/runs/{run_id}/cancel": {"runs", "Stop a run", []string{"wait", "action"}, nil, ""},

	"POST /runs":                 {"stateless runs", "Start a run on a thread of its own", nil, runFields, ""},
	"POST /runs/stream":          {"stateless runs", "Start a run on a thread of its own and follow it", nil, runFields, events},
	"POST /runs/wait":            {"stateless runs", "Start a run on a thread of its own and wait for its result", nil, runFields, ""},
	"POST /runs/batch":           {"stateless runs", "Start several", nil, nil, ""},
	"POST /runs/cancel":          {"runs", "Stop several runs", []string{"action"}, nil, ""},
	"GET /runs/{run_id}":         {"stateless runs", "Get a run", nil, nil, ""},
	"GET /runs/{run_id}/join":    {"stateless runs", "Wait for the result of a run", []string{"cancel_on_disconnect"}, nil, ""},
	"GET /runs/{run_id}/stream":  {"stateless runs", "Follow a run", []string{"cancel_on_disconnect", "stream_mode"}, nil, events},
	"POST /runs/{run_id}/cancel": {"stateless runs", "Stop a run", []string{"wait", "action"}, nil, ""},

	"POST /runs/crons":                     {"crons", "Start runs on a schedule, each on a thread of its own", nil, []string{"assistant_id", "schedule"}, ""},
	"POST /threads/{thread_id}/runs/crons": {"crons", "Start runs of a thread on a schedule", nil, []string{"assistant_id", "schedule"}, ""},
	"POST /runs/crons/search":              {"crons", "Search crons", nil, nil, ""},
	"POST /runs/crons/count":               {"crons", "Count crons", nil, nil, ""},
	"PATCH /runs/crons/{cron_id}":          {"crons", "Change a cron", nil, nil, ""},
	"DELETE /runs/crons/{cron_id}":         {"crons", "Delete a cron", nil, nil, ""},

	"PUT /store/items":         {"store", "Put an item", nil, []string{"namespace", "key", "value"}, ""},
	"GET /store/items":         {"store", "Get an item; null where there is none", []string{"namespace", "key", "refresh_ttl"}, nil, ""},
	"DELETE /store/items":      {"store", "Delete an item", nil, []string{"namespace", "key"}, ""},
	"POST /store/items/search": {"store", "Search items below a namespace", nil, nil, ""},
	"POST /store/namespaces":   {"store", "List namespaces", nil, nil, ""},

	"POST /threads/{thread_id}/commands":      {"protocol 2", "Start a run, answer a question, read the state", nil, []string{"id", "method"}, ""},
	"POST /threads/{thread_id}/stream/events": {"protocol 2", "Follow channels of a thread, from run to run", nil, []string{"channels"}, events},
	"GET /threads/{thread_id}/stream/events":  {"protocol 2", "The same over a WebSocket", nil, nil, "application/json"},
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// Document describes those of the routes that are LangGraph's.
func Document(patterns []string, version string) jsonvalue.Object {
	byPath := map[string]jsonvalue.Object{}
	var order []string
	for _, pattern := range patterns {
		op, ok := operations[pattern]
		if !ok {
			continue // another dialect's; its own page describes it
		}
		method, path, _ := strings.Cut(pattern, " ")
		if byPath[path] == nil {
			order = append(order, path)
		}
		byPath[path] = append(byPath[path], jsonvalue.Member{strings.ToLower(method), op.json(method, path)})
	}
	paths := jsonvalue.Object{}
	for _, path := range order {
		paths = append(paths, jsonvalue.Member{path, byPath[path]})
	}
	problem := jsonvalue.Object{{"type", "object"}, {"required", jsonvalue.List{"error", "detail"}}, {"properties", jsonvalue.Object{
		{"error", jsonvalue.Object{{"type", "string"}}}, {"detail", jsonvalue.Object{{"type", "string"}}},
		{"field", jsonvalue.Object{{"type", "string"}, {"description", "the member or parameter that is wrong"}}},
	}}}
	return jsonvalue.Object{
		{"openapi", "3.1.0"},
		{"info", jsonvalue.Object{{"title", "tributary"}, {"version", version}, {"description", "LangGraph's API; see docs/wire/langgraph.md"}}},
		{"paths", paths},
		{"components", jsonvalue.Object{{"schemas", jsonvalue.Object{{"Problem", problem}}}}},
	}
}

func (op operation) json(method, path string) jsonvalue.Object {
	parameters := jsonvalue.List{}
	for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
		parameters = append(parameters, jsonvalue.Object{{"name", m[1]}, {"in", "path"}, {"required", true}, {"schema", jsonvalue.Object{{"type", "string"}}}})
	}
	for _, name := range op.query {
		parameters = append(parameters, jsonvalue.Object{{"name", name}, {"in", "query"}, {"schema", jsonvalue.Object{{"type", "string"}}}})
	}
	media := op.answer
	if media == "" {
		media = "application/json"
	}
	o := jsonvalue.Object{{"tags", jsonvalue.List{op.tag}}, {"summary", op.summary}, {"operationId", operationID(method, path)}, {"parameters", parameters}}
	if method != http.MethodGet && (method != http.MethodDelete || len(op.required) > 0) {
		schema := jsonvalue.Object{{"type", "object"}}
		if len(op.required) > 0 {
			schema = append(schema, jsonvalue.Member{"required", op.required})
		}
		o = append(o, jsonvalue.Member{"requestBody", jsonvalue.Object{{"content", jsonvalue.Object{{"application/json", jsonvalue.Object{{"schema", schema}}}}}}})
	}
	refused := jsonvalue.Object{{"description", "a mistake of the caller's"}, {"content", jsonvalue.Object{{"application/json", jsonvalue.Object{
		{"schema", jsonvalue.Object{{"$ref", "#/components/schemas/Problem"}}},
	}}}}}
	return append(o, jsonvalue.Member{"responses", jsonvalue.Object{
		{"200", jsonvalue.Object{{"description", "done"}, {"content", jsonvalue.Object{{media, jsonvalue.Object{}}}}}}, {"4XX", refused},
	}})
}

func operationID(method, path string) string {
	parts := []string{strings.ToLower(method)}
	for p := range strings.SplitSeq(path, "/") {
		if p = strings.Trim(p, "{}"); p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, "_")
}

//go:embed docs.html
var page []byte

// Mount adds the document and a page that shows it. The document describes the routes that are there when it is asked for.
func Mount(t *edge.Routes, version string) {
	t.Open("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) error {
		return edge.Answer(w, http.StatusOK, Document(t.Patterns(), version))
	})
	t.Open("GET /docs", func(w http.ResponseWriter, _ *http.Request) error {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
		_, _ = w.Write(page) // a client that has gone needs no answer
		return nil
	})
}
