package run

import (
	"slices"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// ledger is what the engine must know of a run's journal to continue and to end it lawfully: what is open,
// what was spent, what is done. It is fed every event once: by reading the journal when a run is taken
// over, and by the recorder from then on.
type ledger struct {
	env event.Envelope // the event being visited

	started     bool
	ended       bool
	attempt     int
	checkpoints bool // the run has saved a checkpoint of its root graph
	usage       item.Usage
	turns       []openTurn // in the order in which they began
	tasks       []openTask
}

type openTurn struct {
	id  string
	env event.Envelope // for where it happened
}

type openTask struct {
	env   event.Envelope
	usage item.Usage
}

var _ event.Visitor = (*ledger)(nil)

func (l *ledger) apply(env event.Envelope) {
	l.env = env
	_ = event.Visit(env.Event, l) // none of the methods below returns an error
}

// closing returns the events that end what is open, the last opened first: a turn without an end is void, and a
// task ends with its run.
func (l *ledger) closing(status event.Status, cause string, failure *event.Error) []event.Envelope {
	var out []event.Envelope
	for _, t := range slices.Backward(l.turns) {
		t.env.Event = event.TurnVoided{Turn: t.id, Cause: cause, Error: failure}
		out = append(out, place(t.env))
	}
	for _, t := range slices.Backward(l.tasks) {
		t.env.Event = event.TaskEnded{Status: status, Error: failure, Usage: t.usage}
		out = append(out, place(t.env))
	}
	return out
}

// voiding returns the events that void what an earlier attempt left open.
func (l *ledger) voiding(cause string) []event.Envelope {
	var out []event.Envelope
	for _, t := range slices.Backward(l.turns) {
		t.env.Event = event.TurnVoided{Turn: t.id, Cause: cause}
		out = append(out, place(t.env))
	}
	return out
}

// place keeps of an envelope only where it happened.
func place(e event.Envelope) event.Envelope {
	return event.Envelope{Task: e.Task, NS: e.NS, Node: e.Node, Step: e.Step, Event: e.Event}
}

func (l *ledger) closeTurn(id string, u item.Usage) {
	l.turns = slices.DeleteFunc(l.turns, func(t openTurn) bool { return t.id == id })
	l.usage = l.usage.Plus(u)
	for i := range l.tasks {
		// What a child spends its parents spend: a task is open while its children are.
		if l.isWithin(l.env.Task, l.tasks[i].env.Task) {
			l.tasks[i].usage = l.tasks[i].usage.Plus(u)
		}
	}
}

// isWithin reports whether task is outer or below it.
func (l *ledger) isWithin(task, outer string) bool {
	for task != "" {
		if task == outer {
			return true
		}
		task = l.parentOf(task)
	}
	return false
}

func (l *ledger) parentOf(task string) string {
	for _, t := range l.tasks {
		if started, ok := t.env.Event.(event.TaskStarted); ok && t.env.Task == task {
			return started.Parent
		}
	}
	return ""
}

func (l *ledger) RunQueued(event.RunQueued) error { return nil }

func (l *ledger) RunStarted(e event.RunStarted) error {
	l.started, l.attempt = true, e.Attempt
	return nil
}

func (l *ledger) AttemptStarted(e event.AttemptStarted) error {
	l.attempt = e.Attempt
	return nil
}

func (l *ledger) RunEnded(event.RunEnded) error {
	l.ended = true
	return nil
}

func (l *ledger) CheckpointSaved(event.CheckpointSaved) error {
	l.checkpoints = l.checkpoints || l.env.NS == ""
	return nil
}

func (l *ledger) TurnStarted(e event.TurnStarted) error {
	l.turns = append(l.turns, openTurn{id: e.Turn, env: l.env})
	return nil
}

func (l *ledger) TurnEnded(e event.TurnEnded) error {
	l.closeTurn(e.Turn, e.Usage)
	return nil
}

func (l *ledger) TurnVoided(e event.TurnVoided) error {
	l.closeTurn(e.Turn, e.Usage)
	return nil
}

func (l *ledger) TaskStarted(event.TaskStarted) error {
	for i := range l.tasks { // a child that goes on with its parent after a crash
		if l.tasks[i].env.Task == l.env.Task {
			return nil
		}
	}
	l.tasks = append(l.tasks, openTask{env: l.env})
	return nil
}

func (l *ledger) TaskEnded(event.TaskEnded) error {
	l.tasks = slices.DeleteFunc(l.tasks, func(t openTask) bool { return t.env.Task == l.env.Task })
	return nil
}

// The rest neither opens nor closes anything that a run must not leave open.

func (*ledger) ItemStarted(event.ItemStarted) error         { return nil }
func (*ledger) ItemEnded(event.ItemEnded) error             { return nil }
func (*ledger) NodeStarted(event.NodeStarted) error         { return nil }
func (*ledger) NodeEnded(event.NodeEnded) error             { return nil }
func (*ledger) InterruptRaised(event.InterruptRaised) error { return nil }
func (*ledger) Custom(event.Custom) error                   { return nil }
func (*ledger) ContextPrepared(event.ContextPrepared) error { return nil }
func (*ledger) Warned(event.Warned) error                   { return nil }
func (*ledger) BlockStarted(event.BlockStarted) error       { return nil }
func (*ledger) TextDelta(event.TextDelta) error             { return nil }
func (*ledger) ImageDelta(event.ImageDelta) error           { return nil }
func (*ledger) AnnotationAdded(event.AnnotationAdded) error { return nil }
func (*ledger) BlockEnded(event.BlockEnded) error           { return nil }
func (*ledger) ArgumentsDelta(event.ArgumentsDelta) error   { return nil }
func (*ledger) TeamFormed(event.TeamFormed) error           { return nil }
func (*ledger) PlanUpdated(event.PlanUpdated) error         { return nil }
func (*ledger) TeamDissolved(event.TeamDissolved) error     { return nil }
func (*ledger) Unknown(event.Unknown) error                 { return nil }
