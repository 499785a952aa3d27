package transcript

import (
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Watcher is told what an event brings about beside what it says itself. What it is handed belongs to the fold: it must not be
// changed, and is good until the method returns.
type Watcher interface {
	// TaskBegan says that a sub-agent works. A fresh one is empty: it is new, or what an earlier attempt left is gone, and with it
	// the tasks below. One that is not goes on with what it has.
	TaskBegan(t *Task, fresh bool)
	// TaskEnded says how a task ended, the root task too. What was open in it was told before.
	TaskEnded(t *Task)
	// ItemVoided says that an item is gone, because this attempt at it failed; the cause says how.
	ItemVoided(t *Task, it *Item, attempt int, cause string)
	// ItemCut says that an item ended with its task, with what it has.
	ItemCut(t *Task, it *Item)
	// BlockClosed says that a block ended with its item, without an event of its own.
	BlockClosed(t *Task, it *Item, at int, b *item.Block)
}

// Outline is a Fold that forgets texts and values as soon as they were shown: its memory grows with the items of a run and not with
// what is in them. It is for whoever shows a run while it grows.
type Outline struct{ fold Fold }

// NewOutline returns an outline of one run, for its events from the first.
func NewOutline(w Watcher) *Outline { return &Outline{Fold{watcher: w}} }

// Apply takes in the next event, and tells the watcher of what it brings about. It is false for an event that comes too late: it was
// applied before, belongs to another run, or follows the run's end. What else is wrong with a journal is for [Check] to say.
func (o *Outline) Apply(env *event.Envelope) bool {
	if e := o.fold.touched.entry; e != nil && e.head.Value != nil { // it was shown
		e.head.Value, e.head.Arguments, e.blocks = nil, "", nil
	}
	return o.fold.take(env)
}

// Root is the root task.
func (o *Outline) Root() *Task { return &o.fold.tasks[""].head }

// Task is the task that the last event speaks of; nil if the event fits nothing.
func (o *Outline) Task() *Task {
	if t := o.fold.touched.task; t != nil {
		return &t.head
	}
	return nil
}

// Item is the item that the last event began, changed or ended, without what it has grown by; nil if it did none of that.
func (o *Outline) Item() *Item {
	if e := o.fold.touched.entry; e != nil {
		return &e.head
	}
	return nil
}

// Block is the block of it that the last event began, changed or ended; nil if it did none of that.
func (o *Outline) Block() *item.Block {
	if b := o.fold.touched.block; b != nil {
		return &b.value
	}
	return nil
}

// Whole is the item that the last event ended, with all that is shown of it but the items of the sub-agent that it contains.
func (o *Outline) Whole() Item {
	e := o.fold.touched.entry
	it := e.snapshot()
	if child := o.fold.contained(e); child != nil {
		it.Blocks, it.Task = nil, child.head.ID
	}
	return it
}

// Within reports whether a task is another, or below it.
func (o *Outline) Within(id, outer string) bool {
	for t := o.fold.tasks[id]; t != nil; t = t.parent {
		if t.head.ID == outer {
			return true
		}
	}
	return false
}

func (f *Fold) began(t *task, fresh bool) {
	if f.watcher != nil {
		f.watcher.TaskBegan(&t.head, fresh)
	}
}
