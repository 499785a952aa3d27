package lead

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Options are what an installation's lead agent has beside what its runtime has.
type Options struct {
	// Agents are the custom agents; nil: none. Keeper has runs make and change them; nil: they cannot.
	Agents Agents
	Keeper Keeper
	// Missing are tools and groups of tools that are off, and why.
	Missing []Missing
	// Rules say what tools may do without being asked.
	Rules Rules
	// May says whether a run may use a tool, and if not, why; nil: it may. It is asked at each call, before the rules. Package
	// middleware's Rules make one.
	May func(ctx context.Context, s *agent.Step, t tool.Spec) (why string, ok bool, err error)
	// NoThinking has models think only where somebody asks for it.
	NoThinking bool
	// Middleware is the installation's own. Without are those of the lead's that are left out, by name; see [Names].
	Middleware []agent.Middleware
	Without    []string
	// Budget is how many tokens an answer may take; 0: any number.
	Budget int
	// Summary says when older messages are shown to models as a summary; its models and policy are the agent's. Continuations is how
	// often an agent goes on by itself towards a goal, for one message of the person; 0: 8. Loops say when a model is said to turn in circles.
	Summary       middleware.SummaryOptions
	Loops         middleware.LoopOptions
	Continuations int
	// ModelTitles has models name threads, in place of the first words; not the offline one.
	ModelTitles bool
	// Skills are those that people can activate, Memory is what is remembered of a person, Deferred are tools that the model has
	// to look for; see package middleware. Nil: none.
	Skills   *middleware.SkillOptions
	Memory   func(context.Context, *agent.Step) (middleware.Remembered, error)
	Deferred []tool.Tool
	// Now is the clock by which models are told the date; nil: the machine's.
	Now func() time.Time
	// Tokens counts those of a text, for listings; nil: a quarter of its bytes.
	Tokens func(string) int
}

// Factory makes lead agents. It keeps nothing between two of them, and is safe for concurrent use.
type Factory struct{ opt Options }

// New makes a factory.
func New(o Options) (*Factory, error) {
	if err := o.Rules.Validate(); err != nil {
		return nil, err
	}
	for _, name := range o.Without {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no middleware %q to leave out; there are %s", name, strings.Join(Names(), ", "))
		}
	}
	if o.Agents == nil {
		o.Agents = none{}
	}
	return &Factory{o}, nil
}

// Graph makes the agent of a run, from what its runtime has. A mistake in the settings of a run that has not been accepted yet is a
// [*model.WishError].
func (f *Factory) Graph(ctx context.Context, r Run, base Base) (*graph.Graph, error) {
	a, err := f.assemble(ctx, r, base, nil, false) // nobody reads its counts
	if err != nil {
		return nil, err
	}
	if a.Refused != nil && r.ID == "" {
		return nil, a.Refused
	}
	o := a.Options()
	o.Name = base.Name
	return agent.New(o)
}

// Base is what a runtime gives to every agent.
type Base struct {
	agent.Options // Name, Policy, Breakers, Tools, Middleware, System, MaxSteps and Log
	Models        model.Models
	// Background is where work goes on that outlives a run; nil: nowhere.
	Background Background
	// Memory is what an agent remembers of the person whose run it is, by the name of the custom agent; nil: nothing. Where it is given,
	// that of the [Options] does not count.
	Memory func(ctx context.Context, agent string) (middleware.Remembered, error)
	// Room says whether the thread's folder may grow; nil: it always may.
	Room func(folder *os.Root, bytes int64, files int) error
}

// Assemble puts the agent of a run together, without making a graph of it.
func (f *Factory) Assemble(ctx context.Context, r Run, base Base) (Assembled, error) {
	return f.assemble(ctx, r, base, f.opt.Tokens, true)
}

func (f *Factory) assemble(ctx context.Context, r Run, base Base, tokens func(string) int, listing bool) (Assembled, error) {
	s, err := ReadSettings(r)
	if err != nil {
		return Assembled{}, err
	}
	p := Parts{
		Owner:  r.Owner,
		Choose: func(w model.Wish) (model.Choice, error) { return base.Models.Choose(ctx, w) },
		Keeper: f.opt.Keeper,
		Tools:  base.Tools, Missing: f.opt.Missing, System: base.System, Rules: f.opt.Rules, May: f.opt.May, NoThinking: f.opt.NoThinking,
		Middleware: append(base.Middleware[:len(base.Middleware):len(base.Middleware)], f.opt.Middleware...),
		Without:    f.opt.Without, Budget: f.opt.Budget, Summary: f.opt.Summary, Loops: f.opt.Loops, Continuations: f.opt.Continuations, ModelTitles: f.opt.ModelTitles,
		Skills: f.opt.Skills, Memory: f.opt.Memory, Deferred: f.opt.Deferred, Now: f.opt.Now, Room: base.Room, Background: base.Background,
		MaxSteps: base.MaxSteps, Policy: base.Policy, Breakers: base.Breakers, Log: base.Log, Tokens: tokens, Listing: listing,
	}
	if on(s.Bootstrap) { // the agent that is named is not there yet
		if err := f.canMake(s.Agent); err != nil {
			return Assembled{}, err
		}
		return Assemble(s, p)
	}
	if base.Memory != nil {
		p.Memory = func(ctx context.Context, _ *agent.Step) (middleware.Remembered, error) {
			return base.Memory(ctx, s.Agent)
		}
	}
	if s.Agent != "" {
		d, err := f.opt.Agents.Agent(ctx, r.Owner, s.Agent)
		if errors.Is(err, ErrNoAgent) {
			return Assembled{}, &model.WishError{Setting: "agent_name", Reason: fmt.Sprintf("there is no agent %q", s.Agent)}
		}
		if err != nil {
			return Assembled{}, fmt.Errorf("agent %q: %w", s.Agent, err)
		}
		p.Definition = &d
	}
	// Whether a run can be accepted does not depend on whom it may delegate to: they are looked up when it begins.
	if s.As != "" || on(s.Subagents) && (listing || r.ID != "") {
		if p.Custom, err = f.opt.Agents.Agents(ctx, r.Owner); err != nil {
			return Assembled{}, fmt.Errorf("custom agents: %w", err)
		}
	}
	return Assemble(s, p)
}

// canMake refuses a run that is to make an agent where that cannot be done.
func (f *Factory) canMake(name string) error {
	if f.opt.Keeper == nil {
		return &model.WishError{Setting: "is_bootstrap", Reason: "agents cannot be made here"}
	}
	if name == "" {
		return nil
	}
	if err := f.opt.Keeper.Valid(name); err != nil {
		return &model.WishError{Setting: "agent_name", Reason: err.Error()}
	}
	return nil
}
