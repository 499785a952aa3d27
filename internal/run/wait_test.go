package run_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// To learn that a run has ended nobody needs what it has said: of one that executes here it is not read from disk.
func TestWaitingForARunReadsNothingThatItHasSaid(t *testing.T) {
	gate := make(chan struct{})
	var once sync.Once
	let := func() { once.Do(func() { close(gate) }) }
	g := graph.New("g").Node("talk", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		for range 200 { // more than is kept in memory
			if err := s.Custom(ctx, strings.Repeat("x", 10<<10)); err != nil {
				return graph.Command{}, err
			}
		}
		<-gate
		return graph.Command{}, nil
	}).Chain(graph.Start, "talk", graph.End)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	w := open(t, t.TempDir(), func(context.Context, run.Run) (*graph.Graph, error) { return g, nil })
	defer w.stop(time.Second)
	defer let()
	r, err := w.e.Start(t.Context(), me, newThread(), run.Request{Assistant: "g", Graph: "g", Input: json.RawMessage(`{}`), CreateThread: true})
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	for env, err := range w.j.Follow(t.Context(), r.ID, journal.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := env.Event.(event.Custom); ok {
			if said++; said == 200 {
				w.faults.old.Store(env.Seq)
				break
			}
		}
	}
	w.faults.looked.Store(&let) // the run ends after somebody who waits has seen that it has not
	if r, err = w.e.Wait(t.Context(), me, r.ID); err != nil || r.Status != run.Success {
		t.Fatalf("got %s (%v), want success", r.Status, err)
	}
	if n := w.faults.reads.Load(); n > 0 {
		t.Errorf("what it had said was read %d times", n)
	}
}
