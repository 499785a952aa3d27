package middleware

import (
	"context"
	"errors"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// EmptyOptions are settings of [RetryEmpty].
type EmptyOptions struct {
	// Tries is how often the model is asked again; zero means once. The policy of the agent must allow as many.
	Tries int
}

var errEmpty = errors.New("there is no answer in it, neither a text nor a call of a tool")

// RetryEmpty has a model asked again that ends without having said anything. If it says nothing then either, the run ends as it would
// have, and people are told.
func RetryEmpty(o EmptyOptions) agent.Middleware {
	if o.Tries <= 0 {
		o.Tries = 1
	}
	return agent.Middleware{Name: "empty", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			tries, accept := 0, c.Accept
			c.Accept = func(m item.Message) error {
				if says(m) {
					if accept != nil {
						return accept(m)
					}
					return nil
				}
				if tries++; tries <= o.Tries {
					return errEmpty
				}
				return nil
			}
			msg, err := next(ctx, c)
			if err == nil && !says(msg) {
				err = c.Step.Emit(ctx, event.Warned{Code: "empty_answer", Message: "the model ended without an answer, although it was asked again"})
			}
			return msg, err
		}
	}}
}

// says reports that an answer holds something, or that its provider says why it does not: then asking again is of no use.
func says(m item.Message) bool {
	switch m.Finish {
	case item.FinishFilter, item.FinishRefusal, item.FinishPause, item.FinishLength:
		return true
	case item.FinishStop, item.FinishToolCalls, item.FinishOther, item.FinishIncomplete:
	}
	if len(m.ToolCalls) > 0 {
		return true
	}
	for _, b := range m.Content {
		if b.Type != item.TextBlock || !blank(b.Text) {
			return true
		}
	}
	return false
}

func blank(s string) bool {
	for _, r := range s {
		if r != ' ' && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
	}
	return true
}
