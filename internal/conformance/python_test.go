package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// What Python's clients rely on and JavaScript's do not; see also the reader of messages in package story.

func TestWaitTellsTheValuesBesideWhatIsAsked(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	asked := s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"approval",`+hello+`}`)
	if asked["__interrupt__"] == nil || asked["messages"] == nil {
		t.Fatalf("got %v, want messages and __interrupt__", asked)
	}
	// The same question, answered; and answered again, when nobody asks any more.
	done := s.call("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"approval","command":{"resume":true}}`)
	again := s.call("POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"approval","command":{"resume":true}}`)
	if again.status != 200 || strings.TrimSpace(string(again.body)) != strings.TrimSpace(string(done.body)) {
		t.Errorf("a late answer: got %d %s, want the state, %s", again.status, again.body, done.body)
	}
}

func TestThreadsMayHaveNames(t *testing.T) {
	s := start(t, options{})
	const name = "Case_7-of-Ada"
	if got := s.want(200, "POST", "/threads", `{"thread_id":"`+name+`"}`)["thread_id"]; got != name {
		t.Fatalf("got %v, want %s", got, name)
	}
	s.want(200, "POST", "/threads/"+name+"/runs/wait?stream_mode=&limit=", `{"assistant_id":"chat",`+hello+`}`)
	s.want(200, "GET", "/threads/"+name+"/state?subgraphs=&checkpoint_ns=", nil)
	var runs []struct {
		Thread string `json:"thread_id"`
		ID     string `json:"run_id"`
	}
	if err := json.Unmarshal(s.call("GET", "/threads/"+name+"/runs?status=&select=&limit=&offset=", nil).body, &runs); err != nil || len(runs) != 1 || runs[0].Thread != name {
		t.Fatalf("got %v (%v), want one run of the thread", runs, err)
	}
	stream := s.call("GET", "/threads/"+name+"/runs/"+runs[0].ID+"/stream?stream_mode=&cancel_on_disconnect=", nil, "Last-Event-ID", "-1")
	if stream.status != 200 || !strings.Contains(string(stream.body), "event: values") {
		t.Errorf("joined with an empty stream_mode: got %d %s", stream.status, stream.body)
	}
	answer := s.want(200, "POST", "/threads/"+name+"/commands", `{"id":1,"method":"agent.getTree"}`)
	tree := answer["result"].(map[string]any)["tree"].(map[string]any)
	if tree["graph_name"] != "chat" || tree["children"] != nil || tree["status"] != "completed" {
		t.Errorf("tree: got %v, want the graph and nothing below", tree)
	}
	for _, bad := range []string{"", "a b", "a/b", "a.b", strings.Repeat("a", 65)} {
		if res := s.call("POST", "/threads", map[string]string{"thread_id": bad}); bad != "" && res.status != 422 {
			t.Errorf("thread id %q: got %d, want 422", bad, res.status)
		}
	}
}

func TestATreeHasSubgraphs(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"subgraph",`+hello+`}`)
	answer := s.want(200, "POST", "/threads/"+thread+"/commands", `{"id":1,"method":"agent.getTree"}`)
	tree := answer["result"].(map[string]any)["tree"].(map[string]any)
	children, _ := tree["children"].([]any)
	if len(children) != 1 {
		t.Fatalf("got %v, want one subgraph", tree)
	}
	child := children[0].(map[string]any)
	if child["status"] != "completed" || child["children"] != nil {
		t.Errorf("got %v, want a completed graph without nodes", child)
	}
}
