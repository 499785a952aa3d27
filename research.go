package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// ResearchGraph is the name under which the commands register deep research, and ResearchAlias the other one.
const (
	ResearchGraph = "research"
	ResearchAlias = "deep_research"
)

// ResearchOptions are what deep research needs.
type ResearchOptions struct {
	// Models chooses the model of each run; nil: the offline one, which makes reports out of quotations.
	Models model.Models
	// Tools are those of all roles; see package agent/research. It needs one named "search" or "web_search" to find anything.
	Tools []tool.Tool
	// Retry and Answers are as in [Options].
	Retry   Retry
	Answers model.Limits
	// Middleware is what more the agent of a role has in a run, such as tools of servers that are asked for them then; nil:
	// nothing. It is called for each of [research.Roles] before the run is accepted, and its error refuses the run.
	Middleware func(ctx context.Context, c Config, role string) ([]agent.Middleware, error)
	// CheckModel is the name of the model that is asked about citations which a comparison of words cannot decide; empty: none is.
	CheckModel string
	// Settings hold where a run does not say otherwise in its configurable values.
	Settings research.Settings
	Log      *slog.Logger
}

// Research makes deep research available as a graph: put it into [Options].Graphs. A run says what it wants in its
// configurable values, by the names of [research.Settings].
func Research(o ResearchOptions) (Builder, error) {
	if o.Models == nil {
		o.Models = offlineModel()
	}
	if err := o.Retry.Validate(); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	tools, err := tool.NewSet(o.Tools...)
	if err != nil {
		return nil, err
	}
	breakers := o.Retry.breakers()
	return func(ctx context.Context, c Config) (*graph.Graph, error) {
		choice, err := o.Models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: c.Configurable, Inherited: c.Inherited})
		if err != nil {
			return nil, err
		}
		settings, err := research.ReadSettings(o.Settings, c.Configurable, c.Context)
		if wrong := (*research.SettingError)(nil); errors.As(err, &wrong) {
			return nil, &InvalidError{wrong.Field, wrong.Reason}
		}
		var warnings []event.Warned
		for _, w := range choice.Warnings {
			warnings = append(warnings, event.Warned(w))
		}
		more := map[string][]agent.Middleware{}
		for _, role := range research.Roles {
			if o.Middleware == nil {
				break
			}
			if more[role], err = o.Middleware(ctx, c, role); err != nil {
				return nil, err
			}
		}
		var checker model.Model
		if o.CheckModel != "" {
			asked, err := o.Models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: json.RawMessage(`{"model_name":` + strconv.Quote(o.CheckModel) + `}`)})
			if err != nil { // a report whose citations only a program has checked is better than none
				warnings = append(warnings, event.Warned{Code: "no_check_model", Message: "citations are not put to a model: " + err.Error()})
			}
			checker = asked.Model
		}
		return research.New(research.Options{
			Checker: checker,
			Model:   choice.Model, Fallbacks: choice.Fallbacks, Policy: o.Retry.policy(o.Answers), Breakers: breakers, Thinking: choice.Thinking, Extra: choice.Extra,
			Middleware: func(role string) []agent.Middleware { return more[role] },
			Tools:      tools, Settings: settings, Warnings: warnings, Log: o.Log,
		})
	}, nil
}
