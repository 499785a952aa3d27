package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
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

// Python's iterators end with completed or failed, and not with interrupted.
func TestACancelledRunEndsForThoseWhoFollowItsThread(t *testing.T) {
	s := start(t, options{})
	thread := s.thread()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	stream, err := s.open(ctx, "POST", "/threads/"+thread+"/stream/events", `{"channels":["lifecycle","messages"]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	started := s.want(200, "POST", "/threads/"+thread+"/commands", `{"id":1,"method":"run.start","params":{"assistant_id":"slow","input":{"n":2000,"delay_ms":5,"messages":[{"type":"human","content":"go"}]}}}`)
	id := started["result"].(map[string]any)["run_id"].(string)
	last := ""
	if err := frames(stream.Body, func(f frame) bool {
		if last == "" && strings.Contains(f.data, "content-block-delta") {
			last = "speaks"
			s.call("POST", "/threads/"+thread+"/runs/"+id+"/cancel", nil)
		}
		if f.name == "lifecycle" && last != "" {
			last = f.data
		}
		return f.name != "lifecycle" || last == ""
	}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(last, `"namespace":[]`) || !strings.Contains(last, `"event":"completed"`) {
		t.Errorf("the last life told is %s, want the root's, completed", last)
	}
	if got := s.want(200, "GET", "/threads/"+thread+"/runs/"+id, nil)["status"]; got != "interrupted" {
		t.Errorf("the run is %v, want interrupted", got)
	}
}

func TestTheDescriptionDeclaresHowToComeIn(t *testing.T) {
	s := start(t, options{})
	parts, _ := s.want(200, "GET", "/openapi.json", nil)["components"].(map[string]any)
	schemes, _ := parts["securitySchemes"].(map[string]any)
	if bearer, _ := schemes["bearer"].(map[string]any); bearer["type"] != "http" || bearer["scheme"] != "bearer" {
		t.Errorf("got %v, want a scheme bearer", schemes)
	}
}

// The graphs of Python's own suite: what a sub-agent says and calls is told in its namespace, the execution that called it.
func TestASubAgentsNamespaceIsItsCallersExecution(t *testing.T) {
	s := start(t, options{python: true})
	thread := s.thread()
	s.want(200, "POST", "/threads/"+thread+"/runs/wait", `{"assistant_id":"deep_agent",`+hello+`}`)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	stream, err := s.open(ctx, "POST", "/threads/"+thread+"/stream/events", `{"channels":["lifecycle","messages","tools","tasks"]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	var caller, below string
	var told []string
	if err := frames(stream.Body, func(f frame) bool {
		var e struct {
			Params struct {
				Namespace []string
				Data      struct {
					ID, Name, Event string
					Tool            string `json:"tool_name"`
					Graph           string `json:"graph_name"`
				}
			}
		}
		if err := json.Unmarshal([]byte(f.data), &e); err != nil {
			t.Error(err)
			return false
		}
		d, ns := e.Params.Data, strings.Join(e.Params.Namespace, "|")
		switch {
		case f.name == "tasks" && ns == "" && d.Name == "tools":
			caller = "tools:" + d.ID
		case f.name == "lifecycle" && d.Event == "started":
			below = ns
			told = append(told, "starts "+d.Graph)
		case f.name == "tools" && d.Event == "tool-started" && ns == "":
			told = append(told, "calls "+d.Tool)
		case f.name == "tools" && d.Event == "tool-started":
			told = append(told, ns+" calls "+d.Tool)
		case f.name == "messages" && d.Event == "message-start" && ns != "":
			told = append(told, ns+" speaks")
		}
		return f.name != "lifecycle" || ns != "" || d.Event == "running"
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"calls task", "starts task", caller + " speaks", caller + " calls notes", caller + " speaks"}
	if caller == "" || below != caller || !slices.Equal(told, want) {
		t.Errorf("called by %q, below %q; got %q\nwant %q", caller, below, told, want)
	}
	// Its state can be had there, as React's hook reads it after a reload.
	var history []struct {
		Values struct{ Messages []json.RawMessage }
	}
	body := `{"limit":1,"checkpoint":{"checkpoint_ns":"` + caller + `"}}`
	if err := json.Unmarshal(s.call("POST", "/threads/"+thread+"/history", body).body, &history); err != nil || len(history) != 1 || len(history[0].Values.Messages) != 4 {
		t.Errorf("its history is %v, %v; want 4 messages", history, err)
	}
}
