package transcript

import (
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Task is one agent's output at a moment. The root task has no ID and no Parent.
type Task struct {
	ID      string
	Parent  string
	CallID  string // the tool call that opened it, if one did
	Agent   string
	Title   string
	Attempt int    // from 1; for the root task, the run's
	Cause   string // why the latest attempt began

	Queued    bool         // it waits, and has not begun
	Status    event.Status // empty while it runs
	Reason    string
	Error     *event.Error
	Usage     item.Usage // of its turns and those of its children
	StartedAt time.Time
	EndedAt   time.Time

	Items      []Item
	Tasks      []Task // children that no tool result contains
	Interrupts []event.InterruptRaised
	Plans      []event.PlanUpdated // the latest of each id
	Teams      []Team
	Warnings   []event.Warned
	Spoken     []event.Spoken // what people said while it worked
}

// Team is a team of experts and, once dissolved, how it went.
type Team struct {
	event.TeamFormed
	Outcome event.Status // empty while it works
	Reason  string
}

// Item is an element of a task's output, whole or growing.
type Item struct {
	ID      string
	Type    item.Type
	Status  item.Status
	Index   int    // its place among the items that its task began, those that are gone included
	Turn    string // empty for tool results
	Attempt int    // of the turn; 0 outside of turns

	Role      item.Role // of a message
	CallID    string    // of tool calls and results
	Name      string    // the tool's
	Arguments string    // of a tool call
	Failed    bool      // of a tool result
	// Progress is how a tool call is coming on, until it has ended; nil if it has not told.
	Progress *event.ToolProgressed

	// Blocks are a reasoning's summaries, a message's content, what people see of a tool result.
	Blocks []Block
	// Task is the sub-agent that a tool result contains. In place of Blocks, Items are its items and Tasks
	// its children that no tool result contains.
	Task  string
	Items []Item
	Tasks []Task
	// Child says who that sub-agent is and how it stands, without its output; nil where there is none.
	Child *Task

	// Value is the whole item as ItemEnded said it, with what only models need; nil before.
	Value item.Item
}

// Block is an element of an item, whole or growing.
type Block struct {
	item.Block
	// Open says that it grows: Text is what has come so far, URL the latest coarse picture.
	Open bool
}

// Text is the text of the item's text blocks, joined.
func (it Item) Text() string {
	if len(it.Blocks) == 1 {
		if it.Blocks[0].Type == item.TextBlock {
			return it.Blocks[0].Text
		}
		return ""
	}
	blocks := make([]item.Block, len(it.Blocks))
	for i, b := range it.Blocks {
		blocks[i] = b.Block
	}
	return item.JoinText(blocks)
}

// Task returns the picture of a task: the root task for the empty id. The slices and values in it belong to
// the caller, except the raw JSON inside, which is shared and read-only.
func (f *Fold) Task(id string) (Task, bool) {
	t, ok := f.tasks[id]
	if !ok {
		return Task{}, false
	}
	return f.snapshot(t), true
}

// TaskIDs lists the tasks in the order in which they started; the first is the root task, the empty id.
func (f *Fold) TaskIDs() []string {
	ids := make([]string, 0, len(f.tasks))
	for _, t := range f.order {
		if f.tasks[t.head.ID] == t {
			ids = append(ids, t.head.ID)
		}
	}
	return ids
}

func (f *Fold) snapshot(t *task) Task {
	s := t.head
	s.Interrupts = append([]event.InterruptRaised(nil), s.Interrupts...)
	s.Plans = append([]event.PlanUpdated(nil), s.Plans...)
	s.Teams = append([]Team(nil), s.Teams...)
	s.Warnings = append([]event.Warned(nil), s.Warnings...)
	s.Spoken = append([]event.Spoken(nil), s.Spoken...)
	s.Items = f.itemsOf(t)
	s.Tasks = f.loose(t)
	return s
}

// loose is the picture of the children that no tool result contains.
func (f *Fold) loose(t *task) []Task {
	var out []Task
	for _, c := range t.children {
		if t.results[c.head.ID] == nil {
			out = append(out, f.snapshot(c))
		}
	}
	return out
}

// itemsOf is the picture of a task's items.
func (f *Fold) itemsOf(t *task) []Item {
	out := make([]Item, 0, len(t.entries))
	for _, e := range t.entries {
		if e.void {
			continue
		}
		it := e.snapshot()
		if child := f.contained(e); child != nil {
			it.Blocks, it.Task, it.Items, it.Tasks = nil, child.head.ID, f.itemsOf(child), f.loose(child)
			head := child.head
			it.Child = &head
		}
		out = append(out, it)
	}
	return out
}

// contained returns the child task whose items a tool result shows.
func (f *Fold) contained(e *entry) *task {
	if e.head.Type != item.TypeToolResult || e.task.results[e.head.CallID] != e {
		return nil
	}
	if child := f.tasks[e.head.CallID]; child != nil && child.parent == e.task {
		return child
	}
	return nil
}

func (e *entry) snapshot() Item {
	it := e.head
	if e.args.Len() > 0 && e.head.Value == nil {
		it.Arguments = e.args.String()
	}
	it.Blocks = make([]Block, len(e.blocks))
	for i, b := range e.blocks {
		it.Blocks[i] = Block{b.value, b.open}
		if b.open && b.text.Len() > 0 {
			it.Blocks[i].Text = b.text.String()
		}
	}
	return it
}
