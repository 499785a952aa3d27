package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// Order is what somebody wants of a run. Every dialect, the crons and the library say it in these words, and
// [Engine.Prepare] is the one place that makes a run of it.
type Order struct {
	// Request is what is to be done. Its assistant is an id or a graph's name; Graph and Inherited are filled.
	Request
	// Thread is where; empty for a new thread of the run's own.
	Thread string
	// From is a run to go on after, nil for none. Assistant, settings, metadata and timeout are those that it had, as it
	// had them, wherever the order says nothing else.
	From *Run
	// Answers are what the thread asks for, by the ids of the questions; a Command beside them may change the state.
	// Each question must be open when the run starts, or a [*NotAskedError] says so, and no other run may be in
	// flight: of two answers to one question one counts.
	Answers map[string]json.RawMessage
}

// Draft is an order that was checked and completed. Nothing of it is stored.
type Draft struct {
	Thread    string
	Request   Request
	Assistant Assistant    // empty after From: it may have changed since
	Graph     *graph.Graph // as the run would get it

	engine  *Engine
	who     Identity
	answers map[string]json.RawMessage
	start   StartFunc // the engine's own, unless somebody stands before it
}

// StartFunc starts a run; [Engine.Start] is one.
type StartFunc func(ctx context.Context, who Identity, thread string, req Request) (Run, error)

// Through has the draft started by somebody who stands before the engine, and may refuse it.
func (d *Draft) Through(start StartFunc) *Draft {
	d.start = start
	return d
}

// MissingError says what an order names that is not there, or is somebody else's. It is an [ErrNotFound].
type MissingError struct {
	Field string // assistant_id, graph, thread_id or checkpoint_id
	ID    string
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s: %q: %v", e.Field, e.ID, ErrNotFound) }
func (e *MissingError) Unwrap() error { return ErrNotFound }

// NotAskedError says that an answer answers nothing.
type NotAskedError struct {
	ID   string   // the question that was answered
	Open []string // those that are asked
}

func (e *NotAskedError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("%q is not pending; nothing is asked any more", e.ID)
	}
	return fmt.Sprintf("%q is not pending; what is asked is %s", e.ID, strings.Join(e.Open, ", "))
}

// Prepare checks an order whole and stores nothing. The request is completed with the assistant's settings, and its graph
// is built once, so that what cannot run is refused here.
func (e *Engine) Prepare(ctx context.Context, who Identity, o Order) (*Draft, error) {
	d := &Draft{Thread: o.Thread, Request: o.Request, engine: e, who: who, answers: o.Answers, start: e.Start}
	if d.Thread == "" {
		d.Thread, d.Request.CreateThread = newID(), true
	}
	if err := ValidID("thread_id", d.Thread); err != nil {
		return nil, err
	}
	if o.From != nil {
		d.Request.from(&o.From.Request)
	}
	if len(o.Answers) > 0 {
		if err := d.Request.answer(o.Answers); err != nil {
			return nil, err
		}
	}
	if err := d.Request.validate(); err != nil {
		return nil, err
	}
	if o.From == nil {
		var err error
		if d.Assistant, err = Resolve(ctx, e.opt.Store, who, d.Request.Assistant); err != nil {
			return nil, missing(err, "assistant_id", d.Request.Assistant)
		}
		if err := d.Assistant.Apply(&d.Request); err != nil {
			return nil, err
		}
	}
	if err := d.Request.conceal(); err != nil {
		return nil, err
	}
	if o.From != nil && o.From.Request.Sealed && !d.Request.Sealed {
		if err := e.inherit(ctx, o.From.ID, &d.Request); err != nil {
			return nil, err
		}
	}
	if err := e.startsFrom(ctx, who, o.Thread, d.Request.Checkpoint); err != nil {
		return nil, err
	}
	var err error
	d.Graph, err = e.opt.Build(ctx, Run{Owner: who.Owner, Thread: d.Thread, Assistant: d.Request.Assistant, Request: d.Request})
	if err != nil {
		return nil, missing(err, "graph", d.Request.Graph)
	}
	return d, nil
}

// Order prepares an order and starts it.
func (e *Engine) Order(ctx context.Context, who Identity, o Order) (Run, error) {
	d, err := e.Prepare(ctx, who, o)
	if err != nil {
		return Run{}, err
	}
	return d.Start(ctx)
}

// Start creates the run. When it returns, the run will end, whatever happens.
func (d *Draft) Start(ctx context.Context) (Run, error) {
	if len(d.answers) == 0 {
		r, err := d.start(ctx, d.who, d.Thread, d.Request)
		return r, missing(err, "thread_id", d.Thread)
	}
	if err := d.askerEnds(ctx); err != nil {
		return Run{}, err
	}
	for {
		// To check a question and to answer it is one act: if the thread changes in between, whoever does it, both are done again.
		var err error
		if d.Request.Unchanged, err = d.mustBeOpen(ctx); err != nil {
			return Run{}, err
		}
		r, err := d.start(ctx, d.who, d.Thread, d.Request)
		if !errors.Is(err, ErrChanged) {
			return r, missing(err, "thread_id", d.Thread)
		}
	}
}

// Asked lists the questions that a thread waits for answers to.
func (e *Engine) Asked(ctx context.Context, who Identity, thread string) ([]graph.Interrupt, error) {
	if _, err := e.opt.Store.Thread(ctx, who, thread); err != nil {
		return nil, missing(err, "thread_id", thread)
	}
	snap, err := e.opt.Checkpoints.Load(ctx, thread, "", "")
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return snap.Open(), nil
}

// askerPatience is how long an answer waits for the run that asks to end, which is about to.
const askerPatience = 10 * time.Second

// askerEnds waits for the end of a run that has asked what is answered here. A question is told a moment before its run has ended, and whoever
// answers within that moment does nothing wrong.
func (d *Draft) askerEnds(ctx context.Context) error {
	th, err := d.engine.opt.Store.Thread(ctx, d.who, d.Thread)
	if err != nil || th.Status != Busy {
		return missing(err, "thread_id", d.Thread)
	}
	flying, err := d.engine.opt.Store.ThreadRuns(ctx, d.who, d.Thread, Running, 1, 0)
	if err != nil || len(flying) == 0 {
		return err
	}
	for env, err := range d.engine.opt.Journal.Read(ctx, flying[0].ID, 0) {
		if err != nil {
			return err
		}
		e, asks := env.Event.(event.InterruptRaised)
		if _, answered := d.answers[e.ID]; !asks || !answered {
			continue
		}
		ctx, cancel := context.WithTimeout(ctx, askerPatience)
		defer cancel()
		if _, err = d.engine.Wait(ctx, d.who, flying[0].ID); errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrNotFound) {
			return nil // whether it can be answered is looked into next
		}
		return err
	}
	return nil
}

// mustBeOpen refuses answers to what the thread does not ask, and returns what the thread was like before it looked.
func (d *Draft) mustBeOpen(ctx context.Context) (*Seen, error) {
	// First of all, because what is asked can change as long as a run is in flight.
	th, err := d.engine.opt.Store.Thread(ctx, d.who, d.Thread)
	if err != nil {
		return nil, missing(err, "thread_id", d.Thread)
	}
	if th.Status == Busy {
		return nil, ErrBusy
	}
	asked, err := d.engine.Asked(ctx, d.who, d.Thread)
	if err != nil {
		return nil, err
	}
	var open []string
	for _, q := range asked {
		open = append(open, q.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(d.answers)) {
		if !slices.Contains(open, id) {
			return nil, &NotAskedError{id, open}
		}
	}
	return &Seen{th.UpdatedAt, th.StateAt}, nil
}

// startsFrom makes sure that a checkpoint is there and the caller's.
func (e *Engine) startsFrom(ctx context.Context, who Identity, thread, checkpoint string) error {
	if checkpoint == "" {
		return nil
	}
	if _, err := e.opt.Store.Thread(ctx, who, thread); err != nil {
		return missing(err, "thread_id", thread)
	}
	_, err := e.opt.Checkpoints.Load(ctx, thread, "", checkpoint)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		err = &MissingError{"checkpoint_id", checkpoint}
	}
	return err
}

// missing names what was not found. Other errors pass.
func missing(err error, field, id string) error {
	var named *MissingError
	if !errors.Is(err, ErrNotFound) || errors.As(err, &named) {
		return err
	}
	return &MissingError{field, id}
}

// from fills what the request does not say with what another said.
func (r *Request) from(was *Request) {
	r.Assistant, r.Graph = was.Assistant, was.Graph
	if len(r.Config) == 0 {
		r.Config, r.Inherited = was.Config, was.Inherited
	}
	if len(r.Context) == 0 {
		r.Context = was.Context
	}
	if len(r.Metadata) == 0 {
		r.Metadata = was.Metadata
	}
	if r.Timeout == 0 {
		r.Timeout = was.Timeout
	}
}

// answer makes the request carry answers, which no other run may come before.
func (r *Request) answer(answers map[string]json.RawMessage) error {
	var command map[string]json.RawMessage
	if err := unmarshalObject(r.Command, &command); err != nil {
		return Invalidf("command", "must be an object")
	}
	if command == nil {
		command = map[string]json.RawMessage{}
	}
	resume, err := json.Marshal(answers)
	if err != nil {
		return Invalidf("answers", "%v", err)
	}
	command["resume"], command["by_id"] = resume, json.RawMessage("true")
	r.Command, err = json.Marshal(command)
	r.Input, r.Multitask = nil, Reject
	return err
}
