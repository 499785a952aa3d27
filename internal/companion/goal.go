package companion

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// longestGoal is how many bytes a goal may have.
const longestGoal = 4000

// Goal is what a thread works towards; nil for nothing.
func (c *Companion) Goal(ctx context.Context, who run.Identity, thread string) (*middleware.Goal, error) {
	snap, err := c.state(ctx, who, thread)
	if err != nil || snap == nil || len(snap.Values[middleware.GoalField.Name()]) == 0 {
		return nil, err
	}
	var g *middleware.Goal
	if json.Unmarshal(snap.Values[middleware.GoalField.Name()], &g) != nil {
		return nil, nil // a graph whose goal is something else
	}
	return g, nil
}

// SetGoal gives a thread a goal, in place of the one before; with an empty one it has none any more. The next run works towards it.
// run.ErrBusy says that a run is in flight.
func (c *Companion) SetGoal(ctx context.Context, who run.Identity, thread, objective string) (*middleware.Goal, error) {
	if objective = strings.TrimSpace(objective); len(objective) > longestGoal {
		return nil, run.Invalidf("objective", "must have at most %d bytes", longestGoal)
	}
	th, err := c.Store.Thread(ctx, who, thread)
	if err != nil {
		return nil, err
	}
	if th.Status == run.Busy {
		return nil, fmt.Errorf("thread %s: %w", thread, run.ErrBusy)
	}
	var meta struct {
		Graph     string `json:"graph_id"`
		Assistant string `json:"assistant_id"`
	}
	if len(th.Metadata) > 0 {
		_ = json.Unmarshal(th.Metadata, &meta) // others may have written what they like there
	}
	if th.StateAt.IsZero() || meta.Graph == "" {
		return nil, run.Invalidf("thread_id", "the thread has no state yet; say the goal in the context of its first run, as goal")
	}
	g, err := c.Graphs.Graph(ctx, who, meta.Graph, run.Request{Assistant: meta.Assistant, Config: th.Config})
	if err != nil {
		return nil, err
	}
	values, err := json.Marshal(map[string]any{middleware.GoalField.Name(): middleware.Goal{Objective: objective, Status: statusOf(objective)}})
	if err != nil {
		return nil, err
	}
	var e run.Edits
	_, err = g.UpdateState(ctx, graph.Edit{Thread: thread, Steps: [][]graph.NodeUpdate{{{Values: values}}}, Checkpoints: c.Store, Recorder: &e})
	if err != nil {
		return nil, run.Invalidf("objective", "this thread cannot have a goal: %s", graph.ErrorOf(err).Message)
	}
	if err := c.Store.SaveState(ctx, who, thread, e.Status(th.Status), e.Saves); err != nil {
		return nil, err
	}
	return c.Goal(ctx, who, thread)
}

func statusOf(objective string) middleware.GoalStatus {
	if objective == "" {
		return ""
	}
	return middleware.GoalActive
}
