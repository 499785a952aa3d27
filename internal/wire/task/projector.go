package task

import (
	"bytes"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// Projector writes a run's events as frames of this wire. What stands where, what is open and what was spent it reads off an
// outline of the run, which package transcript makes; its memory grows with the items of a run and not with their text. An event
// that does not fit what came before gives no frame; package transcript reports it.
type Projector struct {
	outline *transcript.Outline
	next    uint64 // sequence number of the next frame
	queued  bool   // the run had to wait

	env *event.Envelope // while Project runs
	dst []wire.Frame
	buf []byte // of the frame being written, after those of the same event

	first int  // where the frame begins in buf
	reuse bool // frames are good only until the next event
	times bool // frames of items say when
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

// New returns a projector for the events of one run, from the first.
func New() *Projector {
	p := &Projector{}
	p.outline = transcript.NewOutline((*watcher)(p))
	return p
}

// Project appends the frames of the next event: what it brings about, as the watcher is told, and then what it says.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) (_ []wire.Frame, err error) {
	p.env, p.dst, p.buf = env, dst, p.buf[:0]
	if p.outline.Apply(env) {
		err = event.Visit(env.Event, (*visitor)(p))
	}
	dst = p.dst
	p.env, p.dst = nil, nil // what the caller owns is not kept
	return dst, err
}

// begin starts a frame of a task; end finishes it.
func (p *Projector) begin(typ string, t *transcript.Task) {
	p.mute = p.only != "" && !p.outline.Within(t.ID, p.only)
	p.first = len(p.buf)
	b := append(p.buf, `{"type":"`...)
	b = append(b, typ...)
	b = append(b, `","task_id":`...)
	b = jsonline.AppendString(b, p.id(t.ID))
	b = append(b, `,"sequence_number":`...)
	p.buf = strconv.AppendUint(b, p.next, 10)
}

// id is a task's on the wire: the root task has the run's.
func (p *Projector) id(task string) string {
	if task == "" {
		return p.env.Run
	}
	return task
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

// tell writes a frame that says no more than whose it is.
func (p *Projector) tell(typ string, t *transcript.Task) {
	p.begin(typ, t)
	p.end()
}

// created announces a task, and what it does next.
func (p *Projector) created(t *transcript.Task, next string) {
	p.begin("task.created", t)
	if t.ID != "" {
		p.buf = jsonline.AppendField(p.buf, "parent_task_id", p.id(t.Parent))
	}
	p.buf = jsonline.AppendOptField(p.buf, "agent", t.Agent)
	p.buf = jsonline.AppendOptField(p.buf, "title", t.Title)
	if t.Attempt > 1 {
		p.buf = jsonline.AppendIntField(p.buf, "attempt", t.Attempt)
	}
	p.buf = appendTime(p.buf, "created_at", p.env.At)
	p.end()
	p.tell(next, t)
}

// beginIn starts a frame about something inside an item.
func (p *Projector) beginIn(typ string, t *transcript.Task, it *transcript.Item) {
	p.begin(typ, t)
	b := jsonline.AppendField(p.buf, "item_id", it.ID)
	p.buf = jsonline.AppendIntField(b, "output_index", it.Index)
}

// beginBlock starts a frame about a block. A reasoning's blocks are its summaries and have words of their own.
func (p *Projector) beginBlock(t *transcript.Task, it *transcript.Item, at int, typ item.BlockType, verb string) {
	index := "block_index"
	name := "task." + string(typ) + "." + verb
	if it.Type == item.TypeReasoning {
		index = "summary_index"
		name = "task.reasoning_summary_item." + verb
	}
	p.beginIn(name, t, it)
	p.buf = jsonline.AppendIntField(p.buf, index, at)
}

func (p *Projector) block(t *transcript.Task, it *transcript.Item, at int, b *item.Block, open bool, verb string) {
	p.beginBlock(t, it, at, b.Type, verb)
	p.buf = appendBlock(jsonline.AppendKey(p.buf, "item"), b, open)
	p.end()
}

// beginItem starts a frame that holds an item.
func (p *Projector) beginItem(typ string, t *transcript.Task, it *transcript.Item) {
	p.begin(typ, t)
	p.buf = jsonline.AppendIntField(p.buf, "output_index", it.Index)
	if p.times {
		p.buf = appendTime(p.buf, "at", p.env.At)
	}
	p.buf = jsonline.AppendKey(p.buf, "item")
}

func (p *Projector) item(typ string, it *transcript.Item) {
	p.beginItem(typ, p.outline.Task(), it)
	p.buf = append(appendItem(p.buf, it), '}')
	p.end()
}
