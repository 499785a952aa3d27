package middleware

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// skillAlways are tools that every skill has: with them its text is read and nothing else is done. So has the tool that loads skills.
var skillAlways = []string{"read_file", searchTool}

// SkillTools holds models to what the skills in use say of tools. It is for agents that have [Skills], and takes the same options.
//
//   - A skill that the person activates with a message is in use until the next message, and then alone: no skill that the model loads besides
//     gives it more tools. Otherwise those are in use that the thread's model has loaded, as far as the state keeps them.
//   - Where one of these names its tools, all that are in use may together use those that are named, and no others. Skills that name none
//     add none. Where none names any, nothing is held back.
//   - What cannot be had is not shown to the model, and is refused when it calls it. A skill gives no rights: what is refused without it
//     is refused with it.
//   - If no skill in use can be found any more, only reading is left.
func SkillTools(o SkillOptions) agent.Middleware {
	lists := newMemo[listed]()
	allowed := func(ctx context.Context, s *agent.Step) (tools, names []string, held bool) {
		active := inUse(s)
		if len(active) == 0 {
			return nil, nil, false
		}
		l := lists.of(s.Scope)
		l.once.Do(func() {
			if o.List != nil {
				l.skills, l.err = o.List(ctx, s)
			}
		})
		return o.allowed(l.skills, active)
	}
	return agent.Middleware{
		Name: "skill_tools",
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				if tools, _, held := allowed(ctx, c.Step); held {
					c.Request.Tools = slices.DeleteFunc(slices.Clone(c.Request.Tools), func(t model.Tool) bool { return !slices.Contains(tools, t.Name) })
				}
				return next(ctx, c)
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				tools, names, held := allowed(ctx, c.Step)
				if !held || slices.Contains(tools, c.Call.Name) {
					return next(ctx, c)
				}
				return c.Refuse(fmt.Sprintf("This call was not made: what is in use is %s, and tools that may be used with it are %s. Do without %s, or say in your answer what you would need it for.",
					strings.Join(names, ", "), strings.Join(tools, ", "), c.Call.Name)), nil
			}
		},
	}
}

// listed are the skills that a run may use.
type listed struct {
	once   sync.Once
	skills []Skill
	err    error // then there are none
}

// inUse are the skills that count now.
func inUse(s *agent.Step) []ActiveSkill {
	known := SkillContextField.Get(s.Scope)
	if len(known) == 0 {
		return nil
	}
	counts := func(k ActiveSkill) bool { return k.Loaded }
	if m := spoken(s.Messages); m != nil {
		name := wanted(*m)
		activated := func(k ActiveSkill) bool { return k.Message != "" && strings.EqualFold(k.Name, name) }
		if slices.ContainsFunc(known, activated) {
			counts = activated
		}
	}
	return slices.DeleteFunc(slices.Clone(known), func(k ActiveSkill) bool { return !counts(k) })
}

// allowed are the tools that the active skills may use together, and what these are called. Without held everything is.
func (o SkillOptions) allowed(list []Skill, active []ActiveSkill) (tools, names []string, held bool) {
	tools = append(tools, skillAlways...)
	if o.Tool != "" {
		tools = append(tools, o.Tool)
	}
	found := false
	for _, a := range active {
		names = append(names, "the skill "+a.Name)
		at := slices.IndexFunc(list, func(k Skill) bool { return k.Path == a.Path })
		if at < 0 {
			continue
		}
		found = true
		held = held || list[at].Tools != nil
		tools = append(tools, list[at].Tools...)
	}
	if !found {
		return tools, names, true
	}
	return tools, names, held
}
