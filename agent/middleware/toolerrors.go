package middleware

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
)

// ErrorOptions are settings of [ToolErrors].
type ErrorOptions struct {
	// Most is how many bytes of a failed result's text are kept; zero means 4,000.
	Most int
}

// ToolErrors makes failed results look alike: which tool failed, why, in few words, and that the work goes on. A wrap within it that
// panics fails its call and not the run.
func ToolErrors(o ErrorOptions) agent.Middleware {
	if o.Most <= 0 {
		o.Most = 4000
	}
	return agent.Middleware{Name: "tool_errors", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (out agent.Outcome, err error) {
			name := c.Call.Name
			defer func() {
				if v := recover(); v != nil {
					c.Step.Log().ErrorContext(ctx, "a middleware of a tool call panicked", "tool", name, "call", c.Call.CallID, "panic", v, "stack", string(debug.Stack()))
					out, err = c.Refuse(fmt.Sprintf("What surrounds the tool broke (%v).", v)), nil
				}
				if err == nil && out.Result.Error {
					out.Result = o.uniform(name, out.Result)
				}
			}()
			return next(ctx, c)
		}
	}}
}

func (o ErrorOptions) uniform(name string, res item.ToolResult) item.ToolResult {
	text := short(item.JoinText(res.Content), o.Most)
	text = fmt.Sprintf("%s failed: %s\n\nGo on with what you have, or try another way.", neutral(name), text)
	rest := slices.DeleteFunc(slices.Clone(res.Content), func(b item.Block) bool { return b.Type == item.TextBlock })
	if res.Blocks == nil {
		res.Blocks = res.Content // people need no advice
	}
	res.Content = append(item.Text(text), rest...)
	return res
}
