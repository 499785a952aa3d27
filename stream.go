package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// Request is what a run is asked to do.
type Request struct {
	// Thread is the conversation to go on with; empty begins a new one, whose id is in every envelope.
	Thread string
	// Text is what the user says. For graphs without messages give Input instead: an object of fields.
	Text  string
	Input json.RawMessage
	// Assistant is an assistant's id or a graph's name; empty for the built-in agent.
	Assistant string
	// Owner is whose run it is; empty for the local user.
	Owner string
	// Configurable is an object of settings for the graph; Context a value for its nodes.
	Configurable json.RawMessage
	Context      json.RawMessage
	Metadata     json.RawMessage
	// RecursionLimit bounds the steps of the run; 0 for the default.
	RecursionLimit int
	// StopWithReader cancels the run when the reader breaks out of the loop or its context ends. Otherwise
	// leaving stops the reading and nothing else.
	StopWithReader bool
}

// InterruptedError is returned by Chat for a run that stopped to ask something. [Runtime.Resume] answers it.
type InterruptedError struct {
	Thread     string
	Interrupts []event.InterruptRaised
}

func (e *InterruptedError) Error() string {
	if len(e.Interrupts) == 0 {
		return fmt.Sprintf("thread %s stopped at a breakpoint", e.Thread)
	}
	return fmt.Sprintf("thread %s waits for an answer to %s", e.Thread, e.Interrupts[0].Value)
}

// Stream starts a run and yields its events until it has ended. An error is the last thing yielded; a run that
// fails is not an error of Stream: its RunEnded says so.
func (r *Runtime) Stream(ctx context.Context, req Request) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		rr := run.Request{Input: req.Input}
		if rr.Input == nil {
			in, err := json.Marshal(map[string][]item.Message{"messages": {item.UserText("", req.Text)}})
			if err != nil {
				yield(event.Envelope{}, err)
				return
			}
			rr.Input = in
		}
		r.stream(ctx, req, rr, yield)
	}
}

// Resume answers a thread that waits: with the answer to its one pending interrupt, or with a map from
// interrupt ids to answers. It yields the events of the run that goes on.
func (r *Runtime) Resume(ctx context.Context, req Request, answer any) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		command, err := json.Marshal(map[string]any{"resume": answer})
		if err != nil {
			yield(event.Envelope{}, fmt.Errorf("resume: %w", err))
			return
		}
		r.stream(ctx, req, run.Request{Command: command}, yield)
	}
}

func (r *Runtime) stream(ctx context.Context, req Request, rr run.Request, yield func(event.Envelope, error) bool) {
	who := run.Identity{Owner: req.Owner}
	if who.Owner == "" {
		who.Owner = DefaultOwner
	}
	started, err := r.start(ctx, who, req, rr)
	if err != nil {
		yield(event.Envelope{}, err)
		return
	}
	finished := false
	if req.StopWithReader {
		defer func() {
			if !finished {
				// The reader's context may have ended; the cancel must still arrive.
				_, err := r.engine.Cancel(context.WithoutCancel(ctx), who, started.ID, run.StopRun)
				if err != nil {
					r.log.Error("cancel a run whose reader left", "run", started.ID, "err", err)
				}
			}
		}()
	}
	for env, err := range r.journal.Follow(ctx, started.ID, journal.Position{}) {
		_, finished = env.Event.(event.RunEnded)
		if !yield(env, err) {
			return
		}
	}
}

func (r *Runtime) start(ctx context.Context, who run.Identity, req Request, rr run.Request) (run.Run, error) {
	name := req.Assistant
	if name == "" {
		name = DefaultGraph
	}
	rr.Assistant, rr.Context, rr.Metadata, rr.CreateThread = name, req.Context, req.Metadata, true
	var err error
	rr.Config, err = json.Marshal(struct {
		Configurable   json.RawMessage `json:"configurable,omitempty"`
		RecursionLimit int             `json:"recursion_limit,omitempty"`
	}{req.Configurable, req.RecursionLimit})
	if err != nil {
		return run.Run{}, run.Invalidf("configurable", "%v", err)
	}
	return r.engine.Order(ctx, who, run.Order{Thread: req.Thread, Request: rr})
}

// Chat starts a run, waits for its end, and returns the text of the last message of the root task. A run that
// failed is an error (*event.Error), and so is one that stopped to ask (*InterruptedError).
func (r *Runtime) Chat(ctx context.Context, req Request) (string, error) {
	var answer answer
	for env, err := range r.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		answer.take(&env)
	}
	return answer.result()
}

// answer gathers what Chat returns: the deltas by message, joined once at the end, so in linear time.
type answer struct {
	thread string
	last   string          // item of the last message, which has its turn's id
	text   strings.Builder // its deltas
	asked  []event.InterruptRaised
	end    event.RunEnded
}

func (a *answer) take(env *event.Envelope) {
	a.thread = env.Thread
	if env.Task != "" {
		return
	}
	switch e := env.Event.(type) {
	case event.ItemStarted:
		if e.Type == item.TypeMessage {
			a.last = e.Item
			a.text.Reset()
		}
	case event.TextDelta:
		if e.Item == a.last {
			a.text.WriteString(e.Text)
		}
	case event.ItemEnded:
		if m, ok := e.Item.(item.Message); ok && m.ID == a.last {
			a.text.Reset()
			a.text.WriteString(m.Text())
		}
	case event.TurnVoided:
		if e.Turn == a.last {
			a.text.Reset()
		}
	case event.InterruptRaised:
		a.asked = append(a.asked, e)
	case event.RunEnded:
		a.end = e
	}
}

func (a *answer) result() (string, error) {
	switch a.end.Status {
	case event.Success:
		return a.text.String(), nil
	case event.Interrupted:
		return a.text.String(), &InterruptedError{a.thread, a.asked}
	case event.Failed, event.TimedOut:
		if a.end.Error != nil {
			return a.text.String(), a.end.Error
		}
	case event.Cancelled:
	}
	return a.text.String(), errors.New("the run was " + string(a.end.Status))
}
