package research_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// The process dies after its n-th record, for every n, so in every node; a new one takes over. The research is completed,
// no step is done twice, no search is made twice, and what readers saw is never taken back.
func TestACrashAfterAnyRecordRepeatsNoStep(t *testing.T) {
	s := research.Settings{AutoAccept: true, Parallel: 2}
	play := func() *cast {
		c := usual()
		c.coarse = true
		c.planner = planned(
			research.Step{ID: "a", Title: "The Nile", Type: research.Research}, research.Step{ID: "b", Title: "The Danube", Type: research.Research},
			research.Step{Title: "think", Type: research.Analysis, DependsOn: []string{"a", "b"}})
		c.analyst = always(scripted.Say("The Nile is longer."))
		c.researcher = func(req model.Request) scripted.Script { // cites what it was shown
			last := req.Messages[len(req.Messages)-1]
			if last.Role == item.Tool {
				return scripted.Say("Length found [^" + between(last.Text(), "ID: ", "The") + "].")
			}
			return looksUp("")(req)
		}
		return c
	}
	whole, l := newWorld(), rivers()
	if _, err := whole.say(t.Context(), graphOf(t, play().model(), s, l.tool()), "Nile?"); err != nil {
		t.Fatal(err)
	}
	whole.lawful(t)
	records, searches, answers := whole.full, len(l.calls), len(eventsOf[event.TurnEnded](whole))
	unknown := 0
	for n := range records {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w, l := newWorld(), rivers()
			var seen []event.Envelope
			for _, left := range []int{n, -1} {
				w.restart(left)
				res, err := w.say(t.Context(), graphOf(t, play().model(), s, l.tool()), "Nile?")
				now := w.events()
				if len(now) < len(seen) || !slices.EqualFunc(now[:len(seen)], seen, func(a, b event.Envelope) bool { return a.Seq == b.Seq && a.Event.Kind() == b.Event.Kind() }) {
					t.Fatal("the journal was rewritten")
				}
				seen = now
				if errors.Is(err, errDead) {
					continue
				}
				if err != nil {
					t.Fatalf("%v\n%s", err, w.dump())
				}
				if got := len(value[map[string]research.Result](t, res, "results")); got != 3 {
					t.Errorf("%d steps have a result, want 3", got)
				}
				if !strings.Contains(value[string](t, res, "final_report"), "## References") {
					t.Errorf("the report is %q", value[string](t, res, "final_report"))
				}
				break
			}
			w.lawful(t)
			ids := slices.Sorted(slices.Values(l.calls))
			if len(slices.Compact(ids)) != len(l.calls) {
				t.Errorf("a search was made twice under one id: %q", l.calls)
			}
			if len(l.calls) > searches {
				// The search of this test is not repeatable, so one that had begun is not made again.
				t.Errorf("%d searches, want at most %d", len(l.calls), searches)
			}
			ends := map[string]int{}
			for _, env := range w.events() {
				if e, ok := env.Event.(event.TaskEnded); ok && e.Status == event.Success {
					ends[env.Task]++
				}
				if e, ok := env.Event.(event.ItemEnded); ok && e.Status == item.Incomplete {
					unknown++
				}
			}
			for task, n := range ends {
				if n != 1 {
					t.Errorf("task %s ended %d times", task, n)
				}
			}
			if turns := len(eventsOf[event.TurnEnded](w)); turns > answers {
				t.Errorf("%d answers, want at most %d: something was answered twice", turns, answers)
			}
		})
	}
	if unknown == 0 {
		t.Error("no crash came while a search ran; the test shows nothing")
	}
	t.Logf("%d records, %d searches", records, searches)
}

// A step that had failed when the process died has failed: its readers were told so, and it does not begin again.
func TestAFailedStepIsNotBegunAgainAfterACrash(t *testing.T) {
	s := research.Settings{AutoAccept: true, Background: off}
	begun := 0
	play := func() *cast {
		c := usual()
		c.coarse = true
		c.planner = planned(research.Step{Title: "count", Type: research.Processing})
		c.coder = func(model.Request) scripted.Script {
			begun++
			return scripted.Fail(&model.Error{Class: model.Auth, Message: "no key"})
		}
		return c
	}
	for n := 0; ; n++ {
		w := newWorld()
		w.restart(n)
		if _, err := w.say(t.Context(), graphOf(t, play().model(), s, rivers().tool()), "Nile?"); !errors.Is(err, errDead) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		w.restart(-1)
		res, err := w.say(t.Context(), graphOf(t, play().model(), s, rivers().tool()), "Nile?")
		if err != nil || !strings.Contains(value[map[string]research.Result](t, res, "results")["s1"].Error, "no key") {
			t.Fatalf("after %d records: %v\n%s", n, err, w.dump())
		}
		w.lawful(t)
		if ends := len(eventsOf[event.TaskEnded](w)); ends != 1 {
			t.Errorf("after %d records: the step ended %d times", n, ends)
		}
	}
	if begun == 0 {
		t.Error("the step was never begun")
	}
}
