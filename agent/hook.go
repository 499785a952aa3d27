package agent

import (
	"context"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// hook is a middleware's [Hook] as a node.
type hook struct {
	node string
	Hook
}

func (h hook) due(s *Step) bool { return h.Due == nil || h.Due(s) }

func nodesOf(hooks []hook) []string {
	var names []string
	for _, h := range hooks {
		names = append(names, h.node)
	}
	return names
}

// step is what hooks and wraps are shown.
func (a *loop) step(s *graph.Scope) *Step {
	msgs := a.messages.Get(s)
	return &Step{Scope: s, Agent: a.Name, Messages: msgs, Number: stepsOf(msgs)}
}

// visit is the node of a hook. Where the hook says nothing about where to go, the agent goes where rest leads.
func (a *loop) visit(h hook, rest graph.BranchFunc) graph.NodeFunc {
	return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		var cmd graph.Command
		// After tool calls, which end at the same time, the first hook is visited whether it is due or not.
		if step := a.step(s); h.due(step) {
			var err error
			if cmd, err = h.Do(ctx, step); err != nil {
				return graph.Command{}, err
			}
		}
		if len(cmd.Goto) > 0 || cmd.Parent {
			return cmd, nil
		}
		view, err := s.With(cmd.Writes...)
		if err != nil {
			return graph.Command{}, err
		}
		cmd.Goto, err = rest(ctx, view)
		return cmd, err
	}
}

// toModel leads to the model, by way of the hooks before it that are due, from the i-th on.
func (a *loop) toModel(i int) graph.BranchFunc {
	return func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if node, ok := firstDue(a.before[i:], a.step, s); ok {
			return graph.To(node), nil
		}
		return graph.To(NodeModel), nil
	}
}

// toTools leads to the tools that the answer calls, or to the end, by way of the hooks after the model that are due.
func (a *loop) toTools(i int) graph.BranchFunc {
	return func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if node, ok := firstDue(a.after[i:], a.step, s); ok {
			return graph.To(node), nil
		}
		return a.orders(s)
	}
}

func firstDue(hooks []hook, step func(*graph.Scope) *Step, s *graph.Scope) (node string, ok bool) {
	if len(hooks) == 0 {
		return "", false
	}
	st := step(s)
	for _, h := range hooks {
		if h.due(st) {
			return h.node, true
		}
	}
	return "", false
}

// order is what an execution of the node "tools" is sent.
type order struct {
	Call item.ToolCall `json:"call"`
	// Newest is the latest reference of the run. An execution that a new process repeats after a crash must not give its
	// number to something else.
	Newest *item.ToolResult `json:"newest,omitempty"`
}

// orders sends every call of the answer to the tools.
func (a *loop) orders(s *graph.Scope) ([]graph.Target, error) {
	msgs := a.messages.Get(s)
	if len(msgs) == 0 || len(msgs[len(msgs)-1].ToolCalls) == 0 {
		return graph.To(graph.End), nil
	}
	o := order{Newest: trees.Get(s).newest()}
	var targets []graph.Target
	for _, c := range msgs[len(msgs)-1].ToolCalls {
		o.Call = c
		t, err := graph.SendTo(NodeTools, o)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}

// stepsOf counts the answers since the user last spoke.
func stepsOf(msgs []item.Message) int {
	n := 0
	for i := len(msgs) - 1; i >= 0; i-- {
		switch msgs[i].Role {
		case item.User:
			return n
		case item.Assistant:
			n++
		}
	}
	return n
}
