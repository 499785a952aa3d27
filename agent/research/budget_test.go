package research_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// endless always wants more, and always finds something new.
func endless() (*cast, *library) {
	play, n := usual(), 0
	play.planner = func(model.Request) scripted.Script {
		var steps []research.Step
		for range 2 {
			n++
			steps = append(steps, research.Step{Title: fmt.Sprintf("Nile %d", n)})
		}
		return planOf(steps...)
	}
	play.researcher = func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Say("found [^" + between(lastText(req), "ID: ", "Fact") + "]").Usage(item.Usage{InputTokens: 60, OutputTokens: 40})
		}
		return looksUp("")(req).Usage(item.Usage{InputTokens: 100})
	}
	l := &library{}
	for i := range 60 {
		l.passages = append(l.passages, shelf{fmt.Sprintf("nile %d", i+1), []string{fmt.Sprintf("Fact %d about the river.", i+1)}})
	}
	return play, l
}

func warnings(w *world, code string) (out []string) {
	for _, e := range eventsOf[event.Warned](w) {
		if e.Code == code {
			out = append(out, e.Message)
		}
	}
	return out
}

// When the steps have taken the tokens that they may, no further one is begun, no further round is planned, and the report is
// written with what was found. Each of these steps takes 200.
func TestTokensBoundTheResearch(t *testing.T) {
	for most, want := range map[int]struct{ steps, done, rounds int }{
		100: {2, 1, 1}, 400: {2, 2, 1}, 500: {4, 3, 2}, 0: {40, 40, 20},
	} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			w := newWorld()
			play, l := endless()
			var told string
			play.reporter = func(req model.Request) scripted.Script { told = lastText(req); return scripted.Say("# Rivers") }
			res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, Background: off, MaxPlanIterations: 20, MaxTokens: most}, l.tool()), "Nile?")
			if err != nil {
				t.Fatal(err)
			}
			w.lawful(t)
			done, results := 0, value[map[string]research.Result](t, res, "results")
			for _, r := range results {
				if r.Error == "" {
					done++
				} else if !strings.Contains(r.Error, "left out: the steps have taken") {
					t.Errorf("a step ended with %q", r.Error)
				}
			}
			if len(results) != want.steps || done != want.done || play.asked["planner"] != want.rounds {
				t.Errorf("%d steps, %d of them done, in %d rounds; want %+v", len(results), done, play.asked["planner"], want)
			}
			if n := len(warnings(w, "research_budget")); n != (want.steps - want.done) {
				t.Errorf("people were told %d times", n)
			}
			if strings.Count(told, "<failed") != want.steps-want.done {
				t.Errorf("the reporter was told %s", told)
			}
		})
	}
}

// Time bounds it too: a step that is worked on when it is over ends then, and the run goes on to the report. The time in which a
// person looks at the plan does not count.
func TestTimeBoundsTheResearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, play := newWorld(), usual()
		play.planner = planned(research.Step{Title: "The Danube"}, research.Step{Title: "The Nile"}, research.Step{Title: "The Rhine"})
		danube := play.researcher
		play.researcher = func(req model.Request) scripted.Script {
			if strings.Contains(req.Messages[0].Text(), "The Danube\n</question>") {
				return danube(req)
			}
			return scripted.Say("I begin").Stall()
		}
		g := graphOf(t, play.model(), research.Settings{Background: off, MaxSeconds: 60}, rivers().tool())
		if _, err := w.say(t.Context(), g, "Nile?"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour) // the person is at lunch
		w.next()
		began := time.Now()
		res, err := w.answer(t.Context(), g, "accepted")
		if err != nil || res.Status != event.Success {
			t.Fatalf("%v, %v\n%s", res.Status, err, w.dump())
		}
		w.lawful(t)
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v, want the minute that it may take", took)
		}
		results := value[map[string]research.Result](t, res, "results")
		if results["s1"].Error != "" || !strings.Contains(results["s2"].Error, "60 seconds that the steps may take are over") || !strings.Contains(results["s3"].Error, "left out: the 60 seconds") {
			t.Errorf("results %+v", results)
		}
		if value[string](t, res, "final_report") == "" || play.asked["planner"] != 1 {
			t.Errorf("the planner was asked %d times; the report is %q", play.asked["planner"], value[string](t, res, "final_report"))
		}
	})
}

// From the second round on the planner is told what a program noticed to be missing, and the reporter is told what still is.
func TestThePlannerAndTheReporterAreToldWhatIsNotKnown(t *testing.T) {
	w, play := newWorld(), usual()
	var planner []string
	play.coordinator = always(handOver("How long is the Nile, and who discovered its spring?"))
	play.planner = func(req model.Request) scripted.Script {
		if planner = append(planner, lastText(req)); len(planner) == 1 {
			return planOf(research.Step{Title: "The Nile"})
		}
		return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
	}
	play.researcher = looksUp("The Nile is 6650 km long [^1]. Who discovered its spring was not found in the sources.")
	var reporter string
	play.reporter = func(req model.Request) scripted.Script {
		reporter = lastText(req)
		return scripted.Say("# Nile\n\nThe Nile is 6650 km long[^1]. Who discovered its spring was not found in the sources.")
	}
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, Background: off}, rivers().tool()), "Nile?")
	if err != nil {
		t.Fatal(err)
	}
	if len(planner) != 2 || strings.Contains(planner[0], "<unknown>") {
		t.Fatalf("the planner was told %q", planner)
	}
	for who, told := range map[string]string{"planner": planner[1], "reporter": reporter} {
		open := between(told, "<unknown>", "</unknown>")
		if !strings.Contains(open, "Who discovered its spring was not found in the sources.") || !strings.Contains(open, "No passage that was read mentions: discovered, spring") || strings.Contains(open, "6650") {
			t.Errorf("the %s was told %q", who, open)
		}
	}
	if d := value[[]research.Doubt](t, res, "doubts"); len(d) != 0 {
		t.Errorf("to say that nothing was found is doubted: %+v", d)
	}
}

// A run whose time is over while it is cancelled is cancelled.
func TestACancelledResearchIsNotTakenForALateOne(t *testing.T) {
	w, play := newWorld(), usual()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	stopped := errors.New("somebody stopped it")
	play.researcher = func(model.Request) scripted.Script {
		return scripted.Say("I begin").Do(func(context.Context) error { cancel(stopped); return nil }).Stall()
	}
	_, err := w.say(ctx, graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxSeconds: 3600}, rivers().tool()), "Nile?")
	if !errors.Is(err, stopped) {
		t.Errorf("got %v", err)
	}
	w.lawful(t)
}

// A passage may have the sign that marks doubted citations; to quote it is no reason to doubt.
func TestAQuotationMayHaveTheMarkItself(t *testing.T) {
	w, play := newWorld(), usual()
	l := &library{passages: []shelf{{"nile", []string{"A doubted length is marked with ⚠ where it stands."}}}}
	play.planner = planned(research.Step{Title: "The Nile"})
	play.researcher = looksUp("It says so [^1].")
	play.reporter = always(scripted.Say("# Nile\n\n“A doubted length is marked with ⚠ where it stands.” [^1] The Nile is 7000 km long[^1].\n"))
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 1}, l.tool()), "Nile?")
	if err != nil {
		t.Fatal(err)
	}
	if d := value[[]research.Doubt](t, res, "doubts"); len(d) != 1 || d[0].Reason != research.NoNumber {
		t.Errorf("doubts %+v\n%s", d, value[string](t, res, "final_report"))
	}
}
