package team

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// Mode is how a team works.
type Mode string

const (
	// Divide gives every expert a part of the question. It is the default.
	Divide Mode = "divide"
	// Discuss has all experts answer, and then answer each other, for some rounds.
	Discuss Mode = "discuss"
	// Debate has the experts hold opposite sides for some rounds; a judge decides.
	Debate Mode = "debate"
)

// Modes are those that there are.
func Modes() []Mode { return []Mode{Divide, Discuss, Debate} }

// Expert is a member of a team.
type Expert struct {
	// Name is what it is called: its letters and digits are its id.
	Name string `json:"name" jsonschema:"one or two words"`
	// Role is what it looks at, in a few words that its colleagues read too.
	Role string `json:"role" jsonschema:"what the expert looks at, in a few words"`
	// Instructions stand in its system prompt.
	Instructions string `json:"instructions,omitempty" jsonschema:"how the expert works and what it must heed"`
	// Tools are the names of those that it may use; none named: all.
	Tools []string `json:"tools,omitempty"`
	// Toolless says that it may use none.
	Toolless bool `json:"toolless,omitempty"`
	// Model is the name of the model that it asks, see [Options.Models]; empty: the lead's.
	Model string `json:"model,omitempty"`
}

// ID is the expert's name as ids are spelled.
func (e Expert) ID() string { return slug(e.Name) }

// Budget bounds the work of a team. Zero values bound nothing. What is used up ends the work, and not the team: phases that
// have not begun are skipped, and the lead answers with what there is.
type Budget struct {
	// Turns is how often all agents of the team may call their models, and ExpertTurns how often one may in a phase.
	Turns, ExpertTurns int
	// Tokens is what the experts may use together; it is looked at between phases.
	Tokens int
	// Time bounds the work from when the team was formed, and ExpertTime that of one expert in a phase.
	Time, ExpertTime time.Duration
}

// Options describe a team. Only Agent.Model is needed.
type Options struct {
	// Agent is what the lead and the experts have in common: model, fallbacks, policy, tools, middleware. Its Name is the
	// lead's, "lead" if empty, and its System is put before what each of them is told.
	Agent agent.Options
	// Models finds a model that an expert names. Nil: all ask the lead's.
	Models func(ctx context.Context, name string) (model.Model, error)

	Mode   Mode
	Rounds int // of a discussion or a debate; zero means 2
	// Experts are the members. None: with Invent the lead makes them up for the question, otherwise they are [Standing].
	Experts []Expert
	Invent  bool
	// Plan is what is done. None: with LeadPlans the lead makes it, otherwise it follows from the mode.
	Plan      []Phase
	LeadPlans bool
	// Replan asks the lead after every phase whether what has not begun should change.
	Replan bool
	// Review asks a person to accept the plan before anything is done.
	Review bool
	// Judge decides a debate, in a phase of its own. Nil: the lead does, in the synthesis.
	Judge *Expert

	Budget Budget
	// Parallel is how many experts work at the same time; zero means 6.
	Parallel int
	// MaxExperts bounds a team; zero means 12.
	MaxExperts int
	// MaxPhases bounds a plan, also one that the lead changes; zero means 12.
	MaxPhases int
}

// Standing are the experts of a team that was given none: three ways of looking at any question.
func Standing() []Expert {
	return []Expert{
		{Name: "Guide", Role: "how it works, step by step", Instructions: "Explain the matter itself: what it is, what it is made of, how the parts work together."},
		{Name: "Skeptic", Role: "what can fail or be lost", Instructions: "Look for what goes wrong: limits, risks, failures, what is promised and not kept. Be fair."},
		{Name: "Practitioner", Role: "settings, commands and defaults", Instructions: "Look at it as somebody who has to do it tomorrow: steps, settings, commands, examples, costs."},
	}
}

// The names of the nodes of a team's graph.
const (
	NodeForm      = "form"      // chooses the experts and the plan
	NodeReview    = "review"    // asks a person
	NodeWork      = "work"      // runs the phases that are due
	NodeSynthesis = "synthesis" // answers
)

// team is what is behind a graph.
type team struct {
	Options
	messages graph.Sequence[item.Message]
	state    graph.Field[State]
	warnings []event.Warned // told once, and not by each expert
}

// State is what a team remembers, in the field "team" of its graph.
type State struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	Formed  time.Time `json:"formed"`
	Mode    Mode      `json:"mode"`
	Experts []Expert  `json:"experts"`
	Phases  []Phase   `json:"phases"`
	// Findings are what came of each expert in each phase, in the order of the plan.
	Findings []Finding `json:"findings,omitempty"`
	// Tokens is what the experts have used.
	Tokens int `json:"tokens,omitempty"`
	// Stopped says which budget ended the work.
	Stopped string `json:"stopped,omitempty"`
	// Note is what a person remarked about the plan.
	Note string `json:"note,omitempty"`
	// Spoken is what people have said to the team while it worked.
	Spoken []event.Spoken `json:"spoken,omitempty"`
	// Drafts counts what the lead was asked for.
	Drafts int `json:"drafts,omitempty"`
}

// New makes the graph of a team. Its state has the fields "messages", whose last message of the user is the question, and "team".
func New(o Options) (*graph.Graph, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	t := &team{Options: o, messages: graph.Messages("messages"), state: graph.LastValue[State]("team"), warnings: o.Agent.Warnings}
	t.Agent.Warnings = nil
	g := graph.New("team", t.messages, t.state).
		Node(NodeForm, t.guarded(t.form)).
		Node(NodeReview, t.guarded(t.review)).
		Node(NodeWork, t.guarded(t.work)).
		Node(NodeSynthesis, t.guarded(t.synthesise)).
		Edge(graph.Start, NodeForm).
		Ends(NodeForm, NodeReview, NodeWork).
		Ends(NodeReview, NodeWork, NodeSynthesis).
		Ends(NodeWork, NodeWork, NodeSynthesis).
		Edge(NodeSynthesis, graph.End).
		Limit(2*o.MaxPhases + 8)
	return g, g.Compile()
}

// complete fills in what is usual and refuses what cannot work.
func (o *Options) complete() error {
	if o.Agent.Model == nil {
		return invalid("model", "it needs one for its lead")
	}
	if o.Agent.Name == "" {
		o.Agent.Name = "lead"
	}
	if o.Mode == "" {
		o.Mode = Divide
	}
	if !slices.Contains(Modes(), o.Mode) {
		return invalid("mode", "%q is none of %q", o.Mode, Modes())
	}
	for _, f := range []struct {
		value *int
		usual int
	}{{&o.Rounds, 2}, {&o.Parallel, 6}, {&o.MaxExperts, 12}, {&o.MaxPhases, 12}} {
		if *f.value <= 0 {
			*f.value = f.usual
		}
	}
	if len(o.Experts) == 0 && !o.Invent {
		o.Experts = Standing()
	}
	if o.Mode != Divide && o.Rounds >= o.MaxPhases {
		return invalid("rounds", "%d are more than the %d phases that a plan may have", o.Rounds, o.MaxPhases)
	}
	o.Agent.Limits.Count = max(o.Agent.Limits.Count, o.MaxExperts*o.MaxPhases)
	if o.Budget.Turns > 0 {
		o.Agent.Limits.Turns = o.Budget.Turns
	}
	if len(o.Experts) == 0 {
		return nil
	}
	if err := o.checkExperts(o.Experts); err != nil {
		return err
	}
	if len(o.Plan) > 0 {
		return o.checkPlan(o.Experts, o.Plan)
	}
	return nil
}

// InvalidError says what is wrong with the options of a team.
type InvalidError struct {
	Field  string // model, mode, rounds, experts or plan
	Reason string
}

func (e *InvalidError) Error() string { return "team: " + e.Field + ": " + e.Reason }

func invalid(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}

// checkExperts says what is wrong with a list of experts.
func (o *Options) checkExperts(experts []Expert) error {
	if len(experts) == 0 || len(experts) > o.MaxExperts {
		return invalid("experts", "there are %d; have 1 to %d", len(experts), o.MaxExperts)
	}
	ids := map[string]bool{slug(o.Agent.Name): true}
	if o.Judge != nil {
		ids[o.Judge.ID()] = true
	}
	for _, e := range experts {
		id := e.ID()
		switch {
		case id == "":
			return invalid("experts", "%q needs a name of letters and digits", e.Name)
		case ids[id]:
			return invalid("experts", "two members are called %q; give each a name of its own", id)
		}
		ids[id] = true
		for _, name := range e.Tools {
			if o.Agent.Tools == nil {
				return invalid("experts", "%q wants the tool %q, and there are none", e.Name, name)
			}
			if _, ok := o.Agent.Tools.Lookup(name); !ok {
				return invalid("experts", "%q wants the tool %q, which there is not", e.Name, name)
			}
		}
	}
	return nil
}

// all are the experts of a team with its judge.
func (o *Options) all(experts []Expert) []Expert {
	if o.Judge == nil || o.Mode != Debate {
		return experts
	}
	return append(slices.Clip(experts), *o.Judge)
}

// question is what the team is to answer: what the user said last.
func (t *team) question(s *graph.Scope) string {
	for _, m := range slices.Backward(t.messages.Get(s)) {
		if m.Role == item.User {
			return strings.TrimSpace(m.Text())
		}
	}
	return ""
}

var noID = regexp.MustCompile(`[^\p{L}\p{N}_]+`)

// slug makes an id of a name. It has no dot, which ids of tasks are put together with.
func slug(name string) string {
	id := strings.Trim(noID.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if r := []rune(id); len(r) > 40 {
		id = string(r[:40])
	}
	return id
}
