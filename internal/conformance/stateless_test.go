package main

import (
	"strings"
	"testing"
)

// The thread of a stateless run is its own: nobody finds it, but those who were told its id.
func TestStatelessRunsLeaveNoThreadToBeFound(t *testing.T) {
	s := start(t, options{})
	kept := s.thread()
	s.want(200, "POST", "/runs/wait", `{"assistant_id":"chat",`+hello+`}`)
	if got := strings.TrimSpace(string(s.call("POST", "/threads/count", `{}`).body)); got != "1" {
		t.Errorf("counted %s threads, want 1", got)
	}
	if got := string(s.call("POST", "/threads/search", `{"limit":10}`).body); strings.Count(got, `"thread_id"`) == 0 || !strings.Contains(got, kept) || strings.Contains(got, "chat") {
		t.Errorf("found %s, want %s alone", got, kept)
	}
	s.want(200, "POST", "/runs/wait", `{"assistant_id":"chat","on_completion":"keep",`+hello+`}`)
	if got := strings.TrimSpace(string(s.call("POST", "/threads/count", `{}`).body)); got != "2" {
		t.Errorf("counted %s threads with one that was to be kept, want 2", got)
	}
}
