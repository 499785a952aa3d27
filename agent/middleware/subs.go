package middleware

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
)

// SubOptions are settings of [LimitSubs].
type SubOptions struct {
	// Tool is the name of the tool that starts sub-agents; empty means "task".
	Tool string
	// AtOnce is how many one answer may start, from 1 to 4; zero means 3. Total is how many may be started to answer one message of
	// the person, from 1 to 50; zero means 6.
	AtOnce, Total int
}

// LimitSubs refuses to start more sub-agents than are allowed. The answer stays as the model wrote it; calls that are too many are
// refused, and the model reads that it may make them later, or do the work itself.
func LimitSubs(o SubOptions) agent.Middleware {
	if o.Tool == "" {
		o.Tool = "task"
	}
	o.AtOnce, o.Total = within(o.AtOnce, 3, 4), within(o.Total, 6, 50)
	return agent.Middleware{Name: "sub_limit", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if c.Call.Name != o.Tool {
				return next(ctx, c)
			}
			here, before := o.place(c.Step.Messages, c.Call.CallID)
			switch {
			case before+min(here, o.AtOnce) >= o.Total:
				return c.Refuse(fmt.Sprintf("No further sub-agent was started: %d are the limit for one question. Do the rest yourself.", o.Total)), nil
			case here >= o.AtOnce:
				return c.Refuse(fmt.Sprintf("This sub-agent was not started: %d at once are the limit. Start it when the others have answered.", o.AtOnce)), nil
			}
			return next(ctx, c)
		}
	}}
}

// within is a setting between 1 and a limit.
func within(n, usual, most int) int {
	if n == 0 {
		n = usual
	}
	return min(max(n, 1), most)
}

// place says how many sub-agents come before a call: in its own answer, and in those before it since the person last spoke.
func (o SubOptions) place(msgs []item.Message, callID string) (here, before int) {
	for i := len(msgs) - 1; i >= 0 && msgs[i].Role != item.User; i-- {
		n, found := 0, false
		for _, c := range msgs[i].ToolCalls {
			if c.CallID == callID {
				found = true
				break
			}
			if c.Name == o.Tool {
				n++
			}
		}
		if found {
			here = n
		} else {
			before += min(n, o.AtOnce)
		}
	}
	return here, before
}
