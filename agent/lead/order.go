package lead

import (
	"context"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// place is a middleware's in the order. What make returns beside it says why it is off.
type place struct {
	name string
	sub  bool // sub-agents have it too
	make func(*assembly) (agent.Middleware, string)
}

// order is the middleware of the lead agent, the outermost first. A golden file holds it: whoever moves a line sees in the difference
// what comes before what. Package middleware says why its own stand as they do. What a person approves is around what makes failures
// look alike, since a person's words are told as they are, and around what judges commands, so that edited arguments are judged too. What the model is shown
// of the state stands behind what is attached to messages. What a skill does not let be used is refused before anybody is asked about it. Clarification is the innermost: whatever others refuse is not asked.
var order = []place{
	{"sanitise", true, sanitise},
	{"outputs", true, outputs},
	{"thread_data", false, folders},
	{"sandbox", false, sandboxes},
	{"skill_tools", false, skillTools},
	{"authorise", true, authorise},
	{"approval", true, approval},
	{"tool_errors", true, toolErrors},
	{"audit_shell", true, auditShell},
	{"model_settings", true, modelSettings},
	{"summary", true, summarise},
	{"skills", false, skills},
	{"agents", false, agentTools},
	{"uploads", false, uploads},
	{"reminder", true, reminder},
	{"images", true, images},
	{"durable", false, durable},
	{"goal", false, goal},
	{"todos", false, todos},
	{"title", false, titles},
	{"deferred", false, deferred},
	{"sub_limit", false, subLimit},
	{"background", false, background},
	{"loops", true, loops},
	{"budget", true, budget},
	{"usage", true, usage},
	{ownPlace, true, nil},
	{"empty", true, empty},
	{"stops", true, stops},
	{"clarification", false, clarification},
}

// ownPlace is where the middleware of the installation stands.
const ownPlace = "installation"

// Names are the middlewares that can be left out; see [Options].Without.
func Names() []string {
	var out []string
	for _, p := range order {
		if p.make != nil {
			out = append(out, p.name)
		}
	}
	return out
}

// chain is the middleware of the agent, in order. The thread's fields that none of it declares are declared by the first, "state".
func (a *assembly) chain() []agent.Middleware {
	var list []agent.Middleware
	for _, p := range order {
		switch {
		case a.sub && !p.sub:
		case p.make == nil:
			for _, own := range a.parts.Middleware {
				a.out.Middleware = append(a.out.Middleware, Ware{Name: own.Name})
				list = append(list, own)
			}
		case slices.Contains(a.parts.Without, p.name):
			a.out.Middleware = append(a.out.Middleware, Ware{p.name, "the configuration leaves it out"})
		default:
			m, off := p.make(a)
			a.out.Middleware = append(a.out.Middleware, Ware{p.name, off})
			if off == "" {
				m.Name = p.name
				list = append(list, m)
			}
		}
	}
	state := agent.Middleware{Name: "state", Fields: Fields()}
	if a.sub {
		state.Fields = []graph.AnyField{Artifacts, Approved}
	}
	a.out.Middleware = append([]Ware{{Name: state.Name}}, a.out.Middleware...)
	list = declaredOnce(append(list, state))
	return slices.Concat(list[len(list)-1:], list[:len(list)-1])
}

// declaredOnce leaves out of each middleware the fields that an earlier one declares.
func declaredOnce(list []agent.Middleware) []agent.Middleware {
	known := map[string]bool{}
	for i := range list {
		list[i].Fields = slices.DeleteFunc(slices.Clone(list[i].Fields), func(f graph.AnyField) bool {
			twice := known[f.Name()]
			known[f.Name()] = true
			return twice
		})
	}
	return list
}

// modelSettings sets what a custom agent wants of every model call.
func modelSettings(a *assembly) (agent.Middleware, string) {
	d := a.parts.Definition
	if d == nil || d.Temp == nil && d.MaxTokens == 0 {
		return agent.Middleware{}, "no custom agent sets any"
	}
	return agent.Middleware{Name: "model_settings", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			c.Request.Temp, c.Request.MaxTokens = d.Temp, d.MaxTokens
			return next(ctx, c)
		}
	}}, ""
}
