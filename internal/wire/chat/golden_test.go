package chat_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/sse"
	"github.com/tributary-ai/tributary/item"
)

var update = flag.Bool("update", false, "write the golden file anew")

// script is a run that says everything this wire has a word for: a crash, two calls written at once, a call that was cut off, a plan that is
// asked about, citations.
func script() []event.Event {
	text := func(id, turn string, typ item.Type, pieces ...string) (all []event.Event) {
		all = append(all, event.ItemStarted{Item: id, Turn: turn, Type: typ}, event.BlockStarted{Item: id, Type: item.TextBlock})
		for _, p := range pieces {
			all = append(all, event.TextDelta{Item: id, Text: p})
		}
		return all
	}
	var all []event.Event
	add := func(more ...event.Event) { all = append(all, more...) }
	add(event.RunStarted{Graph: "research", Attempt: 1}, event.NodeStarted{Execution: "x1", Path: []string{"pull", "planner"}})
	add(event.TurnStarted{Turn: "m1", Execution: "x1"})
	add(text("i1", "m1", item.TypeMessage, "lost")...)
	add(event.AttemptStarted{Attempt: 2, Cause: "crash"}, event.TurnVoided{Turn: "m1", Cause: "crash"})
	add(event.TurnStarted{Turn: "m2", Execution: "x1"})
	add(text("i2", "m2", item.TypeReasoning, "hm <b>")...)
	add(event.ItemEnded{Item: item.Reasoning{ID: "i2", Summary: item.Text("hm <b>")}})
	add(text("i3", "m2", item.TypeMessage, `{"title":`, ``, `"河"}`)...)
	add(event.BlockEnded{Item: "i3", Value: item.Block{Type: item.TextBlock, Text: `{"title":"河"} `}}) // more than was streamed
	add(event.ItemEnded{Item: item.Message{ID: "i3", Role: item.Assistant, Content: item.Text(`{"title":"河"} `)}})
	add(event.TurnEnded{Turn: "m2", Finish: item.FinishStop})
	add(event.TurnStarted{Turn: "m3", Execution: "x2"})
	add(event.ItemStarted{Item: "i4", Turn: "m3", Type: item.TypeToolCall, CallID: "c1", Name: "web_search"})
	add(event.ArgumentsDelta{Item: "i4", Text: `{"q":[`})
	add(event.ItemStarted{Item: "i5", Turn: "m3", Type: item.TypeToolCall, CallID: "c2", Name: "read", Index: 1})
	add(event.ArgumentsDelta{Item: "i5", Text: `{"a":1}`}, event.ArgumentsDelta{Item: "i4", Text: `1]}`})
	add(event.ItemEnded{Item: item.ToolCall{ID: "i5", CallID: "c2", Name: "read", Arguments: `{"a":1}`}})
	add(event.ItemEnded{Item: item.ToolCall{ID: "i4", CallID: "c1", Name: "web_search", Arguments: `{"q":[1]}`}})
	add(event.TurnEnded{Turn: "m3", Finish: item.FinishToolCalls})
	add(event.ItemStarted{Item: "r1", Type: item.TypeToolResult, CallID: "c1", Name: "web_search"})
	add(event.ItemEnded{Item: item.ToolResult{ID: "r1", CallID: "c1", Name: "web_search", Blocks: []item.Block{{Type: item.TextBlock, Text: "wet", Name: "Rivers", URL: "https://example.com/"}}}})
	add(event.ItemStarted{Item: "r2", Type: item.TypeToolResult, CallID: "c2", Name: "read"})
	add(event.ItemEnded{Item: item.ToolResult{ID: "r2", CallID: "c2", Name: "read", Content: item.Text("")}})
	add(event.TurnStarted{Turn: "m4"}, event.ItemStarted{Item: "i6", Turn: "m4", Type: item.TypeToolCall, CallID: "c3", Name: "read"})
	add(event.ArgumentsDelta{Item: "i6", Text: `{"a`}, event.TurnEnded{Turn: "m4", Finish: item.FinishIncomplete})
	add(event.InterruptRaised{ID: "q1", Ask: event.AskPlanReview, Value: json.RawMessage(`{"message":"Please review the plan.","plan":{}}`), Options: []string{"accepted", "edit_plan"}})
	add(event.InterruptRaised{ID: "q2", Ask: event.AskToolApproval, Value: json.RawMessage(`"Delete?"`), Options: []string{"yes", "no"}})
	add(event.InterruptRaised{ID: "q3", Ask: event.AskClarification, Value: json.RawMessage(`"Which?"`)})
	add(event.NodeEnded{Execution: "x3", Update: json.RawMessage(`{"citations":[{"id":1,"title":"Rivers","url":"https://example.com/","domain":"example.com","author":"Maria Huber","published_date":"2024-05-31","content_snippet":"wet","accessed_at":"2026-01-02T03:04:05Z"}]}`)})
	return all
}

// What each kind of frame looks like, to the byte, for each way in which a run may end.
func TestFramesAreAsRecorded(t *testing.T) {
	var got bytes.Buffer
	for _, end := range []event.RunEnded{
		{Status: event.Success}, {Status: event.Interrupted}, {Status: event.Cancelled}, {Status: event.Failed, Error: &event.Error{Code: "no_plan", Message: "there is no plan"}}, {Status: event.TimedOut},
	} {
		journal := []event.Envelope{}
		for i, e := range append(script(), end) {
			env := event.Envelope{Seq: uint64(i + 1), Run: "run", Thread: "V1StGXR8_Z5jdHi6B-myT", Node: "planner", Step: 3, Event: e}
			if i > 20 {
				env.Node, env.NS = "model", "researcher:x9"
			}
			switch e.(type) {
			case event.NodeEnded, event.RunEnded:
				env.Node, env.NS = "reporter", ""
			}
			journal = append(journal, env)
		}
		all := frames(t, journal)
		var seen page
		for _, f := range all {
			if err := seen.apply(f); err != nil {
				t.Errorf("%v: %s", err, f.Data)
			}
		}
		if end.Status != event.Success { // they begin alike
			for all[0].Name != "error" && all[0].Name != "end" {
				all = all[1:]
			}
		}
		for _, f := range all {
			got.Write(sse.Append(nil, f.Name, f.Data, f.ID))
		}
	}
	const name = "testdata/frames.txt"
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}
