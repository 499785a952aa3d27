package transcript

import (
	"slices"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// visitor is the Fold as a reader of events. It is a type of its own so that callers see Apply alone.
type visitor Fold

func (v *visitor) fold() *Fold { return (*Fold)(v) }

func (v *visitor) RunQueued(event.RunQueued) error {
	f := v.fold()
	if f.seq != 1 {
		f.broke(Order, "a run waits before everything else")
	}
	f.tasks[""].head.Queued = true
	return nil
}

func (v *visitor) RunStarted(e event.RunStarted) error {
	f := v.fold()
	root := &f.tasks[""].head
	if f.started || f.seq != 1 && (f.seq != 2 || !root.Queued) {
		f.broke(Order, "a run starts once, with its first event or the one after it was queued")
	}
	f.started, root.Queued = true, false
	return nil
}

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	f := v.fold()
	if e.Attempt <= f.attempt {
		f.broke(Order, "attempt %d follows attempt %d", e.Attempt, f.attempt)
	}
	f.attempt = max(f.attempt+1, e.Attempt)
	root := f.tasks[""]
	root.head.Attempt, root.head.Cause, root.since = f.attempt, e.Cause, f.attempt
	root.head.Queued = false
	return nil
}

func (v *visitor) RunEnded(e event.RunEnded) error {
	f := v.fold()
	root := f.tasks[""]
	if e.Status == event.Success {
		for _, t := range f.order {
			if t.open && t.parent != nil {
				f.broke(EndsOnce, "task %q is open although the run succeeded", t.head.ID)
			}
		}
		for _, t := range f.turnOrder {
			if t.state == turnOpen {
				f.broke(EndsOnce, "turn %q is open although the run succeeded", t.started.Turn)
			}
		}
	}
	if e.Usage != root.head.Usage {
		f.broke(CountedOnce, "the run says %+v, its turns add up to %+v", e.Usage, root.head.Usage)
	}
	root.head.Reason, root.head.Error = e.Reason, e.Error
	f.end(root, e.Status)
	f.ended = true
	return nil
}

// Nodes and checkpoints are the graph's own business; people see items.
func (v *visitor) NodeStarted(event.NodeStarted) error { return nil }

// NodeEnded: see NodeStarted.
func (v *visitor) NodeEnded(event.NodeEnded) error { return nil }

// CheckpointSaved: see NodeStarted.
func (v *visitor) CheckpointSaved(event.CheckpointSaved) error { return nil }

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	t := v.fold().current()
	t.head.Interrupts = replace(t.head.Interrupts, e, func(old event.InterruptRaised) bool { return old.ID == e.ID })
	return nil
}

// Custom events pass by: what they mean is between who writes and who reads them, so they cannot be folded. But they have a
// task, which one that lost its beginning may be known by alone.
func (v *visitor) Custom(event.Custom) error {
	v.fold().current()
	return nil
}

func (v *visitor) Warned(e event.Warned) error {
	t := v.fold().current()
	t.head.Warnings = append(t.head.Warnings, e)
	return nil
}

func (v *visitor) TaskStarted(e event.TaskStarted) error {
	f := v.fold()
	id := f.env.Task
	if id == "" {
		f.broke(HoldsChild, "the root task is started by run_started")
		return nil
	}
	attempt := max(e.Attempt, 1)
	t := f.tasks[id]
	if t == nil {
		parent := f.tasks[e.Parent]
		if parent == nil {
			f.broke(HoldsChild, "its parent %q has not started", e.Parent)
			parent = f.tasks[""]
		}
		f.holds(parent, e)
		t = &task{parent: parent, head: header(id, parent, e)}
		f.add(t)
		f.began(t, true)
		return nil
	}
	if t.since == f.attempt && (t.open || attempt <= t.head.Attempt) {
		f.broke(Order, "task %q started already", id)
	}
	fresh := attempt > t.head.Attempt
	if fresh {
		f.restart(t)
		usage := t.head.Usage
		t.head = header(id, t.parent, e)
		t.head.Usage, t.head.StartedAt = usage, f.env.At
	}
	t.head.Status, t.head.Error, t.head.EndedAt = "", nil, time.Time{}
	t.open, t.since = true, f.attempt
	f.began(t, fresh)
	return nil
}

// header is what a task says of itself, but for its parent: that is who holds it, which in a journal that lost something need not be
// whom it names.
func header(id string, parent *task, e event.TaskStarted) Task {
	return Task{ID: id, Parent: parent.head.ID, CallID: e.CallID, Agent: e.Agent, Title: e.Title, Attempt: max(e.Attempt, 1)}
}

// holds checks that a sub-agent starts inside its caller's tool result.
func (f *Fold) holds(parent *task, e event.TaskStarted) {
	if e.CallID == "" {
		return
	}
	if e.CallID != f.env.Task {
		f.broke(HoldsChild, "task %q answers call %q; the two must be equal", f.env.Task, e.CallID)
	}
	if r := parent.results[e.CallID]; r == nil || r.head.Status != item.InProgress {
		f.broke(HoldsChild, "no tool_result is open for call %q", e.CallID)
	}
}

func (v *visitor) TaskEnded(e event.TaskEnded) error {
	f := v.fold()
	t := f.working()
	if t.parent == nil {
		f.broke(HoldsChild, "the root task is ended by run_ended")
		return nil
	}
	if e.Usage != t.head.Usage {
		f.broke(CountedOnce, "the task says %+v, its turns add up to %+v", e.Usage, t.head.Usage)
	}
	if e.Status == event.Success {
		for _, c := range t.children {
			if c.open {
				f.broke(EndsOnce, "its child %q is open although it succeeded", c.head.ID)
			}
		}
	}
	t.head.Error = e.Error
	f.end(t, e.Status)
	return nil
}

func (v *visitor) TurnStarted(e event.TurnStarted) error {
	f := v.fold()
	t := f.working()
	if f.turns[e.Turn] != nil {
		f.broke(Order, "turn %q started already; a retry needs a new id", e.Turn)
	}
	if old := f.turns[e.Replaces]; e.Replaces != "" && (old == nil || old.state == turnEnded && !old.incomplete()) {
		f.broke(Order, "turn %q, which it replaces, ended well or never began", e.Replaces)
	}
	tu := &turn{task: t, started: e, since: f.attempt}
	f.turns[e.Turn] = tu
	t.turns = append(t.turns, tu)
	f.turnOrder = append(f.turnOrder, tu)
	return nil
}

func (v *visitor) ContextPrepared(e event.ContextPrepared) error {
	f := v.fold()
	tu := f.openTurn(e.Turn)
	if tu == nil {
		return nil
	}
	if tu.prepared || len(tu.entries) > 0 {
		f.broke(Order, "turn %q is told what it is shown once, before it answers", e.Turn)
	}
	tu.prepared = true
	return nil
}

// openTurn is the turn that ends or is voided, or nil.
func (f *Fold) openTurn(id string) *turn {
	t := f.turns[id]
	switch {
	case t == nil:
		f.broke(Order, "turn %q has not started", id)
	case t.state != turnOpen:
		f.broke(Order, "turn %q is over", id)
		return nil
	case t.task.head.ID != f.env.Task:
		f.broke(Order, "turn %q belongs to task %q", id, t.task.head.ID)
	}
	return t
}

func (v *visitor) TurnEnded(e event.TurnEnded) error {
	f := v.fold()
	t := f.openTurn(e.Turn)
	if t == nil {
		return nil
	}
	for _, en := range t.entries {
		if !en.void && en.head.Status == item.InProgress {
			f.broke(Order, "item %q of turn %q is open", en.head.ID, e.Turn)
		}
	}
	t.state, t.end = turnEnded, e
	t.spend(e.Usage)
	return nil
}

// incomplete reports that the turn was cut off, and that people still see what it said.
func (t *turn) incomplete() bool {
	return t.state == turnCut || t.state == turnEnded && t.end.Finish == item.FinishIncomplete
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	f := v.fold()
	t := f.turns[e.Turn]
	if t == nil || !t.incomplete() { // one that was cut off for good, it seemed, may be made anew after all
		if t = f.openTurn(e.Turn); t == nil {
			return nil
		}
	}
	t.state = turnVoided
	t.spend(e.Usage)
	for _, en := range t.entries {
		f.void(en, max(t.started.Attempt, 1), e.Cause)
	}
	return nil
}

func (v *visitor) TeamFormed(e event.TeamFormed) error {
	t := v.fold().current()
	t.head.Teams = replace(t.head.Teams, Team{TeamFormed: e}, func(old Team) bool { return old.Team == e.Team })
	return nil
}

func (v *visitor) PlanUpdated(e event.PlanUpdated) error {
	t := v.fold().current()
	t.head.Plans = replace(t.head.Plans, e, func(old event.PlanUpdated) bool { return old.Plan == e.Plan })
	return nil
}

func (v *visitor) Spoken(e event.Spoken) error {
	f := v.fold()
	t := f.current()
	if slices.ContainsFunc(t.head.Spoken, func(old event.Spoken) bool { return old.ID == e.ID }) {
		f.refuse(Order, "the words %q are there twice", e.ID)
		return nil
	}
	t.head.Spoken = append(t.head.Spoken, e)
	return nil
}

func (v *visitor) TeamDissolved(e event.TeamDissolved) error {
	f := v.fold()
	t := f.current()
	i := slices.IndexFunc(t.head.Teams, func(old Team) bool { return old.Team == e.Team })
	if i < 0 {
		f.refuse(Order, "team %q was not formed", e.Team)
		return nil
	}
	t.head.Teams[i].Outcome, t.head.Teams[i].Reason = e.Outcome, e.Reason
	return nil
}

// Unknown events were written by a newer version; this one cannot say what they change.
func (v *visitor) Unknown(event.Unknown) error { return nil }

// replace puts v in the place of the element that it renews, or at the end.
func replace[T any](list []T, v T, renews func(old T) bool) []T {
	if i := slices.IndexFunc(list, renews); i >= 0 {
		list[i] = v
		return list
	}
	return append(list, v)
}
