package run

import (
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// What earlier attempts did is what a later one must not do again: everything that it may ask for is remembered.
func TestRecollectionForgetsNothing(t *testing.T) {
	seq := uint64(0)
	at := func(task string, e event.Event) event.Envelope {
		seq++
		return event.Envelope{Seq: seq, Run: "r", Thread: "t", Task: task, Event: e}
	}
	result := func(call, text string) item.ToolResult {
		return item.ToolResult{ID: "fco_" + call, CallID: call, Name: "f", Content: item.Text(text)}
	}
	begun := func(task, call string) event.Envelope {
		return at(task, event.ItemStarted{Item: "fco_" + call, Type: item.TypeToolResult, CallID: call, Name: "f"})
	}
	done := func(task, call, text string) event.Envelope {
		return at(task, event.ItemEnded{Item: result(call, text), Status: item.Completed})
	}
	message := func(task, turn, execution, text string, usage item.Usage) []event.Envelope {
		return []event.Envelope{
			at(task, event.TurnStarted{Turn: turn, Execution: execution, Model: "m", Attempt: 1}),
			at(task, event.ItemStarted{Item: turn, Turn: turn, Type: item.TypeMessage}),
			at(task, event.BlockStarted{Item: turn, Type: item.TextBlock}),
			at(task, event.TextDelta{Item: turn, Text: text}),
			at(task, event.BlockEnded{Item: turn, Value: item.Block{Type: item.TextBlock, Text: text}}),
			at(task, event.ItemEnded{Item: item.AssistantText(turn, text), Status: item.Completed}),
			at(task, event.TurnEnded{Turn: turn, Finish: item.FinishStop, Usage: usage}),
		}
	}
	journal := []event.Envelope{at("", event.RunStarted{Assistant: "g", Graph: "g", Attempt: 1})}
	add := func(events ...event.Envelope) { journal = append(journal, events...) }
	add(begun("", "one"), done("", "one", "first"))
	add(begun("", "sub"), at("child", event.TaskStarted{Title: "child", CallID: "sub"}))
	add(message("child", "msg_child", "x_child", "of the child", item.Usage{InputTokens: 5, OutputTokens: 2})...)
	add(begun("child", "two"), done("child", "two", "second"))
	add(at("child", event.TaskEnded{Status: event.Success, Usage: item.Usage{InputTokens: 5, OutputTokens: 2}}))
	// From here on the process of the first attempt was not heard of.
	add(at("", event.AttemptStarted{Attempt: 2, Cause: "crash"}), begun("", "three"))
	add(at("", event.TurnStarted{Turn: "open", Execution: "x_open", Model: "m", Attempt: 1}))
	add(at("", event.TurnStarted{Turn: "void", Execution: "x_void", Model: "m", Attempt: 1}), at("", event.TurnVoided{Turn: "void", Cause: "crash"}))

	r := recollect(journal)
	for call, want := range map[string]string{"one": "first", "two": "second"} {
		res, started, ended := r.ToolResult(call)
		if !started || !ended || item.JoinText(res.Content) != want {
			t.Errorf("call %s: started %v, ended %v, %+v, want %q", call, started, ended, res, want)
		}
	}
	for _, call := range []string{"sub", "three"} {
		if _, started, ended := r.ToolResult(call); !started || ended {
			t.Errorf("call %s, which was begun: started %v, ended %v", call, started, ended)
		}
	}
	if _, started, _ := r.ToolResult("four"); started {
		t.Error("a call that nobody made was begun")
	}
	var order []string
	for res := range r.ToolResults() {
		order = append(order, res.CallID)
	}
	if !slices.Equal(order, []string{"one", "two"}) {
		t.Errorf("the results in order are %v", order)
	}
	if e, ok := r.EndedTask("child"); !ok || e.Status != event.Success {
		t.Errorf("the sub-agent that ended is %+v, %v", e, ok)
	}
	if _, ok := r.EndedTask("other"); ok {
		t.Error("a sub-agent that nobody started has ended")
	}
	if u := r.TaskUsage("child"); u.InputTokens != 5 || u.OutputTokens != 2 {
		t.Errorf("the sub-agent spent %+v", u)
	}
	if m, ended, _ := r.Turn("x_child"); !ended || m.ID != "msg_child" || m.Text() != "of the child" {
		t.Errorf("the turn that ended says %+v, %v", m, ended)
	}
	for _, c := range []string{"open", "void"} {
		if _, ended, voided := r.Turn("x_" + c); ended || voided != c {
			t.Errorf("the turn %s: ended %v, voided %q", c, ended, voided)
		}
	}
}
