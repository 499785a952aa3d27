package graph_test

import (
	"context"
	"testing"

	"github.com/tributary-ai/tributary/graph"
)

// asked counts how often checkpoints are looked for, by namespace.
type asked struct {
	*graph.Memory
	loads map[string]int
}

func (a *asked) Load(ctx context.Context, thread, ns, id string) (*graph.Snapshot, error) {
	if ns != "" {
		ns = "below"
	}
	a.loads[ns]++
	return a.Memory.Load(ctx, thread, ns, id)
}

// Of a thread that was made for the run nothing is read. A graph below is looked for only where it may have been entered before: when
// the run goes on from a checkpoint that an earlier one made.
func TestNewThreadIsNotLookedInto(t *testing.T) {
	log := graph.List[string]("log")
	say := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(log.Set([]string{"x"})), nil
	}
	below := graph.New("below", log).Node("say", say).Chain(graph.Start, "say", graph.End)
	g := graph.New("g", log).Node("first", say).Subgraph("second", below).Chain(graph.Start, "first", "second", graph.End)
	for _, fresh := range []bool{true, false} {
		mem := &asked{graph.NewMemory(), map[string]int{}}
		res, err := g.Run(t.Context(), graph.Execution{
			Thread: "t", Run: "r", Input: []byte(`{"log":["in"]}`), Checkpoints: mem, Recorder: mem.Memory, NewThread: fresh,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(res.Values["log"]), `["in","x","in","x","x"]`; got != want {
			t.Errorf("new thread %v: got %s, want %s", fresh, got, want)
		}
		if root := mem.loads[""]; fresh != (root == 0) || mem.loads["below"] != 0 {
			t.Errorf("new thread %v: looked %v times", fresh, mem.loads)
		}
	}
	mem := &asked{graph.NewMemory(), map[string]int{}}
	x := graph.Execution{Thread: "t", Run: "r", Input: []byte(`{}`), Checkpoints: mem, Recorder: mem.Memory, InterruptBefore: []string{"second"}}
	if _, err := g.Run(t.Context(), x); err != nil || mem.loads["below"] != 0 {
		t.Fatalf("before the graph below: looked %v times, %v", mem.loads, err)
	}
	if _, err := g.Run(t.Context(), graph.Execution{Thread: "t", Run: "r2", Checkpoints: mem, Recorder: mem.Memory}); err != nil || mem.loads["below"] != 1 {
		t.Errorf("from a checkpoint of before: looked %v times for the graph below, want one; %v", mem.loads["below"], err)
	}
}
