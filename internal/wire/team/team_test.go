package team_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
)

// told are events of a team, each of a task.
type told struct {
	task string
	e    event.Event
}

var begin = []told{
	{"", event.RunStarted{Graph: "team", Attempt: 1}},
	{"", event.TeamFormed{Team: "t", Lead: "lead", Members: []event.Member{{ID: "ada", Name: "Ada"}}}},
	{"p1.ada", event.TaskStarted{Agent: "ada", Title: "One"}},
}

// turn is a model call that says something in pieces.
func turn(task, id string, finish item.Finish, pieces ...string) []told {
	list := []told{{task, event.TurnStarted{Turn: id}}, {task, event.ItemStarted{Item: id, Turn: id, Type: item.TypeMessage}},
		{task, event.BlockStarted{Item: id, Type: item.TextBlock}}}
	for _, s := range pieces {
		list = append(list, told{task, event.TextDelta{Item: id, Text: s}})
	}
	if finish == "" {
		return list
	}
	whole := item.AssistantText(id, strings.Join(pieces, ""))
	return append(list, told{task, event.BlockEnded{Item: id, Value: whole.Content[0]}}, told{task, event.ItemEnded{Item: whole, Status: item.Completed}},
		told{task, event.TurnEnded{Turn: id, Finish: finish}})
}

func project(t testing.TB, lists ...[]told) []team.Frame {
	t.Helper()
	p := team.New()
	var raw []wire.Frame
	for i, e := range slices.Concat(lists...) {
		var err error
		if raw, err = p.Project(raw, &event.Envelope{Seq: uint64(i + 1), Run: "r", Task: e.task, Event: e.e}); err != nil {
			t.Fatal(err)
		}
	}
	return read(t, raw)
}

func read(t testing.TB, raw []wire.Frame) []team.Frame {
	t.Helper()
	out := make([]team.Frame, len(raw))
	for i, f := range raw {
		if err := json.Unmarshal(f.Data, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// page is what a simple client has on its screen: it appends chunks, and heeds resets.
func page(frames []team.Frame) (expert, answer string, blinking bool) {
	blinking = true
	for _, f := range frames {
		switch f.Type {
		case "expert_result_chunk":
			expert += f.Delta
		case "expert_result_chunk_reset":
			expert = ""
		case "team_synthesis_chunk":
			answer += f.Delta
		case "team_synthesis_chunk_reset":
			answer = ""
		case "team_dissolved":
			blinking = false
		}
	}
	return expert, answer, blinking
}

// Seed 004, the first bug: the pieces and the whole text that ends them were both appended.
func TestHelloHello(t *testing.T) {
	ended := []told{{"p1.ada", event.TaskEnded{Status: event.Success}}}
	frames := project(t, begin, turn("p1.ada", "m1", item.FinishStop, "Hel", "lo"), ended, turn("", "m2", item.FinishStop, "Good", "bye"),
		[]told{{"", event.RunEnded{Status: event.Success}}})
	if expert, answer, _ := page(frames); expert != "Hello" || answer != "Goodbye" {
		t.Errorf("the page says %q and %q, want Hello and Goodbye", expert, answer)
	}
	for _, f := range frames {
		if f.Type == "expert_result" && *f.Content != "Hello" {
			t.Errorf("content %q", *f.Content)
		}
	}
	// A call that does not stream says everything at its end, and that must not be lost either.
	whole := item.AssistantText("m3", "Hello")
	frames = project(t, begin, []told{{"p1.ada", event.TurnStarted{Turn: "m3"}}, {"p1.ada", event.ItemStarted{Item: "m3", Turn: "m3", Type: item.TypeMessage}},
		{"p1.ada", event.ItemEnded{Item: whole}}, {"p1.ada", event.TurnEnded{Turn: "m3", Finish: item.FinishStop}}}, ended)
	if expert, _, _ := page(frames); expert != "Hello" {
		t.Errorf("without streaming the page says %q, want Hello", expert)
	}
}

// What becomes of each kind of event in a team, in the task of an expert and outside of any. "" is silence, on purpose.
var fates = map[string][2]string{
	"run_queued": {"", ""}, "run_started": {"", ""}, "attempt_started": {"", ""}, "run_ended": {"team_dissolved", "team_dissolved"},
	"node_started": {"", ""}, "node_ended": {"", ""}, "checkpoint_saved": {"", ""},
	"interrupt_raised": {"team_review", "team_review"}, "custom": {"expert_step", "team_custom"}, "warned": {"team_warning", "team_warning"},
	"task_started": {"", "expert_step"}, "task_ended": {"expert_result", ""},
	"turn_started": {"", ""}, "context_prepared": {"", ""}, "turn_ended": {"expert_result_chunk_reset", ""}, "turn_voided": {"expert_result_chunk_reset", "team_synthesis_chunk_reset"},
	"item_started": {"", ""}, "item_ended": {"expert_step", ""},
	"block_started": {"", ""}, "text_delta": {"expert_result_chunk", "team_synthesis_chunk"}, "image_delta": {"", ""}, "annotation_added": {"", ""}, "block_ended": {"", ""},
	"arguments_delta": {"", ""}, "tool_progressed": {"expert_step", ""},
	"team_formed": {"", ""}, "plan_updated": {"expert_step", "plan_update"}, "spoken": {"team_spoken", "team_spoken"}, "team_dissolved": {"", ""}, "unknown": {"", ""},
}

// Seed 004, the second bug: a type was emitted and dropped on the way, because a list elsewhere did not have it.
func TestNoEventTypeIsDroppedSilently(t *testing.T) {
	visitor := reflect.TypeFor[event.Visitor]()
	if n := visitor.NumMethod(); n != len(fates) {
		t.Errorf("there are %d kinds of events, and the table has %d: say what becomes of each", n, len(fates))
	}
	events := map[string]event.Event{
		"turn_ended": event.TurnEnded{Turn: "m", Finish: item.FinishToolCalls}, "turn_voided": event.TurnVoided{Turn: "m", Cause: "model_broken"},
		"text_delta": event.TextDelta{Item: "m", Text: "more"}, "item_ended": event.ItemEnded{Item: item.ToolCall{Name: "look"}},
		"task_started": event.TaskStarted{Agent: "ada"}, "team_formed": begin[1].e,
	}
	sent := map[string]bool{"team_formed": true, "team_synthesis": true} // those of the beginning and the end, below
	for seed := range 3 {
		for kind, fate := range fates {
			e := events[kind]
			if e == nil {
				e = rapid.Custom(func(t *rapid.T) event.Event {
					rapid.Bool().Draw(t, "anything") // for kinds without members, since an example must draw something
					return eventtest.OfKind(t, kind)
				}).Example(seed)
			}
			for at, task := range []string{"p1.ada", ""} {
				before := slices.Concat(begin, turn("p1.ada", "m", "", "Hi"), turn("", "m", "", "Ho"))
				was := project(t, before)
				if kind == "task_started" && task == "" {
					task = "p2.ada" // another one, whom nobody knows yet
				}
				got := project(t, before, []told{{task, e}})[len(was):]
				last := ""
				if len(got) > 0 {
					last = got[len(got)-1].Type
				}
				if last != fate[at] {
					t.Fatalf("%s in task %q gives %q, want %q", kind, task, last, fate[at])
				}
				for _, f := range got {
					sent[f.Type] = true
				}
			}
		}
	}
	for _, typ := range team.Types() {
		if !sent[typ] {
			t.Errorf("nothing ever gives a %s", typ)
		}
	}
}

// Seed 004, the third bug: an error of a class that nobody had thought of left the page waiting for ever.
func TestNoErrorLeavesTheCursorBlinking(t *testing.T) {
	odd := &event.Error{Code: "node_error", Name: "ConfigValidationError", Message: errors.New("what is this").Error()}
	for name, end := range map[string][]told{
		"the expert fails":               {{"p1.ada", event.TaskEnded{Status: event.Failed, Error: odd}}, {"", event.RunEnded{Status: event.Success}}},
		"the run fails under the expert": {{"", event.RunEnded{Status: event.Failed, Error: odd}}},
		"the run is cancelled":           {{"", event.RunEnded{Status: event.Cancelled}}},
		"the run takes too long":         {{"", event.RunEnded{Status: event.TimedOut, Error: odd}}},
	} {
		frames := project(t, begin, turn("p1.ada", "m1", "", "Hel"), end)
		if _, _, blinking := page(frames); blinking {
			t.Errorf("%s: the cursor blinks", name)
		}
		var results []team.Frame
		for _, f := range frames {
			if f.Type == "expert_result" {
				results = append(results, f)
			}
		}
		if len(results) != 1 || *results[0].Content != "Hel" || results[0].Status == event.Success {
			t.Errorf("%s: results %+v, want one that failed with what was said", name, results)
		}
	}
	if frames := project(t, []told{{"", event.RunStarted{}}, {"", event.RunEnded{Status: event.Failed, Error: odd}}}); len(frames) != 2 || frames[0].Type != "team_formed" || frames[1].Error == nil {
		t.Errorf("a run that failed before it had a team: %+v", frames)
	}
}

func TestALateChunkOfAnOldAttemptIsIgnored(t *testing.T) {
	frames := project(t, begin, turn("p1.ada", "m1", "", "Hel"), []told{{"p1.ada", event.TurnVoided{Turn: "m1", Cause: "model_network"}}},
		turn("p1.ada", "m2", "", "Good"), []told{{"p1.ada", event.TextDelta{Item: "m1", Text: "lo"}}, {"p1.ada", event.TextDelta{Item: "m2", Text: "bye"}},
			{"p1.ada", event.TurnVoided{Turn: "m1", Cause: "model_network"}}, {"p1.ada", event.TaskEnded{Status: event.Success}}})
	if expert, _, _ := page(frames); expert != "Goodbye" {
		t.Errorf("the page says %q, want Goodbye", expert)
	}
	for _, f := range frames {
		if f.Type == "expert_result_chunk_reset" && (f.Attempt != 2 || f.Cause != "model_network") {
			t.Errorf("reset %+v", f)
		}
	}
}

// What an answer said before its provider paused stays when only what came after is void.
func TestAPausedAnswerKeepsItsBeginning(t *testing.T) {
	frames := project(t, begin, turn("p1.ada", "m1", item.FinishPause, "One, "), turn("p1.ada", "m2", "", "tw"),
		[]told{{"p1.ada", event.TurnVoided{Turn: "m2"}}}, turn("p1.ada", "m3", item.FinishStop, "two."), []told{{"p1.ada", event.TaskEnded{Status: event.Success}}})
	if expert, _, _ := page(frames); expert != "One, two." || *frames[len(frames)-1].Content != expert {
		t.Errorf("the page says %q, want %q", expert, "One, two.")
	}
}

// Any lawful run, of whatever graph, is a stream that begins, ends and can be cut anywhere.
func TestAnyRunHasABeginningAndAnEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := team.New()
		var raw []wire.Frame
		for _, env := range transcripttest.Runs(transcripttest.Size{Depth: 2, Width: 3, Turns: 2, Budget: 4, Fragment: 6}).Draw(t, "run") {
			var err error
			if raw, err = p.Project(raw, &env); err != nil {
				t.Fatal(err)
			}
		}
		for i, f := range raw {
			var x team.Frame
			if err := json.Unmarshal(f.Data, &x); err != nil {
				t.Fatal(err)
			}
			if (x.Type == "team_formed") != (i == 0) || (x.Type == "team_dissolved") != (i == len(raw)-1) {
				t.Fatalf("frame %d of %d is %s", i, len(raw), x.Type)
			}
		}
	})
}
