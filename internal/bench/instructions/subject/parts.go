package subject

import (
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/internal/wire/sse"
	"github.com/tributary-ai/tributary/internal/wire/task"
	"github.com/tributary-ai/tributary/item"
)

const (
	repeats   = 10 // tokens in one piece of work
	few       = 3  // of those that cost much
	message   = "msg_26e60487e53d4429ad00724a"
	execution = "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86"
)

var token event.Event = event.TextDelta{Item: message, Text: " tallest"}

// envelope is one as runs make them.
func envelope() *event.Envelope {
	return &event.Envelope{
		Epoch: 1, Run: "01a1dc98-a60e-7054-8ded-3b30a2120dbc", Thread: "01a1dc98-a60b-70ee-bace-04b48d2f36e8",
		Node: "agent", Step: 1, At: time.Unix(1794701862, 0),
	}
}

// each gives the events to take, in order: how a run begins that is about to say something.
func each(env *event.Envelope, take func() error) error {
	for _, e := range []event.Event{
		event.RunStarted{Attempt: 1, Graph: "chat", Assistant: "eb6db400-e3c8-5d06-a834-015cb89efe69"},
		event.NodeStarted{Execution: execution, Triggers: []string{"branch:to:agent"}, Path: []string{"pull", "agent"}},
		event.TurnStarted{Turn: message, Execution: execution, Provider: "scripted", Model: "scripted-1"},
		event.ItemStarted{Item: message, Turn: message, Type: item.TypeMessage},
		event.BlockStarted{Item: message, Type: item.TextBlock},
	} {
		env.Seq++
		env.Event = e
		if err := take(); err != nil {
			return err
		}
	}
	env.Event = token
	return nil
}

// tokens is the work of handing tokens to take.
func tokens(env *event.Envelope, take func() error) func() error {
	return func() error {
		for range repeats {
			env.Seq++
			if err := take(); err != nil {
				return err
			}
		}
		return nil
	}
}

func encode() (func() error, error) {
	env := envelope()
	env.Event = token
	buf := make([]byte, 0, 1024)
	return tokens(env, func() (err error) { _, err = env.AppendJSON(buf); return err }), nil
}

func decode() (func() error, error) {
	env := envelope()
	env.Event = token
	data, err := env.AppendJSON(nil)
	var got event.Envelope
	return tokens(env, func() error { return got.UnmarshalJSON(data) }), err
}

func fold() (func() error, error) {
	env := envelope()
	f := &transcript.Fold{}
	take := func() error { return f.Apply(env) }
	return tokens(env, take), each(env, take)
}

func frame() (func() error, error) {
	buf := make([]byte, 0, 1024)
	data := []byte(`{"type":"task.text.delta","task_id":"0192f0c1-6d5e-7b6a-b0f0-2a3b4c5d6e7f","sequence_number":17,"item_id":"msg_1","delta":" tallest"}`)
	return tokens(envelope(), func() error { buf = sse.Append(buf[:0], "messages", data, "1-17"); return nil }), nil
}

func project(p wire.Projector) (func() error, error) {
	env := envelope()
	var dst []wire.Frame
	take := func() (err error) { dst, err = p.Project(dst[:0], env); return err }
	return tokens(env, take), each(env, take)
}

func langgraphDelta() (func() error, error) {
	return project(langgraph.New(langgraph.Options{Modes: langgraph.MessagesTuple}))
}

func taskDelta() (func() error, error) { return project(task.New()) }

func protocol2Delta() (func() error, error) {
	env := envelope()
	p := protocol2.New(protocol2.Options{States: states{}})
	var dst []protocol2.Event
	take := func() (err error) { dst, err = p.Events(dst[:0], env); return err }
	return tokens(env, take), each(env, take)
}

// states knows every checkpoint.
type states struct{}

func (states) State(_, id string) (protocol2.State, error) {
	return protocol2.State{ID: id, Parent: "before", Step: 1, Source: event.FromLoop, Values: json.RawMessage(`{"messages":[]}`)}, nil
}

func (states) Base(string, string) (string, error) { return "base", nil }
