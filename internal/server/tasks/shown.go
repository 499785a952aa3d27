package tasks

import (
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
)

// shownRequest is what the model of a turn was shown, to the byte.
type shownRequest struct {
	Turn     string       `json:"turn"`
	Agent    string       `json:"agent,omitempty"`
	Provider string       `json:"provider,omitempty"`
	Model    string       `json:"model,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Digest   string       `json:"digest"`
	Bytes    int          `json:"bytes"`
	Messages int          `json:"messages" doc:"how many messages it shows"`
	Omitted  []event.Span `json:"omitted,omitempty" doc:"messages of the thread that it does not show"`
	Injected []event.Span `json:"injected,omitempty" doc:"messages that the thread does not have, or has in another form"`
	Tools    []string     `json:"tools,omitempty"`
	// Body is a text and not a JSON value, because a value would lose its spelling.
	Body string `json:"body" doc:"the request as the provider got it"`
}

func (s *Service) showRequest(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	ref, err := s.find(r, who)
	if err != nil {
		return err
	}
	turn := r.PathValue("turn")
	if turn == "last" {
		turn = ""
	}
	shown, err := run.ReadShown(r.Context(), s.opt.Journal, s.opt.Store, ref.run.ID, turn)
	switch {
	case errors.Is(err, run.ErrNotFound):
		return edge.RefuseField(http.StatusNotFound, "turn", "turn: "+err.Error())
	case errors.Is(err, graph.ErrNoPiece):
		return edge.RefuseField(http.StatusGone, "turn", "turn: "+err.Error())
	case err != nil:
		return err
	}
	t, c := shown.Turn, shown.Context
	return edge.Answer(w, http.StatusOK, shownRequest{
		Turn: t.Turn, Agent: t.Agent, Provider: t.Provider, Model: t.Model, Attempt: t.Attempt, Digest: c.Request, Bytes: c.Bytes,
		Messages: c.Messages, Omitted: c.Omitted, Injected: c.Injected, Tools: c.Tools, Body: string(shown.Body),
	})
}
