package protocol2_test

import (
	"encoding/json"
	"maps"
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
		"running ", "started outer:1", "started outer:1|inner:2", "interrupted outer:1|inner:2", "interrupted outer:1", "completed ",
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

// Two executions of a node that work at the same time keep apart what they say, whichever way a client tells them apart, and
// nothing is told as a graph that is none.
func TestParallelExecutionsOfANodeKeepApart(t *testing.T) {
	at := func(node string, e event.Event) event.Envelope {
		return event.Envelope{Epoch: 1, Run: "run", Thread: "thread", Node: node, Step: 1, Event: e}
	}
	said := func(turn, text string) event.Envelope { return at("agent", event.TextDelta{Item: turn, Text: text}) }
	begins := func(turn, execution string) []event.Envelope {
		return []event.Envelope{
			at("agent", event.NodeStarted{Execution: execution}),
			at("agent", event.TurnStarted{Turn: turn, Execution: execution}),
			at("agent", event.ItemStarted{Item: turn, Turn: turn, Type: item.TypeMessage}),
		}
	}
	ends := func(turn, execution, text string) []event.Envelope {
		return []event.Envelope{
			at("agent", event.BlockEnded{Item: turn, Value: item.Block{Type: item.TextBlock, Text: text}}),
			at("agent", event.TurnEnded{Turn: turn, Finish: item.FinishStop}),
			at("agent", event.NodeEnded{Execution: execution}),
		}
	}
	result := func(call string) []event.Envelope {
		return []event.Envelope{
			at("tools", event.ItemEnded{Item: item.ToolResult{ID: "r-" + call, CallID: call, Content: item.Text("done")}}),
			at("tools", event.NodeEnded{Execution: "x-" + call}),
		}
	}
	asks := func(call string) []event.Envelope {
		return []event.Envelope{
			at("tools", event.NodeStarted{Execution: "x-" + call}),
			at("tools", event.ItemStarted{Item: "r-" + call, Type: item.TypeToolResult, CallID: call, Name: "look"}),
		}
	}
	events := slices.Concat(
		[]event.Envelope{at("", event.RunStarted{Graph: "g", Attempt: 1})},
		begins("one", "1"), begins("two", "2"),
		[]event.Envelope{said("one", "a"), said("two", "x"), said("one", "b"), said("two", "y")},
		ends("one", "1", "ab"), begins("three", "3"),
		[]event.Envelope{said("two", "z"), said("three", "c")},
		ends("two", "2", "xyz"), ends("three", "3", "c"),
		asks("c1"), asks("c2"), result("c1"), result("c2"),
		[]event.Envelope{at("", event.RunEnded{Status: event.Success})},
	)
	python, script := map[string]string{}, map[string]string{}
	active := map[string]string{} // JavaScript's: by namespace and node
	var tools, lives []string
	for _, e := range project(t, events, protocol2.Options{States: anyState{}}) {
		var f struct {
			Params struct {
				Node string
				Data struct {
					Event, ID string
					Call      string `json:"tool_call_id"`
					Delta     struct{ Text string }
				}
			}
		}
		if e.Channel != "messages" && e.Channel != "tools" && e.Channel != "lifecycle" {
			continue
		}
		if err := json.Unmarshal(e.Data, &f); err != nil {
			t.Fatal(err)
		}
		if len(e.Namespace) > 0 {
			t.Errorf("told below the root: %s", e.Data)
		}
		d := f.Params.Data
		switch e.Channel {
		case "lifecycle":
			lives = append(lives, d.Event)
		case "tools":
			tools = append(tools, d.Event+" "+d.Call)
		default:
			if d.Event == "message-start" {
				active[f.Params.Node] = d.ID
			}
			python[d.ID] += d.Delta.Text
			script[active[f.Params.Node]] += d.Delta.Text
		}
	}
	want := map[string]string{"one": "ab", "two": "xyz", "three": "c"}
	if !maps.Equal(python, want) || !maps.Equal(script, want) {
		t.Errorf("got %q by id and %q by node, want %q", python, script, want)
	}
	if want := []string{"tool-started c1", "tool-started c2", "tool-finished c1", "tool-finished c2"}; !slices.Equal(tools, want) {
		t.Errorf("got %q, want %q", tools, want)
	}
	if want := []string{"running", "completed"}; !slices.Equal(lives, want) {
		t.Errorf("got %q, want %q", lives, want)
	}
}

// blank is a thread without any value.
type blank struct{}

func (blank) State(_, id string) (protocol2.State, error) {
	return protocol2.State{ID: id, Values: json.RawMessage(`{}`)}, nil
}

func (blank) Base(string, string) (string, error) { return "", nil }

// An input that touches no field leaves nothing to tell.
func TestNoEmptyValuesComeFirst(t *testing.T) {
	events := script("",
		event.RunStarted{Graph: "g", Attempt: 1},
		event.CheckpointSaved{ID: "one", Source: event.FromInput},
		event.CheckpointSaved{ID: "two", Source: event.FromLoop},
		event.NodeStarted{Execution: "1"},
	)
	for _, e := range project(t, events, protocol2.Options{States: blank{}}) {
		if e.Channel == "values" {
			t.Errorf("got %s, want no values", e.Data)
		}
	}
}

// A custom event has the name that its data has, and its members beside the payload, as Python's clients look for them; where one
// of them is the payload, the data is the frame's, and @langchain/react's useExtension finds it.
func TestCustomEventsAreNamedByTheirData(t *testing.T) {
	events := script("", event.RunStarted{Graph: "g", Attempt: 1},
		event.Custom{Data: json.RawMessage(`{"name":"progress","step":1}`)},
		event.Custom{Data: json.RawMessage(`{"name":"progress","payload":1}`)},
		event.Custom{Name: "mine", Data: json.RawMessage(`{"name":"progress"}`)},
		event.Custom{Data: json.RawMessage(`{"name":7}`)},
		event.Custom{Data: json.RawMessage(`"name"`)},
	)
	var got []string
	for _, e := range project(t, events, protocol2.Options{States: blank{}}) {
		if e.Name == "custom" {
			_, data, _ := strings.Cut(string(e.Data), `"data":`)
			got = append(got, e.Channel+" "+strings.TrimSuffix(data, "}}"))
		}
	}
	want := []string{
		`custom:progress {"name":"progress","step":1,"payload":{"name":"progress","step":1}}`,
		`custom:progress {"name":"progress","payload":1}`,
		`custom:mine {"name":"mine","payload":{"name":"progress"}}`,
		`custom {"payload":{"name":7}}`,
		`custom {"payload":"name"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
