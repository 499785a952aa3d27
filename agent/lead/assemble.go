package lead

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Parts are what an agent is assembled from.
type Parts struct {
	Owner string
	// Choose chooses a model; see [model.Models].
	Choose func(model.Wish) (model.Choice, error)
	// Tools are all that there are; Missing those that there could be.
	Tools   *tool.Set
	Missing []Missing
	// Definition is the custom agent that the run names; nil: none. Custom are those that it may delegate to.
	Definition *Definition
	Custom     []Definition
	// Keeper makes and changes custom agents; nil: nobody does.
	Keeper Keeper
	// System is what the operator has to say to every agent.
	System string
	// Rules say what tools may do without being asked.
	Rules Rules
	// May says whether a run may use a tool; nil: it may. It is asked at each call, before the rules.
	May func(ctx context.Context, s *agent.Step, t tool.Spec) (why string, ok bool, err error)
	// NoThinking has models think only where somebody asks for it; otherwise those that can do.
	NoThinking bool
	// Middleware is the installation's own; see [Names] for where it stands. Without are those of the lead's that are left out.
	Middleware []agent.Middleware
	Without    []string
	// Budget is how many tokens an answer may take; 0: any number.
	Budget int
	// Summary says when older messages are shown as a summary; its models and policy are the agent's. Continuations is how often an
	// agent goes on by itself towards a goal; 0: 8. Loops say when a model is said to turn in circles.
	Summary       middleware.SummaryOptions
	Loops         middleware.LoopOptions
	Continuations int
	// ModelTitles has models name threads, in place of the first words; not the offline one.
	ModelTitles bool
	// Skills, Memory and Deferred are what package middleware makes of them; nil: there are none.
	Skills   *middleware.SkillOptions
	Memory   func(context.Context, *agent.Step) (middleware.Remembered, error)
	Deferred []tool.Tool
	// Background is where work goes on outside of runs; nil: nowhere.
	Background Background
	// Now is the clock by which models are told the date; nil: the machine's.
	Now func() time.Time
	// Room says whether the thread's folder may grow; nil: it always may.
	Room     func(folder *os.Root, bytes int64, files int) error
	MaxSteps int
	Policy   agent.Policy
	Breakers *agent.Breakers
	Log      *slog.Logger
	// Tokens counts those of a text; nil: a quarter of its bytes.
	Tokens func(string) int
	// Listing says that somebody looks at what is assembled: sub-agents are described whole then.
	Listing bool
}

func (p Parts) tokens(text string) int {
	if p.Tokens == nil {
		return (len(text) + 3) / 4
	}
	return p.Tokens(text)
}

// Missing is a tool, or a group of tools, that the agent could have.
type Missing struct {
	Name string
	Why  string
}

// Assembled is an agent as plain data: what it is made of, and why.
type Assembled struct {
	Name     string // of the custom agent; empty for the lead agent itself
	Model    Model
	Limits   agent.Limits
	MaxSteps int
	Tools    []Tool
	// Middleware is in the order in which everything happens. Those that are off say why.
	Middleware []Ware
	Prompt     []Section
	Subagents  []Subagent
	// Missing is everything else that was left out, and why.
	Missing []Missing
	// Warnings are told to the readers of the run.
	Warnings []model.Warning
	// Refused is the mistake in the settings for which a run is not accepted; nil: none. One that was accepted before goes on with
	// the default and a warning.
	Refused error

	options agent.Options
}

// Model is the model that answers.
type Model struct {
	Name     string
	Why      string
	Thinking model.Thinking
}

// Tool is a tool that the agent has, or could have.
type Tool struct {
	Name   string
	Group  string
	Can    string
	Asks   Verdict // what the rules say
	Tokens int     // of what the model is told of it
	Off    string  // why the agent does not have it; empty if it does
}

// Ware is a middleware.
type Ware struct {
	Name string
	Off  string
}

// Options turn the agent into a graph; see [agent.New].
func (a Assembled) Options() agent.Options { return a.options }

// System is the whole prompt.
func (a Assembled) System() string {
	var texts []string
	for _, s := range a.Prompt {
		texts = append(texts, s.Text)
	}
	return join(texts...)
}

// assembly is an agent while it is put together.
type assembly struct {
	parts      Parts
	settings   Settings
	unattended bool // nobody is there to be asked
	sub        bool // it is a sub-agent
	choice     model.Choice
	tools      *tool.Set
	out        Assembled
}

// Assemble puts an agent together. An error is a mistake of the parts, such as no model at all; what a run asks for and cannot
// have is in the result.
func Assemble(s Settings, p Parts) (Assembled, error) {
	if p.Tools == nil {
		p.Tools = &tool.Set{}
	}
	a := &assembly{parts: p, settings: s, unattended: on(s.NonInteractive) || s.As != ""}
	if p.Definition != nil {
		a.out.Name = p.Definition.Name
	}
	if err := a.choose(); err != nil {
		return Assembled{}, err
	}
	a.out.Limits = agent.Limits{Concurrent: cmp.Or(s.MaxConcurrent, usualConcurrent), Count: cmp.Or(s.MaxTotal, usualTotal)}
	a.out.MaxSteps = cmp.Or(p.MaxSteps, agent.DefaultMaxSteps)
	a.selectTools()
	a.out.Missing = append(a.out.Missing, p.Missing...)
	if s.As != "" {
		return a.asSubagent()
	}
	team, off, err := a.delegation()
	if err != nil {
		return Assembled{}, err
	}
	if off != "" {
		a.leaveOut("tool "+TaskTool, off)
	}
	chain := a.chain()
	a.out.Prompt = a.prompt()
	a.out.options = agent.Options{
		Model: a.choice.Model, Fallbacks: a.choice.Fallbacks, Policy: p.Policy, Breakers: p.Breakers, Tools: a.tools, Team: team,
		Middleware: chain, System: a.out.System(), Thinking: a.choice.Thinking, Extra: a.choice.Extra, MaxSteps: a.out.MaxSteps,
		Limits: a.out.Limits, Warnings: a.warnings(), Log: p.Log,
	}
	for _, w := range agent.Builtin(a.out.options) {
		a.out.Middleware = append(a.out.Middleware, Ware{Name: w.Name})
	}
	return a.out, nil
}

func (a *assembly) warnings() []event.Warned {
	var out []event.Warned
	for _, w := range a.out.Warnings {
		out = append(out, event.Warned(w))
	}
	return out
}

// offer lists a tool that comes with a middleware.
func (a *assembly) offer(spec tool.Spec) {
	a.out.Tools = append(a.out.Tools, Tool{
		Name: spec.Name, Group: spec.Group, Can: spec.Risk.String(), Asks: a.parts.Rules.Of(spec, a.unattended),
		Tokens: a.parts.tokens(spec.Name + spec.Description + string(spec.Schema)),
	})
}

func (a *assembly) leaveOut(name, why string) {
	a.out.Missing = append(a.out.Missing, Missing{name, why})
}

// The warnings of package model/registry that say that another model answers.
const (
	unknownModel  = "unknown_model"
	unusableModel = "unusable_model"
)

// choose picks the model and decides whether it thinks.
func (a *assembly) choose() error {
	d := a.parts.Definition
	if d == nil {
		d = &Definition{}
	}
	name, own, why := a.settings.Model, a.settings.own(), "the run asks for it"
	switch {
	case name == "" && d.Model != "":
		name, own, why = d.Model, false, "agent "+d.Name+" has it"
	case name == "":
		why = "it is the default"
	case !own:
		why = "the run's assistant has it"
	}
	thinking := cmp.Or(a.settings.Thinking, d.Thinking)
	effort := cmp.Or(a.settings.Effort, d.Effort)
	choice, err := a.ask(name, own, thinking, effort)
	var told []model.Warning // of what was replaced
	var wish *model.WishError
	if errors.As(err, &wish) && name != "" {
		a.out.Refused = err
		told = append(told, model.Warning{Code: unknownModel, Message: wish.Reason + "; the default answers in its place"})
		why = "the default, since " + name + " cannot be had"
		name, own = "", false
		choice, err = a.ask(name, own, thinking, effort)
	}
	if err != nil {
		return err
	}
	if name != "" && slices.ContainsFunc(choice.Warnings, func(w model.Warning) bool { return w.Code == unknownModel || w.Code == unusableModel }) {
		why = "the default, since " + name + " cannot be had"
	}
	info := describe(choice.Model)
	if thinking == nil && !a.parts.NoThinking && info.Thinking { // it is asked for where nobody has to be told that it cannot be had
		thinking = new(bool)
		*thinking = true
		if choice, err = a.ask(name, own, thinking, effort); err != nil {
			return err
		}
	}
	choice.Warnings = append(told, choice.Warnings...)
	a.think(&choice, info, thinking, effort)
	a.choice = choice
	a.out.Warnings = choice.Warnings
	a.out.Model = Model{Name: nameOf(info), Why: why, Thinking: choice.Thinking}
	return nil
}

func (a *assembly) ask(name string, own bool, thinking *bool, effort string) (model.Choice, error) {
	w, err := a.settings.wish(a.parts.Owner, name, own, thinking, effort)
	if err != nil {
		return model.Choice{}, err
	}
	return a.parts.Choose(w)
}

// think sees to it that a wish for thinking is met, or that people are told, also by those who choose models and know nothing of
// it.
func (a *assembly) think(c *model.Choice, info model.Info, thinking *bool, effort string) {
	warned := slices.ContainsFunc(c.Warnings, func(w model.Warning) bool { return w.Code == "no_thinking" })
	switch {
	case thinking == nil:
	case !*thinking:
		c.Thinking = model.Thinking{}
	case c.Thinking.On || warned:
	case info.Thinking:
		c.Thinking = model.Thinking{On: true, Effort: effort}
	default:
		c.Warnings = append(c.Warnings, model.Warning{Code: "no_thinking", Message: fmt.Sprintf("%s cannot think; it answers without", nameOf(info))})
	}
}

// selectTools decides which tools the agent has.
func (a *assembly) selectTools() {
	a.tools = a.parts.Tools.Only(func(spec tool.Spec) bool {
		info := Tool{Name: spec.Name, Group: spec.Group, Can: spec.Risk.String(), Tokens: a.parts.tokens(spec.Name + spec.Description + string(spec.Schema))}
		info.Off = a.parts.Definition.allows(spec)
		if on(a.settings.Bootstrap) {
			info.Off = "an agent is being made: is_bootstrap"
		}
		if info.Asks = a.parts.Rules.Of(spec, a.unattended); info.Asks == Deny && info.Off == "" {
			info.Off = "a rule denies it"
		}
		a.out.Tools = append(a.out.Tools, info)
		return info.Off == ""
	})
}

func (a *assembly) hasTool(name string) bool {
	_, ok := a.tools.Lookup(name)
	return ok
}

func (a *assembly) hasGroup(group string) bool {
	return slices.ContainsFunc(a.tools.Specs(), func(s tool.Spec) bool { return s.Group == group })
}

func describe(m model.Model) model.Info {
	if d, ok := m.(model.Describer); ok {
		return d.Describe()
	}
	return model.Info{}
}

func nameOf(i model.Info) string {
	switch {
	case i.Model == "":
		return "the model"
	case i.Provider == "" || i.Provider == i.Model:
		return i.Model
	}
	return i.Provider + "/" + i.Model
}
