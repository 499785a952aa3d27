package tributary

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

// OneModel are models to choose from for a program that has one: it answers every run. The fallbacks are asked in order
// when it has failed for good.
func OneModel(m model.Model, fallbacks ...model.Model) model.Models {
	return always{model.Choice{Model: m, Fallbacks: fallbacks}}
}

type always struct{ choice model.Choice }

func (a always) Choose(context.Context, model.Wish) (model.Choice, error) { return a.choice, nil }

// Models lists the models that runs can ask for, with what they can do. Where nobody says what there is to choose from, it is the one that
// answers an owner who does not choose; that has no name.
func (r *Runtime) Models(ctx context.Context, owner string) ([]model.Listed, error) {
	if l, ok := r.models.(model.Lister); ok {
		return l.List(), nil
	}
	choice, err := r.models.Choose(ctx, model.Wish{Owner: identity(owner).Owner})
	if err != nil {
		return nil, r.told(asked(err))
	}
	one := model.Listed{Default: true}
	if d, ok := choice.Model.(model.Describer); ok {
		one.Info = d.Describe()
	}
	return []model.Listed{one}, nil
}

// Model is the one of them that has a name; [ErrNotFound] if there is none.
func (r *Runtime) Model(ctx context.Context, owner, name string) (model.Listed, error) {
	all, err := r.Models(ctx, owner)
	if err != nil {
		return model.Listed{}, err
	}
	at := slices.IndexFunc(all, func(m model.Listed) bool { return m.Name == name })
	if at < 0 {
		return model.Listed{}, fmt.Errorf("model %q: %w", name, ErrNotFound)
	}
	return all[at], nil
}

// buildAgent makes the built-in graph for a run.
func (r *Runtime) buildAgent(ctx context.Context, c Config) (*graph.Graph, error) {
	steps, err := r.maxSteps(c)
	if err != nil {
		return nil, err
	}
	middleware := r.fileState()
	if r.opt.Middleware != nil {
		more, err := r.opt.Middleware(ctx, c)
		if err != nil {
			return nil, err
		}
		middleware = append(middleware, more...)
	}
	name := agentNamed(c.Configurable, c.Context)
	middleware = append(middleware, r.rememberAs(name)...)
	base := agent.Options{
		Name: DefaultGraph, Policy: r.opt.Retry.policy(r.opt.Answers), Breakers: r.breaker, MaxSteps: steps, Log: r.log,
		Tools: r.tools, Middleware: middleware, System: r.opt.System,
	}
	if r.opt.Agent != nil {
		return r.opt.Agent(ctx, lead.Run{
			Owner: c.Owner, Thread: c.Thread, ID: c.Run, Configurable: c.Configurable, Context: c.Context, Inherited: c.Inherited,
		}, lead.Base{Options: base, Models: r.models, Memory: r.reminder(c.Owner), Room: r.quota().Room, Background: r.background})
	}
	return r.plainAgent(ctx, c, r.remindPlain(c.Owner, base))
}

// plainAgent is the built-in graph where nobody brings another: a model and tools in a loop.
func (r *Runtime) plainAgent(ctx context.Context, c Config, o agent.Options) (*graph.Graph, error) {
	choice, err := r.models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: c.Configurable, Inherited: c.Inherited})
	if err != nil {
		return nil, err
	}
	var warnings []event.Warned
	for _, w := range choice.Warnings {
		warnings = append(warnings, event.Warned(w))
	}
	o.Model, o.Fallbacks, o.Thinking, o.Extra, o.Warnings = choice.Model, choice.Fallbacks, choice.Thinking, choice.Extra, warnings
	return agent.New(o)
}

func offlineModel() model.Models { return OneModel(offline.New(offline.Options{})) }

// maxSteps is how often the model is called in a run: what the run says, or else the runtime.
func (r *Runtime) maxSteps(c Config) (int, error) {
	for _, raw := range []json.RawMessage{c.Context, c.Configurable} {
		var said struct {
			MaxSteps json.RawMessage `json:"max_steps"`
		}
		if len(raw) == 0 || json.Unmarshal(raw, &said) != nil || len(said.MaxSteps) == 0 || string(said.MaxSteps) == "null" {
			continue
		}
		var steps int
		if err := json.Unmarshal(said.MaxSteps, &steps); err != nil || steps < 1 || steps > 10_000 {
			return 0, run.Invalidf("max_steps", "must be a whole number between 1 and 10000, not %.20s", said.MaxSteps)
		}
		return steps, nil
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
