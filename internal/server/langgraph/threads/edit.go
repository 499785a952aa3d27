package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

type update struct {
	Values       json.RawMessage `json:"values" doc:"an object of fields, or a list of [field, value] pairs"`
	AsNode       string          `json:"as_node" doc:"the node to write as"`
	Checkpoint   *state.Ref      `json:"checkpoint"`
	CheckpointID string          `json:"checkpoint_id" format:"uuid" doc:"short for checkpoint"`
}

func (s *Service) updateState(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req update
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	ref := state.Ref{ID: req.CheckpointID}
	if req.Checkpoint != nil {
		ref = *req.Checkpoint
	}
	if err := ref.Check("checkpoint"); err != nil {
		return err
	}
	if err := wantUpdate("values", req.Values); err != nil {
		return err
	}
	th, err := s.Find(r, who)
	if err != nil {
		return err
	}
	if th.Status == run.Busy {
		return fmt.Errorf("thread %s: %w", th.ID, run.ErrBusy)
	}
	ctx := r.Context()
	v := s.opt.States.View(ctx, th)
	if _, err := v.Root(); err != nil {
		return err
	}
	g := v.At(ref.NS)
	if g == nil {
		return run.Invalidf("checkpoint.checkpoint_ns", "there is no graph at %q", edge.Clip(ref.NS))
	}
	var e run.Edits
	id, err := g.UpdateState(ctx, graph.Edit{
		Thread: th.ID, NS: ref.NS, From: ref.ID, Steps: [][]graph.NodeUpdate{{{Values: req.Values, As: req.AsNode}}},
		Checkpoints: s.opt.Store, Recorder: &e,
	})
	if err != nil {
		return editProblem(err)
	}
	if err := s.opt.Store.SaveState(ctx, who, th.ID, e.Status(th.Status), e.Saves); err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"checkpoint", jsonvalue.Object{{"thread_id", th.ID}, {"checkpoint_ns", ref.NS}, {"checkpoint_id", id}}}})
}

// wantUpdate checks that values can be an update: an object of fields, a list of pairs, or nothing.
func wantUpdate(field string, raw json.RawMessage) error {
	if jsonvalue.IsNull(raw) {
		return nil
	}
	var pairs [][2]json.RawMessage
	if jsonvalue.Fields(raw) == nil && json.Unmarshal(raw, &pairs) != nil {
		return run.Invalidf(field, "must be an object of fields or a list of [field, value] pairs")
	}
	return nil
}

// superstep is a step of a thread's history that is told instead of run.
type superstep struct {
	Updates []struct {
		Values  json.RawMessage `json:"values"`
		AsNode  string          `json:"as_node"`
		Command json.RawMessage `json:"command"`
	} `json:"updates"`
}

// planSupersteps works out the checkpoints of a thread that is created with a history.
func (s *Service) planSupersteps(ctx context.Context, th run.Thread, steps []superstep) (*run.Edits, error) {
	e := &run.Edits{}
	if len(steps) == 0 {
		return e, nil
	}
	if len(steps) > edge.MaxLimit {
		return nil, run.Invalidf("supersteps", "are more than %d", edge.MaxLimit)
	}
	root, err := s.opt.States.View(ctx, th).Root()
	if err != nil {
		return nil, edge.NotFound(err, "metadata.graph_id names no graph")
	}
	edit := graph.Edit{Thread: th.ID, Checkpoints: nothingYet{}, Recorder: e}
	for i, step := range steps {
		var updates []graph.NodeUpdate
		for j, u := range step.Updates {
			field := fmt.Sprintf("supersteps.%d.updates.%d", i, j)
			n := graph.NodeUpdate{Values: u.Values, As: u.AsNode}
			if !jsonvalue.IsNull(u.Command) {
				var o graph.Orders
				if err := json.Unmarshal(u.Command, &o); err != nil {
					return nil, run.Invalidf(field+".command", "%v", err)
				}
				if o.Update != nil {
					n.Values = o.Update
				}
				n.Goto = o.Goto
			}
			if err := wantUpdate(field+".values", n.Values); err != nil {
				return nil, err
			}
			updates = append(updates, n)
		}
		edit.Steps = append(edit.Steps, updates)
	}
	_, err = root.UpdateState(ctx, edit)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return nil, run.Invalidf("supersteps", "say as_node: it is not known which node wrote last")
	}
	return e, editProblem(err)
}

// nothingYet is the history of a thread that does not exist yet.
type nothingYet struct{}

func (nothingYet) Load(context.Context, string, string, string) (*graph.Snapshot, error) {
	return nil, graph.ErrNoCheckpoint
}

func (nothingYet) List(context.Context, string, string, string, int) ([]*graph.Snapshot, error) {
	return nil, nil
}

// editProblem tells an edit that cannot be made from one that we could not make.
func editProblem(err error) error {
	if err == nil || errors.Is(err, graph.ErrNoCheckpoint) {
		return err
	}
	told := graph.ErrorOf(err)
	switch told.Code {
	case graph.CodeUnknownNode:
		return edge.RefuseField(http.StatusUnprocessableEntity, "as_node", "as_node: "+told.Message)
	case graph.CodeInvalidInput, graph.CodeInvalidUpdate:
		return edge.RefuseField(http.StatusUnprocessableEntity, "values", "values: "+told.Message)
	}
	return err
}
