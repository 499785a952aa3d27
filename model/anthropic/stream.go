package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// frame has the fields of all events that matter here.
type frame struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block *startedBlock `json:"content_block"`
	Delta struct {
		Type       string    `json:"type"`
		Text       string    `json:"text"`
		Thinking   string    `json:"thinking"`
		Signature  string    `json:"signature"`
		Partial    string    `json:"partial_json"`
		Citation   *citation `json:"citation"`
		StopReason string    `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type startedBlock struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Input     json.RawMessage `json:"input"`
	Citations []citation      `json:"citations"`
}

// citation has the fields of all its kinds: of web pages, of search results that we gave, and of documents.
type citation struct {
	Quote    string `json:"cited_text"`
	URL      string `json:"url"`
	Title    string `json:"title"`
	Source   string `json:"source"`
	Document string `json:"document_title"`
}

type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

type kind int

const (
	other kind = iota // of the provider's own tools, or not known: passed over
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
	args   bool
	input  json.RawMessage
	sign   string
	cites  []citation
}

// decoder turns the events of one answer into parts.
type decoder struct {
	fault    eventstream.Fault
	finished bool

	open                 []block // in the order in which they began; nearly always one
	texts, thoughts, use int     // how many have begun
	usage                usage
	told                 item.Usage
	model, stop          string
	frame                frame
	out                  []model.Part
}

// decode returns the parts of one event; they are valid until the next call. With an error come the parts
// that preceded it.
func (d *decoder) decode(name string, data []byte) ([]model.Part, error) {
	d.out = d.out[:0]
	d.frame = frame{}
	f := &d.frame
	if err := json.Unmarshal(data, f); err != nil {
		// A field of an unexpected type belongs to something new; whatever else the event says was read.
		var odd *json.UnmarshalTypeError
		if !errors.As(err, &odd) || odd.Field == "" {
			return nil, d.fault.Broken("an event of the answer is not valid JSON", err)
		}
	}
	if f.Type == "" {
		f.Type = name
	}
	switch f.Type {
	case "message_start":
		if f.Message != nil {
			d.model = f.Message.Model
			d.count(f.Message.Usage)
		}
	case "content_block_start":
		d.start(f)
	case "content_block_delta":
		d.delta(f)
	case "content_block_stop":
		if i := d.find(f.Index); i >= 0 {
			d.end(d.open[i])
			d.open = slices.Delete(d.open, i, i+1)
		}
	case "message_delta":
		if f.Delta.StopReason != "" {
			d.stop = f.Delta.StopReason
		}
		d.count(f.Usage)
	case "message_stop":
		for _, b := range d.open {
			d.end(b)
		}
		d.open = nil
		d.finished = true
		d.out = append(d.out, model.Finish{Reason: finish(d.stop), Raw: d.stop, Model: d.model})
	case "error":
		return nil, d.fault.Payload(data)
	}
	return d.out, nil
}

func (d *decoder) find(index int) int {
	return slices.IndexFunc(d.open, func(b block) bool { return b.index == index })
}

func (d *decoder) begin(index int, k kind) *block {
	if i := d.find(index); i >= 0 { // a block that was not ended before its index came again
		d.end(d.open[i])
		d.open = slices.Delete(d.open, i, i+1)
	}
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
	s := f.Block
	if s == nil {
		return
	}
	switch s.Type {
	case "text":
		b := d.begin(f.Index, text)
		b.cites = s.Citations
		d.text(b, s.Text)
	case "thinking":
		b := d.begin(f.Index, thinking)
		b.sign = s.Signature
		d.think(b, s.Thinking)
	case "redacted_thinking":
		b := d.begin(f.Index, thinking)
		if s.Data != "" {
			d.out = append(d.out, model.Reasoning{Item: b.number, Encrypted: s.Data})
		}
	case "tool_use":
		b := d.begin(f.Index, toolUse)
		b.input = s.Input
		d.out = append(d.out, model.ToolCall{Index: b.number, ID: s.ID, Name: s.Name})
	default:
		d.begin(f.Index, other)
	}
}

// deltaKinds are the deltas that tell what block they belong to, for servers that do not announce it.
var deltaKinds = map[string]kind{"text_delta": text, "thinking_delta": thinking, "signature_delta": thinking}

func (d *decoder) delta(f *frame) {
	var b *block
	if i := d.find(f.Index); i >= 0 {
		b = &d.open[i]
	} else if k, ok := deltaKinds[f.Delta.Type]; ok {
		b = d.begin(f.Index, k)
	} else {
		return
	}
	switch f.Delta.Type {
	case "text_delta":
		d.text(b, f.Delta.Text)
	case "thinking_delta":
		d.think(b, f.Delta.Thinking)
	case "signature_delta":
		b.sign += f.Delta.Signature
	case "input_json_delta":
		if b.kind == toolUse && f.Delta.Partial != "" {
			b.args = true
			d.out = append(d.out, model.ToolCall{Index: b.number, Arguments: f.Delta.Partial})
		}
	case "citations_delta":
		if f.Delta.Citation != nil {
			b.cites = append(b.cites, *f.Delta.Citation)
		}
	}
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
		for _, c := range b.cites {
			if b.runes > 0 {
				d.out = append(d.out, model.Annotation{Block: b.number, Annotation: c.annotation(b.runes)})
			}
		}
	case thinking:
		if b.sign != "" {
			d.out = append(d.out, model.Reasoning{Item: b.number, Signature: b.sign})
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
	}
}

func (c citation) annotation(runes int) item.Annotation {
	a := item.Annotation{Type: item.URLCitation, End: runes, URL: c.URL, Title: c.Title, Quote: c.Quote}
	if a.URL == "" {
		a.URL = c.Source
	}
	if a.Title == "" {
		a.Title = c.Document
	}
	return a
}

// count takes what the provider says of the cost so far. Its numbers are totals that can only rise, and
// one that is left out, or given as zero, says nothing.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	t := &d.usage
	t.Input = max(t.Input, u.Input)
	t.Output = max(t.Output, u.Output)
	t.CacheRead = max(t.CacheRead, u.CacheRead)
	t.CacheWrite = max(t.CacheWrite, u.CacheWrite)
	t.Details.Thinking = max(t.Details.Thinking, u.Details.Thinking)
	sum := item.Usage{
		InputTokens:      t.Input + t.CacheRead + t.CacheWrite,
		OutputTokens:     t.Output,
		CachedTokens:     t.CacheRead,
		CacheWriteTokens: t.CacheWrite,
		ReasoningTokens:  t.Details.Thinking,
	}
	if sum != d.told {
		d.told = sum
		d.out = append(d.out, model.Usage{Usage: sum})
	}
}

func finish(stop string) item.Finish {
	switch stop {
	case "end_turn", "stop_sequence":
		return item.FinishStop
	case "tool_use":
		return item.FinishToolCalls
	case "max_tokens", "model_context_window_exceeded":
		return item.FinishLength
	case "refusal":
		return item.FinishRefusal
	}
	return item.FinishOther // pause_turn, and what is not known yet
}
