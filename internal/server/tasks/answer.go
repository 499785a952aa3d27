package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/graph"
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

// answerLocks make checking a question and answering it one act, so that of two answers to the same question one
// is refused before it becomes a run. Questions of threads that share a lock wait for each other for a moment.
type answerLocks [64]sync.Mutex

var answerSeed = maphash.MakeSeed()

func (l *answerLocks) of(thread string) *sync.Mutex {
	return &l[maphash.String(answerSeed, thread)%uint64(len(l))]
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
	return s.deliver(w, r, who, announce(w, rn, req.Stream, req.OnDisconnect))
}

func (s *Service) resume(ctx context.Context, who run.Identity, asked run.Run, req *answerRequest) (run.Run, error) {
	if asked.Status != run.Interrupted {
		return run.Run{}, edge.RefuseField(http.StatusConflict, "id", fmt.Sprintf("id: task %q is %s and asks nothing", asked.ID, statusWord(asked.Status)))
	}
	command, err := json.Marshal(map[string]any{"resume": req.Answers})
	if err != nil {
		return run.Run{}, err
	}
	was := asked.Request
	rr := run.Request{
		Assistant: was.Assistant, Graph: was.Graph, Config: was.Config, Context: was.Context, Metadata: was.Metadata,
		Timeout: was.Timeout, Command: command, Multitask: run.Reject,
	}
	if !jsonvalue.IsNull(req.Metadata) {
		rr.Metadata = req.Metadata
	}
	if rr.Wire, err = json.Marshal(wireWords{asked.ID}); err != nil {
		return run.Run{}, err
	}
	lock := s.answering.of(asked.Thread)
	lock.Lock()
	defer lock.Unlock()
	busy := edge.RefuseField(http.StatusConflict, "interrupt_id", fmt.Sprintf("interrupt_id: the thread of task %q is busy with an answer or with another task", asked.ID))
	// First of all, because what is pending can change as long as a run is in flight.
	th, err := s.opt.Store.Thread(ctx, who, asked.Thread)
	if err != nil {
		return run.Run{}, err
	}
	if th.Status == run.Busy {
		return run.Run{}, busy
	}
	if err := s.mustBePending(ctx, asked.Thread, req.Answers); err != nil {
		return run.Run{}, err
	}
	rn, err := s.opt.Engine.Start(ctx, who, asked.Thread, rr)
	if errors.Is(err, run.ErrBusy) {
		err = busy
	}
	return rn, err
}

// mustBePending refuses answers to questions that the thread does not ask now.
func (s *Service) mustBePending(ctx context.Context, thread string, answers map[string]json.RawMessage) error {
	snap, err := s.opt.Store.Load(ctx, thread, "", "")
	if err != nil && !errors.Is(err, graph.ErrNoCheckpoint) {
		return err
	}
	open := openQuestions(snap)
	for id := range answers {
		if slices.Contains(open, id) {
			continue
		}
		ask := "nothing is asked any more"
		if len(open) > 0 {
			ask = "what is asked is " + strings.Join(open, ", ")
		}
		return edge.RefuseField(http.StatusConflict, "interrupt_id", fmt.Sprintf("interrupt_id: %q is not pending; %s", id, ask))
	}
	return nil
}

// openQuestions are the ids of the questions that a checkpoint waits for.
func openQuestions(snap *graph.Snapshot) []string {
	if snap == nil {
		return nil
	}
	var open []string
	for _, t := range snap.Next {
		for _, o := range snap.Kept {
			if o.Task != t.ID {
				continue
			}
			for _, i := range o.Interrupts {
				open = append(open, i.ID)
			}
		}
	}
	return open
}
