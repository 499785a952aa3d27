package protocol2

import (
	"encoding/json"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// turn is a model call.
type turn struct {
	id      string
	attempt int
	at      speaker // the graph and the node that speak
	sc      *scope
	voice   string // the node, with the turn's id where another of its executions speaks at the same time
	begun   bool
	blocks  []*block
	items   []string
	tail    []byte // ,"id":"…","run_id":"…"}
}

// block is a block of a message, as this protocol numbers them.
type block struct {
	index int
	typ   string // text, reasoning, tool_call, image
	text  string // when it is finished; of a tool call, the arguments
	call  *call
	head  []byte // of its deltas
	told  bool   // something of it was told
}

// entry is an item that grows.
type entry struct {
	id     string
	typ    item.Type
	turn   *turn // nil for a tool's result
	call   *call
	blocks []*block // by the item's own numbers
}

type call struct {
	id, name string
	args     string // so far
}

// message begins a frame of a turn's message, which endMessage ends.
func (p *Projector) message(t *turn, kind string) bool {
	if !p.begin("messages", "messages", t.sc, t.voice) {
		return false
	}
	p.buf = append(append(append(p.buf, `{"event":"`...), kind...), '"')
	return true
}

func (p *Projector) endMessage(t *turn) {
	p.buf = append(p.buf, t.tail...)
	p.end()
}

func newTurn(id, ns, node string) *turn {
	return &turn{id: id, at: speaker{ns, node}, attempt: 1, tail: append(jsonline.AppendField(jsonline.AppendField(nil, "id", id), "run_id", id), '}')}
}

// start tells that a message begins, before its first piece.
func (p *Projector) start(t *turn) {
	if t.begun {
		return
	}
	t.begun = true
	p.shown[t.id] = true
	t.sc, t.voice = p.open(t.at.ns), t.at.node
	if p.speakers[t.at] != nil { // JavaScript's clients tell messages apart by namespace and node
		t.voice += ":" + t.id
	} else {
		p.speakers[t.at] = t
	}
	if p.message(t, "message-start") {
		p.buf = jsonline.AppendString(append(p.buf, `,"metadata":{"langgraph_node":`...), t.at.node)
		p.buf = append(p.buf, '}')
		p.endMessage(t)
	}
}

// hush makes room for the next message of the node.
func (p *Projector) hush(t *turn) {
	if p.speakers[t.at] == t {
		delete(p.speakers, t.at)
	}
}

// add begins a block. content is what it holds at its beginning.
func (p *Projector) add(t *turn, b *block, content func([]byte) []byte) {
	p.start(t)
	b.index = len(t.blocks)
	t.blocks = append(t.blocks, b)
	b.head = strconv.AppendInt([]byte(`,"index":`), int64(b.index), 10)
	if p.message(t, "content-block-start") {
		p.buf = append(append(p.buf, b.head...), `,"content":`...)
		p.buf = content(p.buf)
		p.endMessage(t)
	}
	switch b.typ {
	case "text":
		b.head = append(b.head, `,"delta":{"type":"text-delta","text":`...)
	case "reasoning":
		b.head = append(b.head, `,"delta":{"type":"reasoning-delta","reasoning":`...)
	}
}

// text returns the block of an item's text, which begins with its first piece.
func (p *Projector) text(e *entry, at int) *block {
	for len(e.blocks) <= at {
		e.blocks = append(e.blocks, nil)
	}
	if e.blocks[at] == nil {
		b := &block{typ: "text"}
		empty := `{"type":"text","text":""}`
		if e.typ == item.TypeReasoning {
			b.typ, empty = "reasoning", `{"type":"reasoning","reasoning":""}`
		}
		p.add(e.turn, b, func(dst []byte) []byte { return append(dst, empty...) })
		e.blocks[at] = b
	}
	return e.blocks[at]
}

// grow tells a piece of a text.
func (p *Projector) grow(t *turn, b *block, text string) {
	b.told = true
	if p.message(t, "content-block-delta") {
		p.buf = append(jsonline.AppendString(append(p.buf, b.head...), text), '}')
		p.endMessage(t)
	}
}

// startCall tells that a tool call begins.
func (p *Projector) startCall(t *turn, c *call) *block {
	b := &block{typ: "tool_call", call: c}
	p.add(t, b, func(dst []byte) []byte {
		dst = jsonline.AppendIntField(c.appendChunk(dst, ""), "index", b.index)
		return append(dst, '}')
	})
	return b
}

// appendChunk writes a tool call that is not complete, without the closing brace.
func (c *call) appendChunk(dst []byte, args string) []byte {
	dst = jsonline.AppendField(append(dst, `{"type":"tool_call_chunk"`...), "id", c.id)
	dst = jsonline.AppendField(dst, "name", c.name)
	return jsonline.AppendField(dst, "args", args)
}

// argue tells a piece of a tool call's arguments: the whole of them so far.
func (p *Projector) argue(t *turn, b *block, text string) {
	b.told = true
	b.call.args += text
	if p.message(t, "content-block-delta") {
		p.buf = append(append(p.buf, b.head...), `,"delta":{"type":"block-delta","fields":`...)
		p.buf = append(b.call.appendChunk(p.buf, b.call.args), `}}`...)
		p.endMessage(t)
	}
}

// finish ends a message: what it cost, each block as a whole, why it stopped.
func (p *Projector) finish(t *turn, reason item.Finish, usage item.Usage) {
	p.start(t)
	if !usage.IsZero() && p.message(t, "usage") {
		p.buf = graphs.AppendUsage(jsonline.AppendKey(p.buf, "usage"), usage)
		p.endMessage(t)
	}
	for _, b := range t.blocks {
		if p.message(t, "content-block-finish") {
			p.buf = jsonline.AppendIntField(p.buf, "index", b.index)
			p.buf = b.appendWhole(append(p.buf, `,"content":`...))
			p.endMessage(t)
		}
	}
	if p.message(t, "message-finish") {
		if reason != "" {
			p.buf = jsonline.AppendField(p.buf, "reason", string(reason))
		}
		if !usage.IsZero() {
			p.buf = graphs.AppendUsage(jsonline.AppendKey(p.buf, "usage"), usage)
		}
		if reason == "" && usage.IsZero() {
			p.buf = append(p.buf, `,"responseMetadata":{}`...)
		}
		p.endMessage(t)
	}
}

// appendWhole writes a finished block.
func (b *block) appendWhole(dst []byte) []byte {
	switch b.typ {
	case "tool_call":
		return appendCall(dst, b.call.id, b.call.name, b.call.args)
	case "image":
		dst = jsonline.AppendField(append(dst, `{"type":"image"`...), "url", b.text)
	case "reasoning":
		dst = jsonline.AppendField(append(dst, `{"type":"reasoning"`...), "reasoning", b.text)
	default:
		dst = jsonline.AppendField(append(dst, `{"type":"text"`...), "text", b.text)
	}
	return append(dst, '}')
}

// appendCall writes a finished tool call; one whose arguments are no JSON object says so.
func appendCall(dst []byte, id, name, args string) []byte {
	valid := args == "" || args[0] == '{' && json.Valid([]byte(args))
	typ := "tool_call"
	if !valid {
		typ = "invalid_tool_call"
	}
	dst = jsonline.AppendField(append(append(append(dst, `{"type":"`...), typ...), '"'), "id", id)
	dst = jsonline.AppendKey(jsonline.AppendField(dst, "name", name), "args")
	switch {
	case !valid:
		dst = jsonline.AppendField(jsonline.AppendString(dst, args), "error", "the arguments are not a JSON object")
	case args == "":
		dst = append(dst, "{}"...)
	default:
		dst = jsonline.AppendForeign(dst, []byte(args))
	}
	return append(dst, '}')
}

// forget drops what is known of a turn that is over.
func (p *Projector) forget(t *turn) {
	p.hush(t)
	for _, id := range t.items {
		delete(p.entries, id)
	}
	delete(p.turns, t.id)
	p.last = nil
}

func (p *Projector) entry(id string) *entry {
	if p.last != nil && p.last.id == id {
		return p.last
	}
	e := p.entries[id]
	if e != nil {
		p.last = e
	}
	return e
}

// returned tells the complete messages of models that a node returned without having streamed them.
func (p *Projector) returned(x *execution, update json.RawMessage) error {
	if x.child {
		return nil
	}
	var held map[string]bool
	for _, m := range graphs.MessagesIn(update) {
		if p.shown[m.ID] || m.Role != item.Assistant {
			continue
		}
		if held == nil {
			st, err := p.state(x.ns)
			if err != nil {
				return err
			}
			held = map[string]bool{}
			for _, old := range graphs.MessagesIn(st.Values) {
				held[old.ID] = true
			}
		}
		if !held[m.ID] {
			p.whole(x, m)
		}
	}
	return nil
}

// whole tells a complete message, as if it had come in one piece.
func (p *Projector) whole(x *execution, m graphs.Message) {
	var full item.Message
	if json.Unmarshal(m.Raw, &full) != nil {
		return
	}
	t := newTurn(m.ID, x.ns, x.node)
	p.start(t)
	for _, r := range full.Reasoning {
		p.pieces(t, item.TypeReasoning, r.Summary)
	}
	p.pieces(t, item.TypeMessage, full.Content)
	for _, c := range full.ToolCalls {
		known := &call{id: c.CallID, name: c.Name}
		p.calls[c.CallID] = known
		if b := p.startCall(t, known); c.Arguments != "" {
			p.argue(t, b, c.Arguments)
		}
	}
	var usage item.Usage
	if full.Usage != nil {
		usage = *full.Usage
	}
	p.finish(t, full.Finish, usage)
	p.hush(t)
}

func (p *Projector) pieces(t *turn, typ item.Type, blocks []item.Block) {
	e := &entry{typ: typ, turn: t}
	for i, b := range blocks {
		p.endBlock(e, i, b)
	}
}

// endBlock notes what a block holds, and tells it if it did not stream.
func (p *Projector) endBlock(e *entry, at int, v item.Block) {
	switch v.Type {
	case item.TextBlock:
		b := p.text(e, at)
		if b.text = v.Text; !b.told && v.Text != "" {
			p.grow(e.turn, b, v.Text)
		}
	case item.ImageBlock:
		for len(e.blocks) <= at {
			e.blocks = append(e.blocks, nil)
		}
		if e.blocks[at] == nil {
			b := &block{typ: "image", text: v.URL}
			p.add(e.turn, b, b.appendWhole)
			e.blocks[at] = b
		}
	case item.FileBlock, item.ForeignBlock: // in values, as part of the message
	}
}

// endTurn ends the message of a turn.
func (p *Projector) endTurn(t *turn, e event.TurnEnded) {
	p.finish(t, e.Finish, e.Usage)
	p.forget(t)
	if e.Finish == item.FinishIncomplete { // another attempt may take its place
		p.turns[t.id] = t
	}
}
