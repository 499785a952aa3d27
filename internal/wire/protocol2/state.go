package protocol2

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
)

// States looks up what a checkpoint holds. What it returns for an id must never change.
type States interface {
	// State returns a checkpoint of a namespace of the thread.
	State(ns, checkpoint string) (State, error)
	// Base returns the checkpoint of a namespace at which a run stood when it began there: the one that a resume, or a run
	// without input, goes on from. It is empty for a namespace that had none, and for the root of a run that brings
	// an input of its own.
	Base(run, ns string) (checkpoint string, err error)
}

// State is a checkpoint with its values.
type State struct {
	ID     string
	Parent string // empty for the first
	Step   int
	Source event.Source
	// Values is the object of all fields in the order of the graph, messages in LangChain's form.
	Values json.RawMessage
}

var emptyObject = json.RawMessage("{}")

// space is what is known of a graph's namespace.
type space struct {
	checkpoint string // where the graph stands; empty if not known
	begun      bool   // its first state was told
	wrote      bool   // something was written since the checkpoint
	fresh      bool   // the checkpoint is the one before an input
	state      *State // of checkpoint, once it was read
}

func (p *Projector) space(ns string) *space {
	sp := p.spaces[ns]
	if sp == nil {
		sp = &space{}
		p.spaces[ns] = sp
	}
	return sp
}

// state returns the state of a namespace. Before there is one, the state is empty.
func (p *Projector) state(ns string) (*State, error) {
	sp := p.space(ns)
	if sp.state != nil {
		return sp.state, nil
	}
	if sp.checkpoint == "" {
		return &State{Values: emptyObject}, nil
	}
	st, err := p.opt.States.State(ns, sp.checkpoint)
	if err != nil {
		return nil, err
	}
	if st.ID == "" {
		st.ID = sp.checkpoint
	}
	sp.state = &st
	return sp.state, nil
}

// enter tells where a run stands in a namespace in which it did not save a checkpoint before its first node.
func (p *Projector) enter(ns string) error {
	sp := p.space(ns)
	if sp.begun {
		return nil
	}
	id, err := p.opt.States.Base(p.run, ns)
	if err != nil {
		return err
	}
	sp.begun, sp.checkpoint = true, id
	if id == "" {
		return nil
	}
	return p.tellState(ns, true)
}

// tellState tells of the state that a namespace has reached: which checkpoint, then its values.
func (p *Projector) tellState(ns string, values bool) error {
	return p.tellStateIn(p.open(ns), ns, values)
}

func (p *Projector) tellStateIn(sc *scope, ns string, values bool) error {
	if p.begin("checkpoints", "checkpoints", sc, "") {
		st, err := p.state(ns)
		if err != nil {
			return err
		}
		b := jsonline.AppendString(append(p.buf, `{"id":`...), st.ID)
		if st.Parent != "" {
			b = jsonline.AppendField(b, "parent_id", st.Parent)
		}
		b = jsonline.AppendIntField(b, "step", st.Step)
		p.buf = append(jsonline.AppendField(b, "source", string(st.Source)), '}')
		p.end()
	}
	if values && p.begin("values", "values", sc, "") {
		st, err := p.state(ns)
		if err != nil {
			return err
		}
		p.buf = p.appendShort(p.buf, st.Values)
		p.end()
	}
	return nil
}
