package langgraph

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// bare has no checkpoints and no graphs.
type bare struct{}

func (bare) Load(context.Context, string, string, string) (*graph.Snapshot, error) {
	return nil, graph.ErrNoCheckpoint
}

func (bare) List(context.Context, string, string, string, int) ([]*graph.Snapshot, error) {
	return nil, nil
}

func (bare) Graph(context.Context, run.Identity, string, run.Request) (*graph.Graph, error) {
	return nil, run.ErrNotFound
}

// A run that left nothing behind, because it was rolled back, is reported all the same.
func TestReportTellsTheRunWithItsEnd(t *testing.T) {
	raw, err := Report(bare{}, bare{})(t.Context(), run.Run{
		ID: "r1", Status: run.Cancelled, EndedAt: time.Unix(0, 0), Error: &event.Error{Name: "E", Message: "m"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		RunID  string            `json:"run_id"`
		Status string            `json:"status"`
		Ended  string            `json:"run_ended_at"`
		Error  map[string]string `json:"error"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	if body.RunID != "r1" || body.Status != "interrupted" || body.Ended != "1970-01-01T00:00:00.000Z" || body.Error["error"] != "E" {
		t.Errorf("got %s", raw)
	}
	for name := range jsonvalue.Fields(raw) {
		if !slices.Contains(edge.Members[ended](), name) {
			t.Errorf("%s is not described", name)
		}
	}
}
