package tributary

import (
	"context"
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/agent"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

// Models chooses a model for a run.
type Models interface {
	// Choose is asked each time a run of the built-in agent executes, and once before it is accepted: an
	// error then refuses the request, so it should say which setting is wrong.
	Choose(ctx context.Context, c Config) (Choice, error)
}

// Choice is what a run of the built-in agent calls.
type Choice struct {
	Model model.Model
	// Fallbacks are asked in order when Model has failed for good.
	Fallbacks []model.Model
	Thinking  model.Thinking
	Extra     map[string]json.RawMessage // see model.Request
	// Warnings tell what was asked for and is not done; they become events of the run.
	Warnings []event.Warned
}

// always chooses the same model.
type always struct{ m model.Model }

func (a always) Choose(context.Context, Config) (Choice, error) { return Choice{Model: a.m}, nil }

// models is who chooses.
func (r *Runtime) models() Models {
	switch {
	case r.opt.Models != nil:
		return r.opt.Models
	case r.opt.Model != nil:
		return always{r.opt.Model}
	}
	return always{offline.New(offline.Options{})}
}

// buildAgent makes the built-in graph for a run.
func (r *Runtime) buildAgent(ctx context.Context, c Config) (*graph.Graph, error) {
	choice, err := r.models().Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Options{
		Name: DefaultGraph, Model: choice.Model, Fallbacks: choice.Fallbacks, Breakers: &r.breaker,
		Tools: r.tools, System: r.opt.System, Thinking: choice.Thinking, Extra: choice.Extra, Warnings: choice.Warnings,
	})
}

// CallModel asks a model from within a node of a graph of your own: the answer is streamed to the run's readers as one
// turn, failures that may pass are tried again, and the message is returned for the node to write into its state.
func CallModel(ctx context.Context, s *graph.Scope, m model.Model, req model.Request) (item.Message, error) {
	return agent.Call(ctx, s, m, req, agent.CallOptions{})
}
