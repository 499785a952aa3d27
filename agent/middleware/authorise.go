package middleware

import (
	"context"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/tool"
)

// AuthOptions are settings of [Authorise].
type AuthOptions struct {
	// May says whether the run may use a tool, and if not, why, in a sentence for the model. An error is a no: who cannot be asked
	// has not allowed it. [Rules] make one.
	May func(ctx context.Context, s *agent.Step, t tool.Spec) (why string, ok bool, err error)
}

// Authorise refuses calls that a policy does not allow.
func Authorise(o AuthOptions) agent.Middleware {
	return agent.Middleware{Name: "authorise", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if o.May == nil {
				return next(ctx, c)
			}
			spec := c.Spec
			if c.Call.Name != spec.Name {
				return c.Refuse(fmt.Sprintf("This call was not made: it was changed into one of %q, about which nobody was asked.", c.Call.Name)), nil
			}
			why, ok, err := o.May(ctx, c.Step, spec)
			switch {
			case ctx.Err() != nil:
				return agent.Outcome{}, context.Cause(ctx)
			case err != nil:
				if err := c.Step.Emit(ctx, event.Warned{Code: "authorisation_failed", Message: fmt.Sprintf("whether %s may be used could not be found out, so it was not: %v", spec.Name, err)}); err != nil {
					return agent.Outcome{}, err
				}
				return c.Refuse("This call was not made: whether it is allowed could not be found out. Try without it."), nil
			case !ok:
				return c.Refuse("This call is not allowed: " + why), nil
			}
			return next(ctx, c)
		}
	}}
}

// Rules are a policy in words: what is denied, and what alone is allowed. Denied counts more.
type Rules struct {
	DenyNames, DenyGroups []string
	DenyRisk              tool.Risk // tools that have any of these classes
	// Where one of these is set, a tool must be in one of them.
	AllowNames, AllowGroups []string
}

// May is for [AuthOptions].
func (r Rules) May(_ context.Context, _ *agent.Step, t tool.Spec) (why string, ok bool, err error) {
	switch {
	case slices.Contains(r.DenyNames, t.Name):
		return "the tool " + t.Name + " is switched off.", false, nil
	case t.Group != "" && slices.Contains(r.DenyGroups, t.Group):
		return "tools of the group " + t.Group + " are switched off.", false, nil
	case t.Risk&r.DenyRisk != 0:
		return fmt.Sprintf("tools that do this are switched off: %v.", t.Risk&r.DenyRisk), false, nil
	case (len(r.AllowNames) > 0 || len(r.AllowGroups) > 0) && !slices.Contains(r.AllowNames, t.Name) && (t.Group == "" || !slices.Contains(r.AllowGroups, t.Group)):
		return "the tool " + t.Name + " is not among those that this agent may use.", false, nil
	}
	return "", true, nil
}
