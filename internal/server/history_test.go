package server_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestHistoryIsNewestFirstAndCanBeNarrowed(t *testing.T) {
	w := newTasks(t, allGraphs())
	thread := w.must(200, "POST", "/threads", `{}`).object(t)["thread_id"].(string)
	for i := range 3 {
		w.must(200, "POST", "/threads/"+thread+"/runs/wait",
			fmt.Sprintf(`{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]},"metadata":{"round":%d}}`, i))
	}
	history := func(body string) (ids []string) {
		t.Helper()
		var list []struct {
			Checkpoint struct {
				ID string `json:"checkpoint_id"`
			} `json:"checkpoint"`
		}
		if err := json.Unmarshal(w.must(200, "POST", "/threads/"+thread+"/history", body).body, &list); err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			ids = append(ids, c.Checkpoint.ID)
		}
		return ids
	}
	all := history(`{"limit":100}`)
	if len(all) < 6 || !slices.IsSortedFunc(all, func(a, b string) int { return strings.Compare(b, a) }) || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Fatalf("history is %q", all)
	}
	for _, c := range []struct {
		what, body string
		want       []string
	}{
		{"the newest", `{"limit":2}`, all[:2]},
		{"before one", `{"limit":2,"before":"` + all[1] + `"}`, all[2:4]},
		{"before one, as a config", `{"limit":2,"before":{"configurable":{"checkpoint_id":"` + all[1] + `"}}}`, all[2:4]},
		{"the one that is named", `{"checkpoint":{"checkpoint_id":"` + all[2] + `"}}`, all[2:3]},
		{"the one that is named, but too new", `{"checkpoint":{"checkpoint_id":"` + all[2] + `"},"before":"` + all[3] + `"}`, nil},
		{"one that is not there", `{"checkpoint":{"checkpoint_id":"00000000-0000-6000-8000-000000000000"}}`, nil},
		{"no such metadata", `{"metadata":{"round":7}}`, nil},
	} {
		if got := history(c.body); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	// Those of the first round are behind more others than one look into the store finds.
	first := history(`{"limit":100,"metadata":{"round":0}}`)
	if len(first) == 0 || !slices.Equal(first, all[len(all)-len(first):]) {
		t.Fatalf("of the first round: %q of %q", first, all)
	}
	if got := history(`{"limit":1,"metadata":{"round":0}}`); !slices.Equal(got, first[:1]) {
		t.Errorf("one of the first round: %q, want %q", got, first[:1])
	}
}
