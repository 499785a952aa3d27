package tributary

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
)

// TeamGraph is the name of the graph that [Options.Team] adds.
const TeamGraph = "team"

// TeamSettings are what a run says about its team, as the value of "team" among its configurable values.
type TeamSettings struct {
	Mode      team.Mode     `json:"mode,omitempty"`
	Rounds    int           `json:"rounds,omitempty"`
	Experts   []team.Expert `json:"experts,omitempty"`
	Invent    bool          `json:"invent,omitempty"`
	Plan      []team.Phase  `json:"plan,omitempty"`
	LeadPlans bool          `json:"lead_plans,omitempty"`
	Replan    bool          `json:"replan,omitempty"`
	Review    bool          `json:"review,omitempty"`
	Judge     *team.Expert  `json:"judge,omitempty"`
	Budget    TeamBudget    `json:"budget,omitzero"`
}

// TeamBudget is [team.Budget] with times in seconds.
type TeamBudget struct {
	Turns         int     `json:"turns,omitempty"`
	ExpertTurns   int     `json:"expert_turns,omitempty"`
	Tokens        int     `json:"tokens,omitempty"`
	Seconds       float64 `json:"seconds,omitempty"`
	ExpertSeconds float64 `json:"expert_seconds,omitempty"`
}

// longestTeam bounds the seconds of a budget.
const longestTeam = 7 * 24 * 3600

func (b TeamBudget) budget() (team.Budget, error) {
	if b.Turns < 0 || b.ExpertTurns < 0 || b.Tokens < 0 || b.Seconds < 0 || b.ExpertSeconds < 0 || b.Seconds > longestTeam || b.ExpertSeconds > longestTeam {
		return team.Budget{}, run.Invalidf("team.budget", "has a number below 0, or a time of more than a week")
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	return team.Budget{Turns: b.Turns, ExpertTurns: b.ExpertTurns, Tokens: b.Tokens, Time: seconds(b.Seconds), ExpertTime: seconds(b.ExpertSeconds)}, nil
}

// buildTeam makes the graph of a team for a run.
func (r *Runtime) buildTeam(ctx context.Context, c Config) (*graph.Graph, error) {
	choice, err := r.models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: c.Configurable, Inherited: c.Inherited})
	if err != nil {
		return nil, err
	}
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
	var said struct {
		Team json.RawMessage `json:"team"`
	}
	if len(c.Configurable) > 0 {
		if err := json.Unmarshal(c.Configurable, &said); err != nil {
			return nil, run.Invalidf("configurable", "must be an object")
		}
	}
	var want TeamSettings
	if len(said.Team) > 0 {
		d := json.NewDecoder(bytes.NewReader(said.Team))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			return nil, run.Invalidf("team", "%v", err)
		}
	}
	if want.Rounds < 0 || want.Rounds > 10 {
		return nil, run.Invalidf("team.rounds", "must be between 1 and 10, not %d", want.Rounds)
	}
	budget, err := want.Budget.budget()
	if err != nil {
		return nil, err
	}
	var warnings []event.Warned
	for _, w := range choice.Warnings {
		warnings = append(warnings, event.Warned(w))
	}
	for i := range want.Experts {
		if err := r.introduce(ctx, c.Owner, &want.Experts[i]); err != nil {
			return nil, err
		}
	}
	if want.Judge != nil {
		if err := r.introduce(ctx, c.Owner, want.Judge); err != nil {
			return nil, err
		}
	}
	g, err := team.New(team.Options{
		Agent: agent.Options{
			Model: choice.Model, Fallbacks: choice.Fallbacks, Policy: r.opt.Retry.policy(r.opt.Answers), Breakers: r.breaker, MaxSteps: steps, Log: r.log,
			Tools: r.tools, Middleware: middleware, System: r.opt.System, Thinking: choice.Thinking, Extra: choice.Extra, Warnings: warnings,
		},
		Models: func(ctx context.Context, name string) (model.Model, error) { return r.modelNamed(ctx, c.Owner, name) },
		Mode:   want.Mode, Rounds: want.Rounds, Experts: want.Experts, Invent: want.Invent, Plan: want.Plan, LeadPlans: want.LeadPlans,
		Replan: want.Replan, Review: want.Review, Judge: want.Judge, Budget: budget,
	})
	var wrong *team.InvalidError
	if errors.As(err, &wrong) {
		return nil, run.Invalidf("team."+wrong.Field, "%s", wrong.Reason)
	}
	return g, err
}

// introduce completes a member of whom only the name is known: one of the owner's agents, one of the standing experts, or somebody who
// looks at what the name says.
func (r *Runtime) introduce(ctx context.Context, owner string, x *team.Expert) error {
	if x.Role != "" || x.Instructions != "" {
		return nil
	}
	if r.opt.Expert != nil {
		known, err := r.opt.Expert(ctx, owner, x.Name)
		if err == nil {
			known.Name = x.Name
			if x.Model != "" {
				known.Model = x.Model
			}
			if len(x.Tools) > 0 {
				known.Tools, known.Toolless = x.Tools, false
			}
			*x = known
			return nil
		}
		if !errors.Is(err, ErrNotFound) {
			return run.Invalidf("team.experts", "%s: %v", x.Name, err)
		}
	}
	for _, known := range team.Standing() {
		if strings.EqualFold(known.Name, x.Name) {
			known.Tools, known.Model = x.Tools, x.Model
			*x = known
			return nil
		}
	}
	x.Role = x.Name
	return nil
}

// modelNamed is the model that a run gets who asks for it by name.
func (r *Runtime) modelNamed(ctx context.Context, owner, name string) (model.Model, error) {
	wish, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return nil, err
	}
	choice, err := r.models.Choose(ctx, model.Wish{Owner: owner, Configurable: wish})
	return choice.Model, err
}
