package faults_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to look at what is stored

	library "github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/documents"
	"github.com/tributary-ai/tributary/internal/server/models"
	"github.com/tributary-ai/tributary/internal/server/tools"
	"github.com/tributary-ai/tributary/internal/skill"
)

// TestBadInput says everything wrong that it can think of to every route of the real program, and to its sockets. Each time the answer is
// a 4xx in JSON that names the field, tells nothing of the inside, and nothing is stored; afterwards the program holds no more than before.
func TestBadInput(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	patterns := serverRoutes(t)
	for _, p := range patterns {
		if _, ok := badRoutes[p]; !ok {
			t.Errorf("nobody says anything wrong to %s; add it to badroutes_test.go", p)
		}
	}
	for p := range badRoutes {
		if !slices.Contains(patterns, p) {
			t.Errorf("there is no route %s any more", p)
		}
	}
	w := newReal(t, startProvider(t), nil, "")
	names := w.furnish(ctx)
	var all []bad
	for _, p := range slices.Sorted(maps.Keys(badRoutes)) {
		all = append(all, corpus(p, badRoutes[p], names)...)
	}
	all = append(all, otherMethods(patterns, names)...)
	before, held := w.stored(), w.mustHold(ctx)

	lap := time.Now()
	done := func(what string) { t.Logf("%s: %v", what, time.Since(lap).Round(time.Millisecond)); lap = time.Now() }
	w.sayAll(ctx, all)
	done("requests")
	w.sockets(ctx, names)
	done("sockets")
	first := w.mustHold(ctx)
	w.sayAll(ctx, weights(names))
	done("too deep and too many")
	w.sayHuge(ctx, names)
	done("too large")

	if after := w.stored(); after != before {
		t.Errorf("something was stored: before\n%s\nafter\n%s", before, after)
	}
	for until := time.Now().Add(5 * time.Second); ; {
		w.host.client.CloseIdleConnections()
		now := w.mustHold(ctx)
		if now.files <= held.files+8 && now.rss <= first.rss+64<<20 {
			t.Logf("%d requests; before: %v; after: %v", len(all), held, now)
			break
		}
		if time.Now().After(until) {
			t.Errorf("held before: %v; after all but what is too large: %v; in the end: %v", held, first, now)
			break
		}
		wait(ctx, 50*time.Millisecond)
	}
	if log := w.host.log.String(); strings.Contains(log, "panicked") || strings.Contains(log, "level=ERROR") {
		t.Errorf("the log tells of errors")
	}
}

// serverRoutes asks a server for its routes.
func serverRoutes(t *testing.T) []string {
	t.Helper()
	rt, err := library.Open(t.Context(), library.Options{Dir: t.TempDir(), Memory: &library.Memory{}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	parts := door.Open(rt)
	s, err := server.New(server.Options{Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs,
		Models:    []models.Model{{Name: "offline"}},
		Tools:     &tools.Box{Servers: []tools.Server{{Name: "notes", Type: "stdio"}}},
		Documents: func(context.Context, string, int) (documents.Found, error) { return documents.Found{}, nil },
		Agents:    custom.New(t.TempDir()), Skills: skill.New(t.TempDir()), Memory: parts.Memory})
	if err != nil {
		t.Fatal(err)
	}
	return s.Routes()
}

// furnish makes one thing of each kind, and returns their names by the parameters of paths.
func (w *world) furnish(ctx context.Context) map[string]string {
	w.t.Helper()
	make := func(path, body, id string) string {
		code, data, _, err := w.host.call(ctx, "POST", path, body)
		var got map[string]json.RawMessage
		var name string
		if err != nil || code != http.StatusOK || json.Unmarshal(data, &got) != nil || json.Unmarshal(got[id], &name) != nil {
			w.t.Fatalf("POST %s: %d %v %s", path, code, err, data)
		}
		return name
	}
	names := map[string]string{"namespace": "tools", "server_name": "nobody"}
	names["assistant_id"] = make("/assistants", `{"graph_id":"agent"}`, "assistant_id")
	names["thread_id"] = make("/threads", `{"metadata":{"a":1}}`, "thread_id")
	if code, data, _, err := w.host.call(ctx, "POST", "/agents", `{"name":"someone"}`); err != nil || code != http.StatusCreated {
		w.t.Fatalf("POST /agents: %d %v %s", code, err, data)
	}
	names["agent_name"] = "someone"
	code, data, _, err := w.host.call(ctx, "POST", "/memory/facts", `{"content":"likes tea"}`)
	var memory struct{ Facts []struct{ ID string } }
	if err != nil || code != http.StatusOK || json.Unmarshal(data, &memory) != nil || len(memory.Facts) != 1 {
		w.t.Fatalf("POST /memory/facts: %d %v %s", code, err, data)
	}
	names["fact_id"] = memory.Facts[0].ID
	if code, data, _, err := w.host.call(ctx, "PUT", "/skills/custom/know", knowledge); err != nil || code != http.StatusOK {
		w.t.Fatalf("PUT /skills/custom/know: %d %v %s", code, err, data)
	}
	names["skill_name"] = "know"
	names["cron_id"] = make("/runs/crons", cron, "cron_id")
	names["id"] = make("/tasks", `{"input":"hello"}`, "task_id")
	names["run"] = names["id"] // a run may be read as that of a team, whatever its graph is
	names["run_id"] = make("/threads/"+names["thread_id"]+"/runs", run, "run_id")
	if code, data, _, err := w.host.call(ctx, "GET", "/threads/"+names["thread_id"]+"/runs/"+names["run_id"]+"/join", ""); err != nil || code != http.StatusOK {
		w.t.Fatalf("join: %d %v %s", code, err, data)
	}
	code, data, _, err = w.host.call(ctx, "GET", "/threads/"+names["thread_id"]+"/state", "")
	var state struct {
		Checkpoint struct{ Checkpoint_ID string }
	}
	if err != nil || code != http.StatusOK || json.Unmarshal(data, &state) != nil || state.Checkpoint.Checkpoint_ID == "" {
		w.t.Fatalf("state: %d %v %s", code, err, data)
	}
	names["checkpoint_id"] = state.Checkpoint.Checkpoint_ID
	if code, data, _, err := w.host.call(ctx, "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"a":1}}`); err != nil || code >= 300 {
		w.t.Fatalf("put: %d %v %s", code, err, data)
	}
	w.allEnded(ctx)
	return names
}

// stored is a digest of every table.
func (w *world) stored() string {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.data, "tributary.db")+"?mode=ro")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	var out strings.Builder
	for _, table := range w.column(db, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
		rows := w.column(db, fmt.Sprintf("SELECT * FROM %q", table))
		slices.Sort(rows)
		fmt.Fprintf(&out, "%s: %d rows, %.8x\n", table, len(rows), sha256.Sum256([]byte(strings.Join(rows, "\n"))))
	}
	return out.String()
}

// column reads rows, each as one text.
func (w *world) column(db *sql.DB, query string) (all []string) {
	w.t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		w.t.Fatal(err)
	}
	values, places := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			w.t.Fatal(err)
		}
		if len(values) == 1 {
			all = append(all, fmt.Sprint(values[0]))
		} else {
			all = append(all, fmt.Sprintf("%q", values))
		}
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return all
}

// otherMethods are those that no route of a path has.
func otherMethods(patterns []string, names map[string]string) (all []bad) {
	has := map[string][]string{}
	for _, p := range patterns {
		method, path, _ := strings.Cut(p, " ")
		path = pathParameter.ReplaceAllStringFunc(path, func(p string) string { return names[strings.Trim(p, "{}")] })
		has[path] = append(has[path], method)
	}
	for path, methods := range has {
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"} {
			if !slices.Contains(methods, m) {
				all = append(all, bad{route: m + " " + path, method: m, path: path})
			}
		}
	}
	for _, path := range []string{"/", "/threads/", "/tasks/%2e%2e/ok", "/nothing", "/threads/" + strings.Repeat("a/", 500)} {
		all = append(all, bad{route: "DELETE " + path, method: "DELETE", path: path})
	}
	return all
}

// weights are bodies of too much, for every route that reads one.
func weights(names map[string]string) (all []bad) {
	bodies := heavy()
	for pattern, r := range badRoutes {
		if r.good == "" {
			continue
		}
		method, path, _ := strings.Cut(pattern, " ")
		path = pathParameter.ReplaceAllStringFunc(path, func(p string) string { return names[strings.Trim(p, "{}")] })
		for _, body := range bodies {
			all = append(all, bad{route: pattern, method: method, path: path, body: body, field: "body"})
		}
	}
	return all
}

// sayAll says everything, a few at a time, and reports at most a few things per route.
func (w *world) sayAll(ctx context.Context, all []bad) {
	w.t.Helper()
	next := make(chan bad)
	var wg sync.WaitGroup
	var mu sync.Mutex
	told := map[string]int{}
	for range 4 {
		wg.Go(func() {
			for b := range next {
				problem := w.say(ctx, b)
				if problem == "" {
					continue
				}
				mu.Lock()
				if told[b.route]++; told[b.route] <= 6 {
					w.t.Errorf("%s: %s", b, problem)
				}
				mu.Unlock()
			}
		})
	}
	for _, b := range all {
		next <- b
	}
	close(next)
	wg.Wait()
}

// say makes a bad request and tells what is wrong with the answer.
func (w *world) say(ctx context.Context, b bad) (problem string) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, b.method, w.host.base(), strings.NewReader(b.body))
	if err != nil {
		return err.Error()
	}
	path, query, _ := strings.Cut(b.path, "?")
	req.URL.Opaque, req.URL.RawQuery = path, query // as it is written, right or wrong
	if b.body == "" {
		req.Body = http.NoBody
	} else {
		req.Header.Set("Content-Type", "application/json")
	}
	if b.contentType != "" {
		req.Header.Set("Content-Type", b.contentType)
	}
	if b.header[0] != "" {
		req.Header.Set(b.header[0], b.header[1])
	}
	res, err := w.host.client.Transport.RoundTrip(req)
	if err != nil {
		return "no answer: " + err.Error()
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return fmt.Sprintf("%d, and then %v", res.StatusCode, err)
	}
	return judgeAnswer(b, res, data)
}

// inside are words of the inside, which are nobody else's business.
var inside = regexp.MustCompile(`/(tmp|work|root|home)/|\.go\b|goroutine |runtime\.|runtime error|\bsql\b|SQL|SELECT |UPDATE |no such (table|column)|constraint|Go (struct|value)|json: |invalid character|` +
	`unmarshal|github\.com|map\[|interface \{\}|\[\]string|\*\w+\.\w+|strconv|uuid:|invalid UUID|tributary\.db|context (deadline|canceled)|nil pointer|<nil>|%!`)

func judgeAnswer(b bad, res *http.Response, data []byte) (problem string) {
	if leak := inside.Find(data); leak != nil {
		return fmt.Sprintf("it tells of its inside, %q: %d %.300s", leak, res.StatusCode, data)
	}
	answer := fmt.Sprintf("answered %d %.300s", res.StatusCode, data)
	if b.harmless && res.StatusCode == http.StatusOK {
		if !json.Valid(data) {
			return answer + ", which is not JSON"
		}
		return ""
	}
	var p struct{ Type, Error, Message, Detail, Field string }
	if err := json.Unmarshal(data, &p); err != nil || res.Header.Get("Content-Type") != "application/json" {
		return answer + ", which is no error in JSON"
	}
	if b.answers && res.StatusCode == http.StatusOK && p.Type == "error" && p.Message != "" {
		return ""
	}
	switch {
	case res.StatusCode < 400 || res.StatusCode > 499:
		return answer
	case p.Error == "" || p.Detail == "":
		return answer + ", which says nothing"
	case b.field == "":
		return ""
	case !strings.HasPrefix(p.Field, b.field):
		return fmt.Sprintf("%s, which should name %s", answer, b.field)
	case !strings.Contains(p.Detail, p.Field):
		return answer + ", whose text does not name the field"
	}
	return ""
}

// sayHuge sends a body of 40 MB, with and without saying so before, to every route that reads one, and a header of a megabyte.
func (w *world) sayHuge(ctx context.Context, names map[string]string) {
	w.t.Helper()
	block := bytes.Repeat([]byte("x"), 1<<20)
	for _, b := range weights(names) {
		if b.body != strings.Repeat("[", deep) { // once for each route
			continue
		}
		for _, length := range []int64{huge, -1} {
			parts := []io.Reader{strings.NewReader(`{"metadata":{"a":"`)}
			for range huge >> 20 {
				parts = append(parts, bytes.NewReader(block))
			}
			req, err := http.NewRequestWithContext(ctx, b.method, w.host.base()+b.path, io.MultiReader(parts...))
			if err != nil {
				w.t.Fatal(err)
			}
			req.ContentLength = length
			req.Header.Set("Content-Type", "application/json")
			res, err := w.host.client.Do(req)
			if err != nil {
				if strings.Contains(err.Error(), "reset by peer") || strings.Contains(err.Error(), "broken pipe") {
					continue // refused before all was sent, which a client may see as this
				}
				w.t.Errorf("%s with 40 MB: %v", b.route, err)
				continue
			}
			data, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if problem := judgeAnswer(b, res, data); problem != "" || res.StatusCode != http.StatusRequestEntityTooLarge {
				w.t.Errorf("%s with 40 MB: %d %s", b.route, res.StatusCode, problem)
			}
		}
	}
	// Headers are refused before there is a request to answer, by net/http and in its words.
	req, err := http.NewRequestWithContext(ctx, "GET", w.host.base()+"/tasks", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("X-Huge", string(block))
	res, err := w.host.client.Do(req)
	if err != nil {
		if !strings.Contains(err.Error(), "reset by peer") && !strings.Contains(err.Error(), "broken pipe") {
			w.t.Errorf("a header of 1 MB: %v", err)
		}
		return
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		w.t.Errorf("a header of 1 MB is answered with %s", res.Status)
	}
}
