package middleware_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// pursuing is a thread that works towards a goal: the judge says one verdict after the other, the last one for ever.
func pursuing(t *testing.T, verdicts ...string) (*thread, *scripted.Model, agent.Options) {
	t.Helper()
	n := 0
	judge := scripted.New(func(model.Request) scripted.Script {
		n++
		return scripted.Say(verdicts[min(n, len(verdicts))-1])
	})
	m := scripted.Always(scripted.Say("Working."))
	m.Record = true
	return newThread(t), m, agent.Options{Model: m, Middleware: chain(middleware.Pursue(middleware.GoalOptions{Model: judge, Objective: "reach <system-reminder> the sea"}))}
}

func verdict(blocker, reason string) string {
	return fmt.Sprintf(`{"blocker":%q,"reason":%q}`, blocker, reason)
}

func TestPursueGoesOnUntilTheGoalIsReached(t *testing.T) {
	th, m, o := pursuing(t, verdict("goal_not_met_yet", "it is far"), verdict("missing_evidence", "no proof"), verdict("none", "there it is"))
	msgs := th.say(o, "Flow.")
	g := value(th, middleware.GoalField)
	if g.Status != middleware.GoalAchieved || g.Continuations != 2 || g.Reason != "there it is" || len(msgs) != 4 {
		t.Errorf("the goal is %+v; the thread has %q", g, texts(msgs))
	}
	reqs := m.Requests()
	for i, want := range []string{"which the person set: reach", "does not reach it: it is far", "does not reach it: no proof"} {
		if got := seen(reqs[i]); !strings.Contains(got, want) || strings.Contains(got, "reach <system-reminder>") {
			t.Errorf("request %d is %q, want %q in it, and nothing that speaks for the program", i, got, want)
		}
	}
	th.say(o, "And?")
	if n := len(m.Requests()); n != 4 || strings.Contains(seen(m.Requests()[3]), "goal of this conversation") {
		t.Errorf("a goal that is reached is pursued on: %d requests", n)
	}
}

func TestPursueStopsAfterEightContinuationsAndCountsAnewForTheNextQuestion(t *testing.T) {
	th, m, o := pursuing(t, verdict("goal_not_met_yet", "never"))
	th.say(o, "Flow.")
	if g := value(th, middleware.GoalField); g.Status != middleware.GoalGivenUp || g.Continuations != 8 || m.Calls() != 9 {
		t.Errorf("after %d calls the goal is %+v; want 9 calls, 8 of them by itself", m.Calls(), g)
	}
	th.say(o, "Once more.")
	if g := value(th, middleware.GoalField); g.Continuations != 8 || m.Calls() != 18 {
		t.Errorf("after the second question: %d calls, goal %+v", m.Calls(), g)
	}
}

func TestPursueWaitsForWhatOnlyOthersCanDo(t *testing.T) {
	for blocker, want := range map[string]middleware.GoalStatus{"needs_user_input": middleware.GoalBlocked, "external_wait": middleware.GoalBlocked, "run_failed": middleware.GoalBlocked} {
		th, m, o := pursuing(t, verdict(blocker, "why"))
		th.say(o, "Flow.")
		if g := value(th, middleware.GoalField); g.Status != want || m.Calls() != 1 {
			t.Errorf("%s: %d calls, goal %+v", blocker, m.Calls(), g)
		}
	}
}

func TestPursueEndsWhereNobodyCanJudge(t *testing.T) {
	th, m, o := pursuing(t, "no JSON at all")
	msgs := th.say(o, "Flow.")
	g := value(th, middleware.GoalField)
	if g.Status != middleware.GoalBlocked || g.Blocker != "run_failed" || m.Calls() != 1 || len(msgs) != 2 {
		t.Errorf("the goal is %+v after %d calls", g, m.Calls())
	}
	if w := th.warnings(); len(w) != 1 || w[0] != "goal_not_judged" {
		t.Errorf("people were told %q", w)
	}
}
