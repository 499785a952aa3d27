package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// The graph behind wire/langgraph/interrupt-resume.
func approvalGraph() *graph.Graph {
	decision := graph.LastValue[string]("decision")
	g := graph.New("approval", messages, decision)
	g.Node("propose", does(graph.Update(messages.Add(item.AssistantText("m1", "I would like to delete 3 files.")))))
	g.Node("approve", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		a, err := graph.Ask[struct{ Answer string }](s, map[string]any{"question": "Delete 3 files?"},
			graph.Kind(event.AskToolApproval), graph.Options("yes", "no"))
		return graph.Update(decision.Set(a.Answer)), err
	})
	g.Node("act", does(graph.Update(messages.Add(item.AssistantText("m2", "Done, as you decided.")))))
	return g.Chain(graph.Start, "propose", "approve", "act", graph.End)
}

func TestInterruptedRunGoesOnWithTheAnswer(t *testing.T) {
	s := begin(t, approvalGraph())
	r := s.input(`{"messages":"hello"}`)
	equal(t, "status", r.Status, event.Interrupted)
	equal(t, "next", r.Next, []string{"approve"})
	if len(r.Interrupts) != 1 || string(r.Interrupts[0].Value) != `{"question":"Delete 3 files?"}` || len(r.Interrupts[0].ID) != 32 {
		t.Fatalf("interrupts: %+v", r.Interrupts)
	}
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop propose", "1 loop approve"})
	equal(t, "kept", s.latest().Kept[0].Interrupts, r.Interrupts)

	r = s.resume(`{"answer":"yes"}`)
	equal(t, "status", r.Status, event.Success)
	equal(t, "decision", string(r.Values["decision"]), `"yes"`)
	equal(t, "history", s.history("")[3:], []string{"2 loop act", "3 loop"})
}

// The graph behind wire/langgraph/interrupt-parallel.
func votesGraph(ran *counter) *graph.Graph {
	votes := graph.List[string]("votes")
	asks := func(side string) graph.NodeFunc {
		return func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			a, err := graph.Ask[string](s, map[string]string{"ask": side + "?"})
			if err == nil {
				ran.add(side)
			}
			return graph.Update(votes.Add(side + ":" + a)), err
		}
	}
	g := graph.New("parallel", votes)
	g.Node("left", asks("left")).Node("right", asks("right")).Node("count", does(graph.Update(votes.Add("counted"))))
	g.Edge(graph.Start, "left").Edge(graph.Start, "right").Edge("left", "count").Edge("right", "count").Edge("count", graph.End)
	return g
}

func TestParallelInterruptsAreAnsweredById(t *testing.T) {
	ran := &counter{}
	s := begin(t, votesGraph(ran))
	r := s.input(`{}`)
	if len(r.Interrupts) != 2 {
		t.Fatalf("interrupts: %+v", r.Interrupts)
	}
	left, right := r.Interrupts[0].ID, r.Interrupts[1].ID

	r = s.resume(`{"` + left + `":"A"}`)
	equal(t, "status", r.Status, event.Interrupted)
	equal(t, "next", r.Next, []string{"right"})
	equal(t, "still open", r.Interrupts[0].ID, right)
	values, next, err := s.g.Preview(s.latest())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "preview", string(values["votes"]), `["left:A"]`)
	equal(t, "preview next", next, []string{"right"})

	before := len(s.mem.Events())
	r = s.resume(`{"` + right + `":"B"}`)
	equal(t, "votes", strs(t, r.Values["votes"]), []string{"left:A", "right:B", "counted"})
	equal(t, "each side finished once", ran.n, map[string]int{"left": 1, "right": 1})
	cached := false
	for _, ev := range s.mem.Events()[before:] {
		if e, ok := ev.Event.(event.NodeEnded); ok && ev.Node == "left" {
			cached = e.Cached && string(e.Update) == `{"votes":["left:A"]}`
		}
		if _, ok := ev.Event.(event.NodeStarted); ok && ev.Node == "left" {
			t.Error("left was started again")
		}
	}
	if !cached {
		t.Error("the kept result of left is not told as cached")
	}
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop left,right", "1 loop count", "2 loop"})
}

func TestBothAnswersAtOnce(t *testing.T) {
	s := begin(t, votesGraph(&counter{}))
	r := s.input(`{}`)
	r = s.resume(`{"` + r.Interrupts[0].ID + `":"A","` + r.Interrupts[1].ID + `":"B"}`)
	equal(t, "votes", strs(t, r.Values["votes"]), []string{"left:A", "right:B", "counted"})
}

func TestAnswersThatNobodyAskedForAreRefused(t *testing.T) {
	s := begin(t, votesGraph(&counter{}))
	refused := func(what, resume string) {
		t.Helper()
		_, err := s.try(graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(resume)}})
		if !errors.Is(err, graph.ErrNotPending) {
			t.Errorf("%s: got %v, want ErrNotPending", what, err)
		}
	}
	refused("empty thread", `"x"`)
	r := s.input(`{}`)
	refused("unknown id", `{"0123456789abcdef0123456789abcdef":"A"}`)
	id := r.Interrupts[0].ID
	s.resume(`{"` + id + `":"A"}`)
	refused("second answer to the same question", `{"`+id+`":"A"}`)
	ended := s.resume(`"B"`)
	// At the end nobody asks anything. As LangGraph has it, such an answer changes nothing, and the state is returned.
	for _, late := range []string{`"C"`, `{"` + id + `":"A"}`} {
		if r := s.resume(late); !reflect.DeepEqual(r.Values, ended.Values) {
			t.Errorf("an answer after the end: got %s, want %s", r.Values, ended.Values)
		}
	}
	equal(t, "checkpoints", len(s.history("")), 4)
}

func TestNthQuestionGetsNthAnswer(t *testing.T) {
	g := graph.New("twice", notes)
	g.Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		first, err := graph.Ask[string](s, "first?")
		if err != nil {
			return graph.Command{}, err
		}
		second, err := graph.Ask[string](s, "second?")
		return graph.Update(notes.Add(first, second)), err
	}).Edge(graph.Start, "ask")
	s := begin(t, g)
	a := s.input(`{}`).Interrupts[0]
	b := s.resume(`"one"`).Interrupts[0]
	if a.ID == b.ID || string(b.Value) != `"second?"` {
		t.Errorf("second question: %+v, first was %+v", b, a)
	}
	equal(t, "resumes so far", len(s.latest().Kept[0].Resumes), 1)
	r := s.resume(`"two"`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"one", "two"})
}

// wire/langgraph/interrupt-before-after.
func TestBreakpoints(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		s := begin(t, chatGraph())
		r := s.run(graph.Execution{Input: json.RawMessage(`{"messages":"hello"}`), InterruptBefore: []string{"agent"}})
		equal(t, "status", r.Status, event.Interrupted)
		equal(t, "next", r.Next, []string{"agent"})
		equal(t, "interrupts", len(r.Interrupts), 0)
		equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop agent"})
		// Going on passes the breakpoint, even if it is set again.
		r = s.run(graph.Execution{InterruptBefore: []string{"agent"}})
		equal(t, "status", r.Status, event.Success)
		equal(t, "history", s.history("")[2:], []string{"1 loop"})
	})
	t.Run("after", func(t *testing.T) {
		s := begin(t, graph.New("abc", notes).Node("a", noting("a")).Node("b", noting("b")).Chain(graph.Start, "a", "b"))
		r := s.run(graph.Execution{Input: json.RawMessage(`{}`), InterruptAfter: []string{"*"}})
		equal(t, "status", r.Status, event.Interrupted)
		equal(t, "next", r.Next, []string{"b"})
		r = s.run(graph.Execution{})
		equal(t, "notes", strs(t, r.Values["notes"]), []string{"a", "b"})
	})
	t.Run("heeded after a crash", func(t *testing.T) {
		s := begin(t, graph.New("abc", notes).Node("a", noting("a")).Node("b", noting("b")).Chain(graph.Start, "a", "b"))
		x := graph.Execution{Run: "it", Input: json.RawMessage(`{}`), InterruptAfter: []string{"a"}}
		s.run(x)
		x.Continue = true // it died before it could say that it had stopped
		equal(t, "status", s.run(x).Status, event.Interrupted)
		x.InterruptAfter, x.InterruptBefore = nil, []string{"b"}
		equal(t, "status", s.run(x).Status, event.Interrupted)
	})
	t.Run("passed by a fork that crashed", func(t *testing.T) {
		s := begin(t, chatGraph())
		s.input(`{"messages":"hello"}`)
		x := graph.Execution{Run: "it", From: s.snapshots("")[1].ID, InterruptBefore: []string{"agent"}}
		// The process dies when the fork is stored and its first node has not ended.
		x.Recorder = &dying{Recorder: s.mem, after: 1}
		if _, err := s.try(x); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		x.Continue, x.Recorder = true, nil
		equal(t, "status", s.run(x).Status, event.Success)
	})
	t.Run("of a subgraph", func(t *testing.T) {
		sub := graph.New("sub", notes).Node("one", noting("one")).Node("two", noting("two")).Chain(graph.Start, "one", "two")
		sub.InterruptBefore("two")
		g := graph.New("top", notes).Subgraph("sub", sub, graph.OnlyNew).Node("end", noting("end")).Chain(graph.Start, "sub", "end")
		s := begin(t, g)
		r := s.input(`{}`)
		equal(t, "status", r.Status, event.Interrupted)
		equal(t, "next", r.Next, []string{"sub"})
		r = s.run(graph.Execution{})
		equal(t, "notes", strs(t, r.Values["notes"]), []string{"one", "two", "end"})
	})
}

// wire/langgraph/interrupt-debug, third step: an update and a goto beside a node that waits.
func TestOrdersChangeStateAndGoElsewhere(t *testing.T) {
	s := begin(t, approvalGraph())
	asked := s.input(`{"messages":"hello"}`).Interrupts[0]
	var o graph.Orders
	if err := json.Unmarshal([]byte(`{"update":{"decision":"forced"},"goto":"act"}`), &o); err != nil {
		t.Fatal(err)
	}
	r := s.run(graph.Execution{Orders: &o})
	equal(t, "status", r.Status, event.Interrupted)
	equal(t, "next", r.Next, []string{"approve"})
	if r.Interrupts[0].ID == asked.ID {
		t.Error("the question is asked at another checkpoint and needs another id")
	}
	r = s.resume(`{"answer":"no"}`)
	equal(t, "decision", string(r.Values["decision"]), `"no"`)
	equal(t, "history", s.history("")[3:], []string{"2 update act,approve", "3 loop act", "4 loop"})
}

func TestOrdersDecode(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"goto":"a"}`, `[{"node":"a"}]`},
		{`{"goto":{"node":"a","input":1}}`, `[{"node":"a","send":true,"input":1}]`},
		{`{"goto":["a",{"node":"b"}]}`, `[{"node":"a"},{"node":"b","send":true,"input":null}]`},
		{`{"goto":null}`, `null`},
	} {
		var o graph.Orders
		if err := json.Unmarshal([]byte(c.in), &o); err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		got, _ := json.Marshal(o.Goto)
		equal(t, c.in, string(got), c.want)
	}
	var o graph.Orders
	if err := json.Unmarshal([]byte(`{"goto":7}`), &o); err == nil {
		t.Error("a number is no target")
	}
	if err := json.Unmarshal([]byte(`{"resume":null}`), &o); err != nil || o.Resume == nil {
		t.Errorf("a null answer is an answer: %v %v", o.Resume, err)
	}
}

// dying takes some batches and no more.
type dying struct {
	graph.Recorder
	mu    sync.Mutex
	after int
}

func (d *dying) Record(ctx context.Context, b graph.Batch) error {
	d.mu.Lock()
	d.after--
	dead := d.after < 0
	d.mu.Unlock()
	if dead {
		return errCrash
	}
	return d.Recorder.Record(ctx, b)
}
