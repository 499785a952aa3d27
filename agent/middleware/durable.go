package middleware

import (
	"context"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
)

// DurableOptions are settings of [Durable].
type DurableOptions struct {
	// Text is what must not be forgotten: todos, what was given to sub-agents, the goal. It is asked only while messages are left out.
	// Empty: there is nothing.
	Text func(*agent.Step) string
}

// Durable tells models again what the state knows and the view has lost, once a summary stands in the place of messages. It stands
// behind everything else, because it changes.
func Durable(o DurableOptions) agent.Middleware {
	return agent.Middleware{Name: "durable", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			if s, ok := SummaryField.Lookup(c.Step.Scope); ok && o.Text != nil && s.Upto != "" {
				if text := neutral(o.Text(c.Step)); text != "" {
					c.Request.Messages = behind(c.Request.Messages, reminded("Where you stand, since older messages are left out:\n"+text))
				}
			}
			return next(ctx, c)
		}
	}}
}
