package langgraph

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

// ended is what report writes.
type ended struct {
	runs.Run
	StartedAt *time.Time      `json:"run_started_at"`
	EndedAt   *time.Time      `json:"run_ended_at"`
	SentAt    time.Time       `json:"webhook_sent_at"`
	Values    json.RawMessage `json:"values,omitempty" type:"object"`
	Error     *failure        `json:"error,omitempty"`
}

type failure struct {
	Error   string `json:"error"`
	Message string `json:"message"`
}

// Report writes what webhooks tell of a run that has ended: the run with what it left behind.
func Report(checkpoints graph.Checkpointer, graphs state.Graphs) func(context.Context, run.Run) ([]byte, error) {
	return func(ctx context.Context, r run.Run) ([]byte, error) { return report(ctx, checkpoints, graphs, r) }
}

func report(ctx context.Context, checkpoints graph.Checkpointer, graphs state.Graphs, r run.Run) ([]byte, error) {
	o := append(runs.JSON(r), jsonvalue.Object{
		{"run_started_at", jsonvalue.Time(r.StartedAt)}, {"run_ended_at", jsonvalue.Time(r.EndedAt)}, {"webhook_sent_at", jsonvalue.Time(time.Now())},
	}...)
	// A run that was rolled back has left nothing.
	if snap, err := checkpoints.Load(ctx, r.Thread, "", ""); err == nil {
		g, err := graphs.Graph(ctx, run.Identity{Owner: r.Owner}, r.Request.Graph, r.Request)
		if err != nil {
			g = nil // values can be shown without it
		}
		o = append(o, jsonvalue.Member{"values", state.Ordered(g, snap.Values)})
	} else if !errors.Is(err, graph.ErrNoCheckpoint) {
		return nil, err
	}
	if r.Error != nil {
		o = append(o, jsonvalue.Member{"error", jsonvalue.Object{{"error", r.Error.Name}, {"message", r.Error.Message}}})
	}
	return json.Marshal(o)
}
