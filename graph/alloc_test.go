package graph_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bench/cost"
)

// A step of a node that counts up, in memory alone and with everything recorded.
func TestStepCostsNoMoreThanItDid(t *testing.T) {
	const steps = 1000
	n := graph.LastValue[int]("n")
	g := graph.New("loop", n).Node("up", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(n.Set(n.Get(s) + 1)), nil
	}).Edge(graph.Start, "up")
	g.Branch("up", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if n.Get(s) == steps {
			return nil, nil
		}
		return graph.To("up"), nil
	}, "up", graph.End)
	for _, c := range []struct {
		name     string
		recorded bool
		was      cost.Per
	}{
		{"in memory", false, cost.Per{Allocs: 16.8, Bytes: 1135}},
		{"recorded", true, cost.Per{Allocs: 36, Bytes: 5400}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cost.Hold(t, c.was, steps, func() {
				x := graph.Execution{Thread: "t", Run: "r", Input: json.RawMessage(`{"n":0}`), RecursionLimit: steps + 1}
				if c.recorded {
					mem := graph.NewMemory()
					x.Checkpoints, x.Recorder = mem, mem
				}
				if _, err := g.Run(t.Context(), x); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
