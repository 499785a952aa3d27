package middleware_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestSkillsAreListedAndActivated(t *testing.T) {
	listed := 0
	o := middleware.SkillOptions{
		List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
			listed++
			return []middleware.Skill{{"report", "Writes reports.", "/mnt/skills/report/SKILL.md"}, {"lost", "Cannot be read.", "/mnt/skills/lost/SKILL.md"}}, nil
		},
		Load: func(_ context.Context, _ *agent.Step, s middleware.Skill) (string, error) {
			if s.Name == "lost" {
				return "", errors.New("no such file")
			}
			return "Write it in three parts.", nil
		},
	}
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	a := agent.Options{Model: m, System: "Be brief.", Middleware: chain(middleware.Skills(o))}
	th := newThread(t)
	th.say(a, "hello")
	msgs := th.say(a, "/Report on rivers")
	th.say(a, "/unheard-of")
	th.say(a, "/report on lakes")
	if msgs[2].Text() != "/Report on rivers" {
		t.Errorf("the thread was changed: %q", msgs[2].Text())
	}
	reqs := m.Requests()
	for i := range reqs[1:] {
		extends(t, reqs[i], reqs[i+1])
	}
	last := reqs[len(reqs)-1]
	if !strings.Contains(last.System, "- report: Writes reports. (/mnt/skills/report/SKILL.md)") || listed != 4 {
		t.Errorf("the model was told %q; listed %d times in 4 runs", last.System, listed)
	}
	if strings.Count(seen(last), "Write it in three parts.") != 1 || !strings.Contains(last.Messages[2].Text(), "Write it in three parts.") {
		t.Errorf("the model was shown %q", texts(last.Messages))
	}
	if got := value(th, middleware.SkillContextField); len(got) != 1 || got[0].Name != "report" || got[0].Message != "u2" {
		t.Errorf("the state keeps %+v", got)
	}
	th.say(a, "/lost")
	if !slices.Equal(th.warnings(), []string{"skill_unavailable"}) {
		t.Errorf("warned %q", th.warnings())
	}
}
