package lead

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/tool"
)

// Definition is a custom agent: what it is for, and how it differs from the lead agent. Every member but Name may be left out.
type Definition struct {
	Name        string
	Description string // tells people, and agents that may delegate to it, what it is good for
	Soul        string // its character and knowledge, for its prompt
	Model       string
	// Groups are the groups of tools that it has; nil: all, empty: none. "files:read" are those of a group that change nothing.
	Groups []string
	// Skills are the names of its skills; nil: all, empty: none.
	Skills   []string
	Thinking *bool
	Effort   string
	// Temp and MaxTokens are settings of its model calls; nil and 0: the model's own.
	Temp      *float64
	MaxTokens int
	// MaxSteps and Timeout bound it where it is another agent's sub-agent; 0: 50 and 15 minutes.
	MaxSteps int
	Timeout  time.Duration
	// Changed is when it was written last; the zero time where that is not known.
	Changed time.Time
}

// Agents are the custom agents of an installation.
type Agents interface {
	// Agent is one of an owner's; [ErrNoAgent] if there is none of that name.
	Agent(ctx context.Context, owner, name string) (Definition, error)
	// Agents are all of an owner's, in the order in which they are listed.
	Agents(ctx context.Context, owner string) ([]Definition, error)
}

// Keeper makes and changes custom agents.
type Keeper interface {
	// Valid says what is wrong with a name for an agent.
	Valid(name string) error
	// Create makes an agent and returns it as it is kept; [ErrAgentExists] if its name is taken. What is wrong with it is said in the
	// error.
	Create(ctx context.Context, owner string, d Definition) (Definition, error)
	// Update changes an agent and returns it as it is then; [ErrNoAgent] if there is none. An error of change is returned as it is.
	Update(ctx context.Context, owner, name string, change func(*Definition) error) (Definition, error)
}

// ErrAgentExists says that the name of a custom agent is taken.
var ErrAgentExists = errors.New("there is an agent of that name already")

// ErrNoAgent says that there is no such custom agent.
var ErrNoAgent = errors.New("there is no such agent")

// none are the custom agents where nobody brings any.
type none struct{}

func (none) Agent(context.Context, string, string) (Definition, error) {
	return Definition{}, ErrNoAgent
}
func (none) Agents(context.Context, string) ([]Definition, error) { return nil, nil }

// allows says why the agent may not have a tool; empty if it may.
func (d *Definition) allows(spec tool.Spec) (why string) {
	if d == nil || d.Groups == nil {
		return ""
	}
	for _, g := range d.Groups {
		group, part, _ := strings.Cut(g, ":")
		if group == spec.Group && (part != "read" || harmless(spec)) {
			return ""
		}
	}
	return "agent " + d.Name + " has only the groups " + strings.Join(d.Groups, ", ")
}

// Has reports that the agent may have a tool.
func (d *Definition) Has(spec tool.Spec) bool { return d.allows(spec) == "" }

// harmless reports that a tool changes nothing.
func harmless(spec tool.Spec) bool { return spec.Risk&(tool.Writes|tool.Executes|tool.Spends) == 0 }
