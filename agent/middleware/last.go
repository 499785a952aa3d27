package middleware

import (
	"context"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// ending is what is done when an agent may not go on: one more answer without tools.
type ending struct {
	mu   sync.Mutex
	told string // the question for which the model was told
}

// reason says why an agent may not go on.
type reason struct {
	code   string
	people string // a sentence for those who watch
	model  string // one for the model
}

// conclude lets the model answer once more, without tools. A model that calls tools all the same has no further turn: the answer is
// then made here, and says why.
func (e *ending) conclude(ctx context.Context, c *agent.ModelCall, next agent.ModelFunc, why reason) (item.Message, error) {
	e.mu.Lock()
	q := question(c.Step.Messages)
	again := e.told == q
	e.told = q
	e.mu.Unlock()
	if again {
		return item.AssistantText("", "I stop here: "+why.people+"."), nil
	}
	if len(c.Request.Tools) > 0 {
		c.Request.Choice = "none"
	}
	c.Request.Messages = behind(c.Request.Messages, reminded(why.model))
	if err := c.Step.Emit(ctx, event.Warned{Code: why.code, Message: why.people + "; the agent must answer without further tools"}); err != nil {
		return item.Message{}, err
	}
	return next(ctx, c)
}
