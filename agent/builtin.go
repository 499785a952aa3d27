package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Builtin is the middleware that every agent has, in its order. It stands behind Options.Middleware: whatever others make
// of a request, it is within the limit of steps and has no open calls when the model sees it.
func Builtin(o Options) []Middleware {
	list := []Middleware{warnings(o.Warnings), stepLimit(o.Name, o.MaxSteps)}
	if o.Tools != nil && o.Tools.Len() > 0 || slices.ContainsFunc(o.Middleware, func(m Middleware) bool { return m.Tools != nil }) {
		list = append(list, citing())
	}
	return append(list, closedCalls())
}

// warnings tells at the first step what goes otherwise than asked.
func warnings(list []event.Warned) Middleware {
	return Middleware{Name: "warnings", Model: func(next ModelFunc) ModelFunc {
		return func(ctx context.Context, c *ModelCall) (item.Message, error) {
			if c.Step.Number == 0 && len(list) > 0 {
				events := make([]event.Event, len(list))
				for i, w := range list {
					events[i] = w
				}
				if err := c.Step.Emit(ctx, events...); err != nil {
					return item.Message{}, err
				}
			}
			return next(ctx, c)
		}
	}}
}

// stepLimit takes the tools away at the last step, refuses the calls of a model that calls them all the same, and ends a
// run that goes on after that.
func stepLimit(name string, most int) Middleware {
	return Middleware{
		Name: "step_limit",
		Model: func(next ModelFunc) ModelFunc {
			return func(ctx context.Context, c *ModelCall) (item.Message, error) {
				n := c.Step.Number
				if n > most {
					return item.Message{}, &event.Error{
						Code: "step_limit", Name: "StepLimitError",
						Message: fmt.Sprintf("agent %q called its model %d times and still wants to use tools", name, n),
					}
				}
				if n >= most-1 && n > 0 && len(c.Request.Tools) > 0 {
					c.Request.Choice = "none"
					err := c.Step.Emit(ctx, event.Warned{
						Code: "step_limit", Message: fmt.Sprintf("agent %q has called its model %d times and must answer without further tools", name, n),
					})
					if err != nil {
						return item.Message{}, err
					}
				}
				return next(ctx, c)
			}
		},
		Tool: func(next ToolFunc) ToolFunc {
			return func(ctx context.Context, c *ToolCall) (Outcome, error) {
				if c.Step.Number >= most {
					return c.Refuse("No further tools may be used. Answer now with what you have."), nil
				}
				return next(ctx, c)
			}
		},
	}
}

// citing tells the model what the tags around passages are for. It is said whether there are passages or not, so that the
// beginning of all requests is the same and providers can cache it.
func citing() Middleware {
	const rule = `Some tool results contain passages between <referencable-item> and </referencable-item>, with an ID. ` +
		`When a statement of yours rests on such a passage, write [^ID] directly after it, for example [^3]. ` +
		`Cite only IDs that you were shown.`
	return Middleware{Name: "citing", Model: func(next ModelFunc) ModelFunc {
		return func(ctx context.Context, c *ModelCall) (item.Message, error) {
			if c.Request.System != "" {
				c.Request.System += "\n\n"
			}
			c.Request.System += rule
			return next(ctx, c)
		}
	}}
}

// closedCalls gives a result to every call that has none, because its run was cancelled: providers refuse a conversation
// in which a call is left open. The thread keeps what it has.
func closedCalls() Middleware {
	return Middleware{Name: "closed_calls", Model: func(next ModelFunc) ModelFunc {
		return func(ctx context.Context, c *ModelCall) (item.Message, error) {
			c.Request.Messages = withResults(c.Request.Messages)
			return next(ctx, c)
		}
	}}
}

// withResults returns the conversation with results for all calls; the same slice where nothing is missing.
func withResults(msgs []item.Message) []item.Message {
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
