package transcript

import (
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Fold is the picture of one run, built event by event. The zero Fold is ready for the first event. It is not
// safe for use by several goroutines at once.
type Fold struct {
	run     string
	seq     uint64 // of the last event
	started bool
	ended   bool
	attempt int

	tasks     map[string]*task // those in the picture
	order     []*task          // all, as they started
	entries   map[entryKey]*entry
	turns     map[string]*turn
	turnOrder []*turn
	results   map[string]item.ToolResult

	env     *event.Envelope // while Apply runs
	broken  *LawError
	touched touched
	last    *entry // the item that an event spoke of last; nine of ten speak of the same again

	watcher Watcher // of an Outline
}

// touched is what an event speaks of and has changed. A part that it does not speak of, or that it does not fit, is nil.
type touched struct {
	task  *task
	entry *entry
	block *block
}

type entryKey struct{ task, item string }

type task struct {
	head     Task // without what is computed: Items, Tasks
	parent   *task
	children []*task
	entries  []*entry
	turns    []*turn
	results  map[string]*entry // the tool result that stands for each call
	open     bool
	since    int // the run's attempt when it last started
}

type entry struct {
	head   Item // without what is computed: Blocks, Items, and Arguments while they grow
	task   *task
	turn   *turn
	blocks []*block
	args   strings.Builder
	void   bool
	since  int
}

type block struct {
	value item.Block
	text  strings.Builder // while it is open
	open  bool
}

type turn struct {
	task    *task
	started event.TurnStarted
	end     event.TurnEnded
	state   turnState
	since   int
	entries []*entry
	// prepared says that what the model is shown was told.
	prepared bool
}

type turnState int

const (
	turnOpen turnState = iota
	turnEnded
	turnVoided
	turnCut // its task ended around it
)

// Apply takes in the next event. An error is always a [*LawError]; see the package comment for what it means.
// An event that was applied before, or that belongs to another run, changes nothing.
func (f *Fold) Apply(env *event.Envelope) error {
	f.take(env)
	if f.broken != nil {
		return f.broken
	}
	return nil
}

// take is Apply for whoever does not ask what is wrong. It is false for an event that changes nothing whatever it says.
func (f *Fold) take(env *event.Envelope) bool {
	f.env, f.broken, f.touched = env, nil, touched{}
	ok := f.admit()
	if ok {
		// The visitor's methods return no errors of their own: broken laws are noted by broke.
		_ = event.Visit(env.Event, (*visitor)(f))
	}
	f.env = nil
	return ok
}

// admit checks the event's place in the journal, and says whether it can be folded at all.
func (f *Fold) admit() bool {
	env := f.env
	if f.tasks == nil {
		f.run = env.Run
		f.tasks, f.entries = map[string]*task{}, map[entryKey]*entry{}
		f.turns, f.results = map[string]*turn{}, map[string]item.ToolResult{}
		f.attempt = 1
		f.add(&task{head: Task{Attempt: 1}})
	}
	switch {
	case env.Run != f.run:
		f.broke(Order, "it belongs to run %q, not to %q", env.Run, f.run)
		return false
	case env.Seq <= f.seq:
		f.broke(Order, "seq %d was folded already; the last is %d", env.Seq, f.seq)
		return false
	case env.Seq != f.seq+1:
		f.broke(Order, "seq jumps from %d to %d", f.seq, env.Seq)
	}
	f.seq = env.Seq
	if !f.started {
		switch env.Event.(type) { // only these come before the start; whatever kinds there will be come after it
		case event.RunQueued, event.RunStarted:
		default:
			f.broke(Order, "the run has not started")
		}
	}
	if f.ended {
		f.broke(EndsOnce, "the run has ended")
		return false
	}
	return true
}

// Run is the id of the run.
func (f *Fold) Run() string { return f.run }

// Spoken is what people said to the run's agents while they worked, in order.
func (f *Fold) Spoken() []event.Spoken {
	t := f.tasks[""]
	if t == nil {
		return nil
	}
	return slices.Clone(t.head.Spoken)
}

// Attempt is the run's attempt, from 1.
func (f *Fold) Attempt() int { return f.attempt }

func (f *Fold) add(t *task) {
	t.results = map[string]*entry{}
	t.open, t.since, t.head.StartedAt = true, f.attempt, f.env.At
	f.tasks[t.head.ID] = t
	f.order = append(f.order, t)
	if t.parent != nil {
		t.parent.children = append(t.parent.children, t)
	}
}

// current is the task that the event concerns. An unknown one is made a child of the root, so that
// what it says is not lost.
func (f *Fold) current() *task {
	t := f.tasks[f.env.Task]
	if t == nil {
		f.broke(HoldsChild, "task %q has not started", f.env.Task)
		t = &task{head: Task{ID: f.env.Task, Attempt: 1}, parent: f.tasks[""]}
		f.add(t)
		f.began(t, true)
	}
	f.touched.task = t
	return t
}

// working is the current task, which must not have ended.
func (f *Fold) working() *task {
	t := f.current()
	if !t.open {
		f.broke(EndsOnce, "task %q has ended", t.head.ID)
	}
	return t
}

// entry is the item that an event speaks of, or nil if there is none or it has ended.
func (f *Fold) entry(id string) *entry {
	e := f.last
	if e == nil || e.head.ID != id || e.task.head.ID != f.env.Task {
		e = f.entries[entryKey{f.env.Task, id}]
	}
	switch {
	case e == nil:
		f.broke(Order, "item %q has not started", id)
		return nil
	case e.void:
		f.broke(Order, "item %q is void", id)
		return nil
	case e.head.Status != item.InProgress:
		f.broke(Order, "item %q has ended", id)
		return nil
	case e.turn != nil && e.turn.state != turnOpen:
		f.broke(Order, "item %q belongs to turn %q, which is over", id, e.turn.started.Turn)
	case e.turn == nil && !e.task.open:
		f.broke(EndsOnce, "task %q has ended", e.task.head.ID)
	}
	f.last, f.touched = e, touched{e.task, e, nil}
	return e
}

// block is the open block that a delta belongs to, or nil.
func (f *Fold) block(id string, at int, want item.BlockType) *block {
	e := f.entry(id)
	if e == nil {
		return nil
	}
	if at < 0 || at >= len(e.blocks) {
		f.refuse(Order, "block %d of item %q has not started", at, id)
		return nil
	}
	b := e.blocks[at]
	if !b.open {
		f.refuse(Order, "block %d of item %q has ended", at, id)
		return nil
	}
	if b.value.Type != want {
		f.refuse(Order, "block %d of item %q is of type %s", at, id, b.value.Type)
		return nil
	}
	f.touched.block = b
	return b
}

// void takes an item out of the picture, because of what is said of a later attempt.
func (f *Fold) void(e *entry, attempt int, cause string) {
	if e.void {
		return
	}
	e.drop()
	if f.watcher != nil {
		f.watcher.ItemVoided(&e.task.head, &e.head, attempt, cause)
	}
}

// drop takes an item out of the picture.
func (e *entry) drop() {
	e.void = true
	if e.task.results[e.head.CallID] == e {
		delete(e.task.results, e.head.CallID)
	}
}

// spend adds a turn's usage to its task and all above.
func (t *turn) spend(u item.Usage) {
	for at := t.task; at != nil; at = at.parent {
		if at.open { // one that has ended has said what it spent
			at.head.Usage = at.head.Usage.Plus(u)
		}
	}
}

// end closes a task and whatever is open below it.
func (f *Fold) end(t *task, status event.Status) {
	for i := len(t.children) - 1; i >= 0; i-- {
		if c := t.children[i]; c.open {
			f.end(c, status)
		}
	}
	for _, e := range t.entries {
		if !e.void && e.head.Status == item.InProgress {
			e.head.Status, e.head.Progress = item.Incomplete, nil
			if f.watcher != nil {
				f.watcher.ItemCut(&t.head, &e.head)
			}
		}
	}
	for _, tu := range t.turns {
		if tu.state == turnOpen {
			tu.state = turnCut
		}
	}
	t.open, t.head.Queued, t.head.Status, t.head.EndedAt = false, false, status, f.env.At
	if status != event.Interrupted {
		t.head.Interrupts = nil
	}
	if f.watcher != nil {
		f.watcher.TaskEnded(&t.head)
	}
}

// restart empties a task whose work is tried again. Its children go with it.
func (f *Fold) restart(t *task) {
	for _, e := range t.entries {
		e.drop()
	}
	for _, c := range t.children {
		f.restart(c)
		c.open = false
		delete(f.tasks, c.head.ID)
	}
	t.children, t.entries = nil, nil
}
