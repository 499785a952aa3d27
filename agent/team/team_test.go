package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/wire"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

var (
	errBusy = &model.Error{Class: model.Overloaded, Provider: "test", Message: "no room"}
	errKey  = &model.Error{Class: model.Auth, Provider: "test", Message: "the key is wrong"}
)

// quick is a policy that does not wait.
var quick = agent.Policy{Tries: 3, Backoff: time.Nanosecond, MaxWait: time.Microsecond}

// who finds out which expert a request is for; "lead" for the lead.
func who(req model.Request) string {
	if rest, ok := strings.CutPrefix(req.System, "You are "); ok {
		name, _, _ := strings.Cut(rest, ",")
		return strings.ToLower(name)
	}
	return "lead"
}

func build(t testing.TB, o team.Options) *graph.Graph {
	t.Helper()
	if o.Agent.Policy == (agent.Policy{}) {
		o.Agent.Policy = quick
	}
	g, err := team.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// play runs a team and returns the frames of its wire.
func play(t testing.TB, o team.Options) (*world, []teamwire.Frame, graph.Result, error) {
	t.Helper()
	w := newWorld()
	res, err := w.attempt(t.Context(), build(t, o), ask("What does water do?"))
	w.lawful(t)
	return w, framesOf(t, w), res, err
}

func framesOf(t fatal, w *world) []teamwire.Frame {
	t.Helper()
	return project(t, w.mem.Events())
}

func project(t fatal, events []event.Envelope) []teamwire.Frame {
	t.Helper()
	p := teamwire.New()
	var raw []wire.Frame
	for _, env := range events {
		var err error
		if raw, err = p.Project(raw, &env); err != nil {
			t.Fatal(err)
		}
	}
	out := make([]teamwire.Frame, len(raw))
	for i, f := range raw {
		if err := json.Unmarshal(f.Data, &out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func experts(names ...string) (list []team.Expert) {
	for _, n := range names {
		list = append(list, team.Expert{Name: n, Role: "the side of " + n})
	}
	return list
}

func of(frames []teamwire.Frame, typ string) (out []teamwire.Frame) {
	for _, f := range frames {
		if f.Type == typ {
			out = append(out, f)
		}
	}
	return out
}

func answer(t testing.TB, res graph.Result) string {
	t.Helper()
	msgs := conversation(t, res)
	return msgs[len(msgs)-1].Text()
}

func TestExpertsOfAPhaseWorkSideBySideAndTheLeadAnswers(t *testing.T) {
	m := scripted.New(func(req model.Request) scripted.Script {
		if who(req) == "lead" {
			return scripted.Words("Water flows and evaporates.")
		}
		return scripted.Words("I am " + who(req) + ".")
	})
	_, frames, res, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")})
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(t, res); got != "Water flows and evaporates." {
		t.Errorf("answer %q", got)
	}
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
	results := of(frames, "expert_result")
	if len(results) != 2 || *results[0].Content == *results[1].Content || results[0].Phase != "views" {
		t.Errorf("results %+v", results)
	}
	if f := of(frames, "team_synthesis"); len(f) != 1 || *f[0].Content != "Water flows and evaporates." {
		t.Errorf("synthesis %+v", f)
	}
}

func TestALaterPhaseReadsWhatTheEarlierOnesFound(t *testing.T) {
	m := scripted.New(func(req model.Request) scripted.Script {
		all := ""
		for _, msg := range req.Messages {
			all += msg.Text() + "\n"
		}
		switch {
		case who(req) == "ben" && !strings.Contains(all, "rivers rise"):
			return scripted.Words("I was shown nothing.")
		case who(req) == "ben":
			return scripted.Words("So seas rise too.")
		case who(req) == "ada":
			return scripted.Words("rivers rise")
		}
		return scripted.Words("Done.")
	})
	_, frames, _, err := play(t, team.Options{
		Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben"),
		Plan: []team.Phase{{ID: "second", Title: "2", Experts: []string{"ben"}, DependsOn: []string{"first"}}, {ID: "first", Title: "1", Experts: []string{"ada"}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	results := of(frames, "expert_result")
	if len(results) != 2 || results[0].Expert != "ada" || *results[1].Content != "So seas rise too." {
		t.Errorf("results %+v", results)
	}
}

func TestAFailedExpertDoesNotSinkTheTeamAndTheSynthesisIsToldWhoIsMissing(t *testing.T) {
	lead := ""
	m := scripted.New(func(req model.Request) scripted.Script {
		switch who(req) {
		case "ada":
			return scripted.Words("I say").Fail(errKey)
		case "lead":
			lead = req.System
			return scripted.Words("Without Ada: water is wet.")
		}
		return scripted.Words("Water is wet.")
	})
	_, frames, res, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(lead, "Ada (views): test: the key is wrong") {
		t.Errorf("the lead was not told who is missing: %q", lead)
	}
	if got := answer(t, res); !strings.Contains(got, "Without Ada") {
		t.Errorf("answer %q", got)
	}
	for _, f := range of(frames, "expert_result") {
		if f.Expert == "ada" && (f.Status != event.Failed || *f.Content != "I say" || f.Error.Code != "model_auth") {
			t.Errorf("the result of the one who failed: %+v %q", f, *f.Content)
		}
	}
	if n := len(of(frames, "expert_result_chunk_reset")); n != 0 {
		t.Errorf("%d resets: what will not pass must not be tried again", n)
	}
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
}

func TestWhatMayPassIsTriedAgainWithAReset(t *testing.T) {
	for name, first := range map[string]scripted.Script{
		"a provider that breaks in the middle": scripted.Words("Hello wor").Fail(errBusy),
		"a provider that breaks at once":       scripted.Fail(errBusy),
		"an empty answer":                      scripted.Script{},
		"a stream without its end":             scripted.Words("Hello wor").Cut(),
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			m := scripted.New(func(req model.Request) scripted.Script {
				if who(req) == "lead" {
					return scripted.Words("Fine.")
				}
				if calls++; calls == 1 {
					return first
				}
				return scripted.Words("Hello world.")
			})
			_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada")})
			if err != nil {
				t.Fatal(err)
			}
			if r := of(frames, "expert_result")[0]; *r.Content != "Hello world." || r.Status != event.Success {
				t.Errorf("result %+v %q", r, *r.Content)
			}
			if err := invariants(frames); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhenTheLeadFailsTheFindingsStandInItsPlace(t *testing.T) {
	for name, fails := range map[string]scripted.Script{
		"for good":        scripted.Words("We th").Fail(errKey),
		"again and again": scripted.Words("We th").Fail(errBusy),
		"by refusing":     scripted.Words("We th").Fail(&model.Error{Class: model.Refused, Provider: "test", Message: "no"}),
		"with a panic":    scripted.Words("We th").Panic("boom"),
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted.New(func(req model.Request) scripted.Script {
				if who(req) == "lead" {
					return fails
				}
				return scripted.Words(who(req) + " knows.")
			})
			_, frames, res, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")})
			if err != nil {
				t.Fatal(err)
			}
			got := answer(t, res)
			if !strings.Contains(got, "as they are") || !strings.Contains(got, "ada knows.") || !strings.Contains(got, "ben knows.") {
				t.Errorf("answer %q", got)
			}
			if f := of(frames, "team_synthesis"); len(f) != 1 || *f[0].Content != got {
				t.Errorf("synthesis %+v, want %q", f, got)
			}
			if len(of(frames, "team_synthesis_chunk_reset")) == 0 {
				t.Error("what the lead had begun was not taken back")
			}
			if err := invariants(frames); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestATeamOfWhichNobodyAnswersFailsVisibly(t *testing.T) {
	_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: scripted.Always(scripted.Fail(errKey))}, Experts: experts("Ada", "Ben")})
	var told *event.Error
	if !errors.As(err, &told) || told.Code != "team_failed" || !strings.Contains(told.Message, "Ben") {
		t.Errorf("error %v", err)
	}
	last := frames[len(frames)-1]
	if last.Type != "team_dissolved" || last.Outcome != event.Failed {
		t.Errorf("last frame %+v", last)
	}
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	judge := team.Expert{Name: "Judge", Role: "justice"}
	for _, c := range []struct {
		o      team.Options
		phases []string
		works  int
	}{
		{team.Options{Mode: team.Divide}, []string{"views"}, 2},
		{team.Options{Mode: team.Discuss, Rounds: 3}, []string{"round-1", "round-2", "round-3"}, 6},
		{team.Options{Mode: team.Debate}, []string{"round-1", "round-2"}, 4},
		{team.Options{Mode: team.Debate, Judge: &judge}, []string{"round-1", "round-2", "verdict"}, 5},
	} {
		c.o.Agent.Model, c.o.Experts = scripted.New(func(req model.Request) scripted.Script { return scripted.Words(who(req)) }), experts("Ada", "Ben")
		_, frames, _, err := play(t, c.o)
		if err != nil {
			t.Fatal(err)
		}
		plans := of(frames, "plan_update")
		var ids []string
		for _, s := range plans[len(plans)-1].Steps {
			ids = append(ids, s.ID)
			if s.Status != "done" {
				t.Errorf("%s: phase %q is %s", c.o.Mode, s.ID, s.Status)
			}
		}
		if !slices.Equal(ids, c.phases) || len(of(frames, "expert_result")) != c.works {
			t.Errorf("%s: phases %q with %d results, want %q with %d", c.o.Mode, ids, len(of(frames, "expert_result")), c.phases, c.works)
		}
	}
}

func TestTheLeadMayMakeUpExpertsAndPlanAndPlanAgain(t *testing.T) {
	drafts := 0
	m := scripted.New(func(req model.Request) scripted.Script {
		text := req.Messages[0].Text()
		switch {
		case who(req) != "lead":
			return scripted.Words("Aye.")
		case strings.HasPrefix(text, "Put a team"):
			if drafts++; drafts == 1 { // does not fit: two of the same name
				return scripted.Words(`{"experts":[{"name":"Sea Dog","role":"seas"},{"name":"sea-dog","role":"seas"}]}`)
			}
			return scripted.Words(`{"experts":[{"name":"Sea Dog","role":"seas"},{"name":"Cloud","role":"rain","model":"the dearest"}]}`)
		case strings.HasPrefix(text, "Plan how"):
			return scripted.Words(`{"phases":[{"id":"Look","title":"Look","experts":["Sea Dog"]},{"id":"tell","title":"Tell","depends_on":["Look"]}]}`)
		case strings.HasPrefix(text, "Some phases"):
			return scripted.Words(`{"phases":[{"id":"sing","title":"Sing","experts":["cloud"],"depends_on":["look"]}]}`)
		}
		return scripted.Words("All in all.")
	})
	_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Invent: true, LeadPlans: true, Replan: true})
	if err != nil {
		t.Fatal(err)
	}
	if f := frames[0]; f.Type != "team_formed" || len(f.Experts) != 2 || f.Experts[0].ID != "sea-dog" {
		t.Fatalf("first frame %+v", f)
	}
	plans := of(frames, "plan_update")
	last := plans[len(plans)-1].Steps
	if len(last) != 2 || last[0].ID != "look" || last[1].ID != "sing" || last[1].Status != "done" {
		t.Errorf("plan %+v", last)
	}
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
}

func TestAPersonIsAskedAboutThePlan(t *testing.T) {
	for answer, want := range map[string]struct {
		results int
		says    string
	}{
		`"accept"`: {2, "Fine."},
		`"reject"`: {0, "Nothing was done: the plan was not accepted."},
		`{"phases":[{"id":"only","title":"Only","experts":["ada"]}]}`: {1, "Fine."},
		`"mind the tides"`: {2, "Fine."},
	} {
		heeded := false
		m := scripted.New(func(req model.Request) scripted.Script {
			if who(req) == "lead" {
				return scripted.Words("Fine.")
			}
			heeded = heeded || strings.Contains(req.Messages[len(req.Messages)-1].Text(), "mind the tides")
			return scripted.Words("Aye.")
		})
		w := newWorld()
		g := build(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben"), Review: true, Parallel: 1})
		res, err := w.attempt(t.Context(), g, ask("What does water do?"))
		if err != nil || res.Status != event.Interrupted {
			t.Fatalf("%v %v", res.Status, err)
		}
		first := framesOf(t, w)
		if f := of(first, "team_review"); len(f) != 1 || f[0].Ask != "plan_review" || first[len(first)-1].Outcome != event.Interrupted {
			t.Errorf("the question: %+v", first)
		}
		// The answer starts another run, with a journal and readers of its own.
		before := len(w.mem.Events())
		next := &world{mem: w.mem, thread: w.thread, left: -1}
		res, err = g.Run(t.Context(), graph.Execution{
			Thread: w.thread, Run: "run-2", Checkpoints: w.mem, Recorder: next, Orders: &graph.Orders{Resume: json.RawMessage(answer)},
		})
		if err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		frames := project(t, append(slices.Clone(w.mem.Events()[before:]), event.Envelope{Run: "run-2", Event: event.RunEnded{Status: event.Success}}))
		if err := invariants(frames); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		if got := of(frames, "expert_result"); len(got) != want.results {
			t.Errorf("%s: %d results, want %d", answer, len(got), want.results)
		}
		if f := of(frames, "team_synthesis"); len(f) != 1 || *f[0].Content != want.says {
			t.Errorf("%s: %+v", answer, f)
		}
		if strings.Contains(answer, "tides") && !heeded {
			t.Error("the remark did not reach the experts")
		}
	}
}

func TestBudgetsEndTheWorkAndNotTheTeam(t *testing.T) {
	usage := item.Usage{InputTokens: 60, OutputTokens: 40}
	for name, b := range map[string]team.Budget{"tokens": {Tokens: 150}, "turns": {Turns: 3}, "time": {Time: time.Minute}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lead := ""
				m := scripted.New(func(req model.Request) scripted.Script {
					if who(req) == "lead" {
						lead = req.System
						return scripted.Words("Short.")
					}
					return scripted.Words("Aye.").Pause(25 * time.Second).Usage(usage)
				})
				_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben"), Mode: team.Discuss, Rounds: 5, Budget: b})
				if err != nil {
					t.Fatal(err)
				}
				plans := of(frames, "plan_update")
				if s := plans[len(plans)-1].Steps; s[0].Status != "done" || s[4].Status != "skipped" {
					t.Errorf("plan %+v", s)
				}
				if !strings.Contains(lead, "ended early") {
					t.Errorf("the lead was not told: %q", lead)
				}
				if err := invariants(frames); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestOneExpertTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.New(func(req model.Request) scripted.Script {
			if who(req) == "ada" {
				return scripted.Words("Let me").Stall()
			}
			return scripted.Words("Aye.")
		})
		_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben"), Budget: team.Budget{ExpertTime: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range of(frames, "expert_result") {
			if f.Expert == "ada" && (f.Status != event.TimedOut || *f.Content != "Let me") {
				t.Errorf("%+v %q", f, *f.Content)
			}
		}
		if err := invariants(frames); err != nil {
			t.Error(err)
		}
	})
}

func TestToCancelARunIsNoErrorAndDissolvesTheTeam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := scripted.New(func(req model.Request) scripted.Script { return scripted.Words("Well").Stall() })
		w := newWorld()
		go func() { time.Sleep(time.Second); cancel() }()
		_, _ = w.attempt(ctx, build(t, team.Options{Agent: agent.Options{Model: m}, Experts: experts("Ada", "Ben")}), ask("go"))
		w.lawful(t)
		frames := framesOf(t, w)
		for _, f := range of(frames, "expert_result") {
			if f.Status != event.Cancelled || *f.Content != "Well" {
				t.Errorf("%+v %q", f, *f.Content)
			}
		}
		if got := eventsOf[event.TeamDissolved](w); len(got) != 1 || got[0].Outcome != event.Cancelled {
			t.Errorf("dissolved %+v", got)
		}
		if err := invariants(frames); err != nil {
			t.Error(err)
		}
	})
}

func TestAnExpertMayHaveToolsAndAModelOfItsOwn(t *testing.T) {
	tools, err := tool.NewSet(
		tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "seen", nil }),
		tool.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }))
	if err != nil {
		t.Fatal(err)
	}
	own := scripted.Sequence(scripted.Say("Let me look.").Call("c", "look", `{}`), scripted.Words("I looked."))
	own.Record = true
	m := scripted.New(func(req model.Request) scripted.Script { return scripted.Words("Aye.") })
	_, frames, _, err := play(t, team.Options{
		Agent: agent.Options{Model: m, Tools: tools},
		Models: func(_ context.Context, name string) (model.Model, error) {
			if name != "own" {
				return nil, fmt.Errorf("there is no model %q", name)
			}
			return own, nil
		},
		Experts: []team.Expert{{Name: "Ada", Model: "own", Tools: []string{"look"}}, {Name: "Ben", Model: "lost"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := own.Requests()[0].Tools; len(got) != 1 || got[0].Name != "look" {
		t.Errorf("tools %+v", got)
	}
	var kinds []string
	for _, f := range frames {
		if f.Expert == "ada" {
			kinds = append(kinds, strings.TrimSpace(f.Type+" "+f.Kind))
		}
	}
	for _, want := range []string{"expert_step started", "expert_step thought", "expert_step tool_call", "expert_step tool_result", "expert_result"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no %q in %q", want, kinds)
		}
	}
	for _, f := range of(frames, "expert_result") {
		switch {
		case f.Expert == "ada" && *f.Content != "I looked.":
			t.Errorf("content %q: what is said before a call is a step and no answer", *f.Content)
		case f.Expert == "ben" && (f.Status != event.Failed || !strings.Contains(f.Error.Message, "no model")):
			t.Errorf("%+v", f)
		}
	}
	if err := invariants(frames); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotWorkIsRefusedWhenTheTeamIsMade(t *testing.T) {
	m := scripted.Always(scripted.Words("x"))
	for want, o := range map[string]team.Options{
		"needs one":          {},
		"is none of":         {Agent: agent.Options{Model: m}, Mode: "war"},
		"two members":        {Agent: agent.Options{Model: m}, Experts: experts("Ada", "ada")},
		"of letters":         {Agent: agent.Options{Model: m}, Experts: experts("!")},
		"who is not":         {Agent: agent.Options{Model: m}, Plan: []team.Phase{{ID: "a", Experts: []string{"nobody"}}}},
		"not in the plan":    {Agent: agent.Options{Model: m}, Plan: []team.Phase{{ID: "a", DependsOn: []string{"b"}}}},
		"waits for itself":   {Agent: agent.Options{Model: m}, Plan: []team.Phase{{ID: "a", DependsOn: []string{"b"}}, {ID: "b", DependsOn: []string{"a"}}}},
		"an id of its own":   {Agent: agent.Options{Model: m}, Plan: []team.Phase{{ID: "a"}, {ID: "a"}}},
		"and there are none": {Agent: agent.Options{Model: m}, Experts: []team.Expert{{Name: "a", Tools: []string{"x"}}}},
	} {
		if _, err := team.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// fatal is a test, of whichever kind.
type fatal interface {
	Helper()
	Fatal(args ...any)
}
