package eventtest

import (
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Samples returns one envelope of every kind, in the order of event.Kinds, with values such as a run writes them.
// They are examples of their kinds, not one run after another: seq only counts them.
func Samples() []event.Envelope {
	envelopes := make([]event.Envelope, 0, len(samples))
	for i, s := range samples {
		s.Seq, s.Epoch, s.Run, s.Thread = uint64(i+1), 1, "run_7f3a", "thread_51c0"
		s.At = time.Date(2026, 11, 15, 9, 30, 0, 0, time.UTC).Add(time.Duration(i) * 12 * time.Millisecond)
		envelopes = append(envelopes, s)
	}
	return envelopes
}

var usage = item.Usage{InputTokens: 412, OutputTokens: 57, CachedTokens: 384, ReasoningTokens: 20}

var samples = []event.Envelope{
	{Step: -1, Event: event.RunQueued{}},
	{Step: -1, Event: event.RunStarted{Assistant: "assistant_2b9e", Graph: "agent", Attempt: 1, Metadata: json.RawMessage(`{"source":"web"}`)}},
	{Step: 1, Event: event.AttemptStarted{Attempt: 2, Cause: "crash"}},
	{Step: 3, Event: event.RunEnded{
		Status: event.Failed, Error: &event.Error{Code: "recursion_limit", Message: "the graph took 25 steps without ending"}, Usage: usage,
	}},
	{Node: "agent", Step: 1, Event: event.NodeStarted{Execution: "exec_a4", Triggers: []string{"__start__"}, Path: []string{"pull", "agent"}}},
	{Node: "tools", Step: 2, Event: event.NodeEnded{Execution: "exec_b1", Update: json.RawMessage(`{"artifacts":["report.md"]}`)}},
	{Step: 1, Event: event.CheckpointSaved{
		ID: "1f0c2b7e-5a60-6f10-8001-2c4f6a9d1e77", Parent: "1f0c2b7e-4bb1-6c22-8000-9a3e0f51c2d8",
		Source: event.FromLoop, Next: []string{"tools"}, Changed: []string{"messages"},
	}},
	{Node: "review", Step: 2, Event: event.InterruptRaised{
		ID: "int_90d2", Execution: "exec_c7", Value: json.RawMessage(`{"question":"Is this plan good?"}`),
		Ask: event.AskPlanReview, Options: []string{"accept", "edit"},
	}},
	{Node: "agent", Step: 1, Event: event.Custom{Name: "progress", Data: json.RawMessage(`{"done":3,"of":10}`)}},
	{Node: "agent", Step: 1, Event: event.Warned{Code: "model_replaced", Message: "there is no model gpt-9; the default answers"}},
	{Task: "call_e5", Node: "tools", Step: 2, Event: event.TaskStarted{CallID: "call_e5", Agent: "researcher", Title: "Find the tallest tree"}},
	{Task: "call_e5", Node: "tools", Step: 2, Event: event.TaskEnded{Status: event.Success, Usage: usage}},
	{Node: "agent", Step: 1, Event: event.TurnStarted{
		Turn: "msg_02", Execution: "exec_a4", Agent: "lead", Provider: "openai", Model: "gpt-5", Replaces: "msg_01", Attempt: 2,
	}},
	{Node: "agent", Step: 1, Event: event.ContextPrepared{
		Turn: "msg_02", Request: "9f2c4e0b7d1a8c3356e0f1a2b4c5d6e7", Bytes: 48_213, Messages: 12,
		Omitted: []event.Span{{First: "in_17", Count: 40}}, Injected: []event.Span{{First: "summary_3", Count: 1}}, Tools: []string{"search", "read_file"},
	}},
	{Node: "agent", Step: 1, Event: event.TurnEnded{
		Turn: "msg_02", Finish: item.FinishToolCalls, Usage: usage, Model: "gpt-5-2025-08-07", FirstMicros: 310_000, TotalMicros: 1_240_000,
	}},
	{Node: "agent", Step: 1, Event: event.TurnVoided{
		Turn: "msg_01", Cause: "model_overloaded", Error: &event.Error{Code: "model_overloaded", Message: "openai answered 503: try again later"},
		WaitMicros: 500_000, Usage: item.Usage{InputTokens: 412, OutputTokens: 3},
	}},
	{Node: "agent", Step: 1, Event: event.ItemStarted{Item: "item_c1", Turn: "msg_02", Type: item.TypeToolCall, CallID: "call_e5", Name: "search", Index: 1}},
	{Node: "agent", Step: 1, Event: event.ItemEnded{
		Status: item.Completed,
		Item:   item.ToolCall{ID: "item_c1", CallID: "call_e5", Name: "search", Arguments: `{"query": "tallest tree"}`},
	}},
	{Node: "agent", Step: 1, Event: event.BlockStarted{Item: "msg_02", Block: 0, Type: item.TextBlock}},
	{Node: "agent", Step: 1, Event: event.TextDelta{Item: "msg_02", Text: " Hyper"}},
	{Node: "agent", Step: 1, Event: event.ImageDelta{Item: "msg_02", Block: 1, Partial: 0, URL: "data:image/png;base64,iVBORw0KGgo="}},
	{Node: "agent", Step: 1, Event: event.AnnotationAdded{
		Item: "msg_02", Block: 0, Annotation: item.Annotation{Type: item.ReferenceToBlock, Ref: 4, Start: 31, End: 35},
	}},
	{Node: "agent", Step: 1, Event: event.BlockEnded{
		Item: "msg_02", Block: 0,
		Value: item.Block{Type: item.TextBlock, Text: "The tallest is Hyperion, 116 m.[^4]", Annotations: []item.Annotation{
			{Type: item.ReferenceToBlock, Ref: 4, Start: 31, End: 35},
		}},
	}},
	{Node: "agent", Step: 1, Event: event.ArgumentsDelta{Item: "item_c1", Text: `{"query": "tall`}},
	{Node: "tools", Step: 2, Event: event.ToolProgressed{Item: "item_d1", CallID: "call_e5", Name: "search", Message: "reading page 3", Done: 3, Total: 10}},
	{Node: "team", Step: 1, Event: event.TeamFormed{
		Team: "team_1", Title: "Trees of the world", Lead: "lead",
		Members: []event.Member{{ID: "m1", Name: "Ada", Role: "researcher"}, {ID: "m2", Name: "Lin", Role: "writer"}},
	}},
	{Node: "team", Step: 1, Event: event.PlanUpdated{
		Plan: "plan_1", Team: "team_1", Title: "Tallest trees",
		Steps: []event.PlanStep{
			{ID: "s1", Title: "Collect heights", Status: "done", Kind: "research", Member: "m1", Attempt: 1, Result: "12 sources"},
			{ID: "s2", Title: "Write the report", Status: "running", DependsOn: []string{"s1"}, Member: "m2"},
		},
	}},
	{Event: event.Spoken{ID: "s1", To: "m1", Text: "Look at redwoods too."}},
	{Node: "team", Step: 3, Event: event.TeamDissolved{Team: "team_1", Outcome: event.Success}},
}
