package task

import (
	"bytes"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// Projector writes a run's events as frames of this wire. Its memory grows with the items of a run and not with
// their text. An event that does not fit what came before gives no frame; package transcript reports it.
type Projector struct {
	next    uint64 // sequence number of the next frame
	queued  bool   // the run had to wait
	attempt int    // of the run
	tasks   map[string]*task
	entries map[entryKey]*entry
	turns   map[string]*turn

	env *event.Envelope // while Project runs
	dst []wire.Frame
	buf []byte // of the frame being written, after those of the same event

	first int  // where the frame begins in buf
	reuse bool // frames are good only until the next event
	only  string
	mute  bool // the frame is none of those that are wanted
}

var (
	_ wire.Projector = (*Projector)(nil)
	_ wire.Reuser    = (*Projector)(nil)
)

// Reuse makes the data of frames good only until the next call of Project.
func (p *Projector) Reuse() { p.reuse = true }

// Only leaves out the frames that do not concern a sub-agent or those below it. The others keep their numbers.
func (p *Projector) Only(task string) { p.only = task }

type entryKey struct{ task, item string }

type task struct {
	id       string // on the wire
	key      string // in envelopes
	parent   *task
	children []*task
	entries  []*entry
	results  map[string]*entry // the tool result that stands for each call
	turns    []*turn
	items    int // that began, void ones too
	attempt  int
	open     bool
	usage    item.Usage
}

type entry struct {
	task  *task
	turn  *turn
	id    string
	index int
	typ   item.Type
	call  string
	name  string // the tool's
	since int    // the attempt of the run
	role  item.Role
	open  bool
	void  bool
	// blocks are those that were announced.
	blocks []block
}

type block struct {
	typ  item.BlockType
	ref  int
	open bool
}

type turn struct {
	task    *task
	attempt int
	open    bool
	cut     bool // it ended incomplete; it may be made anew all the same
	entries []*entry
}

// New returns a projector for the events of one run, from the first.
func New() *Projector {
	return &Projector{
		attempt: 1,
		tasks:   map[string]*task{},
		entries: map[entryKey]*entry{},
		turns:   map[string]*turn{},
	}
}

// Project appends the frames of the next event.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	p.env, p.dst, p.buf = env, dst, p.buf[:0]
	if len(p.tasks) == 0 {
		p.add(&task{id: env.Run})
	}
	err := event.Visit(env.Event, (*visitor)(p))
	dst = p.dst
	p.env, p.dst = nil, nil // what the caller owns is not kept
	return dst, err
}

// begin starts a frame of a task; end finishes it.
func (p *Projector) begin(typ string, t *task) {
	p.mute = p.only != "" && !t.within(p.only)
	p.first = len(p.buf)
	p.buf = append(p.buf, `{"type":"`...)
	p.buf = append(p.buf, typ...)
	p.buf = append(p.buf, `","task_id":`...)
	p.buf = event.AppendString(p.buf, t.id)
	p.buf = append(p.buf, `,"sequence_number":`...)
	p.buf = strconv.AppendUint(p.buf, p.next, 10)
}

func (p *Projector) end() {
	if p.mute {
		p.buf = p.buf[:p.first]
		p.next++
		return
	}
	p.buf = append(p.buf, '}')
	data := p.buf[p.first:len(p.buf):len(p.buf)]
	if !p.reuse {
		data = bytes.Clone(data)
		p.buf = p.buf[:p.first]
	}
	p.dst = append(p.dst, wire.Frame{ID: strconv.FormatUint(p.next, 10), Data: data})
	p.next++
}

// within reports whether the task is one, or below it.
func (t *task) within(id string) bool {
	for ; t != nil; t = t.parent {
		if t.key == id {
			return true
		}
	}
	return false
}

// beginIn starts a frame about something inside an item.
func (p *Projector) beginIn(typ string, e *entry) {
	p.begin(typ, e.task)
	p.buf = appendField(p.buf, "item_id", e.id)
	p.buf = appendInt(p.buf, "output_index", e.index)
}

// beginBlock starts a frame about a block. A reasoning's blocks are its summaries and have words of their own.
func (p *Projector) beginBlock(e *entry, at int, typ item.BlockType, verb string) {
	index := "block_index"
	name := "task." + string(typ) + "." + verb
	if e.typ == item.TypeReasoning {
		index = "summary_index"
		name = "task.reasoning_summary_item." + verb
	}
	p.beginIn(name, e)
	p.buf = appendInt(p.buf, index, at)
}

func (p *Projector) block(e *entry, at int, b *item.Block, open bool, verb string) {
	p.beginBlock(e, at, b.Type, verb)
	p.buf = appendBlock(appendKey(p.buf, "item"), b, open)
	p.end()
}

func (p *Projector) item(e *entry, it *transcript.Item, typ string) {
	p.begin(typ, e.task)
	p.buf = appendInt(p.buf, "output_index", e.index)
	p.buf = append(appendItem(appendKey(p.buf, "item"), it), '}')
	p.end()
}

// shell is an item as far as it is known before its end.
func (e *entry) shell() transcript.Item {
	it := transcript.Item{ID: e.id, Type: e.typ, Status: item.InProgress, CallID: e.call, Name: e.name, Role: e.role}
	if e.turn != nil {
		it.Attempt = e.turn.attempt
	}
	return it
}

// reset says that an item is void.
func (p *Projector) reset(e *entry, attempt int, cause string) {
	if e.void {
		return
	}
	e.drop()
	p.beginIn("task.output_item.reset", e)
	p.buf = appendInt(p.buf, "attempt", attempt)
	p.buf = appendOptional(p.buf, "cause", cause)
	p.end()
}

func (e *entry) drop() {
	e.void = true
	if e.task.results[e.call] == e {
		delete(e.task.results, e.call)
	}
}

func (p *Projector) add(t *task) {
	t.results = map[string]*entry{}
	t.open = true
	p.tasks[t.key] = t
	if t.parent != nil {
		t.parent.children = append(t.parent.children, t)
	}
}

// current is the task of the event. One that nobody announced is announced here.
func (p *Projector) current() *task {
	t := p.tasks[p.env.Task]
	if t == nil {
		t = &task{id: p.env.Task, key: p.env.Task, parent: p.tasks[""], attempt: 1}
		p.add(t)
		p.created(t, event.TaskStarted{}, "task.working")
	}
	return t
}

// created announces a task, and what it does next.
func (p *Projector) created(t *task, e event.TaskStarted, next string) {
	p.begin("task.created", t)
	if t.parent != nil {
		p.buf = appendField(p.buf, "parent_task_id", t.parent.id)
	}
	p.buf = appendOptional(p.buf, "agent", e.Agent)
	p.buf = appendOptional(p.buf, "title", e.Title)
	if t.attempt > 1 {
		p.buf = appendInt(p.buf, "attempt", t.attempt)
	}
	p.buf = appendTime(p.buf, "created_at", p.env.At)
	p.end()
	p.begin(next, t)
	p.end()
}

// entry is the open item that an event speaks of, or nil.
func (p *Projector) entry(id string) *entry {
	e := p.entries[entryKey{p.env.Task, id}]
	if e == nil || e.void || !e.open {
		return nil
	}
	return e
}

// openBlock is the item of a delta, if the delta has a place in it.
func (p *Projector) openBlock(id string, at int, typ item.BlockType) *entry {
	e := p.entry(id)
	if e == nil || at < 0 || at >= len(e.blocks) || !e.blocks[at].open || e.blocks[at].typ != typ {
		return nil
	}
	return e
}

// contained is the sub-agent that a tool result contains, or nil.
func (p *Projector) contained(e *entry) *task {
	if e.typ != item.TypeToolResult || e.task.results[e.call] != e {
		return nil
	}
	if child := p.tasks[e.call]; child != nil && child.parent == e.task {
		return child
	}
	return nil
}

// ended writes the end of a task, after that of all that is open below it.
func (p *Projector) ended(t *task, status event.Status, said transcript.Task) {
	for i := len(t.children) - 1; i >= 0; i-- {
		if c := t.children[i]; c.open {
			p.ended(c, status, transcript.Task{})
		}
	}
	for _, e := range t.entries {
		if e.open && !e.void {
			e.open = false
			p.cutOff(e)
		}
	}
	for _, tu := range t.turns {
		tu.cut = tu.cut || tu.open
		tu.open = false
	}
	t.open = false
	said.Usage, said.EndedAt = t.usage, p.env.At
	p.begin("task."+life(status), t)
	p.buf = appendEnd(p.buf, &said)
	p.end()
}

// cutOff says that an item stays as it is. Fields are merged, so what it has grown by is not sent again.
func (p *Projector) cutOff(e *entry) {
	p.begin("task.output_item.done", e.task)
	p.buf = appendInt(p.buf, "output_index", e.index)
	it := e.shell()
	it.Status = item.Incomplete
	p.buf = append(appendHead(appendKey(p.buf, "item"), &it), '}')
	p.end()
}

// restart forgets what an earlier attempt of a task left.
func (p *Projector) restart(t *task) {
	for _, e := range t.entries {
		e.drop()
	}
	for _, c := range t.children {
		p.restart(c)
		c.open = false
		delete(p.tasks, c.key)
	}
	t.children, t.entries, t.items = nil, nil, 0
}
