package run

import (
	"cmp"
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
	spent       []Share
	turns       []openTurn // in the order in which they began
	cut         []openTurn // those that were cut off, and are in no state that we know of
	unsaved     []said     // what was said since the last checkpoint of its graph
	tasks       []openTask
	calls       []openCall
}

// openCall is a tool's result that has not ended.
type openCall struct {
	said
	shown bool // it has something to show
}

// said is a message of the conversation, an answer or a tool's result.
type said struct {
	id  string
	env event.Envelope // for where it happened
}

type openTurn struct {
	id        string
	execution string
	replaces  string         // the turn whose place it takes
	env       event.Envelope // for where it happened
	// stale is why an attempt after the turn's own began; empty in its own. What stale turns said is void once their node
	// has made another turn, or has ended without one.
	stale string
}

// of reports whether the turn was made by a node's execution.
func (t *openTurn) of(env *event.Envelope, execution string) bool {
	if t.execution != "" && execution != "" {
		return t.execution == execution
	}
	return t.env.NS == env.NS && t.env.Node == env.Node
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

// closing returns the events that end the tasks that are open, the last opened first: a task ends with its run.
func (l *ledger) closing(status event.Status, failure *event.Error) []event.Envelope {
	var out []event.Envelope
	for _, t := range slices.Backward(l.tasks) {
		t.env.Event = event.TaskEnded{Status: status, Error: failure, Usage: t.usage}
		out = append(out, place(t.env))
	}
	return out
}

// isOpen reports whether a task has begun and not ended.
func (l *ledger) isOpen(task string) bool {
	return slices.ContainsFunc(l.tasks, func(t openTask) bool { return t.env.Task == task })
}

// replacing returns the events of a batch with the turns voided, each before what takes its place, that an earlier attempt left and
// this one makes anew.
func (l *ledger) replacing(events []event.Envelope) []event.Envelope {
	if len(l.cut) == 0 && !slices.ContainsFunc(l.turns, func(t openTurn) bool { return t.stale != "" }) {
		return events // nearly always
	}
	var out []event.Envelope
	voided := map[string]bool{}
	for i := range events {
		env := &events[i]
		for _, t := range slices.Concat(l.turns, l.cut) {
			if !voided[t.id] && l.replaces(env, &t) {
				voided[t.id] = true
				t.env.Event = event.TurnVoided{Turn: t.id, Cause: cmp.Or(t.stale, "restarted")}
				out = append(out, place(t.env))
			}
		}
		out = append(out, *env)
	}
	return out
}

// replaces reports whether an event takes the place of what a turn said: another turn that names it, or that its node makes in
// a later attempt, has something to show; the node has ended without one; or its sub-agent begins anew.
func (l *ledger) replaces(env *event.Envelope, t *openTurn) bool {
	if e, ok := env.Event.(event.TaskStarted); ok {
		return e.Attempt > 1 && env.Task == t.env.Task
	}
	if t.stale == "" {
		return false
	}
	switch e := env.Event.(type) {
	case event.ItemStarted:
		return e.Turn != "" && slices.ContainsFunc(l.turns, func(now openTurn) bool {
			return now.id == e.Turn && now.stale == "" && (now.replaces == t.id || t.of(&now.env, now.execution))
		})
	case event.NodeEnded:
		return e.Error == nil && len(e.Interrupts) == 0 && t.of(env, e.Execution)
	}
	return false
}

// place keeps of an envelope only where it happened.
func place(e event.Envelope) event.Envelope {
	return event.Envelope{Task: e.Task, NS: e.NS, Node: e.Node, Step: e.Step, Event: e.Event}
}

func (l *ledger) closeTurn(id string, u item.Usage) {
	same := func(t openTurn) bool { return t.id == id }
	l.spend(slices.IndexFunc(l.turns, same), u)
	l.turns, l.cut = slices.DeleteFunc(l.turns, same), slices.DeleteFunc(l.cut, same)
	l.usage = l.usage.Plus(u)
	for i := range l.tasks {
		// What a child spends its parents spend: a task is open while its children are.
		if l.isWithin(l.env.Task, l.tasks[i].env.Task) {
			l.tasks[i].usage = l.tasks[i].usage.Plus(u)
		}
	}
}

// spend notes who spent it on what: the agent and the model of an open turn.
func (l *ledger) spend(turn int, u item.Usage) {
	var by event.TurnStarted
	if turn >= 0 {
		by, _ = l.turns[turn].env.Event.(event.TurnStarted)
	}
	if turn < 0 && u.IsZero() {
		return // it was counted when it was cut off
	}
	at := slices.IndexFunc(l.spent, func(s Share) bool { return s.Agent == by.Agent && s.Provider == by.Provider && s.Model == by.Model })
	if at < 0 {
		at = len(l.spent)
		l.spent = append(l.spent, Share{Agent: by.Agent, Provider: by.Provider, Model: by.Model})
	}
	l.spent[at].Turns++
	l.spent[at].Usage = l.spent[at].Usage.Plus(u)
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
	for _, turns := range [][]openTurn{l.turns, l.cut} {
		for i := range turns {
			turns[i].stale = e.Cause
		}
	}
	return nil
}

func (l *ledger) RunEnded(event.RunEnded) error {
	l.ended = true
	return nil
}

func (l *ledger) CheckpointSaved(e event.CheckpointSaved) error {
	l.unsaved = slices.DeleteFunc(l.unsaved, func(s said) bool { return s.env.NS == l.env.NS })
	if len(e.Left) > 0 {
		l.cut = slices.DeleteFunc(l.cut, func(t openTurn) bool { return t.env.NS == l.env.NS })
	}
	l.checkpoints = l.checkpoints || l.env.NS == ""
	return nil
}

func (l *ledger) TurnStarted(e event.TurnStarted) error {
	l.turns = append(l.turns, openTurn{id: e.Turn, execution: e.Execution, replaces: e.Replaces, env: l.env})
	return nil
}

func (l *ledger) TurnEnded(e event.TurnEnded) error {
	at := slices.IndexFunc(l.turns, func(t openTurn) bool { return t.id == e.Turn })
	var ended openTurn
	if at >= 0 {
		ended = l.turns[at]
	}
	l.closeTurn(e.Turn, e.Usage)
	switch {
	case at < 0:
	case e.Finish == item.FinishIncomplete:
		l.cut = append(l.cut, ended)
	default:
		l.unsaved = append(l.unsaved, said{ended.id, ended.env})
	}
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

// TaskEnded ends the turns that are open in the task, with what they have.
func (l *ledger) TaskEnded(event.TaskEnded) error {
	l.turns = slices.DeleteFunc(l.turns, func(t openTurn) bool {
		within := l.isWithin(t.env.Task, l.env.Task)
		if within {
			l.cut = append(l.cut, t)
		}
		return within
	})
	l.calls = slices.DeleteFunc(l.calls, func(c openCall) bool { return l.isWithin(c.env.Task, l.env.Task) }) // cut off with it
	l.tasks = slices.DeleteFunc(l.tasks, func(t openTask) bool { return t.env.Task == l.env.Task })
	return nil
}

// ItemEnded notes results, whose node may not get to write them into the state.
func (l *ledger) ItemEnded(e event.ItemEnded) error {
	if r, ok := e.Item.(item.ToolResult); ok {
		l.closeCall(r.ID)
		l.unsaved = append(l.unsaved, said{r.ID, l.env})
	}
	return nil
}

func (l *ledger) ItemStarted(e event.ItemStarted) error {
	if e.Type == item.TypeToolResult {
		l.closeCall(e.Item) // of an attempt before
		l.calls = append(l.calls, openCall{said: said{e.Item, l.env}})
	}
	return nil
}

func (l *ledger) BlockStarted(e event.BlockStarted) error {
	for i := range l.calls {
		if l.calls[i].id == e.Item && l.calls[i].env.Task == l.env.Task {
			l.calls[i].shown = true
		}
	}
	return nil
}

func (l *ledger) closeCall(id string) {
	l.calls = slices.DeleteFunc(l.calls, func(c openCall) bool { return c.id == id && c.env.Task == l.env.Task })
}

// The rest neither opens nor closes anything that a run must not leave open.

func (*ledger) NodeStarted(event.NodeStarted) error         { return nil }
func (*ledger) NodeEnded(event.NodeEnded) error             { return nil }
func (*ledger) InterruptRaised(event.InterruptRaised) error { return nil }
func (*ledger) Custom(event.Custom) error                   { return nil }
func (*ledger) ContextPrepared(event.ContextPrepared) error { return nil }
func (*ledger) Warned(event.Warned) error                   { return nil }
func (*ledger) TextDelta(event.TextDelta) error             { return nil }
func (*ledger) ImageDelta(event.ImageDelta) error           { return nil }
func (*ledger) AnnotationAdded(event.AnnotationAdded) error { return nil }
func (*ledger) BlockEnded(event.BlockEnded) error           { return nil }
func (*ledger) ArgumentsDelta(event.ArgumentsDelta) error   { return nil }
func (*ledger) ToolProgressed(event.ToolProgressed) error   { return nil }
func (*ledger) TeamFormed(event.TeamFormed) error           { return nil }
func (*ledger) PlanUpdated(event.PlanUpdated) error         { return nil }
func (*ledger) Spoken(event.Spoken) error                   { return nil }
func (*ledger) TeamDissolved(event.TeamDissolved) error     { return nil }
func (*ledger) Unknown(event.Unknown) error                 { return nil }
