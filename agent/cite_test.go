package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// library finds a passage for every comma-separated word.
func library() tool.Tool {
	return tool.Repeatable(tool.Func("search", "Finds passages.", func(_ context.Context, in text) (item.ToolResult, error) {
		return passage(strings.Split(in.S, ",")...), nil
	}))
}

func refs(blocks []item.Block) []int {
	var out []int
	for _, b := range blocks {
		if b.Ref != 0 && !slices.Contains(out, b.Ref) {
			out = append(out, b.Ref)
		}
	}
	return out
}

func TestPassagesAreNumberedBeforeTheModelSeesThem(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("c1", "search", `{"s":"owl,elk"}`),
		scripted.Call("c2", "search", `{"s":"elk,fox"}`),
		scripted.Pieces("Foxes [^", "3] and owls [^1], but not [^7]."),
	)
	m.Record = true
	_, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, library())}, "go")
	if err != nil {
		t.Fatal(err)
	}
	shown := m.Requests()[1].Messages[2].Content
	if got := item.JoinText(shown); got != "<referencable-item>\nID: 1owl</referencable-item><referencable-item>\nID: 2elk</referencable-item>" {
		t.Errorf("the model was shown %q", got)
	}
	if got := msgs[2].Blocks; len(got) != 2 || got[0].Text != "page: owl" || got[0].Ref != 1 {
		t.Errorf("people see %+v", got)
	}
	if got := refs(msgs[4].Content); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("the same passage has another number: %v", got)
	}
	want := []item.Annotation{{Type: item.ReferenceToBlock, Ref: 3, Start: 6, End: 10}, {Type: item.ReferenceToBlock, Ref: 1, Start: 20, End: 24}}
	if got := msgs[5].Content[0].Annotations; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The second run of a thread knows the numbers of the first, although its graph is a new one.
func TestNumbersOfEarlierRunsAreNotGivenAgain(t *testing.T) {
	first := scripted.Sequence(scripted.Call("c1", "search", `{"s":"owl,elk"}`), scripted.Say("ok"))
	_, msgs, err := run(t, agent.Options{Model: first, Tools: toolset(t, library())}, "go")
	if err != nil {
		t.Fatal(err)
	}
	second := scripted.Sequence(scripted.Call("c9", "search", `{"s":"elk,fox"}`), scripted.Say("See [^1] and [^3]."))
	w := newWorld()
	res, err := w.attempt(t.Context(), build(t, agent.Options{Model: second, Tools: toolset(t, library())}),
		map[string]any{"messages": append(msgs, item.UserText("u2", "more"))})
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	msgs = conversation(t, res)
	if got := refs(msgs[len(msgs)-2].Content); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("numbers %v, want 2 and 3", got)
	}
	if got := msgs[len(msgs)-1].Content[0].Annotations; len(got) != 2 {
		t.Errorf("annotations %+v", got)
	}
}

// After a crash in the middle of a step, an execution that does not see the conversation still counts on where the first
// process had come to. A number that was given to what the crash took is not given again, so the model cites those that it
// is shown.
func TestNumbersSurviveACrash(t *testing.T) {
	plan := func(req model.Request) scripted.Script {
		results, shown := 0, ""
		for _, m := range req.Messages {
			if m.Role != item.Tool {
				continue
			}
			results++
			for _, n := range refs(m.Content) {
				shown += fmt.Sprintf("[^%d]", n)
			}
		}
		switch results {
		case 0:
			return scripted.Call("c1", "search", `{"s":"owl"}`)
		case 1:
			return scripted.Parallel(
				item.ToolCall{CallID: "c2", Name: "search", Arguments: `{"s":"elk"}`}, item.ToolCall{CallID: "c3", Name: "search", Arguments: `{"s":"fox"}`})
		}
		return scripted.Say(shown)
	}
	for n := range 100 {
		w := newWorld()
		w.restart(n)
		o := agent.Options{Tools: toolset(t, library()), Model: scripted.New(plan)}
		if _, err := w.attempt(t.Context(), build(t, o), ask("go")); err == nil {
			if n < 30 {
				t.Fatalf("the run took only %d records", n)
			}
			return
		}
		w.restart(-1)
		res, err := w.attempt(t.Context(), build(t, o), ask("go"))
		if err != nil {
			t.Fatal(err)
		}
		w.lawful(t)
		meaning := map[int]string{}
		for _, e := range eventsOf[event.ItemEnded](w) {
			r, ok := e.Item.(item.ToolResult)
			if !ok {
				continue
			}
			for _, b := range r.Blocks {
				if old := meaning[b.Ref]; old != "" && old != b.Text {
					t.Errorf("after %d records: %d is both %q and %q", n, b.Ref, old, b.Text)
				}
				meaning[b.Ref] = b.Text
			}
		}
		msgs := conversation(t, res)
		if got := len(msgs[len(msgs)-1].Content[0].Annotations); got != 3 {
			t.Errorf("after %d records: %d annotations, want 3", n, got)
		}
	}
}

// The references of an earlier run are in the conversation alone, which an execution of a tool does not see.
func TestNumbersOfEarlierRunsSurviveACrash(t *testing.T) {
	_, msgs, err := run(t, agent.Options{Model: scripted.Sequence(scripted.Call("c1", "search", `{"s":"owl,elk"}`), scripted.Say("ok")), Tools: toolset(t, library())}, "go")
	if err != nil {
		t.Fatal(err)
	}
	plan := func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.User {
			return scripted.Call("c9", "search", `{"s":"fox"}`)
		}
		return scripted.Say("ok")
	}
	input := map[string]any{"messages": append(msgs, item.UserText("u2", "more"))}
	for n := 0; ; n++ {
		o := agent.Options{Tools: toolset(t, library()), Model: scripted.New(plan)}
		w := newWorld()
		w.restart(n)
		if _, err := w.attempt(t.Context(), build(t, o), input); err == nil {
			return
		}
		w.restart(-1)
		res, err := w.attempt(t.Context(), build(t, o), input)
		if err != nil {
			t.Fatal(err)
		}
		msgs := conversation(t, res)
		if got := refs(msgs[len(msgs)-2].Content); !slices.Equal(got, []int{3}) {
			t.Fatalf("after %d records: the fox has the number %v", n, got)
		}
	}
}
