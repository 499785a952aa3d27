package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// The graph behind wire/langgraph/stream-subgraph-on.
func researchGraph(opts ...graph.NodeOption) *graph.Graph {
	research := graph.New("research", messages, topic, notes)
	research.Node("search", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(notes.Add("found 3 pages on " + topic.Get(s))), nil
	})
	research.Node("summarize", does(graph.Update(messages.Add(item.AssistantText("m1", "Rivers gather.")), notes.Add("summary written"))))
	research.Chain(graph.Start, "search", "summarize", graph.End)

	g := graph.New("subgraph", messages, topic, notes)
	g.Node("plan", does(graph.Update(topic.Set("rivers"), notes.Add("planned"))))
	g.Subgraph("research", research, opts...)
	g.Node("write", does(graph.Update(messages.Add(item.AssistantText("m2", "In short.")))))
	return g.Chain(graph.Start, "plan", "research", "write", graph.End)
}

func namespaces(s *story) []string {
	var out []string
	seen := map[string]bool{}
	for _, ev := range s.mem.Events() {
		if ev.NS != "" && !seen[ev.NS] {
			seen[ev.NS] = true
			out = append(out, ev.NS)
		}
	}
	return out
}

func TestSubgraphHasItsOwnCheckpoints(t *testing.T) {
	s := begin(t, researchGraph())
	r := s.input(`{"messages":[{"type":"human","content":"hello","id":"h"}]}`)
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop plan", "1 loop research", "2 loop write", "3 loop"})
	ns := namespaces(s)
	if len(ns) != 1 || ns[0] != "research:"+s.snapshots("")[2].Next[0].ID {
		t.Fatalf("namespaces: %v", ns)
	}
	equal(t, "history below", s.history(ns[0]), []string{"-1 input __start__", "0 loop search", "1 loop summarize", "2 loop"})
	// What LangGraph does: the subgraph hands its whole lists up, and the reducers of the graph above merge them.
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"planned", "planned", "found 3 pages on rivers", "summary written"})
	var msgs []item.Message
	if err := json.Unmarshal(r.Values["messages"], &msgs); err != nil || len(msgs) != 3 {
		t.Errorf("messages: %v %v", msgs, err)
	}
}

func TestOnlyNewElementsComeUp(t *testing.T) {
	r := begin(t, researchGraph(graph.OnlyNew)).input(`{"messages":"hello"}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"planned", "found 3 pages on rivers", "summary written"})
}

func TestInterruptsBelowSubgraphs(t *testing.T) {
	runs := &counter{}
	deep := graph.New("deep", notes)
	deep.Node("first", func(context.Context, *graph.Scope) (graph.Command, error) {
		runs.add("first")
		return graph.Update(notes.Add("first")), nil
	})
	deep.Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		a, err := graph.Ask[string](s, "deep?")
		return graph.Update(notes.Add("deep:" + a)), err
	})
	deep.Chain(graph.Start, "first", "ask")
	middle := graph.New("middle", notes).Subgraph("deep", deep, graph.OnlyNew).Node("after", noting("after")).Chain(graph.Start, "deep", "after")
	g := graph.New("top", notes).Subgraph("middle", middle, graph.OnlyNew).Node("side", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		a, err := graph.Ask[string](s, "side?")
		return graph.Update(notes.Add("side:" + a)), err
	})
	g.Node("end", noting("end")).Edge(graph.Start, "middle").Edge(graph.Start, "side").Edge("middle", "end").Edge("side", "end")

	s := begin(t, g)
	r := s.input(`{}`)
	if len(r.Interrupts) != 2 || strings.Count(r.Interrupts[0].NS, "|") != 1 {
		t.Fatalf("interrupts: %+v", r.Interrupts)
	}
	r = s.resume(`{"` + r.Interrupts[0].ID + `":"D"}`)
	equal(t, "still open", len(r.Interrupts), 1)
	r = s.resume(`"S"`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"first", "deep:D", "after", "side:S", "end"})
	equal(t, "runs of the first node", runs.n["first"], 1)
}

func TestCommandForTheParent(t *testing.T) {
	sub := graph.New("sub", notes)
	sub.Node("leave", does(graph.Update(notes.Add("left")).Go("rescue").ToParent())).Node("never", noting("never")).Chain(graph.Start, "leave", "never")
	g := graph.New("top", notes).Subgraph("sub", sub).Node("rescue", noting("rescued")).Edge(graph.Start, "sub")
	r := begin(t, g).input(`{}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"left", "rescued"})

	_, err := begin(t, sub).try(graph.Execution{Input: json.RawMessage(`{}`)})
	if told := graph.ErrorOf(err); told == nil || !strings.Contains(told.Message, "parent") {
		t.Errorf("without a parent: %v", err)
	}
}

func TestSubgraphFailureKeepsTheErrorsType(t *testing.T) {
	boom := &customError{}
	sub := graph.New("sub", notes).Node("fail", func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, boom }).Edge(graph.Start, "fail")
	g := graph.New("top", notes).Subgraph("sub", sub).Edge(graph.Start, "sub")
	_, err := begin(t, g).try(graph.Execution{Input: json.RawMessage(`{}`)})
	var got *customError
	if !errors.As(err, &got) {
		t.Fatalf("got %v", err)
	}
	equal(t, "told", *graph.ErrorOf(err), event.Error{Code: graph.CodeNode, Name: "CustomError", Message: "Boo!"})
}

type customError struct{}

func (*customError) Error() string { return "Boo!" }
func (*customError) Name() string  { return "CustomError" }

// A node that runs two sub-agents at the same time, one of which asks.
func agentsGraph(runs *counter) *graph.Graph {
	agent := func(asks bool) *graph.Graph {
		g := graph.New("agent", topic, notes)
		g.Node("think", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			runs.add(s.Task() + " thinks")
			err := s.Emit(ctx, event.TurnStarted{Turn: "turn-" + s.Task()}, event.TurnEnded{Turn: "turn-" + s.Task(), Usage: item.Usage{InputTokens: 3, OutputTokens: 4}})
			return graph.Update(notes.Add("thought about " + topic.Get(s))), err
		})
		g.Node("answer", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			if !asks {
				return graph.Update(notes.Add("answered")), nil
			}
			a, err := graph.Ask[string](s, "really?")
			return graph.Update(notes.Add("answered " + a)), err
		})
		return g.Chain(graph.Start, "think", "answer")
	}
	quiet, curious := agent(false), agent(true)
	g := graph.New("lead", notes)
	g.Node("tools", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		var out []string
		var errs []error
		for _, c := range []struct {
			id string
			g  *graph.Graph
		}{{"call-1", quiet}, {"call-2", curious}} {
			r, err := s.Run(ctx, c.g, graph.Child{Task: c.id, Agent: "helper", Title: "help", Input: []graph.Write{topic.Set(c.id)}})
			if err != nil {
				errs = append(errs, err)
				continue
			}
			var n []string
			if err := json.Unmarshal(r.Values["notes"], &n); err != nil {
				return graph.Command{}, err
			}
			out = append(out, strings.Join(n, ", "))
		}
		return graph.Update(notes.Add(out...)), errors.Join(errs...)
	})
	return g.Edge(graph.Start, "tools")
}

func TestSubAgentsAreTasksOfTheRun(t *testing.T) {
	runs := &counter{}
	s := begin(t, agentsGraph(runs))
	r := s.input(`{}`)
	equal(t, "status", r.Status, event.Interrupted)
	if len(r.Interrupts) != 1 {
		t.Fatalf("interrupts: %+v", r.Interrupts)
	}
	var story []string
	for _, ev := range s.mem.Events() {
		switch e := ev.Event.(type) {
		case event.TaskStarted:
			story = append(story, "start "+ev.Task+" "+e.Agent+" "+e.CallID)
		case event.TaskEnded:
			story = append(story, "end "+ev.Task+" "+string(e.Status))
			equal(t, "usage", e.Usage.Total(), 7)
		case event.TurnStarted:
			story = append(story, "turn "+ev.Task)
		}
	}
	equal(t, "story", story, []string{
		"start call-1 helper call-1", "turn call-1", "end call-1 success",
		"start call-2 helper call-2", "turn call-2", "end call-2 interrupted",
	})
	told := len(s.mem.Events())
	r = s.resume(`"yes"`)
	for _, ev := range s.mem.Events()[told:] {
		if ev.Task == "call-1" {
			t.Errorf("the sub-agent that had ended says %s again", ev.Event.Kind())
		}
	}
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"thought about call-1, answered", "thought about call-2, answered yes"})
	equal(t, "each thought once", runs.n, map[string]int{"call-1 thinks": 1, "call-2 thinks": 1})
}

// What a child gives back without encoding it is what it would have given back, when it works and when it has ended before.
func TestAChildHandsItsValuesOverAsTheyAre(t *testing.T) {
	child := graph.New("child", topic, notes).Node("a", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(notes.Add("about " + topic.Get(s))), nil
	}).Edge(graph.Start, "a")
	other, missing := graph.LastValue[int]("topic"), graph.LastValue[string]("missing")
	g := graph.New("parent", notes).Node("parent", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		input := []graph.Write{topic.Set("rivers"), missing.Set("a field that the child does not have")}
		for _, omit := range []bool{true, false, true} { // once it works, and then it has ended
			r, err := s.Run(ctx, child, graph.Child{Task: "c", Input: input, OmitValues: omit})
			if err != nil {
				return graph.Command{}, err
			}
			if (r.Values == nil) != omit {
				t.Errorf("values left out: %v, want %v", r.Values == nil, omit)
			}
			got, err := graph.Decode(r, notes.Field)
			equal(t, fmt.Sprintf("notes, %v", err), got, []string{"about rivers"})
			what, err := graph.Decode(r, topic)
			equal(t, fmt.Sprintf("topic, %v", err), what, "rivers")
			if none, err := graph.Decode(r, missing); err != nil || none != "" {
				t.Errorf("a field that the child does not have: %q, %v", none, err)
			}
			if _, err := graph.Decode(r, other); err == nil {
				t.Error("a field of another type was read")
			}
		}
		return graph.Command{}, nil
	}).Edge(graph.Start, "parent")
	begin(t, g).input(`{}`)
}

// A recorder may answer before it has stored; a subgraph that is tried again goes on from what it recorded before.
func TestSubgraphThatIsTriedAgainGoesOn(t *testing.T) {
	runs := &counter{}
	sub := graph.New("sub", notes)
	sub.Node("first", func(context.Context, *graph.Scope) (graph.Command, error) {
		runs.add("first")
		return graph.Update(notes.Add("first")), nil
	})
	sub.Node("second", func(context.Context, *graph.Scope) (graph.Command, error) {
		if runs.add("second") == 1 {
			return graph.Command{}, &customError{}
		}
		return graph.Update(notes.Add("second")), nil
	})
	sub.Chain(graph.Start, "first", "second")
	g := graph.New("top", notes).Subgraph("sub", sub, graph.OnlyNew, graph.Retry{Max: 2}).Edge(graph.Start, "sub")
	s := begin(t, g)
	r := s.run(graph.Execution{Input: empty, Recorder: &lazy{Recorder: s.mem}})
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"first", "second"})
	equal(t, "runs", runs.n, map[string]int{"first": 1, "second": 2})
}

// lazy stores nothing before it has to.
type lazy struct {
	graph.Recorder
	waiting []graph.Batch
}

func (l *lazy) Record(ctx context.Context, b graph.Batch) error {
	l.waiting = append(l.waiting, b)
	if !b.Promise {
		return nil
	}
	for _, b := range l.waiting {
		if err := l.Recorder.Record(ctx, b); err != nil {
			return err
		}
	}
	l.waiting = nil
	return nil
}
