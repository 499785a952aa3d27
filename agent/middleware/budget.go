package middleware

import (
	"context"
	"fmt"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// BudgetOptions are settings of [Budget].
type BudgetOptions struct {
	// Tokens is what the agent, and the agents below it that have a budget or count their usage, may use to answer one message of the
	// person; zero means 200,000.
	Tokens int
	// Warn is the part of it at which the model is warned; zero means 0.8.
	Warn float64
}

// Budget bounds the tokens of a run. At a part of it the model is told to come to an end; when it is used up, calls of tools are
// refused, the model answers once more without them, and people are told why.
func Budget(o BudgetOptions) agent.Middleware {
	if o.Tokens <= 0 {
		o.Tokens = 200_000
	}
	if o.Warn <= 0 {
		o.Warn = 0.8
	}
	memos := newMemo[budget]()
	return agent.Middleware{
		Name: "budget",
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				used := spent(c.Step).Total()
				b := memos.of(c.Step.Scope)
				switch {
				case used >= o.Tokens:
					return b.conclude(ctx, c, next, reason{
						code: "token_budget", people: fmt.Sprintf("the budget of %d tokens is used up (%d)", o.Tokens, used),
						model: "The token budget of this run is used up. No further tool can be used. Answer now with what you have, and say that the budget ran out before you were done.",
					})
				case float64(used) >= o.Warn*float64(o.Tokens):
					if b.first(question(c.Step.Messages)) {
						if err := c.Step.Emit(ctx, event.Warned{Code: "token_budget_low", Message: fmt.Sprintf("%d of the %d tokens of the budget are used", used, o.Tokens)}); err != nil {
							return item.Message{}, err
						}
					}
					c.Request.Messages = behind(c.Request.Messages, reminded(fmt.Sprintf("%d of the %d tokens of your budget are used. Come to an end: make only the calls that you cannot do without.", used, o.Tokens)))
				}
				return next(ctx, c)
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				if spent(c.Step).Total() >= o.Tokens {
					return c.Refuse("This call was not made: the token budget of this run is used up. Answer with what you have."), nil
				}
				return next(ctx, c)
			}
		},
	}
}

type budget struct {
	ending
	mu     sync.Mutex
	warned string // the question for which people were warned
}

func (b *budget) first(question string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.warned == question {
		return false
	}
	b.warned = question
	return true
}
