package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

var (
	messages = graph.Messages("messages")
	topic    = graph.LastValue[string]("topic")
	notes    = graph.List[string]("notes")
)

// does makes a node that returns a fixed command.
func does(c graph.Command) graph.NodeFunc {
	return func(context.Context, *graph.Scope) (graph.Command, error) { return c, nil }
}

func noting(text string) graph.NodeFunc { return does(graph.Update(notes.Add(text))) }

// story is a thread in memory.
type story struct {
	t   *testing.T
	g   *graph.Graph
	mem *graph.Memory
	n   int
}

func begin(t *testing.T, g *graph.Graph) *story {
	t.Helper()
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	return &story{t: t, g: g, mem: graph.NewMemory()}
}

func (s *story) try(x graph.Execution) (graph.Result, error) {
	s.t.Helper()
	s.n++
	x.Thread, x.Checkpoints, x.Store = "thread", s.mem, s.mem
	if x.Recorder == nil {
		x.Recorder = s.mem
	}
	if x.Run == "" {
		x.Run = fmt.Sprintf("run-%d", s.n)
	}
	return s.g.Run(s.t.Context(), x)
}

func (s *story) run(x graph.Execution) graph.Result {
	s.t.Helper()
	r, err := s.try(x)
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s *story) input(obj string) graph.Result {
	s.t.Helper()
	return s.run(graph.Execution{Input: json.RawMessage(obj)})
}

func (s *story) resume(value string) graph.Result {
	s.t.Helper()
	return s.run(graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(value)}})
}

// history lists checkpoints of a namespace, oldest first, as "step source next".
func (s *story) history(ns string) []string {
	s.t.Helper()
	var out []string
	for _, c := range s.snapshots(ns) {
		var next []string
		for _, t := range c.Next {
			next = append(next, t.Node)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%d %s %s", c.Step, c.Source, strings.Join(next, ","))))
	}
	return out
}

func (s *story) snapshots(ns string) []*graph.Snapshot {
	s.t.Helper()
	list, err := s.mem.List(s.t.Context(), "thread", ns, "", 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	slices.Reverse(list)
	return list
}

func (s *story) latest() *graph.Snapshot {
	s.t.Helper()
	snap, err := s.mem.Load(s.t.Context(), "thread", "", "")
	if err != nil {
		s.t.Fatal(err)
	}
	return snap
}

// counter counts what nodes do, at the same time.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) add(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name]++
	return c.n[name]
}

func equal[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func strs(t *testing.T, raw json.RawMessage) []string {
	t.Helper()
	var out []string
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func chatGraph() *graph.Graph {
	g := graph.New("chat", messages)
	g.Node("agent", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		n := len(messages.Get(s))
		return graph.Update(messages.Add(item.AssistantText(fmt.Sprintf("ai-%d", n), "hi"))), nil
	})
	return g.Chain(graph.Start, "agent", graph.End)
}

// The chain of checkpoints that clients build branches from: reference/langgraph-api.md, ThreadState.
func TestEveryTurnMakesAnInputCheckpointAndOneForEachStep(t *testing.T) {
	s := begin(t, chatGraph())
	s.input(`{"messages":[{"type":"human","content":"hello","id":"human-1"}]}`)
	equal(t, "after one turn", s.history(""), []string{"-1 input __start__", "0 loop agent", "1 loop"})
	s.input(`{"messages":[{"type":"human","content":"again","id":"human-2"}]}`)
	equal(t, "after two turns", s.history("")[3:], []string{"2 input __start__", "3 loop agent", "4 loop"})

	var counts []int
	parent := ""
	for _, c := range s.snapshots("") {
		var list []json.RawMessage
		if err := json.Unmarshal(c.Values["messages"], &list); err != nil {
			t.Fatal(err)
		}
		counts = append(counts, len(list))
		if c.Parent != parent {
			t.Errorf("step %d has parent %q, want %q", c.Step, c.Parent, parent)
		}
		if c.ID <= parent {
			t.Errorf("checkpoint id %s does not sort after its parent %s", c.ID, parent)
		}
		parent = c.ID
	}
	equal(t, "messages in each checkpoint", counts, []int{0, 1, 2, 2, 3, 4})
}

func TestOnlyNewElementsOfAListAreStored(t *testing.T) {
	s := begin(t, chatGraph())
	spy := &commits{Recorder: s.mem}
	for i := range 3 {
		s.run(graph.Execution{Recorder: spy, Input: json.RawMessage(fmt.Sprintf(`{"messages":[{"type":"human","content":"hello","id":"h%d"}]}`, i))})
	}
	blobs := 0
	for _, c := range spy.all[1:] {
		for _, b := range c.Blobs {
			var list []json.RawMessage
			if err := json.Unmarshal(b.Data, &list); err != nil || len(list) != 1 || b.Base == 0 {
				t.Errorf("step %d stores %d messages on base %d, want one on a base", c.Checkpoint.Step, len(list), b.Base)
			}
			blobs++
		}
		for _, o := range c.Done {
			if len(o.Writes) > 0 {
				t.Errorf("step %d stores the update of %q twice", c.Checkpoint.Step, o.Node)
			}
		}
	}
	if blobs != 6 {
		t.Errorf("%d blobs stored, want 6", blobs)
	}
}

func TestOnlyNewKeysOfAMapAreStored(t *testing.T) {
	scores := graph.Merge[int]("scores")
	score := func(m map[string]int) graph.NodeFunc { return does(graph.Update(scores.Set(m))) }
	g := graph.New("scores", scores).
		Node("one", score(map[string]int{"b": 1})).
		Node("two", score(map[string]int{"a": 2, "c": 3})).
		Node("left", score(map[string]int{"d": 4})).Node("right", score(map[string]int{"e": 5})). // in one step
		Node("again", score(map[string]int{"a": 6, "f": 7})).
		Node("clear", score(nil)).
		Node("anew", score(map[string]int{"a": 8})).
		Edge(graph.Start, "one").Edge("one", "two").Edge("two", "left").Edge("two", "right").Join([]string{"left", "right"}, "again").Edge("again", "clear").Edge("clear", "anew")
	s := begin(t, g)
	spy := &commits{Recorder: s.mem}
	s.run(graph.Execution{Recorder: spy, Input: json.RawMessage(`{}`)})
	type stored struct {
		onBase bool
		data   string
	}
	var got []stored
	for _, c := range spy.all {
		for _, b := range c.Blobs {
			got = append(got, stored{b.Base != 0, string(b.Data)})
		}
	}
	equal(t, "what is stored", got, []stored{
		{false, `{}`}, {true, `{"b":1}`}, {true, `{"a":2,"c":3}`}, {true, `{"d":4,"e":5}`},
		{false, `{"a":6,"b":1,"c":3,"d":4,"e":5,"f":7}`}, {false, `{}`}, {true, `{"a":8}`},
	})
	var states []map[string]int
	for _, c := range spy.all[1:] {
		snap, err := s.mem.Load(t.Context(), c.Checkpoint.Thread, "", c.Checkpoint.ID)
		if err != nil {
			t.Fatal(err)
		}
		var state map[string]int
		if err := json.Unmarshal(snap.Values["scores"], &state); err != nil {
			t.Fatalf("step %d: %v in %s", c.Checkpoint.Step, err, snap.Values["scores"])
		}
		states = append(states, state)
	}
	equal(t, "the maps of the checkpoints", states, []map[string]int{
		{}, {"b": 1}, {"a": 2, "b": 1, "c": 3}, {"a": 2, "b": 1, "c": 3, "d": 4, "e": 5}, {"a": 6, "b": 1, "c": 3, "d": 4, "e": 5, "f": 7}, {}, {"a": 8},
	})
}

// commits sees what is saved.
type commits struct {
	graph.Recorder
	mu   sync.Mutex // nodes of a step record at the same time
	all  []graph.Commit
	kept []graph.Kept
}

func (c *commits) Record(ctx context.Context, b graph.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range b.Save {
		switch s := s.(type) {
		case graph.Commit:
			c.all = append(c.all, s)
		case graph.Kept:
			c.kept = append(c.kept, s)
		}
	}
	return c.Recorder.Record(ctx, b)
}

func TestNodesOfAStepRunTogetherAndAreAppliedByName(t *testing.T) {
	g := graph.New("parallel", notes)
	// Each of the three waits for the one after it, so that they finish in the opposite order of their names.
	b, c := make(chan struct{}), make(chan struct{})
	g.Node("a", func(context.Context, *graph.Scope) (graph.Command, error) {
		<-b
		return graph.Update(notes.Add("a")), nil
	})
	g.Node("b", func(context.Context, *graph.Scope) (graph.Command, error) {
		<-c
		close(b)
		return graph.Update(notes.Add("b")), nil
	})
	g.Node("c", func(context.Context, *graph.Scope) (graph.Command, error) {
		close(c)
		return graph.Update(notes.Add("c")), nil
	})
	g.Node("end", noting("end"))
	g.Edge(graph.Start, "c").Edge(graph.Start, "b").Edge(graph.Start, "a")
	g.Edge("a", "end").Edge("b", "end").Edge("c", "end")
	s := begin(t, g)
	r := s.input(`{}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"a", "b", "c", "end"})
	equal(t, "history", s.history(""), []string{"-1 input __start__", "0 loop a,b,c", "1 loop end", "2 loop"})
}

func TestTwoWritersOfALastValueAreAnError(t *testing.T) {
	g := graph.New("clash", topic)
	g.Node("a", does(graph.Update(topic.Set("x")))).Node("b", does(graph.Update(topic.Set("y"))))
	g.Edge(graph.Start, "a").Edge(graph.Start, "b")
	s := begin(t, g)
	_, err := s.try(graph.Execution{Input: json.RawMessage(`{}`)})
	told := graph.ErrorOf(err)
	if told == nil || told.Code != graph.CodeInvalidUpdate || !strings.Contains(told.Message, `"topic"`) {
		t.Errorf("got %+v, want an invalid_update that names the field", told)
	}
}

func TestSendsRunWithTheirOwnInput(t *testing.T) {
	g := graph.New("map", topic, notes)
	g.Node("split", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		c := graph.Update()
		for _, w := range strings.Fields(topic.Get(s)) {
			c = c.Send("one", []graph.Write{topic.Set(w)})
		}
		return c, nil
	})
	g.Node("one", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(notes.Add(strings.ToUpper(topic.Get(s)))), nil
	})
	g.Edge(graph.Start, "split")
	s := begin(t, g)
	r := s.input(`{"topic":"z y x"}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"Z", "Y", "X"})
	equal(t, "topic", string(r.Values["topic"]), `"z y x"`)
	equal(t, "history", s.history("")[2:], []string{"1 loop one,one,one", "2 loop"})
}

func TestBranchSeesTheNodesOwnUpdate(t *testing.T) {
	g := graph.New("loop", notes)
	g.Node("again", noting("x"))
	g.Edge(graph.Start, "again")
	g.Branch("again", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if len(notes.Get(s)) < 4 {
			return graph.To("again"), nil
		}
		return graph.To(graph.End), nil
	}, "again", graph.End)
	r := begin(t, g).input(`{}`)
	equal(t, "notes", len(strs(t, r.Values["notes"])), 4)
}

// Views of a list that several branches look at must not share memory behind its end.
func TestBranchesOfAStepDoNotSeeEachOther(t *testing.T) {
	g := graph.New("views", notes)
	var meet sync.WaitGroup
	meet.Add(2)
	look := func(name string) graph.BranchFunc {
		return func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
			meet.Done()
			meet.Wait() // both views are made
			list := notes.Get(s)
			if last := list[len(list)-1]; last != name {
				return nil, fmt.Errorf("branch of %s sees %s", name, last)
			}
			return nil, nil
		}
	}
	g.Node("grow", noting("grow")).Node("a", noting("a")).Node("b", noting("b"))
	g.Edge(graph.Start, "grow").Edge("grow", "a").Edge("grow", "b").Branch("a", look("a")).Branch("b", look("b"))
	begin(t, g).input(`{"notes":["1","2","3","4","5"]}`) // a length at which appending leaves room to spare
}

func TestCheckpointsCarryTheRunAndItsMetadata(t *testing.T) {
	s := begin(t, chatGraph())
	s.run(graph.Execution{Input: json.RawMessage(`{"messages":"hello"}`), Run: "it", Config: graph.Config{Metadata: json.RawMessage(`{"a":1}`)}})
	for _, c := range s.snapshots("") {
		equal(t, "run and metadata", []string{c.Run, string(c.Metadata), c.Thread}, []string{"it", `{"a":1}`, "thread"})
	}
}

func TestNodesReachTheirSurroundings(t *testing.T) {
	g := graph.New("around", notes)
	g.Node("a", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		conf, err := graph.Configurable[struct{ Model string }](s)
		if err != nil {
			return graph.Command{}, err
		}
		c, err := graph.ContextAs[map[string]string](s)
		if err != nil {
			return graph.Command{}, err
		}
		if err := s.Store().Put(ctx, []string{"users", "u1"}, "name", json.RawMessage(`"Ada"`)); err != nil {
			return graph.Command{}, err
		}
		found, err := s.Store().Search(ctx, []string{"users"}, 10)
		if err != nil || len(found) != 1 {
			return graph.Command{}, fmt.Errorf("found %v, %v", found, err)
		}
		if _, started, ended := s.Recall().ToolResult("call"); started || ended {
			return graph.Command{}, errors.New("a tool ran in a run that just began")
		}
		where := s.Config()
		return graph.Update(notes.Add(conf.Model, c["user"], string(found[0].Value), where.Thread, where.Run, s.Node(), fmt.Sprint(s.Step()))), nil
	}).Edge(graph.Start, "a")
	s := begin(t, g)
	r := s.run(graph.Execution{Input: json.RawMessage(`{}`), Run: "it", Context: json.RawMessage(`{"user":"u1"}`), Config: graph.Config{Configurable: json.RawMessage(`{"model":"m"}`)}})
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"m", "u1", `"Ada"`, "thread", "it", "a", "1"})
}

func TestJoinWaitsForAllSources(t *testing.T) {
	g := graph.New("join", notes)
	g.Node("short", noting("short")).Node("long1", noting("long1")).Node("long2", noting("long2")).Node("both", noting("both"))
	g.Edge(graph.Start, "short").Edge(graph.Start, "long1").Edge("long1", "long2")
	g.Join([]string{"short", "long2"}, "both")
	s := begin(t, g)
	r := s.input(`{}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"long1", "short", "long2", "both"})
	last := s.snapshots("")[3]
	equal(t, "trigger", last.Next[0].Triggers, []string{"join:short+long2:both"})
}

func TestCommandGoesBesidesEdges(t *testing.T) {
	g := graph.New("goto", notes)
	g.Node("a", does(graph.Update(notes.Add("a")).Go("c"))).Node("b", noting("b")).Node("c", noting("c"))
	g.Edge(graph.Start, "a").Edge("a", "b")
	r := begin(t, g).input(`{}`)
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"a", "b", "c"})
}

func TestUnknownTargetIsAnError(t *testing.T) {
	g := graph.New("lost", notes)
	g.Node("a", does(graph.Goto("nowhere"))).Edge(graph.Start, "a")
	_, err := begin(t, g).try(graph.Execution{Input: json.RawMessage(`{}`)})
	if told := graph.ErrorOf(err); told == nil || told.Code != graph.CodeUnknownNode || !strings.Contains(told.Message, "nowhere") {
		t.Errorf("got %v", err)
	}
}

func TestRecursionLimit(t *testing.T) {
	g := graph.New("round", notes)
	g.Node("a", noting("a")).Edge(graph.Start, "a").Edge("a", "a")
	s := begin(t, g)
	_, err := s.try(graph.Execution{Input: json.RawMessage(`{}`), RecursionLimit: 3})
	var told *event.Error
	if !errors.As(err, &told) || told.Code != graph.CodeRecursionLimit || told.Name != "GraphRecursionError" {
		t.Fatalf("got %v", err)
	}
	equal(t, "notes of the last checkpoint", strs(t, s.latest().Values["notes"]), []string{"a", "a", "a"})
}

func TestInputOfAWrongTypeNamesTheField(t *testing.T) {
	g := graph.New("strict", topic).Node("a", noting("")).Edge(graph.Start, "a")
	s := begin(t, g)
	_, err := s.try(graph.Execution{Input: json.RawMessage(`{"topic":7,"stranger":1}`)})
	if told := graph.ErrorOf(err); told == nil || told.Code != graph.CodeInvalidInput || !strings.Contains(told.Message, `"topic"`) {
		t.Errorf("got %v", err)
	}
	if len(s.snapshots("")) != 0 || len(s.mem.Events()) != 0 {
		t.Error("an invalid input changed something")
	}
}
