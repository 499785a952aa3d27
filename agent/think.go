package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// TurnRecall is a [graph.Recall] that also remembers turns. Without it a turn that ended just before a crash, and
// whose checkpoint was not saved, is made and streamed a second time.
type TurnRecall interface {
	// Turn returns the message of the turn that a node execution had ended. If there is none, voided is the
	// last turn of it that was voided, if any.
	Turn(execution string) (msg item.Message, ended bool, voided string)
}

// think is the node that calls the model.
func (a *loop) think(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	msg, err := a.answer(ctx, s)
	if s.NS() == "" && (err != nil || len(msg.ToolCalls) == 0) {
		a.Shared.release(s) // the run goes no further
	}
	if err != nil {
		return graph.Command{}, err
	}
	return graph.Update(a.messages.Add(msg)), nil
}

func (a *loop) answer(ctx context.Context, s *graph.Scope) (item.Message, error) {
	msgs := a.messages.Get(s)
	tree := a.Shared.of(s)
	tree.remember(s, msgs)
	var replaces string
	if r, ok := s.Recall().(TurnRecall); ok {
		msg, ended, voided := r.Turn(s.Execution())
		if ended {
			return msg, nil
		}
		replaces = voided
	}
	n := stepsOf(msgs)
	if n > a.MaxSteps {
		return item.Message{}, errSteps(a.Name, n)
	}
	req := model.Request{
		System: a.System, Messages: answered(msgs), Tools: a.offered, Thinking: a.Thinking, Extra: a.Extra,
	}
	if err := a.warn(ctx, s, n, &req); err != nil {
		return item.Message{}, err
	}
	opts := CallOptions{
		Agent: a.Name, Fallbacks: a.Fallbacks, Policy: a.Policy, Breakers: a.Breakers,
		Citable: tree.pool.Has, Replaces: replaces, Quiet: n > 0,
	}
	if s.NS() == "" {
		opts.Taken = func(id string) bool { return taken(s, msgs, id) }
	}
	return Call(ctx, s, a.Model, req, opts)
}

// warn says at the first step what went otherwise than asked, and takes the tools away at the last.
func (a *loop) warn(ctx context.Context, s *graph.Scope, n int, req *model.Request) error {
	var warnings []event.Event
	if n == 0 {
		for _, w := range a.Warnings {
			warnings = append(warnings, w)
		}
	}
	if n >= a.MaxSteps-1 && n > 0 && len(a.offered) > 0 {
		req.Choice = "none"
		warnings = append(warnings, event.Warned{
			Code: "step_limit", Message: fmt.Sprintf("agent %q has called its model %d times and must answer without further tools", a.Name, n),
		})
	}
	return s.Emit(ctx, warnings...)
}

// stepsOf counts the answers since the user last spoke.
func stepsOf(msgs []item.Message) int {
	n := 0
	for _, m := range slices.Backward(msgs) {
		switch m.Role {
		case item.User:
			return n
		case item.Assistant:
			n++
		}
	}
	return n
}

// taken reports that a call id was used before: in the conversation, or by a call that a crash took out of it.
func taken(s *graph.Scope, msgs []item.Message, id string) bool {
	for _, m := range msgs {
		if m.CallID == id || slices.ContainsFunc(m.ToolCalls, func(c item.ToolCall) bool { return c.CallID == id }) {
			return true
		}
	}
	_, started, _ := s.Recall().ToolResult(id)
	return started
}

// answered returns the conversation as a model may be shown it: a call that has no result, because its run was cancelled,
// is given one. Providers refuse a conversation in which a call is left open. The thread keeps what it has.
func answered(msgs []item.Message) []item.Message {
	results := map[string]bool{}
	calls := 0
	for _, m := range msgs {
		if m.Role == item.Tool {
			results[m.CallID] = true
		}
		calls += len(m.ToolCalls)
	}
	if calls <= len(results) && !slices.ContainsFunc(msgs, func(m item.Message) bool { return open(m, results) }) {
		return msgs
	}
	out := make([]item.Message, 0, len(msgs)+1)
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		out = append(out, m)
		if !open(m, results) {
			continue
		}
		for i+1 < len(msgs) && msgs[i+1].Role == item.Tool { // results stand together
			i++
			out = append(out, msgs[i])
		}
		for _, c := range m.ToolCalls {
			if !results[c.CallID] {
				out = append(out, messageOf(failedResult(c, "The call was cancelled. Whether it had any effect is not known.")))
			}
		}
	}
	return out
}

func open(m item.Message, results map[string]bool) bool {
	return slices.ContainsFunc(m.ToolCalls, func(c item.ToolCall) bool { return !results[c.CallID] })
}

// order is what an execution of the node "tools" is sent.
type order struct {
	Call item.ToolCall `json:"call"`
	// Refuse says why the call is not made.
	Refuse string `json:"refuse,omitempty"`
	// Newest is the latest reference of the run. An execution that a new process repeats after a crash does not see the
	// conversation, and must not give its number to something else.
	Newest *item.ToolResult `json:"newest,omitempty"`
}

// next sends every call of the answer to the tools.
func (a *loop) next(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
	msgs := a.messages.Get(s)
	if len(msgs) == 0 || len(msgs[len(msgs)-1].ToolCalls) == 0 {
		return graph.To(graph.End), nil
	}
	o := order{Newest: a.Shared.of(s).newest()}
	if n := stepsOf(msgs); n >= a.MaxSteps {
		o.Refuse = "No further tools may be used. Answer now with what you have."
	}
	var targets []graph.Target
	for _, c := range msgs[len(msgs)-1].ToolCalls {
		o.Call = c
		t, err := graph.SendTo(nodeTools, o)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	return targets, nil
}
