package protocol2

import (
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
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

// State is a checkpoint with its values. Next and Tasks are not told.
type State = graphs.State

// state returns the state of a namespace. Before there is one, the state is empty.
func (p *Projector) state(ns string) (*State, error) {
	return p.spaces.State(ns, p.opt.States.State)
}

// enter tells where a run stands in a namespace in which it did not save a checkpoint before its first node.
func (p *Projector) enter(ns string) error {
	sp := p.spaces.At(ns)
	if sp.Begun {
		return nil
	}
	id, err := p.opt.States.Base(p.run, ns)
	if err != nil {
		return err
	}
	sp.Stand(id)
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
