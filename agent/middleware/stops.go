package middleware

import (
	"context"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// StopOptions are settings of [ExplainStops].
type StopOptions struct{}

// ExplainStops deals with answers that ended otherwise than their model wanted. One that reached the limit of its length is told to
// people, and the call that it was writing is not made: its arguments may lack their end and be valid all the same. Of an
// answer that a provider's filter stopped, no call is made.
func ExplainStops(StopOptions) agent.Middleware {
	return agent.Middleware{
		Name: "stops",
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				msg, err := next(ctx, c)
				if err != nil {
					return msg, err
				}
				switch {
				case msg.Finish == item.FinishLength:
					err = c.Step.Emit(ctx, event.Warned{Code: "model_length", Message: "the answer was cut off at the model's limit of length; ask it to go on, or raise the limit"})
				case msg.Finish == item.FinishFilter && len(msg.ToolCalls) > 0:
					names := make([]string, len(msg.ToolCalls))
					for i, call := range msg.ToolCalls {
						names[i] = call.Name
					}
					err = c.Step.Emit(ctx, event.Warned{
						Code: "safety_stop", Message: fmt.Sprintf("the provider's filter stopped the answer, and %d calls in it are not made: %s", len(names), strings.Join(names, ", ")),
					})
				}
				return msg, err
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				answer, ok := c.Step.Answer()
				switch {
				case !ok:
				case answer.Finish == item.FinishFilter:
					return c.Refuse("This call was not made: the provider's filter stopped your answer. Tell the person that you cannot go on with this."), nil
				case answer.Finish == item.FinishLength && len(answer.ToolCalls) > 0 && answer.ToolCalls[len(answer.ToolCalls)-1].CallID == c.Call.CallID:
					return c.Refuse("This call was not made: your answer reached its limit of length while you wrote it, so that part of it may be missing. Make it again, in smaller parts."), nil
				}
				return next(ctx, c)
			}
		},
	}
}
