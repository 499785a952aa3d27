package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// A sub-agent was cancelled, nobody had heard of it, and the process died. The next one stops it where it would begin again, and the
// caller goes on. Another that begins later under the same id is not meant.
func TestACancelledSubAgentStaysCancelledAfterACrash(t *testing.T) {
	working := make(chan struct{}, 10)
	child := graph.New("child").Node("work", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		working <- struct{}{}
		<-ctx.Done()
		return graph.Command{}, context.Cause(ctx)
	}).Chain(graph.Start, "work", graph.End)
	quick := graph.New("quick").Node("work", nothing).Chain(graph.Start, "work", graph.End)
	parent := oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		if _, err := s.Run(ctx, child, graph.Child{Task: "helper", Uncalled: true}); !errors.Is(err, graph.ErrTaskCancelled) {
			return graph.Command{}, fmt.Errorf("the sub-agent ended with %w", err)
		}
		_, err := s.Run(ctx, quick, graph.Child{Task: "other", Uncalled: true})
		return graph.Command{}, err
	})
	alone := func(o *run.Options) { o.Bus, o.Lease = deafBus{}, time.Hour } // no heartbeat will tell it
	dir := t.TempDir()
	w := open(t, dir, single(parent), alone)
	r := w.start(newThread())
	<-working
	for _, task := range []string{"helper", "other"} { // the second has not begun
		if _, err := w.e.CancelTask(t.Context(), me, r.ID, task); err != nil {
			t.Fatal(err)
		}
	}
	w.faults.dieAfter(0, false)
	w.stop(time.Millisecond)

	w = open(t, dir, single(parent), alone)
	defer w.stop(time.Second)
	if r = w.wait(r.ID); r.Status != run.Success {
		t.Fatalf("the run ended with %s, %v", r.Status, r.Error)
	}
	ended := map[string]event.Status{}
	for _, env := range w.events(r.ID) {
		if e, ok := env.Event.(event.TaskEnded); ok {
			ended[env.Task] = e.Status
		}
	}
	if len(ended) != 2 || ended["helper"] != event.Cancelled || ended["other"] != event.Success {
		t.Errorf("the sub-agents ended %v", ended)
	}
}

func TestWhatIsNoTaskCannotBeCancelled(t *testing.T) {
	w := open(t, t.TempDir(), single(oneNode(nothing)))
	defer w.stop(time.Second)
	r := w.start(newThread())
	var invalid *run.InvalidError
	for _, task := range []string{"", string(make([]byte, 10_000))} {
		if _, err := w.e.CancelTask(t.Context(), me, r.ID, task); !errors.As(err, &invalid) {
			t.Errorf("a task of %d characters: %v", len(task), err)
		}
	}
	w.wait(r.ID)
}
