package langgraph

import (
	"errors"

	"github.com/tributary-ai/tributary/internal/wire/graphs"
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
type State = graphs.State

// Task is an execution that is due at a checkpoint.
type Task = graphs.Task

var errNoStates = errors.New("langgraph: this mode shows values and needs Options.States")

// state returns the state of a namespace's checkpoint. Before there is one, the state is empty.
func (p *Projector) state(ns string) (*State, error) {
	return p.spaces.State(ns, func(ns, checkpoint string) (State, error) {
		if p.opt.States == nil {
			return State{}, errNoStates
		}
		return p.opt.States.State(ns, checkpoint)
	})
}

// enter finds out where the run stood in a namespace in which it did not save a checkpoint before its first node, and tells
// of that state: a run that resumes begins with it.
func (p *Projector) enter(ns string) error {
	sp := p.spaces.At(ns)
	if sp.Begun {
		return nil
	}
	shown := p.visible(ns) && p.opt.Modes.Has(showState|Tasks)
	if p.opt.States == nil || !shown && !p.opt.Modes.Has(Events) {
		sp.Begun = true
		return nil
	}
	id, err := p.opt.States.Base(ns)
	if err != nil {
		return err
	}
	sp.Stand(id)
	if id == "" {
		return nil
	}
	return p.tellState(ns, true)
}
