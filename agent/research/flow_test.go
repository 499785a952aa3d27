package research_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// cast is a model that plays all roles, each by what it is shown, so that it says the same after a crash.
type cast struct {
	coordinator func(req model.Request) scripted.Script
	planner     func(req model.Request) scripted.Script
	researcher  func(req model.Request) scripted.Script
	analyst     func(req model.Request) scripted.Script
	coder       func(req model.Request) scripted.Script
	reporter    func(req model.Request) scripted.Script
	coarse      bool // texts come in two pieces

	mu    sync.Mutex
	asked map[string]int
}

func always(s scripted.Script) func(model.Request) scripted.Script {
	return func(model.Request) scripted.Script { return s }
}

func handOver(topic string) scripted.Script {
	args, _ := json.Marshal(map[string]string{"research_topic": topic})
	return scripted.Call("h1", "handoff_to_planner", string(args))
}

// roleOf tells a role by its prompt.
func roleOf(req model.Request) string {
	for role, begins := range map[string][2]string{
		"coordinator": {"You are the first", "你最先读到"}, "planner": {"You plan research", "你负责制定"}, "researcher": {"You find out", "你为一份报告查清"}, "analyst": {"You draw conclusions", "你为一份报告得出"},
		"coder": {"You calculate", "你为一份报告做计算"}, "reporter": {"You write the report", "你撰写报告"},
	} {
		if strings.HasPrefix(req.System, begins[0]) || strings.HasPrefix(req.System, begins[1]) {
			return role
		}
	}
	return "nobody: " + req.System
}

func (c *cast) model() *scripted.Model {
	return scripted.New(func(req model.Request) scripted.Script {
		role := roleOf(req)
		c.mu.Lock()
		if c.asked == nil {
			c.asked = map[string]int{}
		}
		c.asked[role]++
		c.mu.Unlock()
		play := map[string]func(model.Request) scripted.Script{
			"coordinator": c.coordinator, "planner": c.planner, "researcher": c.researcher, "analyst": c.analyst, "coder": c.coder, "reporter": c.reporter,
		}[role]
		if play == nil {
			return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays " + role})
		}
		s := play(req)
		if text := s.Text(); c.coarse && text != "" && len(s.Calls()) == 0 {
			return scripted.Pieces(text[:len(text)/2], text[len(text)/2:])
		}
		return s
	})
}

func lastText(req model.Request) string { return req.Messages[len(req.Messages)-1].Text() }

// looksUp searches for the question once, and then says what there is.
func looksUp(says string) func(model.Request) scripted.Script {
	return func(req model.Request) scripted.Script {
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Say(says)
		}
		question := between(lastText(req), "<question>", "</question>")
		args, _ := json.Marshal(map[string]any{"query": question, "limit": 40})
		return scripted.Call("c1", "search", string(args))
	}
}

func between(text, from, to string) string {
	_, text, _ = strings.Cut(text, from)
	text, _, _ = strings.Cut(text, to)
	return strings.TrimSpace(text)
}

func planOf(steps ...research.Step) scripted.Script {
	raw, _ := json.Marshal(research.Plan{Title: "Rivers", Steps: steps})
	return scripted.Say(string(raw))
}

// planned says a plan in the first round, and that it is enough after it.
func planned(steps ...research.Step) func(model.Request) scripted.Script {
	return func(req model.Request) scripted.Script {
		if strings.Contains(lastText(req), "<finding") || strings.Contains(lastText(req), "<failed") {
			return scripted.Say(`{"title":"Rivers","has_enough_context":true,"steps":[]}`)
		}
		return planOf(steps...)
	}
}

var off = new(bool)

func rivers() *library {
	return &library{passages: []shelf{
		{"nile", []string{"The Nile is 6650 km long.", "The Nile ends in the Mediterranean Sea."}},
		{"danube", []string{"The Danube is 2850 km long."}},
	}}
}

func usual() *cast {
	return &cast{
		coordinator: always(handOver("How long are the Nile and the Danube?")),
		planner:     planned(research.Step{Title: "The Nile", Type: research.Research}, research.Step{Title: "The Danube", Type: research.Research}),
		researcher: func(req model.Request) scripted.Script {
			if strings.Contains(req.Messages[0].Text(), "The Danube\n</question>") {
				return looksUp("It is 2850 km long.")(req)
			}
			return looksUp("The Nile is 6650 km long [^1].")(req)
		},
		reporter: always(scripted.Say("# Rivers\n\nThe Nile is 6650 km long[^1].\n")),
	}
}

// A whole run, and what clients find of it.
func TestAQuestionBecomesAReportWithReferences(t *testing.T) {
	c, l, w := usual(), rivers(), newWorld()
	res, err := w.say(t.Context(), graphOf(t, c.model(), research.Settings{AutoAccept: true, MaxSearchResults: 5}, l.tool()), "How long are the Nile and the Danube?")
	if err != nil {
		t.Fatalf("%v\n%s", err, w.dump())
	}
	w.lawful(t)
	want := []string{"coordinator", "background_investigator", "planner", "human_feedback", "research_team", "researcher", "research_team", "researcher", "research_team", "planner", "reporter"}
	if got := w.path(); !slices.Equal(got, want) {
		t.Errorf("the way was %q, want %q", got, want)
	}
	report := value[string](t, res, "final_report")
	for _, part := range []string{"# Rivers\n\nThe Nile is 6650 km long[^1].", "## References", "[^1]: About nile, <nile.md>, read ", "“The Nile is 6650 km long.”"} {
		if !strings.Contains(report, part) {
			t.Errorf("the report lacks %q:\n%s", part, report)
		}
	}
	if refs := value[[]research.Reference](t, res, "citations"); len(refs) != 1 || refs[0].Address != "nile.md" || refs[0].Number != 1 {
		t.Errorf("citations %+v", refs)
	}
	if d := value[[]research.Doubt](t, res, "doubts"); len(d) != 0 {
		t.Errorf("doubts %+v", d)
	}
	msgs := value[[]item.Message](t, res, "messages")
	last := msgs[len(msgs)-1]
	if last.Text() != report || len(last.Content[0].Annotations) == 0 || last.Content[0].Annotations[0].Ref != 1 {
		t.Errorf("the last message is %+v", last)
	}
	for _, n := range l.limits {
		if n != 5 {
			t.Errorf("a search asked for %d results, want 5", n)
		}
	}
	plans := eventsOf[event.PlanUpdated](w)
	if end := plans[len(plans)-1]; len(end.Steps) != 2 || end.Steps[0].Status != "done" || end.Steps[1].Status != "done" || end.Steps[0].Member != "researcher" {
		t.Errorf("the plan ends as %+v", end)
	}
	var tasks []string
	for _, env := range w.events() {
		if _, ok := env.Event.(event.TaskStarted); ok {
			tasks = append(tasks, env.Task)
		}
	}
	if len(tasks) != 3 || tasks[1] != "step-s1" || tasks[2] != "step-s2" {
		t.Errorf("child tasks %q", tasks)
	}
}

// The other ways through the diagram.
func TestEveryTransition(t *testing.T) {
	enough := always(scripted.Say(`{"title":"x","has_enough_context":true,"steps":[]}`))
	for _, c := range []struct {
		name     string
		change   func(*cast)
		settings research.Settings
		want     []string
	}{
		{"no background investigation", func(*cast) {}, research.Settings{Background: off, MaxPlanIterations: 1},
			[]string{"coordinator", "planner", "human_feedback", "research_team", "researcher", "research_team", "researcher", "research_team", "planner", "reporter"}},
		{"the coordinator answers", func(c *cast) { c.coordinator = always(scripted.Say("Hello!")) }, research.Settings{}, []string{"coordinator"}},
		{"nothing to find out", func(c *cast) { c.planner = enough }, research.Settings{}, []string{"coordinator", "background_investigator", "planner", "reporter"}},
		{"an analyst and a coder", func(c *cast) {
			c.planner = planned(research.Step{Title: "think", Type: research.Analysis}, research.Step{Title: "count", Type: research.Processing})
			c.analyst, c.coder = always(scripted.Say("It is long.")), always(scripted.Say("It is 2."))
		}, research.Settings{Background: off}, []string{"coordinator", "planner", "human_feedback", "research_team", "analyst", "research_team", "coder", "research_team", "reporter"}},
		{"a plan that wants research and has no steps", func(c *cast) { c.planner = planned() }, research.Settings{Background: off, MaxPlanIterations: 1},
			[]string{"coordinator", "planner", "human_feedback", "research_team", "researcher", "research_team", "planner", "reporter"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			play, w := usual(), newWorld()
			c.change(play)
			c.settings.AutoAccept = true
			if _, err := w.say(t.Context(), graphOf(t, play.model(), c.settings, rivers().tool()), "Nile?"); err != nil {
				t.Fatalf("%v\n%s", err, w.dump())
			}
			w.lawful(t)
			// The planner is visited after the last step, and may pass on without a word.
			if got := w.path(); !slices.Equal(withoutPassing(got), withoutPassing(c.want)) {
				t.Errorf("the way was %q, want %q", got, c.want)
			}
		})
	}
}

// withoutPassing drops the planner where it only leads from the team to the reporter.
func withoutPassing(path []string) []string {
	var out []string
	for i, n := range path {
		if n == "planner" && i > 0 && path[i-1] == "research_team" && i+1 < len(path) && path[i+1] == "reporter" {
			continue
		}
		out = append(out, n)
	}
	return out
}

func TestAPersonReviewsThePlan(t *testing.T) {
	edited := map[string]any{"plan": map[string]any{"title": "Danube first", "steps": []map[string]any{{"id": "s2", "title": "The Danube"}, {"title": "The Nile again", "step_type": "research"}}}}
	for _, c := range []struct {
		name   string
		answer any
		title  string   // of the plan that is carried out
		steps  []string // of the plan that is carried out
	}{
		{"accepted by a word", "accepted", "Rivers", []string{"The Nile", "The Danube"}},
		{"accepted as DeerFlow's client does", "[ACCEPTED] go on", "Rivers", []string{"The Nile", "The Danube"}},
		{"accepted by an object", map[string]string{"type": "accept"}, "Rivers", []string{"The Nile", "The Danube"}},
		{"edited by hand", edited, "Danube first", []string{"The Danube", "The Nile again"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, play := newWorld(), usual()
			g := graphOf(t, play.model(), research.Settings{MaxPlanIterations: 1}, rivers().tool())
			res, err := w.say(t.Context(), g, "Nile?")
			if err != nil || res.Status != event.Interrupted {
				t.Fatalf("%v, %v\n%s", res.Status, err, w.dump())
			}
			w.lawful(t)
			asked := eventsOf[event.InterruptRaised](w)
			var q research.Question
			if len(asked) != 1 || asked[0].Ask != event.AskPlanReview || !slices.Equal(asked[0].Options, []string{"accepted", "edit_plan"}) || json.Unmarshal(asked[0].Value, &q) != nil || len(q.Plan.Steps) != 2 {
				t.Fatalf("asked %+v", asked)
			}
			w.next()
			res, err = w.answer(t.Context(), g, c.answer)
			if err != nil {
				t.Fatalf("%v\n%s", err, w.dump())
			}
			w.lawful(t)
			p := value[research.Plan](t, res, "current_plan")
			var titles []string
			for _, s := range p.Steps {
				titles = append(titles, s.Title)
			}
			if p.Title != c.title || !slices.Equal(titles, c.steps) || len(value[map[string]research.Result](t, res, "results")) != len(c.steps) {
				t.Errorf("carried out %q %q", p.Title, titles)
			}
			if !strings.Contains(value[string](t, res, "final_report"), "[^1]: About nile") {
				t.Errorf("what the background search read in the first run is not cited in the second:\n%s", value[string](t, res, "final_report"))
			}
		})
	}
}

func TestWordsAboutAPlanLeadToAnotherOne(t *testing.T) {
	w, play := newWorld(), usual()
	play.planner = func(req model.Request) scripted.Script {
		if wish := between(lastText(req), "<feedback>", "</feedback>"); wish != "" {
			return planOf(research.Step{Title: "The Nile, " + wish})
		}
		return planOf(research.Step{Title: "The Danube"})
	}
	g := graphOf(t, play.model(), research.Settings{MaxPlanIterations: 1}, rivers().tool())
	if _, err := w.say(t.Context(), g, "Nile?"); err != nil {
		t.Fatal(err)
	}
	for i, answer := range []any{"[EDIT_PLAN] only its length", map[string]string{"feedback": "and its source"}, ""} {
		w.next()
		res, err := w.answer(t.Context(), g, answer)
		if err != nil || res.Status != event.Interrupted {
			t.Fatalf("answer %d: %v, %v", i, res.Status, err)
		}
		w.lawful(t)
		p := value[research.Plan](t, res, "current_plan")
		want := []string{"The Nile, only its length", "The Nile, and its source", "The Nile, The plan was not accepted. Make a better one."}[i]
		if len(p.Steps) != 1 || p.Steps[0].Title != want {
			t.Errorf("after %v the plan is %+v", answer, p)
		}
	}
	w.next()
	res, err := w.answer(t.Context(), g, true)
	if err != nil || res.Status != event.Success {
		t.Fatalf("%v, %v", res.Status, err)
	}
}

// A plan that cannot be carried out is asked about again, with what is wrong.
func TestAnEditedPlanThatCannotBeIsToldBack(t *testing.T) {
	for name, c := range map[string]struct {
		plan any
		says string
	}{
		"no steps":          {map[string]any{"steps": []any{}}, "no steps"},
		"too many":          {map[string]any{"steps": []any{map[string]any{"title": "a"}, map[string]any{"title": "b"}, map[string]any{"title": "c"}, map[string]any{"title": "d"}}}, "4 steps, and 3 are allowed"},
		"a step of nothing": {map[string]any{"steps": []any{map[string]any{}}}, "says nothing"},
		"a circle":          {map[string]any{"steps": []any{map[string]any{"id": "a", "title": "a", "depends_on": []string{"b"}}, map[string]any{"id": "b", "title": "b", "depends_on": []string{"a"}}}}, "does not stand before it"},
		"an unknown type":   {map[string]any{"steps": []any{map[string]any{"title": "a", "step_type": "magic"}}}, "must be research, analysis or processing"},
		"not a plan":        {map[string]any{"steps": "all of them"}, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			w, play := newWorld(), usual()
			g := graphOf(t, play.model(), research.Settings{}, rivers().tool())
			if _, err := w.say(t.Context(), g, "Nile?"); err != nil {
				t.Fatal(err)
			}
			w.next()
			res, err := w.answer(t.Context(), g, map[string]any{"plan": c.plan})
			if err != nil || res.Status != event.Interrupted {
				t.Fatalf("%v, %v", res.Status, err)
			}
			asked := eventsOf[event.InterruptRaised](w)
			if len(asked) != 1 || !strings.Contains(string(asked[0].Value), c.says) {
				t.Errorf("asked %s", asked)
			}
			w.next()
			if res, err = w.answer(t.Context(), g, "accepted"); err != nil || res.Status != event.Success {
				t.Errorf("%v, %v", res.Status, err)
			}
		})
	}
}

func TestClarificationTakesAsManyRoundsAsAreAllowed(t *testing.T) {
	w, play := newWorld(), usual()
	play.coordinator = func(req model.Request) scripted.Script {
		return scripted.Say(fmt.Sprintf("Question %d?", len(req.Messages)))
	}
	var topic string
	play.planner = func(req model.Request) scripted.Script {
		topic = between(lastText(req), "<question>", "</question>")
		return scripted.Say(`{"title":"x","has_enough_context":true,"steps":[]}`)
	}
	g := graphOf(t, play.model(), research.Settings{Clarify: true, MaxClarifications: 2, Background: off}, rivers().tool())
	res, err := w.say(t.Context(), g, "How long is it?")
	for i, answer := range []any{"the Nile", map[string]string{"answer": "in km"}} {
		if err != nil || res.Status != event.Interrupted {
			t.Fatalf("round %d: %v, %v", i, res.Status, err)
		}
		w.lawful(t)
		if asked := eventsOf[event.InterruptRaised](w); len(asked) != 1 || asked[0].Ask != event.AskClarification || string(asked[0].Value) != fmt.Sprintf(`"Question %d?"`, 1+2*i) {
			t.Fatalf("round %d: asked %+v", i, asked)
		}
		w.next()
		res, err = w.answer(t.Context(), g, answer)
	}
	if err != nil || res.Status != event.Success {
		t.Fatalf("%v, %v", res.Status, err)
	}
	w.lawful(t)
	if topic != "How long is it?\nthe Nile\nin km" {
		t.Errorf("the planner was told %q", topic)
	}
	if play.asked["coordinator"] != 2 {
		t.Errorf("the coordinator was asked %d times, want 2: the limit is the program's", play.asked["coordinator"])
	}
}

// A client that sends the answer as the next message, as DeerFlow's does, is understood too.
func TestAnAnswerMayComeAsTheNextMessage(t *testing.T) {
	w, play := newWorld(), usual()
	play.coordinator = func(req model.Request) scripted.Script {
		if len(req.Messages) < 3 {
			return scripted.Say("Which one?")
		}
		return handOver("The length of " + lastText(req))
	}
	g := graphOf(t, play.model(), research.Settings{Clarify: true, AutoAccept: true}, rivers().tool())
	if res, err := w.say(t.Context(), g, "How long is it?"); err != nil || res.Status != event.Interrupted {
		t.Fatalf("%v, %v", res.Status, err)
	}
	w.next()
	res, err := w.say(t.Context(), g, "the Nile")
	if err != nil || res.Status != event.Success || value[string](t, res, "research_topic") != "The length of the Nile" {
		t.Errorf("%v, %v, %q", res.Status, err, value[string](t, res, "research_topic"))
	}
}

func TestPlansAreRepairedOrAskedForAgain(t *testing.T) {
	good := `{"title":"Rivers","steps":[{"title":"The Nile","step_type":"research","need_search":true}]}`
	for name, c := range map[string]struct {
		first string
		asks  int // how often the planner is asked in the first round
	}{
		"with a fence":                {"```json\n" + good + "\n```", 1},
		"with prose around it":        {"Here is the plan: " + good + " I hope it helps.", 1},
		"a comma too many":            {`{"title":"Rivers","steps":[{"title":"The Nile",},]}`, 1},
		"half of it":                  {`{"title":"Rivers","steps":[{"title":"The Nile"`, 1},
		"half of a word":              {`{"title":"Rivers","steps":[{"title":"The Ni`, 2},
		"the steps alone":             {`[{"title":"The Nile"}]`, 1},
		"with members nobody knows":   {`{"title":"Rivers","mood":"good","steps":[{"title":"The Nile","execution_res":null}]}`, 1},
		"no plan at all":              {"I would rather not.", 2},
		"nothing":                     {"", 2},
		"a step without a word":       {`{"title":"Rivers","steps":[{"title":""}]}`, 2},
		"a type that there is not":    {`{"title":"Rivers","steps":[{"title":"The Nile","step_type":"dream"}]}`, 1},
		"a dependency on what is not": {`{"title":"Rivers","steps":[{"title":"The Nile","depends_on":["s9","s1"]}]}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w, play := newWorld(), usual()
			asks := 0
			play.planner = func(req model.Request) scripted.Script {
				if asks++; asks == 1 {
					return scripted.Say(c.first)
				}
				return scripted.Say(good)
			}
			res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 1}, rivers().tool()), "Nile?")
			if err != nil {
				t.Fatal(err)
			}
			w.lawful(t)
			p := value[research.Plan](t, res, "current_plan")
			if len(p.Steps) != 1 || p.Steps[0].Title != "The Nile" || p.Steps[0].Type != research.Research || len(p.Steps[0].DependsOn) != 0 || asks != c.asks {
				t.Errorf("asked %d times, want %d, and carried out %+v", asks, c.asks, p)
			}
		})
	}
}

func TestAPlannerWithoutAPlanFailsTheRunAtOnceAndEndsTheResearchLater(t *testing.T) {
	w, play := newWorld(), usual()
	play.planner = always(scripted.Say("no"))
	_, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true}, rivers().tool()), "Nile?")
	var told *event.Error
	if !errors.As(err, &told) || told.Code != "no_plan" {
		t.Errorf("got %v", err)
	}
	w.lawful(t)

	w, play = newWorld(), usual()
	play.planner = func(req model.Request) scripted.Script {
		if strings.Contains(lastText(req), "<finding") {
			return scripted.Say("no")
		}
		return planOf(research.Step{Title: "The Danube"})
	}
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, Background: off}, rivers().tool()), "Nile?")
	if err != nil || res.Status != event.Success || value[string](t, res, "final_report") == "" {
		t.Errorf("%v, %v", res.Status, err)
	}
	w.lawful(t)
}

func TestLimitsAreKeptByTheProgram(t *testing.T) {
	w, play := newWorld(), usual()
	n := 0
	play.planner = func(model.Request) scripted.Script {
		var steps []research.Step
		for range 9 {
			n++
			steps = append(steps, research.Step{Title: fmt.Sprintf("Nile %d", n)})
		}
		return planOf(steps...)
	}
	play.researcher = func(req model.Request) scripted.Script { // finds something new each time
		if req.Messages[len(req.Messages)-1].Role == item.Tool {
			return scripted.Say("found [^" + between(lastText(req), "ID: ", "Fact") + "]")
		}
		return looksUp("")(req)
	}
	l := &library{}
	for i := range 30 {
		l.passages = append(l.passages, shelf{fmt.Sprintf("nile %d", i+1), []string{fmt.Sprintf("Fact %d about the river.", i+1)}})
	}
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 2, MaxSteps: 2}, l.tool()), "Nile?")
	if err != nil {
		t.Fatal(err)
	}
	if got := len(value[map[string]research.Result](t, res, "results")); got != 4 || play.asked["planner"] != 2 {
		t.Errorf("%d steps in %d rounds, want 4 in 2", got, play.asked["planner"])
	}
}

// A round in which nothing new was read is the last one.
func TestResearchEndsWhenItDoesNotPay(t *testing.T) {
	w, play := newWorld(), usual()
	play.planner = always(planOf(research.Step{Title: "The Nile"}))
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 9}, rivers().tool()), "Nile?")
	if err != nil || play.asked["planner"] != 1 { // the background search had found all there is
		t.Errorf("%v; the planner was asked %d times, want 1", err, play.asked["planner"])
	}
	if got := value[int](t, res, "plan_iterations"); got != 1 {
		t.Errorf("%d rounds", got)
	}
}

func TestAStepThatFailsOrSaysNothingIsDone(t *testing.T) {
	for name, c := range map[string]struct {
		researcher scripted.Script
		says       string
	}{
		"a failing model": {scripted.Fail(&model.Error{Class: model.Auth, Message: "no key"}), "no key"},
		"an empty answer": {scripted.Script{}, "without a result"},
		"a panic":         {scripted.Script{}.Panic("ouch"), "ouch"},
		"a broken stream": {scripted.Say("half").Cut(), "broke off"},
	} {
		t.Run(name, func(t *testing.T) {
			w, play := newWorld(), usual()
			play.planner = planned(research.Step{Title: "The Nile"}, research.Step{Title: "The Danube"})
			danube := play.researcher
			play.researcher = func(req model.Request) scripted.Script {
				if strings.Contains(req.Messages[0].Text(), "The Danube\n</question>") {
					return danube(req)
				}
				return c.researcher
			}
			var shown string
			play.reporter = func(req model.Request) scripted.Script {
				shown = lastText(req)
				return scripted.Say("# Rivers\n\nThe Danube is long.")
			}
			res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 1}, rivers().tool()), "Nile?")
			if err != nil {
				t.Fatal(err)
			}
			w.lawful(t)
			results := value[map[string]research.Result](t, res, "results")
			if !strings.Contains(results["s1"].Error, c.says) || results["s2"].Error != "" || len(results) != 2 {
				t.Errorf("results %+v", results)
			}
			if !strings.Contains(between(shown, `<failed step="s1"`, "</failed>"), c.says) {
				t.Errorf("the reporter was not told: %s", shown)
			}
			plans := eventsOf[event.PlanUpdated](w)
			if end := plans[len(plans)-1]; end.Steps[0].Status != "failed" || end.Steps[1].Status != "done" {
				t.Errorf("the plan ends as %+v", end)
			}
		})
	}
}

func TestStepsThatDoNotWaitForEachOtherRunAtOnce(t *testing.T) {
	w, play := newWorld(), usual()
	play.planner = planned(research.Step{ID: "a", Title: "A"}, research.Step{ID: "b", Title: "B"}, research.Step{ID: "c", Title: "C", DependsOn: []string{"a", "b"}})
	both := make(chan struct{})
	var mu sync.Mutex
	begun := 0
	play.researcher = func(req model.Request) scripted.Script {
		if strings.Contains(req.Messages[0].Text(), "C\n</question>") {
			if strings.Count(req.Messages[0].Text(), "<finding") != 2 {
				return scripted.Say("too early")
			}
			return scripted.Say("after both")
		}
		mu.Lock()
		if begun++; begun == 2 {
			close(both)
		}
		mu.Unlock()
		return scripted.Wait(both).Say("done")
	}
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, Parallel: 4, Background: off}, rivers().tool()), "Nile?")
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	if got := value[map[string]research.Result](t, res, "results"); got["s3"].Text != "after both" {
		t.Errorf("results %+v", got)
	}
}

// Somebody cancels one step while it works; the others go on.
func TestAStepCanBeCancelledAlone(t *testing.T) {
	w, play := newWorld(), usual()
	play.planner = planned(research.Step{Title: "The Danube"}, research.Step{Title: "The Nile"})
	nile := play.researcher
	play.researcher = func(req model.Request) scripted.Script {
		if strings.Contains(req.Messages[0].Text(), "The Danube\n</question>") {
			return scripted.Say("I begin").Do(func(context.Context) error {
				if !w.control.CancelTask("step-s1") {
					return errors.New("there is no such task")
				}
				return nil
			}).Stall()
		}
		return nile(req)
	}
	res, err := w.say(t.Context(), graphOf(t, play.model(), research.Settings{AutoAccept: true, MaxPlanIterations: 1}, rivers().tool()), "Nile?")
	if err != nil || res.Status != event.Success {
		t.Fatalf("%v, %v\n%s", res.Status, err, w.dump())
	}
	w.lawful(t)
	if got := value[map[string]research.Result](t, res, "results"); !strings.Contains(got["s1"].Error, "cancelled") || got["s2"].Error != "" {
		t.Errorf("results %+v", got)
	}
}

// The run is cancelled in every node; it ends as cancelled and its journal is lawful.
func TestCancelInEveryNode(t *testing.T) {
	for _, node := range []string{"coordinator", "background_investigator", "planner", "human_feedback", "research_team", "researcher", "analyst", "coder", "reporter", "clarify", "checker"} {
		t.Run(node, func(t *testing.T) {
			w, play := newWorld(), usual()
			play.planner = planned(research.Step{Title: "The Nile"}, research.Step{Title: "think", Type: research.Analysis}, research.Step{Title: "count", Type: research.Processing})
			play.analyst, play.coder = always(scripted.Say("so")), always(scripted.Say("2"))
			switch node {
			case "clarify":
				play.coordinator = always(scripted.Say("Which Nile?"))
			case "checker": // it has something to be asked about
				play.reporter, play.researcher = always(scripted.Say(told)), looksUp("The Nile is 6650 km long [^1]. It ends in a sea [^2].")
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			stopped := errors.New("somebody stopped it")
			hit := false
			w.seen = func(env event.Envelope) {
				if _, ok := env.Event.(event.NodeStarted); ok && env.Node == node && env.NS == "" {
					hit = true
					cancel(stopped)
				}
			}
			g, err := research.New(research.Options{
				Model: play.model(), Checker: scripted.New(always(scripted.Pieces("{").Stall())), Tools: setOf(t, rivers().tool()), Policy: agent.Policy{Tries: 2, Backoff: 1},
				Settings: research.Settings{AutoAccept: true, MaxPlanIterations: 1, Clarify: node == "clarify"},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.say(ctx, g, "Nile?")
			if !hit || !errors.Is(err, stopped) {
				t.Errorf("got %v; the node began: %v", err, hit)
			}
			w.lawful(t)
		})
	}
}
