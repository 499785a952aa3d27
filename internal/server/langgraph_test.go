package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

func TestEveryRouteOfLangGraphIsDescribed(t *testing.T) {
	s := &Server{mux: http.NewServeMux()}
	s.langgraphRoutes()
	s.protocol2Routes()
	known := map[string]bool{}
	for _, p := range s.patterns {
		known[p] = true
		if _, ok := operations[p]; !ok {
			t.Errorf("%s is not in the table of operations", p)
		}
	}
	for p := range operations {
		if !known[p] {
			t.Errorf("%s is described and does not exist", p)
		}
	}
	raw, err := json.Marshal(s.openAPI())
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if seen[op.OperationID] {
				t.Errorf("%s %s: the operation id %q is not unique", method, path, op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
	if len(seen) != len(operations) {
		t.Errorf("%d operations in the document, want %d", len(seen), len(operations))
	}
}

func TestHeadersBecomeConfigurableUnlessTheyAreSecret(t *testing.T) {
	h := http.Header{}
	for name, value := range map[string]string{
		"X-User-Group": "staff", "X-Api-Key": "k1", "X-Auth-Token": "k2", "X-Goog-Api-Key": "k3", "Authorization": "k4", "Cookie": "k5",
		"X-Session-Id": "k6", "X-Csrf-Token": "k7", "X-Tenant-Id": "k8", "X-Service-Key": "k9", "X-Mine": "header", "User-Agent": "k10",
		"X-Long": strings.Repeat("k", 2000),
	} {
		h.Set(name, value)
	}
	got, err := withHeaders(json.RawMessage(`{"configurable":{"x-mine":"body","color":"red"},"tags":["t"]}`), h)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"configurable":{"color":"red","x-mine":"body","x-user-group":"staff"},"tags":["t"]}`
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExtractFollowsPaths(t *testing.T) {
	o := object{{"values", json.RawMessage(`{"messages":[{"content":"first"},{"content":"last","tags":["a","b"]}]}`)}, {"status", "idle"}}
	for path, want := range map[string]string{
		"status":                      `"idle"`,
		"values.messages[-1].content": `"last"`,
		"values.messages[0].content":  `"first"`,
		"values.messages[1].tags[-2]": `"a"`,
		"values.messages[5].content":  `null`,
		"values.nothing.here":         `null`,
		"status[0]":                   `null`,
	} {
		paths, err := parsePaths(map[string]string{"x": path})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, err := extract(o, paths)
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(got["x"])
		if string(raw) != want {
			t.Errorf("%s: got %s, want %s", path, raw, want)
		}
	}
	for _, bad := range []string{"a[", "a]b", "a[x]", "[[0]]"} {
		if _, err := parsePaths(map[string]string{"x": bad}); err == nil {
			t.Errorf("%q was read as a path", bad)
		}
	}
}

func FuzzPaths(f *testing.F) {
	for _, s := range []string{"a.b[0]", "values.messages[-1].content", "[", "a..b", "a[99999999999]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		paths, err := parsePaths(map[string]string{"x": text})
		if err != nil {
			return
		}
		if _, err := extract(object{{"a", list{object{{"b", 1}}}}}, paths); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func TestStatusesAreLangGraphs(t *testing.T) {
	for status, want := range map[run.Status]string{
		run.Pending: "pending", run.Running: "running", run.Success: "success", run.Interrupted: "success", run.Cancelled: "interrupted",
		run.Failed: "error", run.TimedOut: "timeout",
	} {
		if got := statusWord(status); got != want {
			t.Errorf("%s is shown as %s, want %s", status, got, want)
		}
		back, err := statusesOf(want)
		if err != nil || len(back) == 0 {
			t.Errorf("%s cannot be asked for: %v", want, err)
		}
	}
	for err, want := range map[error]int{
		run.ErrNotFound: 404, run.ErrBusy: 409, run.ErrExists: 409, run.Invalidf("x", "y"): 422, journal.ErrLost: 410, run.ErrUnavailable: 503,
	} {
		if got, _ := statusOf(err); got != want {
			t.Errorf("%v is a %d, want %d", err, got, want)
		}
	}
}

func TestRemovedRunsKeepTheirNumbers(t *testing.T) {
	var g gaps
	at := func(s int) (when timeAt) { return timeAt(s) }
	g.add("t", at(10).time(), 5)
	g.add("t", at(10).time(), 3) // another reader saw less of it
	g.add("t", at(20).time(), 7)
	g.add("other", at(15).time(), 100)
	for _, c := range []struct {
		after, before int
		want          uint64
	}{{0, 30, 12}, {0, 15, 5}, {10, 30, 7}, {10, 20, 0}, {20, 30, 0}} {
		if got := g.between("t", at(c.after).time(), at(c.before).time()); got != c.want {
			t.Errorf("between %d and %d: got %d, want %d", c.after, c.before, got, c.want)
		}
	}
}
