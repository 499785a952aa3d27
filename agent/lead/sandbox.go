package lead

import (
	"context"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/tool"
)

// sandboxes tells clients where the thread's code runs, once something ran there. A thread has one place for all of its runs: the jail
// is made anew for each command, around the thread's own folder.
func sandboxes(a *assembly) (agent.Middleware, string) {
	if !slices.ContainsFunc(a.tools.Specs(), runsCode) {
		return agent.Middleware{}, "the agent has no tools that run code"
	}
	return agent.Middleware{
		Name: "sandbox", Fields: []graph.AnyField{Sandbox},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				out, err := next(ctx, c)
				if err == nil && runsCode(c.Spec) && Sandbox.Get(c.Step.Scope) == nil && !out.Result.Error {
					out.Writes = append(out.Writes, Sandbox.Set(&SandboxState{ID: c.Step.Config().Thread}))
				}
				return out, err
			}
		},
	}, ""
}

func runsCode(s tool.Spec) bool { return s.Risk&tool.Executes != 0 }
