package middleware

import (
	"context"
	"errors"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// AsideOptions are what a model is asked aside.
type AsideOptions struct {
	Name   string // of the sub-agent that answers
	Title  string // what it does, for people
	System string
	// Material is what it answers about: one text, so that nothing in it looks like a conversation to go on with.
	Material string

	Model     model.Model
	Fallbacks []model.Model
	Policy    agent.Policy
	Breakers  *agent.Breakers
	// Prepare, where set, changes the call: its schema, its limits, what is accepted.
	Prepare func(*agent.ModelCall)
}

// Aside has a model answer a question of the program's own, from within a hook. A sub-agent answers: what it is shown and what it says are
// on record as its own, and not as an answer in the thread. One that failed just before a crash does not begin once more.
func Aside(ctx context.Context, s *agent.Step, o AsideOptions) (item.Message, error) {
	task := o.Name + "_" + s.Execution()
	if end, ok := s.Recall().EndedTask(task); ok && end.Status != event.Success && end.Status != event.Interrupted {
		return item.Message{}, errors.New("it failed before the program was started again")
	}
	g, err := agent.New(agent.Options{
		Name: o.Name, Model: o.Model, Fallbacks: o.Fallbacks, Policy: o.Policy, Breakers: o.Breakers, System: o.System, MaxSteps: 1,
		Middleware: []agent.Middleware{{Name: "material", Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				c.Request.Messages = []item.Message{item.UserText("material", o.Material)}
				if o.Prepare != nil {
					o.Prepare(c)
				}
				return next(ctx, c)
			}
		}}},
	})
	if err != nil {
		return item.Message{}, err
	}
	res, err := s.Run(ctx, g, graph.Child{Task: task, Agent: o.Name, Title: o.Title, Uncalled: true, Input: map[string]any{"messages": []item.Message{}}})
	if err != nil {
		return item.Message{}, err
	}
	msgs, err := graph.Decode(res, graph.Messages(graph.FieldMessages).Field)
	if err == nil && len(msgs) == 0 {
		err = errors.New("the model said nothing")
	}
	if err != nil {
		return item.Message{}, err
	}
	return msgs[len(msgs)-1], nil
}
