// Package openapi describes the routes of all dialects as an OpenAPI document, from what stands beside each of them in the
// table of routes, and has a page for people that shows it.
package openapi

import (
	_ "embed" // of the page
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// document is a description in the making.
type document struct {
	schemas
	paths   map[string]jsonvalue.Object
	order   []string // of the paths
	sent    jsonvalue.Object
	refused map[int]bool // statuses that somebody refuses with
}

// ofRoutes describes the routes of a table.
func ofRoutes(t *edge.Routes, version string) jsonvalue.Object {
	d := document{
		schemas: schemas{types: map[string]reflect.Type{}}, paths: map[string]jsonvalue.Object{}, sent: jsonvalue.Object{}, refused: map[int]bool{},
	}
	tags := jsonvalue.List{}
	for _, s := range t.Sections() {
		tags = append(tags, jsonvalue.Object{{"name", s.Name}, {"description", s.About}})
		for _, r := range s.Routes {
			d.add(s.Name, r)
		}
	}
	paths := jsonvalue.Object{}
	for _, path := range d.order {
		paths = append(paths, jsonvalue.Member{path, d.paths[path]})
	}
	problem := content("application/json", d.answer(edge.Problem{}))
	refusals := jsonvalue.Object{}
	for _, status := range slices.Sorted(maps.Keys(d.refused)) {
		refusals = append(refusals, jsonvalue.Member{strconv.Itoa(status), jsonvalue.Object{{"description", refusal[status]}, {"content", problem}}})
	}
	o := jsonvalue.Object{{"openapi", "3.1.0"}, {"info", jsonvalue.Object{{"title", "tributary"}, {"version", version}}}}
	if below := t.Path(""); below != "" {
		o = append(o, jsonvalue.Member{"servers", jsonvalue.List{jsonvalue.Object{{"url", below}}}})
	}
	return append(o, jsonvalue.Object{
		{"tags", tags},
		{"paths", paths},
		{"webhooks", d.sent},
		{"components", jsonvalue.Object{{"schemas", d.named}, {"responses", refusals}, {"securitySchemes", keys}}},
		{"security", jsonvalue.List{jsonvalue.Object{{"key", jsonvalue.List{}}}, jsonvalue.Object{{"bearer", jsonvalue.List{}}}, jsonvalue.Object{}}},
	}...)
}

// keys are the ways to say who asks. A server for this machine alone may want none.
var keys = jsonvalue.Object{
	{"key", jsonvalue.Object{{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}},
	{"bearer", jsonvalue.Object{{"type", "http"}, {"scheme", "bearer"}}},
}

// refusal says what the statuses mean here.
var refusal = map[int]string{
	http.StatusBadRequest:            "what was sent cannot be read",
	http.StatusUnauthorized:          "it is not known who asks",
	http.StatusForbidden:             "it may be used, and not changed",
	http.StatusNotFound:              "there is no such thing, or it is somebody else's",
	http.StatusMethodNotAllowed:      "it is spoken with another method",
	http.StatusNotAcceptable:         "answers come as JSON or as a stream, and both must be taken",
	http.StatusConflict:              "not now, or no more",
	http.StatusGone:                  "a position that is not in the log",
	http.StatusRequestEntityTooLarge: "a body that is too large",
	http.StatusUnsupportedMediaType:  "a body that is not JSON",
	http.StatusUnprocessableEntity:   "a value that cannot be; field names it",
	http.StatusUpgradeRequired:       "it is a WebSocket",
}

func (d *document) add(tag string, r edge.Route) {
	if r.Sent {
		d.sent = append(d.sent, jsonvalue.Member{r.Pattern, jsonvalue.Object{{"post", jsonvalue.Object{
			{"tags", jsonvalue.List{tag}}, {"summary", r.Summary}, {"operationId", r.Pattern},
			{"requestBody", jsonvalue.Object{{"required", true}, {"content", content("application/json", d.answer(r.Body))}}},
			{"responses", jsonvalue.Object{{"2XX", jsonvalue.Object{{"description", "it has arrived; anything else is tried again"}}}}},
		}}}})
		return
	}
	method, path, _ := strings.Cut(r.Pattern, " ")
	path = strings.TrimSuffix(path, "{$}")
	parameters := d.parameters(method, path, r.Doc)
	o := jsonvalue.Object{{"tags", jsonvalue.List{tag}}, {"summary", r.Summary}, {"operationId", operationID(method, path)}, {"parameters", parameters}}
	if r.Body != nil {
		d.partial = method == http.MethodPatch
		o = append(o, jsonvalue.Member{"requestBody", jsonvalue.Object{{"content", content("application/json", d.of(r.Body))}}})
		d.partial = false
	}
	if r.Open {
		o = append(o, jsonvalue.Member{"security", jsonvalue.List{}})
	}
	if d.paths[path] == nil {
		d.order = append(d.order, path)
	}
	o = append(o, jsonvalue.Member{"responses", d.responses(r, strings.Contains(path, "{"), len(parameters) > 0)})
	d.paths[path] = append(d.paths[path], jsonvalue.Member{strings.ToLower(method), o})
}

// answer is the schema of what we write.
func (d *document) answer(v any) jsonvalue.Object {
	d.answers = true
	defer func() { d.answers = false }()
	return d.of(v)
}

var pathParameter = regexp.MustCompile(`\{(\w+)\}`)

// uuids are the parameters of paths that are ids of ours. A graph's name stands for its assistant, a task's id may be a
// provider's, and a thread's whatever its maker chose.
var uuids = []string{"run_id", "cron_id", "checkpoint_id"}

func (d *document) parameters(method, path string, doc edge.Doc) jsonvalue.List {
	all := jsonvalue.List{}
	for _, m := range pathParameter.FindAllStringSubmatch(path, -1) {
		schema := typed("string")
		if slices.Contains(uuids, m[1]) {
			schema = append(schema, jsonvalue.Member{"format", "uuid"})
		}
		all = append(all, jsonvalue.Object{{"name", m[1]}, {"in", "path"}, {"required", true}, {"schema", schema}})
	}
	for _, q := range doc.Query {
		all = append(all, jsonvalue.Object{{"name", q.Name}, {"in", "query"}, {"schema", d.of(q.Value)}})
	}
	if doc.Stream && method == http.MethodGet {
		all = append(all, jsonvalue.Object{
			{"name", "Last-Event-ID"}, {"in", "header"}, {"schema", typed("string")}, {"description", "go on after this event; -1 for all that there is"},
		})
	}
	return all
}

func (d *document) responses(r edge.Route, named, asked bool) jsonvalue.Object {
	all := jsonvalue.Object{}
	statuses := r.Status
	if statuses == nil {
		statuses = []int{http.StatusOK}
	}
	for _, status := range statuses {
		o := jsonvalue.Object{{"description", http.StatusText(status)}}
		media := jsonvalue.Object{}
		if r.Answer != nil && status != http.StatusNoContent {
			media = append(media, content("application/json", d.answer(r.Answer))...)
		}
		if r.Stream && status == http.StatusOK {
			media = append(media, content("text/event-stream", typed("string"))...)
		}
		if len(media) > 0 {
			o = append(o, jsonvalue.Member{"content", media})
		}
		all = append(all, jsonvalue.Member{strconv.Itoa(status), o})
	}
	fails := slices.Clone(r.Fails)
	if !r.Open {
		fails = append(fails, http.StatusUnauthorized)
	}
	if named {
		fails = append(fails, http.StatusNotFound)
	}
	if asked || r.Body != nil {
		fails = append(fails, http.StatusUnprocessableEntity)
	}
	if r.Body != nil {
		fails = append(fails, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	slices.Sort(fails)
	for _, status := range slices.Compact(fails) {
		d.refused[status] = true
		text := strconv.Itoa(status)
		all = append(all, jsonvalue.Member{text, jsonvalue.Object{{"$ref", "#/components/responses/" + text}}})
	}
	return all
}

func content(media string, schema jsonvalue.Object) jsonvalue.Object {
	return jsonvalue.Object{{media, jsonvalue.Object{{"schema", schema}}}}
}

// operationID names a route by its method and path: get_threads_thread_id.
func operationID(method, path string) string {
	words := strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune("/{}.-", r) })
	return strings.Join(append([]string{strings.ToLower(method)}, words...), "_")
}

//go:embed docs.html
var page []byte

// Mount adds the document, a page that shows it, and what there is at the root, where browsers get what home serves, or are sent
// to the page that shows the document where it is nil. The document describes the routes that are there when it is first asked for.
func Mount(t *edge.Routes, version string, home http.HandlerFunc) {
	if home == nil {
		home = func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, t.Path("/docs"), http.StatusSeeOther)
		}
	}
	whole := sync.OnceValues(func() (json.RawMessage, error) { return json.Marshal(ofRoutes(t, version)) })
	t.Open("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) error {
		text, err := whole()
		if err != nil {
			return err
		}
		return edge.Answer(w, http.StatusOK, text)
	}, edge.Doc{Summary: "This description", Answer: map[string]any{}})
	t.Open("GET /docs", func(w http.ResponseWriter, _ *http.Request) error {
		h := w.Header()
		h.Set("Content-Type", "text/html; charset=utf-8")
		h.Set("Content-Security-Policy", "default-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
		_, _ = w.Write(page) // a client that has gone needs no answer
		return nil
	}, edge.Doc{Summary: "This description, for people"})
	index := jsonvalue.Object{{"name", "tributary"}, {"version", version}, {"docs", t.Path("/docs")}, {"openapi", t.Path("/openapi.json")}, {"tasks", t.Path("/tasks")}}
	t.Open("GET /{$}", func(w http.ResponseWriter, r *http.Request) error {
		w.Header().Add("Vary", "Accept")
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			home(w, r)
			return nil
		}
		return edge.Answer(w, http.StatusOK, index)
	}, edge.Doc{Summary: "Where to begin; browsers get the page", Answer: index})
}
