package agent

import (
	"encoding/json"
	"errors"
	"fmt"
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

	// System is the system prompt. Where the agent has tools, a rule on how to cite follows it.
	System   string
	Thinking model.Thinking
	Extra    map[string]json.RawMessage // see model.Request

	// MaxSteps is how often the model is called to answer one message of the user; zero means 10. In the last
	// call it may not use tools any more.
	MaxSteps int
	// ToolTimeout bounds each tool call that is not a sub-agent's; zero means no limit.
	ToolTimeout time.Duration
	// Limits bound the sub-agents of the whole run; those of Subs' own Options do not count.
	Limits Limits

	// Warnings are told when a run of the agent begins: a model that was replaced, a wish that was dropped.
	Warnings []event.Warned
	// Shared is given to agents that work together in one run, so that they number their references together.
	// nil: the agent shares with its sub-agents only.
	Shared *Shared
}

// Limits bound sub-agents.
type Limits struct {
	// Depth is how deep sub-agents may be nested; zero means 4.
	Depth int
	// Count is how many may be started in one run, by whomever; zero means 50. An attempt after a crash counts anew.
	Count int
	// Concurrent is how many one agent may have working at the same time; zero means 4. The others wait.
	Concurrent int
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

// The names of the graph's nodes.
const (
	nodeAgent = "agent"
	nodeTools = "tools"
)

// New makes the graph of an agent. Its state has one field, "messages". The node "agent" calls the model; every
// tool call of the answer is an execution of the node "tools", all at the same time; then it is the agent's turn again.
func New(o Options) (*graph.Graph, error) {
	if o.Shared == nil {
		o.Shared = &Shared{}
	}
	o.Limits = o.Limits.withDefaults()
	return build(o, 0)
}

// loop is the agent behind a graph.
type loop struct {
	Options
	messages graph.Sequence[item.Message]
	offered  []model.Tool
}

func build(o Options, depth int) (*graph.Graph, error) {
	if o.Name == "" {
		o.Name = "agent"
	}
	if o.Model == nil {
		return nil, fmt.Errorf("agent %q: it needs a model", o.Name)
	}
	if o.MaxSteps <= 0 {
		o.MaxSteps = 10
	}
	if o.Tools == nil {
		o.Tools = &tool.Set{}
	}
	if len(o.Subs) > 0 && depth == o.Limits.Depth {
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
	a := &loop{Options: o, messages: graph.Messages("messages")}
	for _, spec := range o.Tools.Specs() {
		a.offered = append(a.offered, model.Tool{Name: spec.Name, Description: spec.Description, Schema: spec.Schema})
	}
	if len(a.offered) > 0 {
		a.System = join(a.System, citing)
	}
	g := graph.New(o.Name, a.messages).
		Node(nodeAgent, a.think).
		Node(nodeTools, a.act).
		Edge(graph.Start, nodeAgent).
		Branch(nodeAgent, a.next, nodeTools, graph.End).
		Edge(nodeTools, nodeAgent)
	return g, g.Compile()
}

// citing tells the model what the tags around passages are for. It is said whether there are passages or not, so
// that the beginning of all requests is the same and providers can cache it.
const citing = `Some tool results contain passages between <referencable-item> and </referencable-item>, with an ID. ` +
	`When a statement of yours rests on such a passage, write [^ID] directly after it, for example [^3]. ` +
	`Cite only IDs that you were shown.`

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "\n\n" + b
}

// errSteps is the error of an agent that does not come to an end.
func errSteps(name string, n int) error {
	return &event.Error{
		Code: "step_limit", Name: "StepLimitError",
		Message: fmt.Sprintf("agent %q called its model %d times and still wants to use tools", name, n),
	}
}

var errNoScope = errors.New("a sub-agent can only be called by an agent's graph")
