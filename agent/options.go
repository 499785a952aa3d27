package agent

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Options describe an agent. Only Model is needed.
type Options struct {
	Name string // of the agent and its graph; "agent" if empty

	Model     model.Model
	Fallbacks []model.Model // asked in order when Model has failed for good
	Policy    Policy
	Breakers  *Breakers // shared by all agents of a process; nil: none

	Tools *tool.Set // nil: none
	Subs  []Sub     // sub-agents, which the model calls like tools
	Team  *Team     // sub-agents that the model calls by one tool; nil: none

	// Middleware is what the agent does besides; the first of the list is the outermost. The agent's own, [Builtin],
	// stand behind it.
	Middleware []Middleware

	// System is the system prompt. Where the agent has tools, a rule on how to cite follows it.
	System   string
	Thinking model.Thinking
	Extra    map[string]json.RawMessage // see model.Request

	// MaxSteps is how often the model is called to answer one message of the user; zero means [DefaultMaxSteps]. In the
	// last call it may not use tools any more.
	MaxSteps int
	// ToolTimeout bounds each call of a tool that has no limit of its own and is not a sub-agent's; zero means no limit.
	ToolTimeout time.Duration
	// Limits bound the whole run; those of Subs' own Options do not count.
	Limits Limits

	// Warnings are told when a run of the agent begins: a model that was replaced, a wish that was dropped.
	Warnings []event.Warned
	// Log is where the agent's author reads of panics and of tools that were left behind; nil: nowhere.
	Log *slog.Logger
}

// DefaultMaxSteps is enough for work that takes an hour.
const DefaultMaxSteps = 100

// Limits bound what the agents of a run may do together.
type Limits struct {
	// Depth is how deep sub-agents may be nested; zero means 4.
	Depth int
	// Count is how many may be started in one run, by whomever; zero means 50. An attempt after a crash counts anew.
	Count int
	// Concurrent is how many one agent may have working at the same time; zero means 4. The others wait.
	Concurrent int
	// Turns is how often the agents of a run may call a model together; zero means no limit. An attempt after a crash
	// counts anew.
	Turns int
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		value *int
		usual int
	}{{&l.Depth, 4}, {&l.Count, 50}, {&l.Concurrent, 4}} {
		if *f.value <= 0 {
			*f.value = f.usual
		}
	}
	return l
}

// The names of the nodes that every agent's graph has. Hooks of middleware have nodes of their own.
const (
	NodeModel = "agent" // calls the model
	NodeTools = "tools" // makes one tool call; an execution for each
)

// New makes the graph of an agent. Its state has the field "messages", and the fields of its middleware. The node "agent"
// calls the model; every tool call of the answer is an execution of the node "tools", all at the same time; then it
// is the agent's turn again.
func New(o Options) (*graph.Graph, error) {
	o.Limits = o.Limits.withDefaults()
	return build(o, 0)
}

// loop is the agent behind a graph.
type loop struct {
	Options
	messages graph.Sequence[item.Message]
	chain    []Middleware
	offer    *offer // what all runs are offered; some have more, see tools
	dynamic  bool   // some middleware has tools of its own

	before, after []hook // in the order in which they run
	model         ModelFunc
	tool          ToolFunc
}

func build(o Options, depth int) (*graph.Graph, error) {
	if o.Name == "" {
		o.Name = "agent"
	}
	if o.Model == nil {
		return nil, fmt.Errorf("agent %q: it needs a model", o.Name)
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = DefaultMaxSteps
	}
	if o.Tools == nil {
		o.Tools = &tool.Set{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if (len(o.Subs) > 0 || o.Team != nil) && depth == o.Limits.Depth {
		return nil, fmt.Errorf("agent %q: its sub-agents are nested more than %d deep", o.Name, depth)
	}
	for _, sub := range o.Subs {
		t, err := newSubTool(sub, o, depth)
		if err != nil {
			return nil, err
		}
		if o.Tools, err = o.Tools.With(t); err != nil {
			return nil, fmt.Errorf("agent %q: %w", o.Name, err)
		}
	}
	if o.Team != nil {
		t, err := newTeamTool(*o.Team, o, depth)
		if err == nil {
			o.Tools, err = o.Tools.With(t)
		}
		if err != nil {
			return nil, fmt.Errorf("agent %q: %w", o.Name, err)
		}
	}
	a := &loop{Options: o, messages: graph.Messages("messages"), offer: offering(o.Tools)}
	a.chain = append(slices.Clip(o.Middleware), Builtin(o)...)
	if err := a.compose(); err != nil {
		return nil, err
	}
	return a.graph()
}

// compose makes functions of the wraps and nodes of the hooks.
func (a *loop) compose() error {
	names := map[string]bool{}
	a.model, a.tool = a.ask, invokeOnce
	for _, m := range slices.Backward(a.chain) {
		if m.Name == "" || names[m.Name] {
			return fmt.Errorf("agent %q: middleware needs a name of its own, not %q", a.Name, m.Name)
		}
		names[m.Name] = true
		a.dynamic = a.dynamic || m.Tools != nil
		if m.Model != nil {
			a.model = m.Model(a.model)
		}
		if m.Tool != nil {
			a.tool = m.Tool(a.tool)
		}
		if m.After.Do != nil {
			a.after = append(a.after, hook{m.Name + ".after", m.After})
		}
	}
	for _, m := range a.chain {
		if m.Before.Do != nil {
			a.before = append(a.before, hook{m.Name + ".before", m.Before})
		}
	}
	return nil
}

// graph puts the nodes together:
//
//	start → before hooks → agent → after hooks → tools → before hooks …
//
// An answer that the provider paused leads back to the agent without tools.
func (a *loop) graph() (*graph.Graph, error) {
	fields := []graph.AnyField{a.messages}
	for _, m := range a.chain {
		fields = append(fields, m.Fields...)
	}
	g := graph.New(a.Name, fields...).
		Node(NodeModel, a.think).
		Node(NodeTools, a.act).
		Limit((2 + len(a.before) + len(a.after)) * (a.MaxSteps + 2))
	entry := NodeModel
	if len(a.before) == 0 {
		g.Edge(graph.Start, NodeModel)
	} else {
		entry = a.before[0].node
		g.Branch(graph.Start, a.toModel(0), append(nodesOf(a.before), NodeModel)...)
	}
	back := append(nodesOf(a.before), NodeModel) // for an answer that the provider paused
	for i, h := range a.before {
		g.Node(h.node, a.visit(h, a.toModel(i+1))).Ends(h.node, append(nodesOf(a.before[i+1:]), NodeModel, graph.End)...)
	}
	for i, h := range a.after {
		g.Node(h.node, a.visit(h, a.toTools(i+1))).Ends(h.node, slices.Concat(nodesOf(a.after[i+1:]), []string{NodeTools, graph.End}, back)...)
	}
	g.Branch(NodeModel, a.toTools(0), slices.Concat(nodesOf(a.after), []string{NodeTools, graph.End}, back)...).
		Edge(NodeTools, entry)
	return g, g.Compile()
}
