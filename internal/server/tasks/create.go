package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// request is the body of POST /tasks.
type request struct {
	// Input is a text, a list of blocks that make one message, a list of messages, one message, or an object
	// of the graph's fields; null goes on where the thread stands.
	Input     json.RawMessage `json:"input" required:"true" doc:"a text, a list of blocks or messages, a message, or the graph's fields; null goes on where the thread stands"`
	Assistant string          `json:"assistant" doc:"an assistant's id, or a graph's name"`
	Model     string          `json:"model" doc:"short for configurable.model"`

	PreviousTask string       `json:"previous_task_id" doc:"the task to go on after, in its thread"`
	Thread       string       `json:"thread_id" doc:"a thread to use, which is made if it is missing: 1 to 64 letters, digits, - and _"`
	Multitask    run.Strategy `json:"multitask_strategy" enum:"enqueue,reject,interrupt,rollback" doc:"what to do while another task is on the thread"`

	Metadata     json.RawMessage `json:"metadata" type:"object"`
	Configurable json.RawMessage `json:"configurable" type:"object"`
	Context      json.RawMessage `json:"context" type:"object"`
	Timeout      float64         `json:"timeout_seconds" doc:"from when it begins; 0 is without end"`

	Stream       bool     `json:"stream" doc:"follow the task instead of waiting for its end"`
	OnDisconnect farewell `json:"on_disconnect"`
}

// farewell is what happens to a task when its creator's connection breaks.
type farewell string

const (
	carryOn farewell = "continue" // the default
	stopIt  farewell = "cancel"
)

// Shape says which there are.
func (farewell) Shape() jsonvalue.Object { return edge.Word{string(carryOn), string(stopIt)}.Shape() }

func (f farewell) validate() error {
	switch f {
	case "", carryOn, stopIt:
		return nil
	}
	return run.Invalidf("on_disconnect", "must be continue or cancel, not %q", f)
}

// wireWords is what this dialect wants to find again in a run.
type wireWords struct {
	Previous string `json:"previous_task_id,omitempty"`
}

func (s *Service) create(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	to, err := s.accept(w, r, who)
	if err != nil {
		return err
	}
	return s.deliver(w, r, who, to)
}

// accept starts a task as the body says. It is not part of create for the reason given at findPlace.
//
//go:noinline
func (s *Service) accept(w http.ResponseWriter, r *http.Request, who run.Identity) (delivery, error) {
	var req request
	if err := edge.DecodeStrict(w, r, &req); err != nil {
		return delivery{}, err
	}
	rn, err := s.start(r.Context(), who, &req)
	if err != nil {
		return delivery{}, err
	}
	return s.announce(w, rn, req.Stream, req.OnDisconnect), nil
}

func (s *Service) start(ctx context.Context, who run.Identity, req *request) (run.Run, error) {
	if err := req.OnDisconnect.validate(); err != nil {
		return run.Run{}, err
	}
	thread, err := s.threadOf(ctx, who, req)
	if err != nil {
		return run.Run{}, err
	}
	rr, err := s.runRequest(req)
	if err != nil {
		return run.Run{}, err
	}
	d, err := s.opt.Engine.Prepare(ctx, who, run.Order{Thread: thread, Request: rr})
	if err != nil {
		return run.Run{}, inOurWords(err, req)
	}
	if d.Request.Input, err = inputOf(d.Graph, req.Input); err != nil {
		return run.Run{}, err
	}
	if d.Request.Input == nil {
		if _, err := s.opt.Store.Load(ctx, d.Thread, "", ""); errors.Is(err, graph.ErrNoCheckpoint) {
			return run.Run{}, run.Invalidf("input", "is null, but there is nothing to go on with; give an input")
		} else if err != nil {
			return run.Run{}, err
		}
	}
	return d.Start(ctx)
}

// inOurWords gives what is refused the name that it has in this protocol.
func inOurWords(err error, req *request) error {
	var gone *run.MissingError
	if errors.As(err, &gone) && gone.Field == "assistant_id" {
		return edge.RefuseField(http.StatusNotFound, "assistant", fmt.Sprintf("assistant: there is no assistant or graph %q", gone.ID))
	}
	var invalid *run.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	field := strings.TrimPrefix(invalid.Field, "config.")
	if req.Model != "" && strings.HasPrefix(field, "configurable.model") {
		field = "model"
	}
	return &run.InvalidError{Field: field, Reason: invalid.Reason}
}

// threadOf is the thread that the request wants: that of the task before, or one by name; empty for a new one.
func (s *Service) threadOf(ctx context.Context, who run.Identity, req *request) (string, error) {
	if req.Thread != "" {
		var err error
		if req.Thread, err = edge.ParseThread("thread_id", req.Thread); err != nil {
			return "", err
		}
	}
	if req.PreviousTask != "" {
		prev, err := s.opt.Store.Run(ctx, who, req.PreviousTask)
		if errors.Is(err, run.ErrNotFound) {
			return "", edge.RefuseField(http.StatusNotFound, "previous_task_id", fmt.Sprintf("previous_task_id: there is no task %q", req.PreviousTask))
		}
		if err != nil {
			return "", err
		}
		if req.Thread != "" && req.Thread != prev.Thread {
			return "", run.Invalidf("thread_id", "is not that of the previous task, which is %q; give one of the two", prev.Thread)
		}
		if req.Assistant == "" {
			req.Assistant = prev.Assistant
		}
		return prev.Thread, nil
	}
	if jsonvalue.IsNull(req.Input) && len(req.Input) > 0 {
		if req.Thread == "" {
			return "", run.Invalidf("input", "is null, but there is nothing to go on with; give an input")
		}
		if _, err := s.opt.Store.Thread(ctx, who, req.Thread); err != nil {
			return "", err
		}
	}
	return req.Thread, nil
}

// runRequest translates everything but the input.
func (s *Service) runRequest(req *request) (run.Request, error) {
	if req.Timeout < 0 || req.Timeout > (365*24*time.Hour).Seconds() {
		return run.Request{}, run.Invalidf("timeout_seconds", "must be between 0 and a year")
	}
	rr := run.Request{
		Assistant: req.Assistant, Context: req.Context, Metadata: req.Metadata, Multitask: req.Multitask, CreateThread: true,
		Timeout: time.Duration(req.Timeout * float64(time.Second)),
	}
	for field, raw := range map[string]json.RawMessage{"context": req.Context, "metadata": req.Metadata, "configurable": req.Configurable} {
		if err := edge.WantObject(field, raw); err != nil {
			return rr, err
		}
	}
	var err error
	if rr.Config, err = configOf(req); err != nil {
		return rr, err
	}
	if rr.Wire, err = json.Marshal(wireWords{req.PreviousTask}); err != nil {
		return rr, err
	}
	if rr.Assistant == "" {
		rr.Assistant, err = s.defaultAssistant()
	}
	return rr, err
}

func (s *Service) assistant(ctx context.Context, who run.Identity, name string) (run.Assistant, error) {
	a, err := run.Resolve(ctx, s.opt.Store, who, name)
	if errors.Is(err, run.ErrNotFound) {
		err = edge.RefuseField(http.StatusNotFound, "assistant", fmt.Sprintf("assistant: there is no assistant or graph %q", name))
	}
	return a, err
}

// configOf is the run's config: the configurable values, and the model among them.
func configOf(req *request) (json.RawMessage, error) {
	configurable := map[string]json.RawMessage{}
	if !jsonvalue.IsNull(req.Configurable) {
		if err := json.Unmarshal(req.Configurable, &configurable); err != nil {
			return nil, run.Invalidf("configurable", "must be an object")
		}
	}
	if req.Model != "" {
		model, err := json.Marshal(req.Model)
		if err != nil {
			return nil, err
		}
		if was, ok := configurable["model"]; ok && !bytes.Equal(bytes.TrimSpace(was), model) {
			return nil, run.Invalidf("model", "says otherwise than configurable.model; give one of the two")
		}
		configurable["model"] = model
	}
	if len(configurable) == 0 {
		return nil, nil
	}
	return json.Marshal(map[string]any{"configurable": configurable})
}

// defaultGraph is taken where a request names none and there are several.
const defaultGraph = "agent"

func (s *Service) defaultAssistant() (string, error) {
	names := s.opt.Graphs.Names()
	switch {
	case slices.Contains(names, defaultGraph):
		return defaultGraph, nil
	case len(names) == 1:
		return names[0], nil
	}
	return "", run.Invalidf("assistant", "is required; there are %s", strings.Join(names, ", "))
}

// delivery is how the creator of a task wants to be told about it.
type delivery struct {
	run      string
	streamed bool
	leave    farewell
}

// announce names a new task in the headers.
func (s *Service) announce(w http.ResponseWriter, rn run.Run, streamed bool, leave farewell) delivery {
	h := w.Header()
	h.Set("Location", s.path("/tasks/"+rn.ID+"/events"))
	h.Set(threadHeader, rn.Thread)
	return delivery{rn.ID, streamed, leave}
}

// deliver tells the creator of a task about it: as a stream, or when it has ended.
func (s *Service) deliver(w http.ResponseWriter, r *http.Request, who run.Identity, to delivery) error {
	left := false
	defer func() {
		if left && to.leave == stopIt {
			s.cancelOnLeave(r, who, to.run)
		}
	}()
	if to.streamed {
		rd := s.reader(place{run: to.run}, "")
		if to.leave != stopIt {
			return s.opt.Terms.Follow(w, r, rd)
		}
		how, err := s.opt.Terms.Attend(w, r, rd)
		left = how == stream.ReaderLeft
		return err
	}
	ended, err := s.waitEnded(r.Context(), who, to.run)
	if err != nil {
		left = r.Context().Err() != nil
		return err
	}
	return s.answerWith(w, r, http.StatusOK, target{run: ended})
}

// waitEnded waits for the end of a run, as long as the server does.
func (s *Service) waitEnded(ctx context.Context, who run.Identity, id string) (run.Run, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() { // ends with this call
		select {
		case <-s.opt.Terms.Closing:
			end(run.ErrUnavailable)
		case <-stop:
		}
	}()
	r, err := s.opt.Engine.Wait(ctx, who, id)
	if err != nil && errors.Is(context.Cause(ctx), run.ErrUnavailable) {
		err = run.ErrUnavailable // and not the context's own error, which would be ours
	}
	return r, err
}

// cancelOnLeave stops a run whose creator wanted it to end with the connection.
func (s *Service) cancelOnLeave(r *http.Request, who run.Identity, id string) {
	// The request's context has ended; the cancel must still arrive.
	_, err := s.opt.Engine.Cancel(context.WithoutCancel(r.Context()), who, id, run.StopRun)
	if err != nil && !errors.Is(err, run.ErrNotFound) {
		s.opt.Terms.Log.Error("cancel a task whose creator left", "run", id, "err", err)
	}
}
