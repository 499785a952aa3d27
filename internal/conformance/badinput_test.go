package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
)

// TestMistakesAreAnsweredWithTheirField sends what clients should not. Everything is a 4xx with a JSON error that names the
// field, nothing is stored, and nothing is a 5xx, which clients would send again.
func TestMistakesAreAnsweredWithTheirField(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"chat","input":{"messages":"hi"}}`)
	s.want(204, "PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{"n":1}}`)
	runs := "/threads/" + thread + "/runs"
	const unknown = "11111111-2222-4333-8444-555555555555"
	before := s.stored()

	type mistake struct {
		method, path string
		body         any
		field        string // in the answer; "" where only the status counts
	}
	mistakes := []mistake{
		{"POST", "/threads", `{`, "body"},
		{"POST", "/threads", `[]`, "body"},
		{"POST", "/threads", `"x"`, "body"},
		{"POST", "/threads", `{"thread_id":5}`, "thread_id"},
		{"POST", "/threads", `{"thread_id":"a/b"}`, "thread_id"},
		{"POST", "/threads", `{"thread_id":"not a name"}`, "thread_id"},
		{"POST", "/threads", `{"metadata":[]}`, "metadata"},
		{"POST", "/threads", `{"metadata":"x"}`, "metadata"},
		{"POST", "/threads", `{"if_exists":"maybe"}`, "if_exists"},
		{"POST", "/threads", `{"ttl":{"ttl":-1}}`, "ttl"},
		{"POST", "/threads", `{"ttl":{"ttl":1,"strategy":"burn"}}`, "ttl.strategy"},
		{"POST", "/threads", `{"supersteps":[{"updates":[{"values":{}}]}]}`, "thread_id"},
		{"POST", "/threads", `{"metadata":{"graph_id":"chat"},"supersteps":[{"updates":[{"values":5}]}]}`, "supersteps.0.updates.0.values"},
		{"POST", "/threads", `{"metadata":{"graph_id":"chat"},"supersteps":[{"updates":[{"values":{},"as_node":"nowhere"}]}]}`, "as_node"},
		{"POST", "/threads", `{"metadata":{"big":"` + strings.Repeat("x", 20_000) + `"}}`, "metadata"},
		{"POST", "/threads", `{"metadata":{"nul":"\u0000"}}`, "body"},
		{"POST", "/threads", "{\"metadata\":{\"nul\":\"\x00\"}}", "body"},
		{"POST", "/threads", `{"metadata":{"half":"\ud800"}}`, "body"},
		{"POST", "/threads", `{"metadata":{"half":"\udc00 and"}}`, "body"},
		{"POST", "/threads", "{\"metadata\":{\"bytes\":\"\xff\xfe\"}}", "body"},
		{"POST", "/threads", `{"metadata":` + strings.Repeat(`{"a":`, 20_000) + `1` + strings.Repeat(`}`, 20_000) + `}`, "body"},
		{"POST", "/threads", `{"metadata":` + strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000) + `}`, "body"},
		{"POST", "/threads", manyKeys(100_000), "body"},
		{"POST", "/threads", `{"metadata":{"x":"` + strings.Repeat("x", 40<<20) + `"}}`, "body"},

		{"GET", "/threads/x%2Fy", nil, "thread_id"},
		{"GET", "/threads/%00", nil, "thread_id"},
		{"GET", "/threads/" + unknown, nil, ""},
		{"GET", "/threads/" + thread + "/state?subgraphs=perhaps", nil, "subgraphs"},
		{"GET", "/threads/" + thread + "/state/zzz", nil, "checkpoint_id"},
		{"GET", "/threads/" + thread + "/state/" + unknown, nil, ""},
		{"POST", "/threads/" + thread + "/state/checkpoint", `{}`, "checkpoint"},
		{"POST", "/threads/" + thread + "/state", `{"values":7}`, "values"},
		{"POST", "/threads/" + thread + "/state", `{"values":{"messages":[{"nonsense":true}]}}`, "values"},
		{"POST", "/threads/" + thread + "/state", `{"values":{},"as_node":"nowhere"}`, "as_node"},
		{"POST", "/threads/" + thread + "/state", `{"values":{},"checkpoint_id":"` + unknown + `"}`, ""},
		{"POST", "/threads/" + thread + "/state", `{"values":{},"checkpoint":{"checkpoint_ns":"no:where"}}`, "checkpoint.checkpoint_ns"},
		{"POST", "/threads/" + thread + "/history", `{"limit":0}`, "limit"},
		{"POST", "/threads/" + thread + "/history", `{"limit":100000}`, "limit"},
		{"POST", "/threads/" + thread + "/history", `{"before":5}`, "before"},
		{"POST", "/threads/" + thread + "/history", `{"before":"yesterday"}`, "before"},
		{"GET", "/threads/" + thread + "/history?limit=many", nil, "limit"},
		{"POST", "/threads/search", `{"status":"asleep"}`, "status"},
		{"POST", "/threads/search", `{"sort_by":"created_at; DROP TABLE threads"}`, "sort_by"},
		{"POST", "/threads/search", `{"sort_order":"sideways"}`, "sort_order"},
		{"POST", "/threads/search", `{"limit":-1}`, "limit"},
		{"POST", "/threads/search", `{"offset":-1}`, "offset"},
		{"POST", "/threads/search", `{"offset":1e30}`, "offset"},
		{"POST", "/threads/search", `{"ids":["x!"]}`, "ids.0"},
		{"POST", "/threads/search", `{"ids":"x"}`, "ids"},
		{"POST", "/threads/search", `{"select":["password"]}`, "select.0"},
		{"POST", "/threads/search", `{"extract":{"a":"values[["}}`, "extract.a"},
		{"POST", "/threads/prune", `{"thread_ids":["x!"]}`, "thread_ids.0"},
		{"POST", "/threads/prune", `{"thread_ids":[],"strategy":"burn"}`, "strategy"},

		{"POST", runs, `{}`, "assistant_id"},
		{"POST", runs, `{"assistant_id":5}`, "assistant_id"},
		{"POST", runs, `{"assistant_id":"no such graph"}`, ""},
		{"POST", runs, `{"assistant_id":"` + unknown + `"}`, ""},
		{"POST", "/threads/" + unknown + "/runs", `{"assistant_id":"chat","input":{}}`, ""},
		{"POST", runs, `{"assistant_id":"chat","stream_mode":["nonsense"]}`, "stream_mode"},
		{"POST", runs, `{"assistant_id":"chat","stream_mode":5}`, "stream_mode"},
		{"POST", runs, `{"assistant_id":"chat","multitask_strategy":"pray"}`, "multitask_strategy"},
		{"POST", runs, `{"assistant_id":"chat","on_disconnect":"cry"}`, "on_disconnect"},
		{"POST", runs, `{"assistant_id":"chat","if_not_exists":"perhaps"}`, "if_not_exists"},
		{"POST", runs, `{"assistant_id":"chat","durability":"eternal"}`, "durability"},
		{"POST", runs, `{"assistant_id":"chat","after_seconds":-1}`, "after_seconds"},
		{"POST", runs, `{"assistant_id":"chat","after_seconds":1e12}`, "after_seconds"},
		{"POST", runs, `{"assistant_id":"chat","config":[]}`, "config"},
		{"POST", runs, `{"assistant_id":"chat","config":{"configurable":5}}`, "config.configurable"},
		{"POST", runs, `{"assistant_id":"chat","config":{"recursion_limit":0}}`, "config.recursion_limit"},
		{"POST", runs, `{"assistant_id":"chat","config":{"tags":"x"}}`, "config.tags"},
		{"POST", runs, `{"assistant_id":"chat","context":[]}`, "context"},
		{"POST", runs, `{"assistant_id":"chat","command":[]}`, "command"},
		{"POST", runs, `{"assistant_id":"chat","command":{"goto":5}}`, "command"},
		{"POST", runs, `{"assistant_id":"chat","checkpoint_id":"x"}`, "checkpoint_id"},
		{"POST", runs, `{"assistant_id":"chat","checkpoint_id":"` + unknown + `"}`, "checkpoint_id"},
		{"POST", runs, `{"assistant_id":"chat","webhook":"file:///etc/passwd"}`, "webhook"},
		{"POST", runs, `{"assistant_id":"chat","webhook":"http://user:pass@host/"}`, "webhook"},
		{"POST", runs + "/stream", `{"assistant_id":"chat","interrupt_before":5}`, "interrupt_before"},
		{"POST", "/runs/batch", `{}`, "body"},
		{"POST", "/runs/batch", `[]`, "body"},
		{"POST", "/runs/batch", `[{"assistant_id":"chat"},{"assistant_id":"chat","after_seconds":-1}]`, "1.after_seconds"},
		{"POST", "/runs/cancel", `{}`, "run_ids"},
		{"POST", "/runs/cancel", `{"status":"tired"}`, "status"},
		{"POST", "/runs/cancel?action=explode", `{"status":"all"}`, "action"},
		{"GET", runs + "?status=tired", nil, "status"},
		{"GET", runs + "/x", nil, "run_id"},
		{"GET", runs + "/" + unknown, nil, ""},
		{"GET", runs + "/" + unknown + "/stream", nil, ""},
		{"GET", runs + "/" + unknown + "/join", nil, ""},
		{"POST", runs + "/" + unknown + "/cancel", nil, ""},
		{"DELETE", runs + "/" + unknown, nil, ""},

		{"POST", "/assistants", `{}`, "graph_id"},
		{"POST", "/assistants", `{"graph_id":"nowhere"}`, "graph_id"},
		{"POST", "/assistants", `{"graph_id":"chat","name":5}`, "name"},
		{"POST", "/assistants", `{"graph_id":"chat","assistant_id":"x"}`, "assistant_id"},
		{"POST", "/assistants", `{"graph_id":"chat","config":5}`, "config"},
		{"PATCH", "/assistants/chat", `{"name":"mine now"}`, ""},
		{"DELETE", "/assistants/chat", nil, ""},
		{"GET", "/assistants/a%00b", nil, ""},
		{"GET", "/assistants/chat/graph?xray=-3", nil, "xray"},
		{"POST", "/assistants/chat/versions", `{"limit":"x"}`, "limit"},
		{"POST", "/assistants/chat/latest", `{}`, "version"},

		{"PUT", "/store/items", `{"namespace":[],"key":"k","value":{}}`, "namespace"},
		{"PUT", "/store/items", `{"namespace":["a.b"],"key":"k","value":{}}`, "namespace.0"},
		{"PUT", "/store/items", `{"namespace":[""],"key":"k","value":{}}`, "namespace.0"},
		{"PUT", "/store/items", `{"namespace":["a"],"value":{}}`, "key"},
		{"PUT", "/store/items", `{"namespace":["a"],"key":"k","value":5}`, "value"},
		{"PUT", "/store/items", `{"namespace":["a"],"key":"k"}`, "value"},
		{"PUT", "/store/items", `{"namespace":["a"],"key":"k","value":{},"ttl":-5}`, "ttl"},
		{"POST", "/store/items/search", `{"filter":[]}`, "filter"},
		{"POST", "/store/items/search", `{"filter":{"n":{"$explode":1}}}`, "filter.n"},
		{"POST", "/store/namespaces", `{"max_depth":0}`, "max_depth"},

		{"POST", "/runs/crons", `{"assistant_id":"chat"}`, "schedule"},
		{"POST", "/runs/crons", `{"assistant_id":"chat","schedule":"when I say so"}`, "schedule"},
		{"POST", "/runs/crons", `{"assistant_id":"chat","schedule":"0 0 31 2 *"}`, "schedule"},
		{"POST", "/runs/crons", `{"assistant_id":"chat","schedule":"* * * * *","timezone":"Mars/Olympus"}`, "timezone"},
		{"POST", "/runs/crons", `{"schedule":"* * * * *"}`, "assistant_id"},
		{"POST", "/runs/crons", `{"assistant_id":"chat","schedule":"* * * * *","end_time":"soon"}`, ""},
		{"PATCH", "/runs/crons/" + unknown, `{}`, ""},

		{"POST", "/threads/" + thread + "/commands", `{"method":"run.start"}`, "id"},
		{"POST", "/threads/" + thread + "/commands", `{"id":1}`, "method"},
		{"POST", "/threads/" + thread + "/stream/events", `{"channels":"values"}`, "channels"},
		{"POST", "/threads/" + thread + "/stream/events", `{"channels":[]}`, "channels"},
		{"POST", "/threads/" + thread + "/stream/events", `{"channels":["nonsense"]}`, "channels"},
		{"POST", "/threads/" + thread + "/stream/events", `{"channels":["values"],"depth":-1}`, "depth"},
		{"POST", "/threads/" + thread + "/stream/events", `{"channels":["values"],"since":-1}`, "since"},
	}
	for i, m := range mistakes {
		label := m.method + " " + m.path
		if text, ok := m.body.(string); ok && len(text) < 80 {
			label += " " + text
		}
		t.Run(fmt.Sprintf("%d %s", i, label), func(t *testing.T) {
			res := s.call(m.method, m.path, m.body)
			if res.status < 400 || res.status > 499 {
				t.Fatalf("got %d: %.200s", res.status, res.body)
			}
			var told struct {
				Error  string `json:"error"`
				Detail string `json:"detail"`
				Field  string `json:"field"`
			}
			if err := json.Unmarshal(res.body, &told); err != nil || told.Error == "" || told.Detail == "" {
				t.Fatalf("not a JSON error: %.200s", res.body)
			}
			if m.field != "" && told.Field != m.field {
				t.Errorf("the field is %q, want %q: %s", told.Field, m.field, told.Detail)
			}
			if len(res.body) > 2048 {
				t.Errorf("an error of %d bytes", len(res.body))
			}
		})
	}
	if after := s.stored(); after != before {
		t.Errorf("something was stored: had %v, have %v", before, after)
	}
}

// stored counts what there is.
func (s *serving) stored() (n [5]int) {
	s.t.Helper()
	ctx := s.t.Context()
	threads, total, err := s.w.db.SearchThreads(ctx, server.Local, run.ThreadQuery{Limit: 1000})
	must(s.t, err)
	n[0] = total
	for _, th := range threads {
		runs, err := s.w.db.ThreadRuns(ctx, server.Local, th.ID, "", 1000, 0)
		must(s.t, err)
		n[1] += len(runs)
		states, err := s.w.db.List(ctx, th.ID, "", "", 1000)
		must(s.t, err)
		n[2] += len(states)
	}
	_, n[3], err = s.w.db.SearchAssistants(ctx, server.Local, run.AssistantQuery{})
	must(s.t, err)
	items, err := s.w.db.SearchItems(ctx, server.Local, run.ItemQuery{Limit: 1000})
	must(s.t, err)
	_, crons, err := s.w.db.SearchCrons(ctx, server.Local, run.CronQuery{})
	must(s.t, err)
	n[4] = len(items)*1000 + crons
	return n
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	b.WriteString(`{"metadata":{`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"k%d":1`, i)
	}
	b.WriteString(`}}`)
	return b.String()
}

// TestFiltersCompareAndNothingElse has keys that were ways into the databases of others (CVE-2025-67644, CVE-2025-8709).
func TestFiltersCompareAndNothingElse(t *testing.T) {
	s := start(t, options{})
	for i, metadata := range []string{`{"a":1}`, `{"it's":"odd"}`, `{"x') OR 1=1 --":true}`} {
		s.want(200, "POST", "/threads", fmt.Sprintf(`{"metadata":%s}`, metadata))
		s.want(204, "PUT", "/store/items", fmt.Sprintf(`{"namespace":["n"],"key":"k%d","value":%s}`, i, metadata))
	}
	for filter, want := range map[string]int{
		`{}`:                           3,
		`{"a":1}`:                      1,
		`{"a":"1"}`:                    0,
		`{"it's":"odd"}`:               1,
		`{"x') OR 1=1 --":true}`:       1,
		`{"x') OR 1=1 --":false}`:      0,
		`{"' OR '1'='1":"x"}`:          0,
		`{"a\"] || 1 || $[\"b":1}`:     0,
		`{"$.a":1}`:                    0,
		`{"a.b":1}`:                    0,
		`{"a":{"$ne":1,"b":"' OR 1"}}`: 0,
	} {
		res := s.call("POST", "/threads/search", `{"metadata":`+filter+`}`)
		var found []any
		if err := json.Unmarshal(res.body, &found); err != nil || len(found) != want {
			t.Errorf("threads by %s: %d %s", filter, res.status, res.body)
		}
		res = s.call("POST", "/store/items/search", `{"namespace_prefix":["n"],"filter":`+filter+`}`)
		var items struct{ Items []any }
		if err := json.Unmarshal(res.body, &items); err != nil || len(items.Items) != want {
			t.Errorf("items by %s: %d %s", filter, res.status, res.body)
		}
	}
}

// TestMemoryStaysFlatUnderLargeBodies sends 40 MB again and again.
func TestMemoryStaysFlatUnderLargeBodies(t *testing.T) {
	s := start(t, options{})
	body := []byte(`{"metadata":{"x":"` + strings.Repeat("x", 40<<20) + `"}}`)
	s.want(413, "POST", "/threads", body)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 5 {
		s.want(413, "POST", "/threads", body)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 16<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
}
