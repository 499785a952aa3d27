package tributary

import (
	"context"
	"encoding/json"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
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

// always chooses the same models.
type always struct{ c Choice }

func (a always) Choose(context.Context, Config) (Choice, error) { return a.c, nil }

// models is who chooses.
func (r *Runtime) models() Models {
	switch {
	case r.opt.Models != nil:
		return r.opt.Models
	case r.opt.Model != nil:
		return always{Choice{Model: r.opt.Model, Fallbacks: r.opt.Fallbacks}}
	}
	return always{Choice{Model: offline.New(offline.Options{})}}
}

// buildAgent makes the built-in graph for a run.
func (r *Runtime) buildAgent(ctx context.Context, c Config) (*graph.Graph, error) {
	choice, err := r.models().Choose(ctx, c)
	if err != nil {
		return nil, err
	}
	steps, err := r.maxSteps(c)
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Options{
		Name: DefaultGraph, Model: choice.Model, Fallbacks: choice.Fallbacks, Policy: r.opt.Retry.policy(r.opt.Answers), Breakers: r.breaker,
		MaxSteps: steps, Log: r.log,
		Tools: r.tools, System: r.opt.System, Thinking: choice.Thinking, Extra: choice.Extra, Warnings: choice.Warnings,
	})
}

// maxSteps is how often the model is called in a run: what the run says, or else the runtime.
func (r *Runtime) maxSteps(c Config) (int, error) {
	for _, raw := range []json.RawMessage{c.Context, c.Configurable} {
		var said struct {
			MaxSteps *int `json:"max_steps"`
		}
		if len(raw) == 0 || json.Unmarshal(raw, &said) != nil || said.MaxSteps == nil {
			continue // a context may be anything
		}
		if *said.MaxSteps < 1 || *said.MaxSteps > 10_000 {
			return 0, run.Invalidf("max_steps", "must be between 1 and 10000, not %d", *said.MaxSteps)
		}
		return *said.MaxSteps, nil
	}
	return r.opt.MaxSteps, nil
}

// CallOptions are the circumstances of a [CallModel].
type CallOptions struct {
	// Fallbacks are asked in order when the model has failed for good.
	Fallbacks []model.Model
	// Retry says what is done when a model fails. Breakers are the built-in agent's; this call has none.
	Retry Retry
	// Answers bounds what the answer may hold.
	Answers model.Limits
}

// CallModel asks a model from within a node of a graph of your own: the answer is streamed to the run's readers as one
// turn, failures that may pass are tried again, and the message is returned for the node to write into its state.
func CallModel(ctx context.Context, s *graph.Scope, m model.Model, req model.Request, opts ...CallOptions) (item.Message, error) {
	var o CallOptions
	for _, o = range opts { // the last one counts
		if err := o.Retry.Validate(); err != nil {
			return item.Message{}, err
		}
	}
	return agent.Call(ctx, s, m, req, agent.CallOptions{Fallbacks: o.Fallbacks, Policy: o.Retry.policy(o.Answers)})
}
