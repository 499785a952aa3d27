package lead

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
)

// These are the middlewares of package middleware, with the settings that the lead agent gives them.

func sanitise(*assembly) (agent.Middleware, string) {
	return middleware.Sanitise(middleware.SanitiseOptions{}), ""
}

func outputs(a *assembly) (agent.Middleware, string) {
	return middleware.Outputs(middleware.OutputOptions{Room: a.parts.Room}), ""
}

func authorise(a *assembly) (agent.Middleware, string) {
	if a.parts.May == nil {
		return agent.Middleware{}, "nobody says what may not be used"
	}
	return middleware.Authorise(middleware.AuthOptions{May: a.parts.May}), ""
}

func toolErrors(*assembly) (agent.Middleware, string) {
	return middleware.ToolErrors(middleware.ErrorOptions{}), ""
}

func auditShell(a *assembly) (agent.Middleware, string) {
	if !a.hasTool(bashTool) {
		return agent.Middleware{}, "there is no tool " + bashTool
	}
	return middleware.AuditShell(middleware.AuditOptions{Tools: []string{bashTool}}), ""
}

// summarise has the agent's own model write the summaries. The offline model cannot: what is too much is left out then.
func summarise(a *assembly) (agent.Middleware, string) {
	o := a.parts.Summary
	o.Policy, o.Breakers = a.parts.Policy, a.parts.Breakers
	if describe(a.choice.Model).Provider != "offline" {
		o.Model, o.Fallbacks = a.choice.Model, a.choice.Fallbacks
	}
	return middleware.Summarise(o), ""
}

func skills(a *assembly) (agent.Middleware, string) {
	o, off := a.skillOptions()
	if off != "" {
		return agent.Middleware{}, off
	}
	return middleware.Skills(o), ""
}

func skillTools(a *assembly) (agent.Middleware, string) {
	o, off := a.skillOptions()
	switch {
	case off != "":
		return agent.Middleware{}, off
	case slices.Contains(a.parts.Without, "skills"):
		return agent.Middleware{}, "there are no skills"
	}
	return middleware.SkillTools(o), ""
}

// skillOptions say which skills the agent has, or why it has none.
func (a *assembly) skillOptions() (o middleware.SkillOptions, off string) {
	if a.parts.Skills == nil {
		return o, "there are no skills"
	}
	o = *a.parts.Skills
	if on(a.settings.Bootstrap) {
		o.List = named(o.List, []string{bootstrapSkill})
	}
	if d := a.parts.Definition; d != nil && d.Skills != nil {
		if len(d.Skills) == 0 {
			return o, "agent " + d.Name + " has no skills"
		}
		o.List = named(o.List, d.Skills)
	}
	return o, ""
}

// named lists those of the skills that have one of the names.
func named(all func(context.Context, *agent.Step) ([]middleware.Skill, error), names []string) func(context.Context, *agent.Step) ([]middleware.Skill, error) {
	return func(ctx context.Context, s *agent.Step) ([]middleware.Skill, error) {
		list, err := all(ctx, s)
		return slices.DeleteFunc(slices.Clone(list), func(k middleware.Skill) bool { return !slices.Contains(names, k.Name) }), err
	}
}

func uploads(a *assembly) (agent.Middleware, string) {
	if !a.hasGroup(filesGroup) {
		return agent.Middleware{}, "the agent has no tools for files"
	}
	return middleware.Uploads(middleware.UploadOptions{}), ""
}

func reminder(a *assembly) (agent.Middleware, string) {
	o := middleware.ReminderOptions{Now: a.parts.Now}
	if !a.sub {
		o.Memory = a.parts.Memory
	}
	return middleware.Remind(o), ""
}

func images(a *assembly) (agent.Middleware, string) {
	switch {
	case !a.hasGroup(filesGroup):
		return agent.Middleware{}, "the agent has no tools for files"
	case !describe(a.choice.Model).Vision:
		return agent.Middleware{}, "the model cannot see pictures"
	}
	return middleware.ViewImages(middleware.ImageOptions{}), ""
}

// durable tells the model again, once messages are left out, what it must not forget.
func durable(*assembly) (agent.Middleware, string) {
	return middleware.Durable(middleware.DurableOptions{Text: func(s *agent.Step) string {
		var b strings.Builder
		for _, t := range Todos.Get(s.Scope) {
			fmt.Fprintf(&b, "- todo [%s] %s\n", t.Status, t.Content)
		}
		for _, d := range Delegations.Get(s.Scope) {
			fmt.Fprintf(&b, "- %s was given to %s (%s): %s\n", d.Description, d.Agent, d.Status, clip(d.Result, 300))
		}
		for _, k := range middleware.SkillContextField.Get(s.Scope) {
			if k.Loaded {
				fmt.Fprintf(&b, "- the skill %s was loaded; load it again where its text is needed\n", k.Name)
			}
		}
		for _, t := range BackgroundTasks.Get(s.Scope) {
			fmt.Fprintf(&b, "- background task %s, %s by %s (%s): %s\n", t.ID, t.Description, t.Agent, t.Status, clip(t.Result, 300))
		}
		return b.String()
	}}), ""
}

// goal has the agent's own model judge. The offline model cannot.
func goal(a *assembly) (agent.Middleware, string) {
	if describe(a.choice.Model).Provider == "offline" {
		return agent.Middleware{}, "the offline model cannot judge whether a goal is reached"
	}
	return middleware.Pursue(middleware.GoalOptions{
		Model: a.choice.Model, Fallbacks: a.choice.Fallbacks, Policy: a.parts.Policy, Breakers: a.parts.Breakers, Most: a.parts.Continuations, Objective: a.settings.Goal,
	}), ""
}

func deferred(a *assembly) (agent.Middleware, string) {
	if len(a.parts.Deferred) == 0 {
		return agent.Middleware{}, "no tools are deferred"
	}
	return middleware.Defer(middleware.DeferOptions{Tools: a.parts.Deferred}), ""
}

func subLimit(a *assembly) (agent.Middleware, string) {
	if !on(a.settings.Subagents) {
		return agent.Middleware{}, "subagent_enabled is not set"
	}
	return middleware.LimitSubs(middleware.SubOptions{Tool: TaskTool, AtOnce: a.out.Limits.Concurrent, Total: a.out.Limits.Count}), ""
}

func loops(a *assembly) (agent.Middleware, string) {
	return middleware.StopLoops(a.parts.Loops), ""
}

// subBudget is what one sub-agent may use, in tokens.
const subBudget = 1_000_000

func budget(a *assembly) (agent.Middleware, string) {
	if a.sub {
		return middleware.Budget(middleware.BudgetOptions{Tokens: subBudget, Warn: 0.7}), ""
	}
	if a.parts.Budget <= 0 {
		return agent.Middleware{}, "no budget is set"
	}
	return middleware.Budget(middleware.BudgetOptions{Tokens: a.parts.Budget}), ""
}

func usage(*assembly) (agent.Middleware, string) {
	return middleware.Usage(middleware.UsageOptions{}), ""
}

func empty(*assembly) (agent.Middleware, string) {
	return middleware.RetryEmpty(middleware.EmptyOptions{}), ""
}

func stops(*assembly) (agent.Middleware, string) {
	return middleware.ExplainStops(middleware.StopOptions{}), ""
}
