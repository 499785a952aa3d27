package lead

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Rule says what becomes of calls of some tools. Its members that are set must all fit; the first rule that does counts, and
// a call that none fits is made.
type Rule struct {
	Tool  string    // a tool's name
	Group string    // a group's
	Risk  tool.Risk // classes, of which a tool has at least one
	Do    Verdict
}

// Verdict is what becomes of a call.
type Verdict string

const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask" // a person decides
	Deny  Verdict = "deny"
)

// Rules are what tools may do without being asked.
type Rules struct {
	List []Rule
	// Unattended is what becomes of calls that somebody is to be asked about, in runs in which nobody is there: Deny, if empty.
	Unattended Verdict
}

// Validate says which rule cannot be meant.
func (r Rules) Validate() error {
	for i, rule := range r.List {
		if !slices.Contains([]Verdict{Allow, Ask, Deny}, rule.Do) {
			return fmt.Errorf("rule %d: it must allow, ask or deny, not %q", i+1, rule.Do)
		}
	}
	if !slices.Contains([]Verdict{"", Allow, Deny}, r.Unattended) {
		return fmt.Errorf("unattended calls are allowed or denied, not %q", r.Unattended)
	}
	return nil
}

// Of is the verdict on a tool.
func (r Rules) Of(spec tool.Spec, unattended bool) Verdict {
	for _, rule := range r.List {
		if rule.Tool != "" && rule.Tool != spec.Name || rule.Group != "" && rule.Group != spec.Group || rule.Risk != 0 && rule.Risk&spec.Risk == 0 {
			continue
		}
		switch {
		case rule.Do != Ask || !unattended:
			return rule.Do
		case r.Unattended == Allow:
			return Allow
		}
		return Deny
	}
	return Allow
}

// The answers to a question whether a call may be made.
const (
	approveOnce   = "approve"
	approveThread = "approve_for_thread"
	editCall      = "edit"
	rejectCall    = "reject"
)

// approval asks a person before a tool is called that a rule says so of. The call's intention is on record by then, so a worker
// that lost its run neither asks nor acts.
func approval(a *assembly) (agent.Middleware, string) {
	if len(a.parts.Rules.List) == 0 {
		return agent.Middleware{}, "no rule wants anything approved"
	}
	rules, unattended := a.parts.Rules, a.unattended
	return agent.Middleware{
		Name: "approval", Fields: []graph.AnyField{Approved},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				switch rules.Of(c.Spec, unattended) {
				case Allow:
					return next(ctx, c)
				case Deny:
					return c.Refuse(fmt.Sprintf("%s may not be used here. Do without it, or say in your answer what you would need it for.", c.Call.Name)), nil
				}
				if slices.Contains(Approved.Get(c.Step.Scope), c.Call.Name) {
					return next(ctx, c)
				}
				return decide(ctx, c, next)
			}
		},
	}, ""
}

// decide asks, and does what the person says.
func decide(ctx context.Context, c *agent.ToolCall, next agent.ToolFunc) (agent.Outcome, error) {
	q := approvalQuestion(c)
	for {
		raw, err := c.Ask(tool.Question{Value: q, Kind: string(event.AskToolApproval), Options: []string{approveOnce, approveThread, editCall, rejectCall}})
		if err != nil {
			return agent.Outcome{}, err
		}
		d, problem := readDecision(raw)
		switch {
		case problem != "":
			q.Problem = problem
			continue
		case d.do == rejectCall && d.why == "":
			return c.Refuse("The person rejected this call. Do not make it again; ask what is wanted, or do without."), nil
		case d.do == rejectCall:
			return c.Refuse("The person rejected this call: " + d.why), nil
		case d.do == editCall:
			c.Call.Arguments = string(d.arguments)
		}
		out, err := next(ctx, c)
		if err == nil && d.do == editCall {
			note := item.Text("The person changed the arguments before the call was made, to: " + string(d.arguments))
			out.Result.Content = append(note, out.Result.Content...)
		}
		if err == nil && d.do == approveThread {
			out.Writes = append(out.Writes, Approved.Add(c.Call.Name))
		}
		return out, err
	}
}

// approvalRequest is what a front end is shown. The last two members are what LangChain's middleware asks with, for the
// front ends that know it.
type approvalRequest struct {
	Kind        string           `json:"kind"`
	Tool        string           `json:"tool"`
	Arguments   json.RawMessage  `json:"arguments"`
	Call        string           `json:"tool_call_id"`
	Description string           `json:"description,omitempty"`
	Can         string           `json:"can"`
	Problem     string           `json:"problem,omitempty"`
	Actions     []map[string]any `json:"action_requests"`
	Reviews     []map[string]any `json:"review_configs"`
}

func approvalQuestion(c *agent.ToolCall) approvalRequest {
	args := json.RawMessage(c.Call.Arguments)
	if !json.Valid(args) {
		args, _ = json.Marshal(c.Call.Arguments) // a text always encodes
	}
	return approvalRequest{
		Kind: "tool_approval", Tool: c.Call.Name, Arguments: args, Call: c.Call.CallID, Description: c.Spec.Description, Can: c.Spec.Risk.String(),
		Actions: []map[string]any{{"name": c.Call.Name, "args": args, "description": c.Spec.Description}},
		Reviews: []map[string]any{{"action_name": c.Call.Name, "allowed_decisions": []string{"approve", "edit", "reject"}}},
	}
}
