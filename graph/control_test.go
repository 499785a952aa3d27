package graph_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

func TestSubAgentCanBeCancelledAloneAndItsCallerGoesOn(t *testing.T) {
	working := make(chan struct{})
	child := graph.New("child").Node("work", func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		close(working)
		<-ctx.Done()
		return graph.Command{}, ctx.Err()
	}).Chain(graph.Start, "work", graph.End)
	notes := graph.List[string]("notes")
	parent := graph.New("parent", notes).Node("call", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		_, err := s.Run(ctx, child, graph.Child{Task: "call_1"})
		if !errors.Is(err, graph.ErrTaskCancelled) {
			return graph.Command{}, err
		}
		return graph.Update(notes.Set([]string{"went on"})), nil
	}).Chain(graph.Start, "call", graph.End)

	var control graph.Control
	if control.CancelTask("call_1") {
		t.Error("cancelled somebody who has not begun")
	}
	go func() {
		<-working
		control.CancelTask("call_1")
	}()
	mem := graph.NewMemory()
	res, err := parent.Run(t.Context(), graph.Execution{
		Thread: "t", Run: "r", Input: []byte(`{}`), Checkpoints: mem, Recorder: mem, Control: &control,
	})
	if err != nil || string(res.Values["notes"]) != `["went on"]` {
		t.Fatalf("the caller ended with %v, %s", err, res.Values["notes"])
	}
	var ended []event.Status
	for _, env := range mem.Events() {
		if e, ok := env.Event.(event.TaskEnded); ok && env.Task == "call_1" {
			ended = append(ended, e.Status)
		}
	}
	if len(ended) != 1 || ended[0] != event.Cancelled {
		t.Errorf("the sub-agent ended %v", ended)
	}
	if control.CancelTask("call_1") {
		t.Error("cancelled somebody who has ended")
	}
}
