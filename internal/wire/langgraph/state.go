package langgraph

import (
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/event"
)

// States looks up what a checkpoint holds. What it returns for an id must never change.
type States interface {
	// State returns a checkpoint of a namespace of the run's thread.
	State(ns, checkpoint string) (State, error)
	// Base returns the checkpoint of a namespace at which the run stood when it began there: the one that a resume, or
	// a run without input, goes on from. It is empty for a namespace that had none, and for the root of a run that
	// brings an input of its own.
	Base(ns string) (checkpoint string, err error)
}

// State is a checkpoint with its values.
type State struct {
	ID     string
	Parent string // empty for the first
	Step   int
	Source event.Source
	// Values is the object of all fields in the order of the graph, messages in LangChain's form.
	Values json.RawMessage
	Next   []string // nodes that are due
	Tasks  []Task   // the same, as executions
}

// Task is an execution that is due at a checkpoint.
type Task struct {
	ID   string
	Node string
	Path []string // as in event.NodeStarted
	// Subgraph says that the node is a graph, which has a namespace of its own.
	Subgraph bool
}

// space is what is known of a namespace.
type space struct {
	checkpoint string // where the graph stands; empty if not known
	begun      bool   // its first state was told
	wrote      bool   // something was written since the checkpoint
	fresh      bool   // the checkpoint is the one before an input
	state      State
	loaded     bool // state is that of checkpoint
}

var errNoStates = errors.New("langgraph: this mode shows values and needs Options.States")

func (p *Projector) space(ns string) *space {
	if ns == p.lastNS && p.lastSpace != nil {
		return p.lastSpace
	}
	sp := p.spaces[ns]
	if sp == nil {
		sp = &space{}
		p.spaces[ns] = sp
	}
	p.lastNS, p.lastSpace = ns, sp
	return sp
}

// state returns the state of a namespace's checkpoint. Before there is one, the state is empty.
func (p *Projector) state(ns string) (*State, error) {
	sp := p.space(ns)
	if sp.loaded {
		return &sp.state, nil
	}
	if sp.checkpoint == "" {
		return &State{Values: emptyObject}, nil
	}
	if p.opt.States == nil {
		return nil, errNoStates
	}
	st, err := p.opt.States.State(ns, sp.checkpoint)
	if err != nil {
		return nil, err
	}
	if st.ID == "" {
		st.ID = sp.checkpoint
	}
	sp.state, sp.loaded = st, true
	return &sp.state, nil
}

// stand notes where a namespace stands now.
func (p *Projector) stand(ns, checkpoint string) {
	sp := p.space(ns)
	*sp = space{checkpoint: checkpoint, begun: true}
}

// enter finds out where the run stood in a namespace in which it did not save a checkpoint before its first node, and tells
// of that state: a run that resumes begins with it.
func (p *Projector) enter(ns string) error {
	if sp := p.space(ns); sp.begun {
		return nil
	}
	shown := p.visible(ns) && p.opt.Modes.Has(showState|Tasks)
	if p.opt.States == nil || !shown && !p.opt.Modes.Has(Events) {
		p.space(ns).begun = true
		return nil
	}
	id, err := p.opt.States.Base(ns)
	if err != nil {
		return err
	}
	p.stand(ns, id)
	if id == "" {
		return nil
	}
	return p.tellState(ns, true)
}

var emptyObject = json.RawMessage("{}")
