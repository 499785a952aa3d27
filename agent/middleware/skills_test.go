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
			return []middleware.Skill{
				{Name: "report", Description: "Writes reports.", Path: "/mnt/skills/report/SKILL.md"},
				{Name: "lost", Description: "Cannot be read.", Path: "/mnt/skills/lost/SKILL.md"},
			}, nil
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

func TestAModelLoadsASkillWithATool(t *testing.T) {
	o := middleware.SkillOptions{
		Tool: "load_skill",
		List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
			return []middleware.Skill{{Name: "report", Description: "Writes reports.", Path: "/mnt/skills/report/SKILL.md"}}, nil
		},
		Load: func(context.Context, *agent.Step, middleware.Skill) (string, error) {
			return "Write it in three parts.", nil
		},
	}
	m := scripted.Sequence(scripted.Call("c1", "load_skill", `{"name":"report"}`), scripted.Call("c2", "load_skill", `{"name":"../x"}`), scripted.Say("ok"))
	m.Record = true
	th := newThread(t)
	th.say(agent.Options{Model: m, Middleware: chain(middleware.Skills(o))}, "write a report")
	reqs := m.Requests()
	if len(reqs) != 3 || !strings.Contains(reqs[0].System, "load it with load_skill first") || len(reqs[0].Tools) != 1 {
		t.Fatalf("the model was asked %d times, first with %q", len(reqs), reqs[0].System)
	}
	if last := seen(reqs[2]); !strings.Contains(last, "Write it in three parts.") || !strings.Contains(last, `there is no skill`) {
		t.Errorf("the model was shown %q", last)
	}
	o.List = func(context.Context, *agent.Step) ([]middleware.Skill, error) { return nil, nil }
	none := scripted.Always(scripted.Say("ok"))
	none.Record = true
	newThread(t).say(agent.Options{Model: none, Middleware: chain(middleware.Skills(o))}, "hello")
	if got := none.Requests()[0]; len(got.Tools) != 0 || strings.Contains(got.System, "Skills") {
		t.Errorf("without skills the model has %v and is told %q", got.Tools, got.System)
	}
}
