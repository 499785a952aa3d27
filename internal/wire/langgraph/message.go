package langgraph

import (
	"encoding/json"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// streaming are the modes that show a model's pieces.
const streaming = MessagesTuple | Messages | Events

// turn is a model call. What all its chunks have in common is written once.
type turn struct {
	id       string
	name     string // of its frames in mode messages-tuple
	model    string
	provider string
	attempt  int
	x        *execution

	head []byte // [{"id":"…","content":
	tail []byte // what follows the text of a plain chunk
	meta []byte // the metadata object

	streamed bool // a chunk was told
	items    []string
	whole    whole
}

// entry is an item that grows.
type entry struct {
	id   string
	typ  item.Type
	turn *turn // nil for a tool's result
	call *call
	told []bool // the blocks of which something was told; of a tool call, one for its arguments
}

// tell notes that a block was told, and reports whether it had been before.
func (e *entry) tell(block int) (before bool) {
	if block < len(e.told) && e.told[block] {
		return true
	}
	for len(e.told) <= block {
		e.told = append(e.told, false)
	}
	e.told[block] = true
	return false
}

// call is a tool call.
type call struct {
	id, name string
	index    int
	args     string
	so       []byte // the arguments so far, where mode messages or events shows them
}

// whole is a message as far as it has come, for the modes that repeat it. Texts are kept as JSON writes them.
type whole struct {
	text, reasoning []byte
	calls           []*call
	end             *event.TurnEnded
}

const plainRest = `,"tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}`

func (p *Projector) startTurn(e event.TurnStarted) {
	t := &turn{id: e.Turn, model: e.Model, provider: e.Provider, attempt: max(e.Attempt, 1)}
	p.turns[e.Turn] = t
	if !p.opt.Modes.Has(streaming) {
		return
	}
	t.x = p.execution(e.Execution)
	t.name = p.name("messages", p.env.NS)
	b := append([]byte(nil), `{"tags":[]`...)
	b = p.appendMeta(b, t.x)
	if e.Provider != "" {
		b = jsonline.AppendField(b, "ls_provider", e.Provider)
	}
	if e.Model != "" {
		b = jsonline.AppendField(b, "ls_model_name", e.Model)
	}
	t.meta = append(b, `,"ls_model_type":"chat"}`...)
	t.head = jsonline.AppendString([]byte(`[{"id":`), e.Turn)
	t.head = append(t.head, `,"content":`...)
	t.tail = append(append(append([]byte(plainRest), ','), t.meta...), ']')
}

// forget drops what is known of a turn that is over.
func (p *Projector) forget(t *turn) {
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

// text tells a piece of an answer. It is the hot path: one buffer for the frame, one string for its ID.
func (p *Projector) text(t *turn, text string) {
	p.begin(t)
	if p.opt.Modes.Has(MessagesTuple) {
		b := p.room(len(t.head) + len(text) + len(t.tail) + 8)
		b = append(b, t.head...)
		b = jsonline.AppendString(b, text)
		p.emit(t.name, append(b, t.tail...))
	}
	if p.opt.Modes.Has(Messages | Events) {
		t.whole.text = jsonline.AppendEscaped(t.whole.text, text)
		p.again(t, jsonline.AppendString(nil, text), plainRest)
	}
}

// piece tells a piece that is not text: rest are the members of the chunk after its content, up to the closing brace.
func (p *Projector) piece(t *turn, rest string) {
	p.begin(t)
	if p.opt.Modes.Has(MessagesTuple) {
		b := p.room(len(t.head) + len(rest) + len(t.meta) + 8)
		b = append(append(b, t.head...), `""`...)
		b = append(append(b, rest...), ',')
		p.emit(t.name, append(append(b, t.meta...), ']'))
	}
	if p.opt.Modes.Has(Messages | Events) {
		p.again(t, []byte(`""`), rest)
	}
}

// begin tells of the message before its first piece.
func (p *Projector) begin(t *turn) {
	if t.streamed {
		return
	}
	t.streamed = true
	p.shown[t.id] = true
	if p.opt.Modes.Has(Messages) {
		b := append(jsonline.AppendString([]byte{'{'}, t.id), `:{"metadata":`...)
		p.emit("messages/metadata", append(append(b, t.meta...), `}}`...))
	}
}

// again tells the piece in the modes that repeat the message, or wrap the chunk.
func (p *Projector) again(t *turn, content []byte, rest string) {
	if p.opt.Modes.Has(Messages) {
		b := t.appendWhole([]byte{'['})
		p.emit("messages/partial", append(b, ']'))
	}
	if p.opt.Modes.Has(Events) {
		b := jsonline.AppendString([]byte(`{"chunk":{"id":`), t.id)
		b = append(append(b, `,"content":`...), content...)
		p.modelEvent("on_chat_model_stream", t, append(append(b, rest...), '}'))
	}
}

// appendWhole writes the message as far as it has come.
func (t *turn) appendWhole(b []byte) []byte {
	w := &t.whole
	b = append(append(b, `{"content":"`...), w.text...)
	b = append(b, `","additional_kwargs":{`...)
	if len(w.reasoning) > 0 {
		b = append(append(append(b, `"reasoning_content":"`...), w.reasoning...), '"')
	}
	b = append(b, `},"response_metadata":`...)
	b = t.appendFinish(b, w.end)
	b = append(b, `,"tool_call_chunks":[`...)
	for i, c := range w.calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(c.appendFirst(b), c.so...)
		b = append(b, `"}`...)
	}
	b = append(b, `],"tool_calls":[`...)
	for i, c := range w.calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonline.AppendString(append(b, `{"name":`...), c.name), `,"args":`...)
		b = append(b, c.object()...)
		b = append(jsonline.AppendField(b, "id", c.id), `,"type":"tool_call"}`...)
	}
	b = append(b, ']')
	b = jsonline.AppendField(b, "id", t.id)
	if w.end != nil && !w.end.Usage.IsZero() {
		b = graphs.AppendUsage(jsonline.AppendKey(b, "usage_metadata"), w.end.Usage)
	}
	return append(b, `,"invalid_tool_calls":[],"type":"ai"}`...)
}

// appendFirst writes a chunk of the call up to its arguments, whose string is left open.
func (c *call) appendFirst(b []byte) []byte {
	b = append(b, `{"type":"tool_call_chunk","index":`...)
	b = strconv.AppendInt(b, int64(c.index), 10)
	b = jsonline.AppendField(b, "id", c.id)
	b = jsonline.AppendField(b, "name", c.name)
	return append(b, `,"args":"`...)
}

// object is what can be shown of the arguments while they grow: all, or nothing yet.
func (c *call) object() []byte {
	var s string
	raw := append(append([]byte{'"'}, c.so...), '"')
	if json.Unmarshal(raw, &s) != nil || len(s) == 0 || s[0] != '{' || !json.Valid([]byte(s)) {
		return graphs.Empty
	}
	return jsonline.AppendForeign(nil, []byte(s))
}

func (t *turn) appendFinish(b []byte, e *event.TurnEnded) []byte {
	if e == nil {
		return append(b, "{}"...)
	}
	model := e.Model
	if model == "" {
		model = t.model
	}
	b = append(b, '{')
	if e.Finish != "" {
		b = append(jsonline.AppendString(append(b, `"finish_reason":`...), string(e.Finish)), ',')
	}
	if model != "" {
		b = append(jsonline.AppendString(append(b, `"model_name":`...), model), ',')
	}
	if b[len(b)-1] == ',' {
		b = b[:len(b)-1]
	}
	return append(b, '}')
}

// callRest is the rest of a chunk that carries a piece of a tool call.
func callRest(chunk []byte) string {
	return `,"tool_call_chunks":[` + string(chunk) + `],"tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}`
}

func (p *Projector) startCall(t *turn, c *call) {
	if p.opt.Modes.Has(Messages | Events) {
		t.whole.calls = append(t.whole.calls, c)
	}
	p.piece(t, callRest(append(c.appendFirst(nil), `"}`...)))
}

func (p *Projector) arguments(t *turn, c *call, text string) {
	if p.opt.Modes.Has(Messages | Events) {
		c.so = jsonline.AppendEscaped(c.so, text)
	}
	b := strconv.AppendInt([]byte(`{"type":"tool_call_chunk","index":`), int64(c.index), 10)
	b = append(jsonline.AppendField(b, "args", text), '}')
	p.piece(t, callRest(b))
}

func (p *Projector) reasoning(t *turn, text string) {
	if p.opt.Modes.Has(Messages | Events) {
		t.whole.reasoning = jsonline.AppendEscaped(t.whole.reasoning, text)
	}
	b := jsonline.AppendString([]byte(`,"tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"additional_kwargs":{"reasoning_content":`), text)
	p.piece(t, string(append(b, `},"response_metadata":{},"type":"ai"}`...)))
}

// endTurn tells why the model stopped and what it cost, once, on a chunk of its own. A model that says neither gets none.
func (p *Projector) endTurn(t *turn, e event.TurnEnded) {
	if p.opt.Modes.Has(streaming) && (e.Finish != "" || !e.Usage.IsZero()) {
		t.whole.end = &e
		b := t.appendFinish([]byte(`,"response_metadata":`), &e)
		if !e.Usage.IsZero() {
			b = graphs.AppendUsage(jsonline.AppendKey(b, "usage_metadata"), e.Usage)
		}
		b = append(b, `,"tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"additional_kwargs":{},"type":"ai"}`...)
		p.piece(t, string(b))
	}
	if p.opt.Modes.Has(Events) {
		b := t.appendWhole([]byte(`{"output":`))
		p.modelEvent("on_chat_model_end", t, append(b, `,"input":{"messages":[[]]}}`...))
	}
	p.forget(t)
	if e.Finish == item.FinishIncomplete { // another attempt may take its place
		p.turns[t.id] = t
	}
}
