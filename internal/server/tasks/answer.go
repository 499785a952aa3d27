package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// answerRequest is the body of POST /tasks/{id}/input.
type answerRequest struct {
	InterruptID string                     `json:"interrupt_id" doc:"required, with value, unless there are answers"`
	Value       json.RawMessage            `json:"value"`
	Answers     map[string]json.RawMessage `json:"answers" doc:"several at once, by the ids of the questions"`
	Metadata    json.RawMessage            `json:"metadata" type:"object"`

	Stream       bool     `json:"stream" doc:"follow the new task instead of waiting for its end"`
	OnDisconnect farewell `json:"on_disconnect"`
}

func (a *answerRequest) validate() error {
	switch {
	case len(a.Answers) > 0 && (a.InterruptID != "" || a.Value != nil):
		return run.Invalidf("answers", "stands beside interrupt_id and value; give one of the two")
	case len(a.Answers) > 0:
	case a.InterruptID == "":
		return run.Invalidf("interrupt_id", "is required")
	case a.Value == nil:
		return run.Invalidf("value", "is required; null is an answer too")
	default:
		a.Answers = map[string]json.RawMessage{a.InterruptID: a.Value}
	}
	if err := edge.WantObject("metadata", a.Metadata); err != nil {
		return err
	}
	return a.OnDisconnect.validate()
}

// answer answers questions of a task that waits, with a new task that goes on.
func (s *Service) answer(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	asked, err := s.findRoot(r, who, "answer to the root task; the interrupt's id says who asks")
	if err != nil {
		return err
	}
	var req answerRequest
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return err
	}
	if err := req.validate(); err != nil {
		return err
	}
	rn, err := s.resume(r.Context(), who, asked, &req)
	if err != nil {
		return err
	}
	return s.deliver(w, r, who, s.announce(w, rn, req.Stream, req.OnDisconnect))
}

func (s *Service) resume(ctx context.Context, who run.Identity, asked run.Run, req *answerRequest) (run.Run, error) {
	if asked.Status != run.Interrupted {
		return run.Run{}, edge.RefuseField(http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s and asks nothing", asked.ID, statusWord(asked.Status)))
	}
	o := run.Order{Thread: asked.Thread, From: &asked, Answers: req.Answers}
	if !jsonvalue.IsNull(req.Metadata) {
		o.Metadata = req.Metadata
	}
	var err error
	if o.Wire, err = json.Marshal(wireWords{asked.ID}); err != nil {
		return run.Run{}, err
	}
	d, err := s.opt.Engine.Prepare(ctx, who, o)
	if err != nil {
		return run.Run{}, err
	}
	rn, err := d.Start(ctx)
	var unasked *run.NotAskedError
	switch {
	case errors.As(err, &unasked):
		err = edge.RefuseField(http.StatusConflict, "interrupt_id", "interrupt_id: "+unasked.Error())
	case errors.Is(err, run.ErrBusy):
		err = edge.RefuseField(http.StatusConflict, "interrupt_id", fmt.Sprintf("interrupt_id: the thread of task %q is busy with an answer or with another task", asked.ID))
	}
	return rn, err
}
