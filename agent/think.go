package agent

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/turn"
)

// think is the node that calls the model.
func (a *loop) think(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	step := a.step(s)
	trees.Get(s).remember(s, step.Messages)
	msg, ended, voided := s.Recall().Turn(s.Execution())
	if ended {
		return graph.Update(a.messages.Add(msg)), nil
	}
	offer, err := a.tools(ctx, s)
	if err != nil {
		return graph.Command{}, err
	}
	c := &ModelCall{
		Step: step, Model: a.Model, Fallbacks: a.Fallbacks, replaces: voided,
		Request: model.Request{System: a.System, Messages: step.Messages, Tools: offer.models, Thinking: a.Thinking, Extra: a.Extra},
	}
	msg, err = a.model(ctx, c)
	switch {
	case c.answer != nil:
		msg = *c.answer // people have read it
	case err == nil:
		msg, err = a.say(ctx, s, msg)
	}
	if err != nil {
		return graph.Command{}, err
	}
	return graph.Update(a.messages.Add(msg)), nil
}

// ask is the model call within all wraps.
func (a *loop) ask(ctx context.Context, c *ModelCall) (item.Message, error) {
	if c.answer != nil {
		return item.Message{}, errTwoAnswers
	}
	s := c.Step.Scope
	t := trees.Get(s)
	if err := t.turn(a.Limits); err != nil {
		return item.Message{}, err
	}
	opts := CallOptions{
		Agent: a.Name, Fallbacks: c.Fallbacks, Policy: a.Policy, Breakers: a.Breakers, Log: a.Log,
		Thread: c.Step.Messages, Citable: t.pool.Has, Replaces: c.replaces, Quiet: c.Step.Number > 0, Accept: c.Accept, Whole: c.Whole,
	}
	if s.NS() == "" {
		opts.Taken = func(id string) bool { return taken(s, c.Step.Messages, id) }
	}
	msg, err := Call(ctx, s, c.Model, c.Request, opts)
	if err == nil {
		c.answer = &msg
	}
	return msg, err
}

// say shows what a middleware answered in place of the model, as a turn in which no model was called.
func (a *loop) say(ctx context.Context, s *graph.Scope, msg item.Message) (item.Message, error) {
	if len(msg.ToolCalls) > 0 || len(msg.Reasoning) > 0 {
		return item.Message{}, fmt.Errorf("agent %q: a middleware that answers in place of the model answers with text", a.Name)
	}
	w, err := turn.Start(ctx, s, event.TurnStarted{Turn: newTurnID(), Execution: s.Execution(), Agent: a.Name})
	if err != nil {
		return item.Message{}, err
	}
	if err := w.Text(ctx, 0, msg.Text()); err != nil {
		return item.Message{}, err
	}
	return w.End(ctx, item.FinishStop, "")
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

// offer is the tools of a run, and how models are told of them.
type offer struct {
	set    *tool.Set
	models []model.Tool
}

func offering(set *tool.Set) *offer {
	o := &offer{set: set}
	for _, spec := range set.Specs() {
		o.models = append(o.models, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	return o
}

// tools is what the scope's run is offered: the agent's own tools, then those of its middleware.
func (a *loop) tools(ctx context.Context, s *graph.Scope) (*offer, error) {
	if !a.dynamic {
		return a.offer, nil
	}
	type key struct{ *loop }
	type made struct {
		sync.Mutex
		offer *offer
	}
	m := s.Local(key{a}, func() any { return &made{} }).(*made)
	m.Lock()
	defer m.Unlock()
	if m.offer != nil {
		return m.offer, nil
	}
	set := a.Tools
	for _, mw := range a.chain {
		if mw.Tools == nil {
			continue
		}
		more, err := mw.Tools(ctx, s)
		if err == nil {
			set, err = set.With(more...)
		}
		if err != nil {
			return nil, fmt.Errorf("agent %q: tools of middleware %q: %w", a.Name, mw.Name, err)
		}
	}
	m.offer = offering(set)
	return m.offer, nil
}
