package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// Request is what a run is asked to do: with a Text, an Input or Answers. One that has none of them goes on where its thread
// stands, for instance after a breakpoint.
type Request struct {
	// Thread is the conversation to go on with, which is made if it is missing; empty begins a new one.
	Thread string
	// Text is what the user says. For graphs without messages give Input instead: an object of fields.
	Text  string
	Input json.RawMessage
	// Answers answer questions that the thread asks. All of them must be pending, or nothing is done: [ErrNotPending].
	Answers []Answer
	// Assistant is an assistant's id or a graph's name. Empty: the built-in agent; to answer and to go on, the
	// assistant of the thread's latest run, with the settings which that had.
	Assistant string
	// Owner is whose run it is; empty for the local user.
	Owner string
	// Configurable is an object of settings for the graph; Context a value for its nodes.
	Configurable json.RawMessage
	Context      json.RawMessage
	Metadata     json.RawMessage
	// RecursionLimit bounds the steps of the run; 0 for the default.
	RecursionLimit int

	// Checkpoint is where to start from, which makes a branch if it is not the thread's latest; empty for that.
	Checkpoint string
	// InterruptBefore and InterruptAfter stop the run before or after nodes; "*" means all.
	InterruptBefore []string
	InterruptAfter  []string
	// Multitask says what happens while another run is in flight on the thread; empty for Enqueue.
	Multitask Strategy
	// Delay is for how long the run waits before it begins. Timeout ends it; 0 for [Options].Timeout.
	Delay   time.Duration
	Timeout time.Duration
	// Durability says when checkpoints are written; empty for graph.Async.
	Durability graph.Durability
	// Temporary lets the thread go some time after the run has ended.
	Temporary bool

	// StopWithReader cancels the run when the reader of Stream, Resume or Chat breaks out of the loop or its context
	// ends. Otherwise leaving stops the reading and nothing else.
	StopWithReader bool
}

// Answer answers a question that a run stopped to ask; see event.InterruptRaised.
type Answer struct {
	// Interrupt is the id of the question. Empty: the only one that the thread asks; where it asks several, that is refused.
	Interrupt string
	// Value is what the node's Ask returns, as JSON would carry it.
	Value any
}

// Strategy says what happens to a new run while another is in flight on its thread.
type Strategy string

const (
	Enqueue   Strategy = "enqueue"   // wait for it
	Reject    Strategy = "reject"    // refuse the new one: ErrBusy
	Interrupt Strategy = "interrupt" // stop it, keep what it has done, then go on from there
	Rollback  Strategy = "rollback"  // stop it and remove it with all it has done
)

// Start starts a run and returns at once. When it returns, the run will end, whatever happens; a request that it refuses
// has created nothing.
func (r *Runtime) Start(ctx context.Context, req Request) (Run, error) {
	who := identity(req.Owner)
	o, err := r.order(ctx, who, req)
	if err != nil {
		return Run{}, r.told(err)
	}
	rn, err := r.engine.Order(ctx, who, o)
	if err != nil {
		return Run{}, r.told(err)
	}
	return runOf(rn), nil
}

func identity(owner string) run.Identity {
	if owner == "" {
		owner = DefaultOwner
	}
	return run.Identity{Owner: owner}
}

// order says what is asked for in the engine's words.
func (r *Runtime) order(ctx context.Context, who run.Identity, req Request) (o run.Order, err error) {
	o = run.Order{Thread: req.Thread, Request: run.Request{
		Assistant: req.Assistant, Input: req.Input, Context: req.Context, Metadata: req.Metadata, Checkpoint: req.Checkpoint,
		InterruptBefore: req.InterruptBefore, InterruptAfter: req.InterruptAfter, Multitask: run.Strategy(req.Multitask),
		Delay: req.Delay, Timeout: req.Timeout, Durability: string(req.Durability), Temporary: req.Temporary, CreateThread: true,
	}}
	if len(req.Configurable) > 0 || req.RecursionLimit != 0 {
		o.Config, err = json.Marshal(struct {
			Configurable   json.RawMessage `json:"configurable,omitempty"`
			RecursionLimit int             `json:"recursion_limit,omitempty"`
		}{req.Configurable, req.RecursionLimit})
		if err != nil {
			return o, run.Invalidf("configurable", "%v", err)
		}
	}
	given := 0
	for _, is := range []bool{req.Text != "", req.Input != nil, len(req.Answers) > 0} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return o, run.Invalidf("input", "a request has a text, an input or answers, and no two of them")
	case req.Text != "":
		o.Input, err = json.Marshal(map[string][]item.Message{"messages": {item.UserText("", req.Text)}})
	case len(req.Answers) > 0:
		o.CreateThread = false
		o.Answers, err = r.answers(ctx, who, req)
	case given == 0:
		o.CreateThread = false
		err = r.mustStand(ctx, who, req)
	}
	if err == nil && o.Input == nil && o.Assistant == "" {
		o.From, err = r.latest(ctx, who, req.Thread)
	}
	if o.Assistant == "" {
		o.Assistant = DefaultGraph
	}
	return o, err
}

// answers are those of a request, by the ids of the questions.
func (r *Runtime) answers(ctx context.Context, who run.Identity, req Request) (map[string]json.RawMessage, error) {
	if req.Thread == "" {
		return nil, run.Invalidf("thread_id", "is required: answers belong to a thread that asks")
	}
	if req.Checkpoint != "" {
		return nil, run.Invalidf("checkpoint_id", "answers are given where the thread stands; to answer otherwise, start from an older checkpoint and answer what is asked then")
	}
	byID := map[string]json.RawMessage{}
	for _, a := range req.Answers {
		if a.Interrupt == "" {
			open, err := r.engine.Asked(ctx, who, req.Thread)
			switch {
			case err != nil:
				return nil, err
			case len(open) == 0:
				return nil, fmt.Errorf("thread %s: %w; it asks nothing", req.Thread, graph.ErrNotPending)
			case len(open) > 1:
				return nil, run.Invalidf("answers", "the thread asks %d questions; say by its id which of them is answered", len(open))
			}
			a.Interrupt = open[0].ID
		}
		if _, twice := byID[a.Interrupt]; twice {
			return nil, run.Invalidf("answers", "interrupt %s has two answers", a.Interrupt)
		}
		value, err := json.Marshal(a.Value)
		if err != nil {
			return nil, run.Invalidf("answers", "%v", err)
		}
		byID[a.Interrupt] = value
	}
	return byID, nil
}

// mustStand makes sure that there is something to go on with.
func (r *Runtime) mustStand(ctx context.Context, who run.Identity, req Request) error {
	const nothing = "there is nothing to go on with; give a text, an input or answers"
	if req.Thread == "" {
		return run.Invalidf("input", nothing)
	}
	if _, err := r.db.Thread(ctx, who, req.Thread); err != nil {
		return err
	}
	_, err := r.db.Load(ctx, req.Thread, "", req.Checkpoint)
	if errors.Is(err, graph.ErrNoCheckpoint) && req.Checkpoint == "" {
		return run.Invalidf("input", nothing)
	}
	return err
}

// latest is the newest run of a thread; nil if there is none.
func (r *Runtime) latest(ctx context.Context, who run.Identity, thread string) (*run.Run, error) {
	runs, err := r.db.ThreadRuns(ctx, who, thread, "", 1, 0)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	return &runs[0], nil
}
