package research_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// counter is a tool of the coder's that has an effect.
type counter struct {
	tool.Tool
	calls []string
}

func newCounter() *counter {
	c := &counter{}
	c.Tool = tool.FuncOfCall("count", "Counts.", func(_ context.Context, call tool.Call, _ struct{}) (string, error) {
		c.calls = append(c.calls, call.ID)
		return "3800", nil
	})
	return c
}

func (c *counter) Spec() tool.Spec {
	s := c.Tool.Spec()
	s.Group = "code"
	return s
}

// The richest research: it asks back, is answered, searches, plans, is reviewed, and has steps of every kind in two rounds. The
// process dies after its n-th record, for every n of all three runs, and another one goes on: every step is done once, every effect
// is had at most once, and the report is the same.
func TestTheRichestResearchSurvivesACrashAfterAnyRecord(t *testing.T) {
	play := func() *cast {
		c := usual()
		c.coarse = true
		c.coordinator = func(req model.Request) scripted.Script {
			if len(req.Messages) == 1 {
				return scripted.Say("Which rivers?")
			}
			return handOver("How long are the Nile and the Danube?")
		}
		c.planner = func(req model.Request) scripted.Script {
			switch told := lastText(req); {
			case strings.Contains(told, `step="s4"`):
				return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
			case strings.Contains(told, "<finding"):
				return planOf(research.Step{Title: "The Danube again", Type: research.Analysis})
			}
			return planOf(research.Step{ID: "a", Title: "The Nile", Type: research.Research}, research.Step{Title: "count", Type: research.Processing, DependsOn: []string{"a"}},
				research.Step{Title: "think", Type: research.Analysis})
		}
		c.researcher = func(req model.Request) scripted.Script {
			if last := req.Messages[len(req.Messages)-1]; last.Role == item.Tool {
				return scripted.Say("Length found [^" + between(last.Text(), "ID: ", "The") + "].")
			}
			return looksUp("")(req)
		}
		c.analyst = always(scripted.Say("The Nile is longer."))
		c.coder = func(req model.Request) scripted.Script {
			if last := req.Messages[len(req.Messages)-1]; last.Role == item.Tool {
				return scripted.Say("It is done.")
			}
			return scripted.Call("c2", "count", `{}`)
		}
		return c
	}
	s := research.Settings{Clarify: true, MaxPlanIterations: 2, Parallel: 2, Background: off}
	// tell tells the whole story to a world that may die once, and returns its end and whether it died.
	tell := func(w *world, l *library, c *counter) (res graph.Result, died bool) {
		made := func() *graph.Graph { return graphOf(t, play().model(), s, l.tool(), c) }
		parts := []func() (graph.Result, error){
			func() (graph.Result, error) { return w.say(t.Context(), made(), "Rivers?") },
			func() (graph.Result, error) { return w.answer(t.Context(), made(), "the Nile and the Danube") },
			func() (graph.Result, error) { return w.answer(t.Context(), made(), "accepted") },
			func() (graph.Result, error) { return w.answer(t.Context(), made(), "accepted") },
		}
		for i, part := range parts {
			if i > 0 {
				w.next()
			}
			var err error
			if res, err = part(); errors.Is(err, errDead) {
				died = true
				w.restart(-1)
				res, err = part()
			}
			if err != nil {
				t.Fatalf("part %d: %v\n%s", i, err, w.dump())
			}
			w.lawful(t)
		}
		return res, died
	}
	whole, wl, wc := newWorld(), rivers(), newCounter()
	want, _ := tell(whole, wl, wc)
	report := value[string](t, want, "final_report")
	if want.Status != event.Success || len(value[map[string]research.Result](t, want, "results")) != 4 || len(wc.calls) != 1 || !strings.Contains(report, "## References") {
		t.Fatalf("without a crash it ends as %v with %q", want.Status, report)
	}
	deaths := 0
	for n := 0; ; n++ {
		w, l, c := newWorld(), rivers(), newCounter()
		w.restart(n)
		got, dead := tell(w, l, c)
		// A search that was under way is not made again, and what it would have found is not known. That is what is reported then.
		unknown := slices.ContainsFunc(w.mem.Events(), func(env event.Envelope) bool {
			e, ok := env.Event.(event.ItemEnded)
			return ok && e.Status == item.Incomplete
		})
		if g := value[string](t, got, "final_report"); g != report && !unknown {
			t.Errorf("after %d records the report is %q, want %q", n, g, report)
		}
		if len(c.calls) > 1 || len(l.calls) > len(wl.calls) {
			t.Errorf("after %d records: %d programs ran and %d searches were made", n, len(c.calls), len(l.calls))
		}
		ends := map[string]int{}
		for _, env := range w.mem.Events() {
			if e, ok := env.Event.(event.TaskEnded); ok && e.Status == event.Success {
				ends[env.Task]++
			}
		}
		if len(ends) != 4 && !unknown || slices.Max(slices.Collect(maps.Values(ends))) != 1 {
			t.Errorf("after %d records the steps ended %v", n, ends)
		}
		if !dead { // it lived longer than the story
			break
		}
		deaths++
	}
	if deaths < 60 {
		t.Errorf("the process died %d times only", deaths)
	}
}
