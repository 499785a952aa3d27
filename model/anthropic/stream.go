package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

type kind int

const (
	other kind = iota // of the provider's own tools, or not known: kept as it is
	text
	thinking
	toolUse
)

// block is a content block that has begun and not ended.
type block struct {
	index  int // on the wire
	kind   kind
	number int // among those of its kind
	runes  int // of its text so far
	half   payload.Halves
	args   bool
	input  json.RawMessage
	sign   []byte
	cites  []citation

	// Of other kinds: the block as it began and is kept, its input as it was streamed, and whether anything was streamed that
	// we cannot put into it.
	raw     []byte // marked
	partial []byte
	content []byte
	lost    bool
}

// decoder turns the events of one answer into parts.
type decoder struct {
	fault    eventstream.Fault
	finished bool

	open                 []block // in the order in which they began; nearly always one
	texts, thoughts, use int     // how many have begun
	begun                bool    // a block has
	usage                usage
	told                 item.Usage
	id, model, stop, why string
	in                   payload.Reader
	frame                frame
	out                  []model.Part
}

// decode returns the parts of one event; they are valid until the next call. With an error come the parts
// that preceded it.
func (d *decoder) decode(name string, data []byte) ([]model.Part, error) {
	d.out = d.out[:0]
	f := &d.frame
	d.in.Reset(data)
	isObject := d.in.Kind() == '{'
	f.read(&d.in)
	if err := d.in.End(); err != nil || !isObject {
		return nil, d.fault.Broken("an event of the answer is not valid JSON", err)
	}
	if f.Type == "" {
		f.Type = name
	}
	switch f.Type {
	case "message_start":
		if d.begun && f.ID != d.id {
			return nil, d.fault.Broken("another answer began in the middle of this one", nil)
		}
		d.id, d.model = f.ID, f.Model
		d.count(f.Usage)
	case "content_block_start":
		if f.Block != nil {
			d.start(f)
		}
	case "content_block_delta":
		d.delta(f)
	case "content_block_stop":
		if i := d.find(f.Index); i >= 0 {
			d.end(d.open[i])
			d.open = slices.Delete(d.open, i, i+1)
		}
	case "message_delta":
		d.over(&f.Delta)
		d.count(f.Usage)
	case "message_stop":
		for _, b := range d.open {
			d.end(b)
		}
		d.open = nil
		d.finished = true
		d.out = append(d.out, model.Finish{Reason: finish(d.stop), Raw: d.stop, Model: d.model, Message: d.why})
	default:
		if f.Type == "error" || f.Error != nil {
			return nil, d.fault.Payload(data)
		}
	}
	return d.out, nil
}

// over takes what is said of the message as a whole.
func (d *decoder) over(v *delta) {
	if v.Stop != "" {
		d.stop = v.Stop
	}
	if v.Why != "" {
		d.why = v.Why
	}
	if v.Container != nil { // where code ran: the conversation goes on in the same place
		d.keep(v.Container, containerType)
	}
}

func (d *decoder) keep(raw []byte, typ string) {
	if whole := kept.Put(raw, typ, kept.Mark{Provider: d.fault.Provider}); whole != nil {
		d.out = append(d.out, model.Opaque{Raw: whole})
	}
}

func (d *decoder) find(index int) int {
	return slices.IndexFunc(d.open, func(b block) bool { return b.index == index })
}

func (d *decoder) begin(index int, k kind) *block {
	if i := d.find(index); i >= 0 { // a block that was not ended before its index came again
		d.end(d.open[i])
		d.open = slices.Delete(d.open, i, i+1)
	}
	d.begun = true
	b := block{index: index, kind: k}
	switch k {
	case text:
		b.number = d.texts
		d.texts++
	case thinking:
		b.number = d.thoughts
		d.thoughts++
	case toolUse:
		b.number = d.use
		d.use++
	case other:
	}
	d.open = append(d.open, b)
	return &d.open[len(d.open)-1]
}

func (d *decoder) start(f *frame) {
	s := readBlock(f.Block)
	switch s.Type {
	case "text":
		b := d.begin(f.Index, text)
		b.cites = s.Citations
		d.text(b, s.Text)
	case "thinking":
		b := d.begin(f.Index, thinking)
		b.sign = []byte(s.Signature)
		d.think(b, s.Text)
	case "redacted_thinking":
		b := d.begin(f.Index, thinking)
		if s.Data != "" {
			d.out = append(d.out, model.Reasoning{Item: b.number, Encrypted: s.Data})
		}
	case "tool_use":
		b := d.begin(f.Index, toolUse)
		b.input = s.Input
		d.out = append(d.out, model.ToolCall{Index: b.number, ID: s.ID, Name: s.Name, Signature: caller(s.Caller)})
	default:
		b := d.begin(f.Index, other)
		if s.Type != "" {
			b.raw = kept.Put(f.Block, "", kept.Mark{Provider: d.fault.Provider})
		}
	}
}

// caller is who made a call, where it was not the model itself but code that it wrote: the API wants to be told again.
func caller(raw []byte) string {
	if typ := kept.Type(raw); typ == "" || typ == "direct" {
		return ""
	}
	return string(raw)
}

// kindOf tells what block a delta belongs to, for servers that do not announce it.
func kindOf(delta []byte) kind {
	switch string(delta) {
	case "text_delta":
		return text
	case "thinking_delta", "signature_delta":
		return thinking
	}
	return other
}

func (d *decoder) delta(f *frame) {
	var b *block
	if i := d.find(f.Index); i >= 0 {
		b = &d.open[i]
	} else if k := kindOf(f.Delta.Type); k != other {
		b = d.begin(f.Index, k)
	} else {
		return
	}
	switch string(f.Delta.Type) {
	case "text_delta":
		d.text(b, b.half.Join(f.Delta.Text))
	case "thinking_delta":
		d.think(b, b.half.Join(f.Delta.Text))
	case "signature_delta":
		var own payload.Halves // it is no text
		b.sign = append(b.sign, own.Join(f.Delta.Text)...)
	case "input_json_delta":
		f.Delta.Text = b.half.Join(f.Delta.Text)
		switch {
		case b.kind == toolUse && f.Delta.Text != "":
			b.args = true
			d.out = append(d.out, model.ToolCall{Index: b.number, Arguments: f.Delta.Text})
		case b.kind == other:
			b.partial = append(b.partial, f.Delta.Text...)
		}
		return
	case "citations_delta":
		if f.Delta.Citation.said {
			b.cites = append(b.cites, f.Delta.Citation)
		}
	case "compaction_delta":
		b.content = bytes.Clone(f.Delta.Content)
		return
	}
	b.lost = true
}

func (d *decoder) text(b *block, s string) {
	if b.kind != text || s == "" {
		return
	}
	b.runes += utf8.RuneCountInString(s)
	d.out = append(d.out, model.Text{Block: b.number, Text: s})
}

func (d *decoder) think(b *block, s string) {
	if b.kind != thinking || s == "" {
		return
	}
	d.out = append(d.out, model.Reasoning{Item: b.number, Text: s})
}

// end says what can only be said of a whole block.
func (d *decoder) end(b block) {
	switch b.kind {
	case text:
		d.text(&b, b.half.Rest())
		for _, c := range b.cites {
			if b.runes > 0 {
				d.out = append(d.out, model.Annotation{Block: b.number, Annotation: c.annotation(b.runes)})
			}
		}
	case thinking:
		if len(b.sign) > 0 {
			d.out = append(d.out, model.Reasoning{Item: b.number, Signature: string(b.sign)})
		}
	case toolUse:
		if b.args {
			return
		}
		// Servers that do not stream the input give it with the start of the block.
		input := bytes.TrimSpace(b.input)
		if len(input) == 0 || bytes.Equal(input, []byte("null")) {
			input = []byte("{}")
		}
		d.out = append(d.out, model.ToolCall{Index: b.number, Arguments: string(input)})
	case other:
		if b.whole() {
			d.out = append(d.out, model.Opaque{Raw: b.raw})
		}
	}
}

// whole puts a block of the provider's own together again. It reports false if part of it is missing: half a block would
// be refused on the next turn.
func (b *block) whole() bool {
	if b.lost || b.raw == nil {
		return false
	}
	set := func(name string, value []byte) bool {
		var fields map[string]json.RawMessage
		if len(value) == 0 {
			return true
		}
		if !json.Valid(value) || json.Unmarshal(b.raw, &fields) != nil {
			return false
		}
		fields[name] = value
		whole, err := json.Marshal(fields)
		b.raw = whole
		return err == nil
	}
	return set("input", b.partial) && set("content", b.content)
}

// count takes what the provider says of the cost so far. Its numbers are totals. One that is left out says nothing, and
// so does a zero where no input is counted: servers that only speak like Anthropic end with such zeros. Where input is
// counted anew, as after a compaction, a zero beside it is one.
func (d *decoder) count(u usage) {
	t := &d.usage
	for _, n := range []struct {
		total *int
		said  int
		zero  bool // counts
	}{
		{&t.input, u.input, false}, {&t.output, u.output, false}, {&t.thinking, u.thinking, false},
		{&t.fromCache, u.fromCache, u.input > 0}, {&t.toCache, u.toCache, u.input > 0},
	} {
		if n.said > 0 || n.said == 0 && n.zero {
			*n.total = n.said
		}
	}
	sum := item.Usage{
		InputTokens:      t.input + t.fromCache + t.toCache,
		OutputTokens:     t.output,
		CachedTokens:     t.fromCache,
		CacheWriteTokens: t.toCache,
		ReasoningTokens:  t.thinking,
	}
	if sum != d.told {
		d.told = sum
		d.out = append(d.out, model.Usage{Usage: sum})
	}
}

func finish(stop string) item.Finish {
	switch strings.ToLower(stop) {
	case "end_turn", "stop_sequence", "stop":
		return item.FinishStop
	case "tool_use":
		return item.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return item.FinishLength
	case "refusal":
		return item.FinishRefusal
	case "pause_turn":
		return item.FinishPause
	case "content_filter", "sensitive": // of servers that only speak like Anthropic
		return item.FinishFilter
	}
	return item.FinishOther // what is not known yet
}
