package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// Projector writes a run's events as frames of this wire. Its memory grows with the messages of a run and not with their
// text. An event that does not fit what came before gives no frame.
type Projector struct {
	next     uint64 // number of the next frame
	messages map[string]*message
	order    []*message // as they began
	items    map[itemKey]*piece
	tasks    map[string]*task
	paths    map[string][]string // of executions
	cited    json.RawMessage     // the list of the last report
	last     string              // id of the message that was told last
	agent    string              // its agent

	env   *event.Envelope // while Project runs
	dst   []wire.Frame
	buf   []byte
	first int  // where the frame begins in buf
	reuse bool // frames are good only until the next event
}

var (
	_ wire.Projector = (*Projector)(nil)
	_ wire.Reuser    = (*Projector)(nil)
)

type itemKey struct{ task, item string }

// message is what a model said in one turn, or a node by itself.
type message struct {
	id, agent, task string
	head            []byte // the members that all of its frames begin with
	told            bool
	alone           bool // no turn will end it
	ended, void     bool
	calls           []*call
	shown           int // of the calls, how many were told; the last of them grows
}

// call is a tool call that is being written.
type call struct {
	id, name string
	index    int
	args     []byte // as far as they are known
	ended    bool
}

// piece is an item that is open.
type piece struct {
	typ  item.Type
	msg  *message
	call *call
	sent []int // bytes of each text block
}

type task struct {
	parent  string
	attempt int
}

// New returns a projector for the events of one run, from the first.
func New() *Projector {
	return &Projector{
		messages: map[string]*message{}, items: map[itemKey]*piece{}, tasks: map[string]*task{}, paths: map[string][]string{},
	}
}

// Reuse makes the data of frames good only until the next call of Project.
func (p *Projector) Reuse() { p.reuse = true }

// Project appends the frames of the next event.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	p.env, p.dst, p.buf = env, dst, p.buf[:0]
	err := event.Visit(env.Event, (*visitor)(p))
	dst = p.dst
	p.env, p.dst = nil, nil // what the caller owns is not kept
	return dst, err
}

// begin starts a frame that is no message's; end finishes it.
func (p *Projector) begin() {
	p.first = len(p.buf)
	p.buf = jsonline.AppendString(append(p.buf, `{"thread_id":`...), p.env.Thread)
}

// beginIn starts a frame of a message.
func (p *Projector) beginIn(m *message) {
	p.first = len(p.buf)
	p.buf = append(p.buf, m.head...)
	m.told = true
	p.last, p.agent = m.id, m.agent
}

func (p *Projector) end(name string) {
	p.buf = append(p.buf, '}')
	data := p.buf[p.first:len(p.buf):len(p.buf)]
	if !p.reuse {
		data = bytes.Clone(data)
		p.buf = p.buf[:p.first]
	}
	id := make([]byte, 0, len(p.env.Run)+8)
	id = strconv.AppendUint(append(append(id, p.env.Run...), ':'), p.next, 10)
	p.dst = append(p.dst, wire.Frame{ID: string(id), Name: name, Data: data})
	p.next++
}

func (p *Projector) field(name, value string) { p.buf = jsonline.AppendField(p.buf, name, value) }

func (p *Projector) raw(name string, value []byte) {
	p.buf = append(jsonline.AppendKey(p.buf, name), value...)
}

// content adds a text, which is left out if it is empty.
func (p *Projector) content(text string) { p.buf = jsonline.AppendOptField(p.buf, "content", text) }

// head is what the frames of a message begin with.
func (p *Projector) head(id, agent, execution string) []byte {
	env := p.env
	b := jsonline.AppendString([]byte(`{"thread_id":`), env.Thread)
	b = jsonline.AppendField(b, "agent", agent)
	b = jsonline.AppendField(b, "id", id)
	ns := env.NS
	if execution != "" && env.Node != "" {
		if ns != "" {
			ns += "|"
		}
		ns += env.Node + ":" + execution
	}
	b = jsonline.AppendString(append(b, `,"role":"assistant","checkpoint_ns":`...), ns)
	b = jsonline.AppendField(b, "langgraph_node", env.Node)
	b = append(b, `,"langgraph_path":`...)
	if path := p.paths[execution]; len(path) > 1 {
		b = jsonline.AppendString(append(b, '['), "__pregel_"+path[0])
		for _, part := range path[1:] {
			b = jsonline.AppendString(append(b, ','), part)
		}
		b = append(b, ']')
	} else {
		b = append(b, `""`...)
	}
	b = append(b, `,"langgraph_step":`...)
	if env.Node == "" {
		return append(b, `""`...)
	}
	return strconv.AppendInt(b, int64(env.Step), 10)
}

// agentOf is whose words an event has: the node of the root graph in which it all happens, or whoever says so.
func (p *Projector) agentOf(said string) string {
	first, _, _ := strings.Cut(p.env.NS, "|")
	first, _, _ = strings.Cut(first, ":")
	for _, name := range []string{first, p.env.Node, said} {
		if name != "" {
			return name
		}
	}
	return "unknown"
}

func (p *Projector) add(id, agent, execution string) *message {
	m := &message{id: id, agent: p.agentOf(agent), task: p.env.Task}
	m.head = p.head(id, m.agent, execution)
	p.messages[id] = m
	p.order = append(p.order, m)
	return m
}

// open is the item that an event speaks of, or nil.
func (p *Projector) open(id string) *piece {
	e := p.items[itemKey{p.env.Task, id}]
	if e == nil || e.msg != nil && (e.msg.ended || e.msg.void) {
		return nil
	}
	return e
}

// grow tells a piece of a text block.
func (p *Projector) grow(e *piece, block int, text string) {
	const most = 1 << 12 // blocks of an item; more are nobody's
	if text == "" || block < 0 || block > most || e.msg == nil {
		return
	}
	for len(e.sent) <= block {
		e.sent = append(e.sent, 0)
	}
	e.sent[block] += len(text)
	p.beginIn(e.msg)
	if e.typ == item.TypeReasoning {
		p.field("reasoning_content", text)
	} else {
		p.field("content", text)
	}
	p.end("message_chunk")
}

// complete tells what is missing of a text block.
func (p *Projector) complete(e *piece, block int, b *item.Block) {
	sent := 0
	if block < len(e.sent) && block >= 0 {
		sent = e.sent[block]
	}
	if b.Type == item.TextBlock && len(b.Text) > sent && e.typ != item.TypeToolResult {
		p.grow(e, block, b.Text[sent:])
	}
}

// finish ends a message. Its calls are made whole before: a reader parses them now.
func (p *Projector) finish(m *message, reason string) {
	if !m.ended {
		for _, c := range m.calls {
			p.endCall(m, c, string(c.args))
		}
	}
	p.beginIn(m)
	p.field("finish_reason", reason)
	p.end("message_chunk")
	m.ended, m.calls = true, nil
}

// revoke says that a message is void.
func (p *Projector) revoke(m *message) {
	if m.void {
		return
	}
	if m.told {
		p.finish(m, "void")
	}
	m.void, m.ended, m.calls = true, true, nil
}

// within reports whether a task is another, or below it.
func (p *Projector) within(id, top string) bool {
	for range len(p.tasks) + 1 {
		if id == top {
			return true
		}
		t := p.tasks[id]
		if t == nil || id == "" {
			return false
		}
		id = t.parent
	}
	return false
}
