package transcript_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

// The process dies while a model speaks, one tool has answered, one has not, and a sub-agent is at work.
func crashed() []event.Envelope {
	usage := item.Usage{InputTokens: 10, OutputTokens: 2}
	return journal(
		at{"", event.RunStarted{}},
		at{"", event.TurnStarted{Turn: "t1", Attempt: 1}},
		at{"", event.ItemStarted{Item: "rs1", Turn: "t1", Type: item.TypeReasoning}},
		at{"", event.ItemEnded{Item: item.Reasoning{ID: "rs1", Summary: item.Text("hm"), Signature: "sig"}, Status: item.Completed}},
		at{"", event.ItemStarted{Item: "fc1", Turn: "t1", Type: item.TypeToolCall, CallID: "c1", Name: "clock"}},
		at{"", event.ItemEnded{Item: item.ToolCall{ID: "fc1", CallID: "c1", Name: "clock", Arguments: "{}"}, Status: item.Completed}},
		at{"", event.ItemStarted{Item: "fc2", Turn: "t1", Type: item.TypeToolCall, CallID: "c2", Name: "mail"}},
		at{"", event.ItemEnded{Item: item.ToolCall{ID: "fc2", CallID: "c2", Name: "mail", Arguments: "{}"}, Status: item.Completed}},
		at{"", event.TurnEnded{Turn: "t1", Finish: item.FinishToolCalls, Usage: usage, Model: "m"}},
		at{"", event.ItemStarted{Item: "r1", Type: item.TypeToolResult, CallID: "c1", Name: "clock"}},
		at{"", event.ItemEnded{Item: item.ToolResult{ID: "r1", CallID: "c1", Name: "clock", Content: item.Text("noon")}, Status: item.Completed}},
		at{"", event.ItemStarted{Item: "r2", Type: item.TypeToolResult, CallID: "c2", Name: "mail"}},
		at{"", event.ItemStarted{Item: "r3", Type: item.TypeToolResult, CallID: "c3", Name: "ask_for_help"}},
		at{"c3", event.TaskStarted{CallID: "c3", Agent: "helper"}},
		at{"c3", event.TurnStarted{Turn: "t2", Execution: "x1"}},
		at{"c3", event.ItemStarted{Item: "m2", Turn: "t2", Type: item.TypeMessage}},
		at{"c3", event.BlockStarted{Item: "m2", Type: item.TextBlock}},
		at{"c3", event.TextDelta{Item: "m2", Text: "half a sen"}},
	)
}

func TestWhatRecoveryNeedsToKnow(t *testing.T) {
	f := fold(t, crashed())
	if got, want := f.OpenTurns(), []transcript.OpenTurn{{Task: "c3", TurnStarted: event.TurnStarted{Turn: "t2", Execution: "x1"}}}; !reflect.DeepEqual(got, want) {
		t.Errorf("open turns %+v, want %+v", got, want)
	}
	want := []transcript.OpenCall{{Item: "r2", CallID: "c2", Name: "mail"}, {Item: "r3", CallID: "c3", Name: "ask_for_help", Child: true}}
	if got := f.OpenCalls(); !reflect.DeepEqual(got, want) {
		t.Errorf("open calls %+v, want %+v", got, want)
	}
	if got := f.OpenTasks(); !slices.Equal(got, []string{"c3"}) {
		t.Errorf("open tasks %v", got)
	}
	if r, ok := f.Result("c1"); !ok || item.JoinText(r.Content) != "noon" {
		t.Errorf("result of c1: %+v, %v", r, ok)
	}
	if r, ok := f.Result("c2"); ok {
		t.Errorf("c2 has no outcome, got %+v", r)
	}
	if got := f.FinalText("c3"); got != "half a sen" {
		t.Errorf("got %q", got)
	}
}

func TestSecondAttemptVoidsAndGoesOn(t *testing.T) {
	j := crashed()
	for _, s := range []at{
		{"", event.AttemptStarted{Attempt: 2, Cause: "crash"}},
		{"c3", event.TurnVoided{Turn: "t2", Cause: "crash"}},
		{"", event.ItemStarted{Item: "r2b", Type: item.TypeToolResult, CallID: "c2", Name: "mail"}},
		{"c3", event.TaskStarted{CallID: "c3"}},
		{"c3", event.TurnStarted{Turn: "t3", Replaces: "t2", Attempt: 2}},
	} {
		j = append(j, event.Envelope{Seq: uint64(len(j) + 1), Run: "run_1", Task: s.task, Event: s.ev})
	}
	f := fold(t, j)
	root, _ := f.Task("")
	var ids []string
	for _, it := range root.Items {
		ids = append(ids, it.ID)
	}
	if want := []string{"rs1", "fc1", "fc2", "r1", "r3", "r2b"}; !slices.Equal(ids, want) {
		t.Errorf("items %v, want %v", ids, want)
	}
	if child, _ := f.Task("c3"); len(child.Items) != 0 || child.Agent != "helper" || child.Status != "" {
		t.Errorf("the child lost its half sentence and nothing else: %+v", child)
	}
	if root.Attempt != 2 || root.Cause != "crash" {
		t.Errorf("attempt %d, cause %q", root.Attempt, root.Cause)
	}
	if got := f.OpenTurns(); len(got) != 1 || got[0].Turn != "t3" {
		t.Errorf("open turns %+v", got)
	}
}

func TestMessagesOfATask(t *testing.T) {
	usage := item.Usage{InputTokens: 10, OutputTokens: 2}
	want := []item.Message{
		{
			ID: "t1", Role: item.Assistant, Finish: item.FinishToolCalls, Model: "m", Usage: &usage,
			Reasoning: []item.Reasoning{{ID: "rs1", Summary: item.Text("hm"), Signature: "sig"}},
			ToolCalls: []item.ToolCall{{ID: "fc1", CallID: "c1", Name: "clock", Arguments: "{}"}, {ID: "fc2", CallID: "c2", Name: "mail", Arguments: "{}"}},
		},
		{ID: "r1", Role: item.Tool, CallID: "c1", Name: "clock", Content: item.Text("noon")},
	}
	f := fold(t, crashed())
	if got := f.Messages(""); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got := f.Messages("c3"); got != nil {
		t.Errorf("a turn that has not ended is no message yet: %+v", got)
	}
}

func TestTasksPlansTeamsAndQuestions(t *testing.T) {
	f := fold(t, journal(
		at{"", event.RunStarted{}},
		at{"", event.PlanUpdated{Plan: "p", Steps: []event.PlanStep{{ID: "1", Status: "running"}}}},
		at{"", event.TeamFormed{Team: "team", Members: []event.Member{{ID: "a", Name: "Ada"}}}},
		at{"x1", event.TaskStarted{Agent: "Ada"}}, // an expert: no call opened it
		at{"x1", event.Warned{Code: "slow", Message: "it takes long"}},
		at{"x1", event.TaskEnded{Status: event.Failed, Error: &event.Error{Code: "internal", Message: "broke"}}},
		at{"", event.PlanUpdated{Plan: "p", Steps: []event.PlanStep{{ID: "1", Status: "failed"}}}},
		at{"", event.TeamDissolved{Team: "team", Outcome: event.Failed}},
		at{"", event.InterruptRaised{ID: "i1", Ask: event.AskClarification}},
		at{"", event.RunEnded{Status: event.Interrupted}},
	))
	root, _ := f.Task("")
	if len(root.Plans) != 1 || root.Plans[0].Steps[0].Status != "failed" {
		t.Errorf("plans %+v", root.Plans)
	}
	if len(root.Teams) != 1 || root.Teams[0].Outcome != event.Failed {
		t.Errorf("teams %+v", root.Teams)
	}
	if len(root.Interrupts) != 1 || root.Interrupts[0].ID != "i1" || root.Status != event.Interrupted {
		t.Errorf("interrupts %+v, status %q", root.Interrupts, root.Status)
	}
	if len(root.Tasks) != 1 || root.Tasks[0].ID != "x1" || root.Tasks[0].Error == nil || len(root.Tasks[0].Warnings) != 1 {
		t.Errorf("children %+v", root.Tasks)
	}
}

// An expert is tried again under the same id: what it and its helpers said is gone, what it cost is not.
func TestTaskThatStartsOverBeginsEmpty(t *testing.T) {
	usage := item.Usage{OutputTokens: 3}
	f := fold(t, journal(
		at{"", event.RunStarted{}},
		at{"x", event.TaskStarted{Agent: "Ada"}},
		at{"y", event.TaskStarted{Parent: "x", Agent: "Bob"}},
		at{"y", event.TurnStarted{Turn: "t1"}},
		at{"y", event.ItemStarted{Item: "m1", Turn: "t1", Type: item.TypeMessage}},
		at{"y", event.ItemEnded{Item: item.AssistantText("m1", "first try"), Status: item.Completed}},
		at{"y", event.TurnEnded{Turn: "t1", Usage: usage}},
		at{"y", event.TaskEnded{Status: event.Success, Usage: usage}},
		at{"x", event.TaskEnded{Status: event.Failed, Usage: usage, Error: &event.Error{Code: "empty", Message: "no answer"}}},
		at{"x", event.TaskStarted{Agent: "Ada", Attempt: 2}},
	))
	x, _ := f.Task("x")
	if len(x.Items) != 0 || len(x.Tasks) != 0 || x.Status != "" || x.Error != nil || x.Attempt != 2 || x.Usage != usage {
		t.Errorf("got %+v", x)
	}
	if _, ok := f.Task("y"); ok {
		t.Error("the helper of the first attempt is still there")
	}
}
