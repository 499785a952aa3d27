package protocol2

import (
	"context"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// threadStates looks up checkpoints for all runs of a thread.
type threadStates struct {
	states *state.Reader
	runs   RunFinder
	who    run.Identity
	thread string
	of     *state.Checkpoints // of the run that was asked for last
}

func newThreadStates(states *state.Reader, runs RunFinder, who run.Identity, thread string) *threadStates {
	return &threadStates{states: states, runs: runs, who: who, thread: thread}
}

var _ protocol2.States = (*threadStates)(nil)

// State returns a checkpoint.
func (t *threadStates) State(ns, checkpoint string) (protocol2.State, error) {
	if t.of == nil {
		t.of = t.states.Of(run.Run{Thread: t.thread, Owner: t.who.Owner})
	}
	return t.of.State(ns, checkpoint)
}

// Base returns where a run stood in a namespace when it began.
func (t *threadStates) Base(id, ns string) (string, error) {
	rn, err := t.runs.Run(context.Background(), t.who, id)
	if err != nil {
		return "", state.GoneIfMissing(err)
	}
	t.of = t.states.Of(rn)
	return t.of.Base(ns)
}
