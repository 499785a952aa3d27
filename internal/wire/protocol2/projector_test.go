package protocol2_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
	"github.com/tributary-ai/tributary/item"
)

// script gives events their places in a run.
func script(ns string, events ...event.Event) (out []event.Envelope) {
	for i, e := range events {
		env := event.Envelope{Seq: uint64(i + 1), Epoch: 1, Run: "run", Thread: "thread", Step: 1, Event: e}
		switch e.(type) {
		case event.RunStarted, event.RunEnded:
		default:
			env.NS, env.Node = ns, "agent"
		}
		out = append(out, env)
	}
	return out
}

// A run that goes on deep inside tells of the graphs above before it tells of anything in them, and ends what it leaves open.
func TestNamespacesBeginFromTheTopAndEndFromTheBottom(t *testing.T) {
	events := script("outer:1|inner:2",
		event.RunStarted{Graph: "g", Attempt: 1},
		event.TurnStarted{Turn: "m", Execution: "3"},
		event.ItemStarted{Item: "m", Turn: "m", Type: item.TypeMessage},
		event.TextDelta{Item: "m", Text: "half"},
		event.RunEnded{Status: event.Cancelled},
	)
	var got []string
	for _, e := range project(t, events, protocol2.Options{States: anyState{}}) {
		if e.Channel != "lifecycle" {
			continue
		}
		_, rest, _ := strings.Cut(string(e.Data), `"data":{"event":"`)
		what, _, _ := strings.Cut(rest, `"`)
		got = append(got, what+" "+strings.Join(e.Namespace, "|"))
	}
	want := []string{
		"running ", "started outer:1", "started outer:1|inner:2", "started outer:1|inner:2|agent:3",
		"interrupted outer:1|inner:2|agent:3", "interrupted outer:1|inner:2", "interrupted outer:1", "interrupted ",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// history is a message that changes from checkpoint to checkpoint.
type history struct{}

func (history) State(_, id string) (protocol2.State, error) {
	return protocol2.State{ID: id, Values: json.RawMessage(`{"messages":[{"type":"human","id":"h","content":"` + id + `","additional_kwargs":{}}]}`)}, nil
}

func (history) Base(string, string) (string, error) { return "", nil }

// A message that was changed under its id is shown as it is now.
func TestValuesShowTheLatestFormOfAMessage(t *testing.T) {
	events := script("",
		event.RunStarted{Graph: "g", Attempt: 1},
		event.CheckpointSaved{ID: "one", Source: event.FromLoop, Changed: []string{"messages"}},
		event.CheckpointSaved{ID: "two", Source: event.FromLoop, Changed: []string{"messages"}},
	)
	var got []string
	for _, e := range project(t, events, protocol2.Options{States: history{}}) {
		if e.Channel == "values" {
			_, data, _ := strings.Cut(string(e.Data), `"data":`)
			got = append(got, data)
		}
	}
	want := []string{
		`{"messages":[{"type":"human","content":"one","id":"h"}]}}}`,
		`{"messages":[{"type":"human","content":"two","id":"h"}]}}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// What a model said is a list of blocks in values, as it was when it streamed.
func TestShortFormOfAModelsMessage(t *testing.T) {
	m := item.Message{
		ID: "m", Role: item.Assistant, Finish: item.FinishToolCalls, Model: "x", Usage: &item.Usage{InputTokens: 1},
		Reasoning: []item.Reasoning{{Summary: item.Text("hm")}}, Content: item.Text("look:"),
		ToolCalls: []item.ToolCall{{CallID: "c", Name: "f", Arguments: `{"a": 1}`}},
	}
	raw, err := json.Marshal(map[string]any{"messages": []item.Message{m}})
	if err != nil {
		t.Fatal(err)
	}
	events := script("",
		event.RunStarted{Graph: "g", Attempt: 1}, event.NodeStarted{Execution: "1"},
		event.NodeEnded{Execution: "1", Update: raw},
	)
	var update string
	var kinds []string
	for _, e := range project(t, events, protocol2.Options{States: history{}}) {
		switch e.Channel {
		case "updates":
			_, update, _ = strings.Cut(string(e.Data), `"data":`)
		case "messages":
			_, rest, _ := strings.Cut(string(e.Data), `"data":{"event":"`)
			kind, _, _ := strings.Cut(rest, `"`)
			kinds = append(kinds, kind)
		}
	}
	want := `{"messages":[{"type":"ai","content":[{"type":"reasoning","reasoning":"hm"},{"type":"text","text":"look:"},` +
		`{"type":"tool_call","id":"c","name":"f","args":{"a":1}}],"id":"m","response_metadata":{"output_version":"v1","finish_reason":"tool_calls"},` +
		`"tool_calls":[{"id":"c","name":"f","args":{"a":1},"type":"tool_call"}]}]}}}`
	if update != want {
		t.Errorf("got %s\nwant %s", update, want)
	}
	start, delta, finish := "content-block-start", "content-block-delta", "content-block-finish"
	if want := []string{"message-start", start, delta, start, delta, start, delta, "usage", finish, finish, finish, "message-finish"}; !slices.Equal(kinds, want) {
		t.Errorf("told as %q, want %q", kinds, want)
	}
}
