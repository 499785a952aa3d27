package middleware_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// held are agents with skills, tools, and some that have to be looked for.
func held(t *testing.T, m model.Model, skills func() ([]middleware.Skill, error)) agent.Options {
	o := middleware.SkillOptions{
		Tool: "load_skill",
		List: func(context.Context, *agent.Step) ([]middleware.Skill, error) { return skills() },
		Load: func(_ context.Context, _ *agent.Step, s middleware.Skill) (string, error) {
			return "the text of " + s.Name, nil
		},
	}
	return agent.Options{
		Model: m, Tools: toolset(t, echo("read_file"), echo("bash"), echo("write_file")),
		Middleware: chain(middleware.SkillTools(o), middleware.Skills(o), middleware.Defer(middleware.DeferOptions{Tools: many(12, "mail")})),
	}
}

func skillsOf(list ...middleware.Skill) func() ([]middleware.Skill, error) {
	return func() ([]middleware.Skill, error) { return list, nil }
}

var (
	reads  = middleware.Skill{Name: "reads", Description: "d", Path: "/reads", Tools: []string{}}
	shells = middleware.Skill{Name: "shells", Description: "d", Path: "/shells", Tools: []string{"bash", "unheard-of"}}
	writes = middleware.Skill{Name: "writes", Description: "d", Path: "/writes", Tools: []string{"write_file", "mail_3"}}
	silent = middleware.Skill{Name: "silent", Description: "d", Path: "/silent"}
)

// What skills in use leave of the tools: for each conversation, those that the model is shown at its end, and which of those that it calls are made.
func TestSkillsAreHeldToTheToolsThatTheyName(t *testing.T) {
	all := []string{"bash", "load_skill", "read_file", "tool_search", "write_file"}
	always := []string{"load_skill", "read_file", "tool_search"}
	with := func(more ...string) []string { return slices.Sorted(slices.Values(slices.Concat(always, more))) }
	for name, c := range map[string]struct {
		says  []string // of the person; "load x" has the model load a skill
		shown []string
	}{
		"none is in use":                         {[]string{"hello"}, all},
		"one that names tools is loaded":         {[]string{"load shells"}, with("bash")},
		"one that names none at all":             {[]string{"load silent"}, all},
		"one whose list is empty":                {[]string{"load reads"}, always},
		"two that name tools have both":          {[]string{"load shells", "load writes"}, with("bash", "write_file")},
		"one that says nothing adds nothing":     {[]string{"load shells", "load silent"}, with("bash")},
		"what is loaded stays in use":            {[]string{"load shells", "hello", "hello"}, with("bash")},
		"one that the person activates":          {[]string{"/shells now"}, with("bash")},
		"is in use until the next message":       {[]string{"/shells now", "hello"}, all},
		"alone, whatever was loaded before":      {[]string{"load writes", "/shells now"}, with("bash")},
		"and again, when it is activated again":  {[]string{"/shells now", "hello", "/shells now"}, with("bash")},
		"then what was loaded is in use again":   {[]string{"load writes", "/shells now", "hello"}, with("write_file")},
		"loaded and activated, it stays":         {[]string{"load shells", "/shells now", "hello"}, with("bash")},
		"activated and loaded, it stays":         {[]string{"/shells now", "load shells", "hello"}, with("bash")},
		"a slash that activates nothing":         {[]string{"load shells", "/unheard-of"}, with("bash")},
		"one activated that says nothing counts": {[]string{"load shells", "/silent now"}, all},
	} {
		t.Run(name, func(t *testing.T) {
			var shown []string
			last := false // the last message is being answered
			m := scripted.New(func(r model.Request) scripted.Script {
				said := r.Messages[len(r.Messages)-1]
				if skill, ok := strings.CutPrefix(said.Text(), "load "); ok && said.Role == item.User {
					return scripted.Call("", "load_skill", `{"name":"`+skill+`"}`)
				}
				if !last {
					return scripted.Say("ok")
				}
				last, shown = false, names(r.Tools)
				return scripted.Parallel(item.ToolCall{CallID: "p1", Name: "bash", Arguments: `{"s":"x"}`}, item.ToolCall{CallID: "p2", Name: "write_file", Arguments: `{"s":"x"}`},
					item.ToolCall{CallID: "p3", Name: "read_file", Arguments: `{"s":"x"}`}, item.ToolCall{CallID: "p4", Name: "mail_3", Arguments: `{"s":"x"}`})
			})
			th := newThread(t)
			a := held(t, m, skillsOf(reads, shells, writes, silent))
			var msgs []item.Message
			for i, text := range c.says {
				last = i == len(c.says)-1
				msgs = th.say(a, text)
			}
			slices.Sort(shown)
			if !slices.Equal(shown, c.shown) {
				t.Errorf("the model is shown %q, want %q", shown, c.shown)
			}
			free := slices.Equal(c.shown, all)
			for id, tool := range map[string]string{"p1": "bash", "p2": "write_file", "p3": "read_file", "p4": "mail_3"} {
				// mail_3 was not found yet, so nobody is shown it; who names it may call it all the same.
				want := free || slices.Contains(c.shown, tool) || tool == "mail_3" && slices.Contains(c.shown, "write_file")
				if got := made(msgs, id); got != want {
					t.Errorf("the call of %s was made: %v, want %v", tool, got, want)
				}
			}
		})
	}
}

// made reports that a call was made and not refused.
func made(msgs []item.Message, id string) bool {
	for _, m := range msgs {
		if m.CallID == id {
			return !strings.Contains(m.Text(), "This call was not made")
		}
	}
	return false
}

func TestSkillsThatAreGoneLeaveOnlyReading(t *testing.T) {
	for name, c := range map[string]struct {
		now   func() ([]middleware.Skill, error)
		shown []string
	}{
		"both":              {skillsOf(reads), []string{"load_skill", "read_file", "tool_search"}},
		"one of two":        {skillsOf(writes), []string{"load_skill", "read_file", "tool_search", "write_file"}},
		"nobody knows":      {func() ([]middleware.Skill, error) { return nil, errors.New("the disk is gone") }, []string{"read_file", "tool_search"}},
		"one names no more": {skillsOf(silent, middleware.Skill{Name: "shells", Path: "/shells"}), []string{"bash", "load_skill", "read_file", "tool_search", "write_file"}},
	} {
		t.Run(name, func(t *testing.T) {
			th := newThread(t)
			load := scripted.Sequence(scripted.Call("c1", "load_skill", `{"name":"shells"}`), scripted.Call("c2", "load_skill", `{"name":"writes"}`), scripted.Say("ok"))
			th.say(held(t, load, skillsOf(shells, writes)), "hello")
			m := scripted.Always(scripted.Say("ok"))
			m.Record = true
			th.say(held(t, m, c.now), "hello")
			shown := names(m.Requests()[0].Tools)
			slices.Sort(shown)
			if !slices.Equal(shown, c.shown) {
				t.Errorf("the model is shown %q, want %q", shown, c.shown)
			}
		})
	}
}

func TestAModelIsToldWhatItMayUse(t *testing.T) {
	m := scripted.Sequence(scripted.Call("c1", "load_skill", `{"name":"shells"}`), scripted.Call("c2", "write_file", `{"s":"x"}`), scripted.Say("ok"))
	th := newThread(t)
	msgs := th.say(held(t, m, skillsOf(shells)), "hello")
	if got := msgs[4].Text(); !strings.Contains(got, "the skill shells") || !strings.Contains(got, "bash") || !strings.Contains(got, "Do without write_file") {
		t.Errorf("the model is told %q", got)
	}
	if got := value(th, middleware.SkillContextField); len(got) != 1 || !got[0].Loaded || got[0].Name != "shells" || got[0].Text != "" {
		t.Errorf("the state keeps %+v", got)
	}
}
