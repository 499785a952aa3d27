package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The thread of a stateless run is its own: nobody finds it, but those who were told its id. Whatever is begun, however it ends, and by
// whichever route: searches, counts and the search for words know the threads that somebody made or wanted kept, and
// no others.
func TestStatelessRunsLeaveNoThreadToBeFound(t *testing.T) {
	s := start(t, options{})
	const word = "hippopotamus"
	input := func(assistant, more string) string {
		return fmt.Sprintf(`{"assistant_id":%q,"input":{"messages":[{"type":"human","content":"%s","id":"human-1"}]}%s}`, assistant, word, more)
	}
	rapid.Check(t, func(t *rapid.T) {
		kept := threadsFound(s) // a history goes on where the one before ended
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			assistant := rapid.SampledFrom([]string{"chat", "failing", "approval", "custom"}).Draw(t, "assistant")
			route := rapid.SampledFrom([]string{"/runs", "/runs/wait", "/runs/stream", "/runs/batch", "/threads"}).Draw(t, "route")
			more := rapid.SampledFrom([]string{"", `,"on_completion":"delete"`, `,"on_completion":"keep"`}).Draw(t, "on completion")
			want := len(kept)
			switch body := input(assistant, more); route {
			case "/threads":
				s.thread()
				want++
			case "/runs/batch":
				s.want(200, "POST", route, "["+body+"]")
			default:
				s.want(200, "POST", route, body)
			}
			if route != "/threads" && strings.Contains(more, "keep") {
				want++
			}
			s.settle(s.t.Context())
			found := threadsFound(s)
			if len(found) != want || slices.ContainsFunc(kept, func(id string) bool { return !slices.Contains(found, id) }) {
				t.Fatalf("%s by %s%s: found %v, want %d with %v", assistant, route, more, found, want, kept)
			}
			kept = found
			if got := strings.TrimSpace(string(s.call("POST", "/threads/count", `{}`).body)); got != fmt.Sprint(len(kept)) {
				t.Fatalf("counted %s threads, want %d", got, len(kept))
			}
			for _, id := range idsIn(string(s.call("GET", "/threads/search-text?q="+word+"&limit=100", nil).body)) {
				if !slices.Contains(kept, id) {
					t.Fatalf("a search for words finds %s, which is nobody's", id)
				}
			}
		}
	})
}

// threadsFound are the ids of all threads that a search shows.
func threadsFound(s *serving) []string {
	s.t.Helper()
	var all []struct {
		ID string `json:"thread_id"`
	}
	if err := json.Unmarshal(s.call("POST", "/threads/search", `{"limit":1000}`).body, &all); err != nil {
		s.t.Fatal(err)
	}
	ids := []string{}
	for _, th := range all {
		ids = append(ids, th.ID)
	}
	return ids
}

// idsIn are the threads that an answer names.
func idsIn(body string) (ids []string) {
	var found struct {
		Matches []struct {
			ID string `json:"thread_id"`
		}
	}
	_ = json.Unmarshal([]byte(body), &found) // what is no list names nobody
	for _, m := range found.Matches {
		ids = append(ids, m.ID)
	}
	return ids
}
