package team_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// asked answers by what it is shown, so that it says the same after a crash.
func asked(req model.Request) scripted.Script {
	last := req.Messages[len(req.Messages)-1]
	switch {
	case who(req) == "lead" && strings.HasPrefix(last.Text(), "Plan how"):
		return scripted.Words(`{"phases":[{"id":"one","title":"One"},{"id":"two","title":"Two","experts":["ada"],"depends_on":["one"]}]}`)
	case who(req) == "lead":
		return scripted.Words("All agree [^1].")
	case who(req) == "ben":
		return scripted.Words("I wanted to").Fail(errKey)
	case last.Role != item.Tool:
		return scripted.Say("Looking.").Call("c", "look", `{"s":"x"}`)
	}
	return scripted.Words("It is so [^1].")
}

// The process dies after its n-th record, for every n, and another one goes on. The team ends as if nothing had been, its experts
// end once, and no frame is taken back.
func TestACrashAfterAnyRecordOfATeamLosesAndRepeatsNothing(t *testing.T) {
	look := tool.Repeatable(tool.Func("look", "Looks.", func(_ context.Context, in struct {
		S string `json:"s"`
	}) (item.ToolResult, error) {
		return item.ToolResult{Content: []item.Block{{Type: item.TextBlock, Text: "found " + in.S, Ref: 1}}}, nil
	}))
	tools, err := tool.NewSet(look)
	if err != nil {
		t.Fatal(err)
	}
	// One at a time, so that what is cited has the same number always.
	make := func() *graph.Graph {
		return build(t, team.Options{Agent: agent.Options{Model: scripted.New(asked), Tools: tools}, Experts: experts("Ada", "Ben"), LeadPlans: true, Parallel: 1})
	}
	whole := newWorld()
	res, err := whole.attempt(t.Context(), make(), ask("go"))
	if err != nil {
		t.Fatal(err)
	}
	whole.lawful(t)
	want := answer(t, res)
	for n := range whole.full {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld()
			w.restart(n)
			if _, err := w.attempt(t.Context(), make(), ask("go")); !errors.Is(err, errDead) {
				t.Fatalf("it outlived its death: %v", err)
			}
			seen := framesOf(t, w)
			w.restart(-1)
			res, err := w.attempt(t.Context(), make(), ask("go"))
			if err != nil {
				t.Fatalf("%v\n%s", err, w.dump())
			}
			w.lawful(t)
			frames := framesOf(t, w)
			if err := invariants(frames); err != nil {
				t.Fatalf("%v\n%s", err, w.dump())
			}
			for i := range seen {
				if seen[i].Type != frames[i].Type || seen[i].Delta != frames[i].Delta {
					t.Fatalf("frame %d was %+v and is %+v", i, seen[i], frames[i])
				}
			}
			if got := answer(t, res); got != want {
				t.Errorf("answer %q, want %q", got, want)
			}
			results := of(frames, "expert_result")
			if len(results) != 3 {
				t.Errorf("%d results, want 3", len(results))
			}
			for _, r := range results {
				if r.Expert == "ben" && (r.Status != event.Failed || *r.Content != "I wanted to") {
					t.Errorf("the one who failed: %+v %q", r, *r.Content)
				}
			}
		})
	}
}
