package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/turn"
)

// Scope is what a node sees of its surroundings. It is good for one execution, and safe for use by
// several goroutines of it.
type Scope struct {
	engine *engine
	task   *Task
	step   int
	state  state
	again  func(error) bool // nil: never

	mu      sync.Mutex
	answers []json.RawMessage // given to this execution's questions
	asked   int
}

var _ turn.Emitter = (*Scope)(nil)

// Config is what a run's creator configured, and where the run belongs.
type Config struct {
	Owner     string // whose run it is
	Thread    string
	Run       string
	Assistant string
	// Configurable and Metadata are objects, or empty.
	Configurable json.RawMessage
	Metadata     json.RawMessage
	Tags         []string
}

// Config returns the run's configuration.
func (s *Scope) Config() Config {
	c := s.engine.x.Config
	c.Thread, c.Run = s.engine.x.Thread, s.engine.x.Run
	return c
}

// Configurable decodes the run's configurable values into a T; the zero value where there are none.
func Configurable[T any](s *Scope) (T, error) {
	return decodeAs[T]("configurable", s.engine.x.Config.Configurable)
}

// Context is the run's context value, as JSON.
func (s *Scope) Context() json.RawMessage { return s.engine.x.Context }

// ContextAs decodes the run's context value into a T; the zero value where there is none.
func ContextAs[T any](s *Scope) (T, error) { return decodeAs[T]("context", s.engine.x.Context) }

// Input is what a send handed to this execution; nil where the node reads the state.
func (s *Scope) Input() json.RawMessage { return s.task.Input }

// InputAs decodes what a send handed over.
func InputAs[T any](s *Scope) (T, error) {
	return decodeAs[T]("input of node "+s.task.Node, s.task.Input)
}

func decodeAs[T any](what string, raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// Store is the long-term memory; nil where the run has none.
func (s *Scope) Store() Store { return s.engine.x.Store }

// Secret is what the run's creator gave in confidence under a name, with the setting "secrets". It is not kept with the run, and is
// for use alone: whatever is put into an event or a state is seen by others.
func (s *Scope) Secret(name string) (value string, ok bool) {
	if s.engine.x.Secret == nil {
		return "", false
	}
	return s.engine.x.Secret(name)
}

// Folder is the folder of the thread. It is the same for all nodes of the run, and is closed when the run stops.
func (s *Scope) Folder() (*os.Root, error) { return s.engine.x.folder.get() }

// Log is where the node tells what is for its authors and operators, and not for the readers of the run.
func (s *Scope) Log() *slog.Logger { return s.engine.x.log() }

// Recall is what earlier attempts of the run left in the journal; never nil.
func (s *Scope) Recall() Recall {
	if s.engine.x.Recall == nil {
		return NoRecall{}
	}
	return s.engine.x.Recall
}

// Base is the scope as a node sees it that reads the state, for one that was sent an input: fields are those of the step's
// beginning, whatever the input says. For other nodes it is the scope itself.
func (s *Scope) Base() *Scope {
	if s.task.Input == nil {
		return s
	}
	return s.view(s.engine.st)
}

// With is the scope as it would be after some writes, as a branch sees it. It only shows: nothing is written.
func (s *Scope) With(writes ...Write) (*Scope, error) {
	adopted, err := s.engine.g.adoptAll(writes)
	if err != nil {
		return nil, err
	}
	st := s.state.clone()
	for i := range adopted {
		st.fold(s.engine.g, &adopted[i], false)
	}
	return s.view(st), nil
}

// view is the scope over another state, for looking only: a question that is asked through it would not be numbered.
func (s *Scope) view(st state) *Scope {
	return &Scope{engine: s.engine, task: s.task, step: s.step, state: st}
}

// Write makes an update of a field that is known by its name only. ok is false if the graph has no such field.
func (s *Scope) Write(field string, value any) (w Write, ok bool, err error) {
	i, ok := s.engine.g.index[field]
	if !ok {
		return w, false, nil
	}
	d := s.engine.g.fields[i]
	if value == nil || reflect.TypeOf(value) != d.typ {
		raw, err := json.Marshal(value)
		if err != nil {
			return w, true, fmt.Errorf("field %q: %w", field, err)
		}
		if value, err = d.read(raw); err != nil {
			return w, true, err
		}
	}
	return Write{def: d, value: value}, true, nil
}

// Writes reads what [EncodeWrites] wrote.
func (s *Scope) Writes(raw json.RawMessage) ([]Write, error) {
	if len(raw) == 0 || raw[0] != '[' {
		return s.engine.g.readWrites(raw)
	}
	var objects []json.RawMessage
	if err := json.Unmarshal(raw, &objects); err != nil {
		return nil, err
	}
	var out []Write
	for _, o := range objects {
		w, err := s.engine.g.readWrites(o)
		if err != nil {
			return nil, err
		}
		out = append(out, w...)
	}
	return out, nil
}

// EncodeWrites is the JSON form of updates, as NodeEnded tells them; nil for none.
func EncodeWrites(writes []Write) (json.RawMessage, error) { return encodeUpdate(writes) }

// Node is the node's name, Step the number of the step, Execution the id of this execution, which is
// the same when it is repeated, and NS the namespace of the graph.
func (s *Scope) Node() string      { return s.task.Node }
func (s *Scope) Step() int         { return s.step }
func (s *Scope) Execution() string { return s.task.ID }
func (s *Scope) NS() string        { return s.engine.ns }

// Again reports whether the node will be run once more if it returns this error, by its retry policy.
func (s *Scope) Again(err error) bool { return s.again != nil && s.again(err) }

// Task is the sub-agent that the node works for; empty for the run's root task.
func (s *Scope) Task() string { return s.engine.task }

// Emit writes events into the run's journal.
func (s *Scope) Emit(ctx context.Context, events ...event.Event) error {
	return s.record(ctx, events, false)
}

// Promise writes events and returns when they, and all before them, are on disk.
func (s *Scope) Promise(ctx context.Context, events ...event.Event) error {
	return s.record(ctx, events, true)
}

// Records reports that what models are shown is put on record.
func (s *Scope) Records() bool { return s.engine.x.Recorder != nil && s.engine.x.Requests }

// Custom writes an event of the node's own making.
func (s *Scope) Custom(ctx context.Context, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("custom event: %w", err)
	}
	return s.Emit(ctx, event.Custom{Data: data})
}

func (s *Scope) record(ctx context.Context, events []event.Event, promise bool) error {
	if len(events) == 0 && !promise || s.engine.x.Recorder == nil {
		return nil
	}
	b := Batch{Events: make([]event.Envelope, len(events)), Promise: promise}
	for i, ev := range events {
		b.Events[i] = s.engine.envelope(s.task.Node, s.step, ev)
		s.engine.meter.add(ev)
		if turn, ok := ev.(event.TurnStarted); ok {
			s.engine.x.tell(turn.Turn)
		}
	}
	return s.engine.x.record(ctx, b)
}

func (s *Scope) lookup(name string) (any, bool) {
	i, ok := s.engine.g.index[name]
	if !ok || !s.state[i].set {
		return nil, false
	}
	return s.state[i].value, true
}

// sentState is the state of a node that was sent an input: the input's own keys and nothing else.
func sentState(g *Graph, input json.RawMessage) state {
	st := make(state, len(g.fields))
	var obj map[string]json.RawMessage
	if json.Unmarshal(input, &obj) != nil {
		return st
	}
	for i, d := range g.fields {
		// A payload need not be an object of fields; a key that only happens to be named like one is no error.
		if raw, ok := obj[d.name]; ok {
			if v, err := d.decode(raw); err == nil {
				st[i] = cell{value: v, set: true}
			}
		}
	}
	return st
}
