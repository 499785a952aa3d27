package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// stopper cancels at the moment in which the n-th batch is written.
type stopper struct {
	*graph.Memory
	left int
	stop context.CancelFunc
}

func (s *stopper) Record(ctx context.Context, b graph.Batch) error {
	if s.left--; s.left == 0 {
		s.stop()
	}
	return s.Memory.Record(ctx, b)
}

// Whenever a run is cancelled, also while something is being written, a sub-agent that ended has begun.
func TestASubAgentThatEndsHasBegunWheneverItIsCancelled(t *testing.T) {
	steps := graph.List[string]("steps")
	node := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(steps.Add(s.Node())), nil
	}
	child := graph.New("child", steps).Node("one", node).Node("two", node).Chain(graph.Start, "one", "two")
	parent := graph.New("parent", steps).Node("calls", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		_, err := s.Run(ctx, child, graph.Child{Task: "c1", Agent: "child", Input: map[string]any{}})
		return graph.Command{}, err
	}).Edge(graph.Start, "calls")
	for n := 1; n < 40; n++ {
		ctx, stop := context.WithCancel(t.Context())
		rec := &stopper{Memory: graph.NewMemory(), left: n, stop: stop}
		_, err := parent.Run(ctx, graph.Execution{Thread: "t", Run: "r", Checkpoints: rec, Recorder: rec, Input: json.RawMessage(`{}`)})
		stop()
		begun := false
		for _, env := range rec.Events() {
			switch env.Event.(type) {
			case event.TaskStarted:
				begun = true
			case event.TaskEnded:
				if !begun {
					t.Errorf("cancelled at write %d: the sub-agent ends without a beginning", n)
				}
			}
		}
		if err == nil && rec.left > 0 {
			return // it was not cancelled any more
		}
	}
}
