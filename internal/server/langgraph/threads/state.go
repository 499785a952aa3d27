package threads

import (
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
)

func (s *Service) getState(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	subgraphs, err := edge.QueryBool(r, "subgraphs")
	if err != nil {
		return err
	}
	ref := state.Ref{ID: r.PathValue("checkpoint_id"), NS: r.URL.Query().Get("checkpoint_ns")}
	return s.answerState(w, r, who, ref, subgraphs)
}

// place is a checkpoint to look at.
type place struct {
	Checkpoint *state.Ref `json:"checkpoint" required:"true"`
	Subgraphs  bool       `json:"subgraphs" doc:"show also the states below its tasks"`
}

func (s *Service) postCheckpoint(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req place
	if err := edge.Decode(w, r, &req); err != nil {
		return err
	}
	if req.Checkpoint == nil {
		return run.Invalidf("checkpoint", "is required")
	}
	return s.answerState(w, r, who, *req.Checkpoint, req.Subgraphs)
}

func (s *Service) answerState(w http.ResponseWriter, r *http.Request, who run.Identity, ref state.Ref, subgraphs bool) error {
	th, err := s.Find(r, who)
	if err != nil {
		return err
	}
	if err := ref.Check("checkpoint"); err != nil {
		return err
	}
	ctx := r.Context()
	snap, err := s.opt.Store.Load(ctx, th.ID, ref.NS, ref.ID)
	switch {
	case errors.Is(err, graph.ErrNoCheckpoint) && ref.ID == "":
		return edge.Answer(w, http.StatusOK, state.Empty)
	case errors.Is(err, graph.ErrNoCheckpoint):
		return edge.Refuse(http.StatusNotFound, "Checkpoint "+ref.ID+" not found")
	case err != nil:
		return err
	}
	o, err := s.opt.States.View(ctx, th).State(ctx, snap, subgraphs)
	if err != nil {
		return err
	}
	return edge.Answer(w, http.StatusOK, o)
}
