package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// A sub-agent that never comes to an end is cancelled alone; the root task goes on and completes.
func TestSubAgentIsCanceledAlone(t *testing.T) {
	working := make(chan struct{})
	stuck := one("helper", func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		close(working)
		<-ctx.Done()
		return graph.Command{}, ctx.Err()
	})
	boss := one("agent", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		const call = "call_stuck"
		container := event.ItemStarted{Item: "fco_" + call, Type: item.TypeToolResult, CallID: call, Name: "help"}
		if err := s.Promise(ctx, container); err != nil {
			return graph.Command{}, err
		}
		_, err := s.Run(ctx, stuck, graph.Child{Task: call, Agent: "helper"})
		if !errors.Is(err, graph.ErrTaskCancelled) {
			return graph.Command{}, err
		}
		return graph.Command{}, s.Promise(ctx, event.ItemEnded{
			Item: item.ToolResult{ID: "fco_" + call, CallID: call, Error: true, Content: item.Text("it was cancelled")}, Status: item.Completed,
		})
	})
	w := newTasks(t, taskGraphs{"agent": boss})
	res, stream := w.open("POST", "/tasks", `{"input":"go","stream":true}`)
	defer res.Body.Close()
	id := strings.TrimSuffix(strings.TrimPrefix(res.Header.Get("Location"), "/tasks/"), "/events")
	<-working
	w.must(404, "POST", "/tasks/nobody/cancel?root="+id, `{}`)
	got := w.must(200, "POST", "/tasks/call_stuck/cancel?root="+id, `{"wait":true}`).object(t)
	if got["status"] != "canceled" {
		t.Errorf("the sub-agent is %v", got["status"])
	}
	if _, err := readFrames(stream, -1); err != nil { // until the root has ended
		t.Fatal(err)
	}
	if root := w.must(200, "GET", "/tasks/"+id, "").object(t); root["status"] != "completed" {
		t.Errorf("the root is %v", root["status"])
	}
}
