package transcript_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/item"
)

type at struct {
	task string
	ev   event.Event
}

// journal numbers events from 1.
func journal(steps ...at) []event.Envelope {
	var out []event.Envelope
	for i, s := range steps {
		out = append(out, event.Envelope{Seq: uint64(i + 1), Run: "run_1", Task: s.task, Event: s.ev})
	}
	return out
}

func answer(turn, id, text string) []at {
	return []at{
		{"", event.TurnStarted{Turn: turn}},
		{"", event.ItemStarted{Item: id, Turn: turn, Type: item.TypeMessage}},
		{"", event.BlockStarted{Item: id, Type: item.TextBlock}},
		{"", event.TextDelta{Item: id, Text: text}},
		{"", event.BlockEnded{Item: id, Value: item.Block{Type: item.TextBlock, Text: text}}},
		{"", event.ItemEnded{Item: item.AssistantText(id, text), Status: item.Completed}},
		{"", event.TurnEnded{Turn: turn, Finish: item.FinishStop, Usage: item.Usage{OutputTokens: 1}}},
	}
}

func run(middle ...[]at) []event.Envelope {
	steps := []at{{"", event.RunStarted{Graph: "g", Attempt: 1}}}
	for _, m := range middle {
		steps = append(steps, m...)
	}
	var usage item.Usage
	for _, s := range steps {
		if e, ok := s.ev.(event.TurnEnded); ok {
			usage = usage.Plus(e.Usage)
		}
	}
	return journal(append(steps, at{"", event.RunEnded{Status: event.Success, Usage: usage}})...)
}

func TestBrokenLawsAreNamed(t *testing.T) {
	good := answer("t1", "m1", "hello")
	// with replaces the n-th event of the good answer.
	with := func(n int, ev event.Event) []event.Envelope {
		a := slices.Clone(good)
		a[n].ev = ev
		return run(a)
	}
	without := func(n int) []event.Envelope { return run(slices.Delete(slices.Clone(good), n, n+1)) }
	tool := func(id, call string) at {
		return at{"", event.ItemStarted{Item: id, Type: item.TypeToolResult, CallID: call}}
	}
	toolEnd := func(id, call string) at {
		return at{"", event.ItemEnded{Item: item.ToolResult{ID: id, CallID: call, Content: item.Text("x")}, Status: item.Completed}}
	}
	child := func(call string) at { return at{call, event.TaskStarted{CallID: call}} }
	hole := run(good)
	hole[3].Seq = 9

	for name, c := range map[string]struct {
		journal []event.Envelope
		law     transcript.Law
		says    string
	}{
		"a hole":                     {hole, transcript.Order, "seq jumps from 3 to 9"},
		"another run's event":        {append(run(good)[:3], event.Envelope{Seq: 4, Run: "run_2", Event: event.Custom{}}), transcript.Order, "run_2"},
		"no start":                   {journal(good...), transcript.Order, "has not started"},
		"no end":                     {run(good)[:5], transcript.EndsOnce, "does not end"},
		"two ends":                   {append(run(good), event.Envelope{Seq: 10, Run: "run_1", Event: event.RunEnded{}}), transcript.EndsOnce, "the run has ended"},
		"delta of unknown item":      {with(3, event.TextDelta{Item: "other", Text: "x"}), transcript.Order, `item "other" has not started`},
		"delta without block":        {without(2), transcript.Order, "block 0"},
		"delta after the end":        {run(good[:5], []at{good[3]}, good[5:]), transcript.Order, "block 0 of item \"m1\" has ended"},
		"wrong kind of delta":        {with(3, event.ImageDelta{Item: "m1", URL: "x"}), transcript.Order, "type text"},
		"sum of a block":             {with(4, event.BlockEnded{Item: "m1", Value: item.Block{Type: item.TextBlock, Text: "hellohello"}}), transcript.SumOfParts, "hellohello"},
		"item unlike its blocks":     {with(5, event.ItemEnded{Item: item.AssistantText("m1", "other"), Status: item.Completed}), transcript.SumOfParts, "differs"},
		"item with fewer blocks":     {with(5, event.ItemEnded{Item: item.Message{ID: "m1"}, Status: item.Completed}), transcript.SumOfParts, "ends with 0"},
		"turn with an open item":     {without(5), transcript.Order, "is open"},
		"turn twice":                 {run(good, good[:1], good[6:]), transcript.Order, "started already"},
		"item outside of its turn":   {run(good[:1], good[6:], good[1:2]), transcript.Order, "turn \"t1\" is over"},
		"replaces what is not void":  {run(good, []at{{"", event.TurnStarted{Turn: "t2", Replaces: "t1"}}, {"", event.TurnEnded{Turn: "t2"}}}), transcript.Order, "ended well"},
		"void twice":                 {run(good[:1], []at{{"", event.TurnVoided{Turn: "t1"}}, {"", event.TurnVoided{Turn: "t1"}}}), transcript.Order, "is over"},
		"void what ended well":       {run(good, []at{{"", event.AttemptStarted{Attempt: 2}}, {"", event.TurnVoided{Turn: "t1"}}}), transcript.Order, "is over"},
		"usage of the run":           {append(run(good)[:8], event.Envelope{Seq: 9, Run: "run_1", Event: event.RunEnded{Status: event.Success}}), transcript.CountedOnce, "add up to"},
		"success with an open turn":  {run(good[:1]), transcript.EndsOnce, "is open although"},
		"result produced again":      {run([]at{tool("r1", "c1"), toolEnd("r1", "c1"), tool("r2", "c1"), toolEnd("r2", "c1")}), transcript.Order, "never produced again"},
		"result twice without crash": {run([]at{tool("r1", "c1"), tool("r2", "c1"), toolEnd("r2", "c1")}), transcript.Order, "still open"},
		"result of another call":     {run([]at{tool("r1", "c1"), toolEnd("r1", "c2")}), transcript.Order, `"c2"`},
		"child without container":    {run([]at{child("c1"), {"c1", event.TaskEnded{Status: event.Success}}}), transcript.HoldsChild, "no tool_result is open"},
		"child of another name":      {run([]at{tool("r1", "c1"), {"c2", event.TaskStarted{CallID: "c1"}}, {"c2", event.TaskEnded{Status: event.Success}}, toolEnd("r1", "c1")}), transcript.HoldsChild, "must be equal"},
		"container before its child": {run([]at{tool("r1", "c1"), child("c1"), toolEnd("r1", "c1"), {"c1", event.TaskEnded{Status: event.Success}}}), transcript.HoldsChild, "has not ended"},
		"unknown task":               {run([]at{{"c9", event.Warned{Code: "x"}}, {"c9", event.TaskEnded{Status: event.Success}}}), transcript.HoldsChild, "has not started"},
		"work after the task's end":  {run([]at{tool("r1", "c1"), child("c1"), {"c1", event.TaskEnded{Status: event.Success}}, {"c1", event.TurnStarted{Turn: "x"}}, {"c1", event.TurnEnded{Turn: "x"}}, toolEnd("r1", "c1")}), transcript.EndsOnce, "has ended"},
		"task twice":                 {run([]at{tool("r1", "c1"), child("c1"), child("c1"), {"c1", event.TaskEnded{Status: event.Success}}, toolEnd("r1", "c1")}), transcript.Order, "started already"},
		"usage of a task":            {run([]at{tool("r1", "c1"), child("c1"), {"c1", event.TaskEnded{Status: event.Success, Usage: item.Usage{InputTokens: 1}}}, toolEnd("r1", "c1")}), transcript.CountedOnce, "the task says"},
	} {
		t.Run(name, func(t *testing.T) {
			err := transcript.Check(slices.Values(c.journal))
			var law *transcript.LawError
			if !errors.As(err, &law) {
				t.Fatalf("got %v, want a broken law", err)
			}
			if law.Law != c.law || !strings.Contains(law.Error(), c.says) {
				t.Errorf("got %v, want law %q with %q", law, c.law, c.says)
			}
		})
	}
	if err := transcript.Check(slices.Values(run(good))); err != nil {
		t.Errorf("the good run: %v", err)
	}
}

// A law that is broken is reported; the picture still shows what can be shown.
func TestFoldGoesOnAfterABrokenLaw(t *testing.T) {
	j := run(answer("t1", "m1", "hello"), answer("t2", "m2", "world"))
	j[4].Event = event.TextDelta{Item: "m1", Text: "hell"} // the end says hello
	j = slices.Insert(j, 6, j[5])                          // delivered twice
	var f transcript.Fold
	broken := 0
	for i := range j {
		if f.Apply(&j[i]) != nil {
			broken++
		}
	}
	if broken != 2 {
		t.Errorf("%d events reported, want 2", broken)
	}
	root, _ := f.Task("")
	if len(root.Items) != 2 || root.Items[0].Text() != "hello" || f.FinalText("") != "world" || root.Status != event.Success {
		t.Errorf("got %+v", root)
	}
}

// The property tests mean something only if the runs they see are rich.
func TestGeneratorReachesEveryKindAndDepth(t *testing.T) {
	kinds := map[string]bool{}
	deepest, widest := 0, 0
	for seed := range uint64(200) {
		depth := map[string]int{}
		open := 0
		for _, env := range transcripttest.Run(seed, transcripttest.Large) {
			kinds[env.Event.Kind()] = true
			switch e := env.Event.(type) {
			case event.TaskStarted:
				depth[env.Task] = depth[e.Parent] + 1
				deepest = max(deepest, depth[env.Task])
				open++
				widest = max(widest, open)
			case event.TaskEnded:
				open--
			}
		}
	}
	for _, k := range event.Kinds() {
		if !kinds[k] {
			t.Errorf("no run has a %s", k)
		}
	}
	if deepest < 4 || widest < 10 {
		t.Errorf("deepest %d, most children at once %d", deepest, widest)
	}
}
