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

// order is the middleware of the lead agent, the outermost first. The order is that of DeerFlow's agent, and golden files hold
// it: whoever moves a line there sees in the difference what comes before what.
var order = []place{
	{"thread_data", false, folders},
	{"approval", true, approval},
	{"model_settings", true, modelSettings},
	{"todos", false, todos},
	{"title", false, titles},
	{"clarification", false, clarification},
}

// chain is the middleware of the agent, in order. Its fields are declared once, by the first who has them; those that nobody
// has yet are the thread's all the same.
func (a *assembly) chain() []agent.Middleware {
	var list []agent.Middleware
	add := func(name string, m agent.Middleware, off string) {
		a.out.Middleware = append(a.out.Middleware, Ware{name, off})
		if off == "" {
			list = append(list, m)
		}
	}
	for _, p := range order {
		if a.sub && !p.sub {
			continue
		}
		m, off := p.make(a)
		if p.name == "clarification" { // the innermost of all
			for _, own := range a.parts.Middleware {
				add(own.Name, own, "")
			}
		}
		add(p.name, m, off)
	}
	state := agent.Middleware{Name: "state", Fields: Fields()}
	if a.sub {
		state.Fields = []graph.AnyField{Artifacts, Approved}
		list = append(list, a.parts.Middleware...)
	}
	// It is the outermost, and has what no other declares.
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
