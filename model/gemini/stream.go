package gemini

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

type kind int

const (
	nothing kind = iota
	thought
	answer
	call
	picture
	other
)

// decoder turns the chunks of one answer into parts.
type decoder struct {
	fault eventstream.Fault
	stop  string // the finish reason, once it came

	last   kind     // of the part before: neighbours of one kind are one
	blocks int      // text blocks and pictures begun
	texts  []*text  // text blocks
	spots  []*text  // by index of the whole content's parts; nil where that is no text
	items  int      // reasoning items begun
	signed bool     // the last reasoning item has its signature
	calls  int      // begun
	args   *writer  // of a call that goes on in the next chunk
	notes  notebook // of grounding

	half  payload.Halves // of the text
	told  item.Usage
	why   string // the provider's sentence about the finish
	in    payload.Reader
	chunk chunk
	out   []model.Part
}

// text is a text block as streamed so far, which grounding points into.
type text struct {
	block int
	bytes []byte
}

// decode returns the parts of one chunk; they are valid until the next call. With an error come the parts
// that preceded it.
func (d *decoder) decode(data []byte) ([]model.Part, error) {
	d.out = d.out[:0]
	c := &d.chunk
	d.in.Reset(data)
	isObject := d.in.Kind() == '{'
	c.read(&d.in)
	if err := d.in.End(); err != nil || !isObject {
		return nil, d.fault.Broken("a chunk of the answer is not valid JSON", err)
	}
	if c.Error != nil {
		return nil, d.fault.Payload(data)
	}
	if err := d.candidate(c); err != nil {
		return d.out, err
	}
	d.count(c.Usage)
	if c.Blocked != "" && c.Blocked != "BLOCK_REASON_UNSPECIFIED" {
		e := d.fault.Broken("the prompt was blocked: "+join(c.Blocked, c.BlockedWhy), nil)
		e.Class = model.Refused
		return d.out, e
	}
	switch d.stop {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "MALFORMED_RESPONSE", "MISSING_THOUGHT_SIGNATURE":
		return d.out, d.fault.Broken("the model called a tool wrongly: "+join(d.stop, d.why), nil)
	}
	return d.out, nil
}

func join(code, message string) string {
	if message == "" {
		return code
	}
	return code + ", " + message
}

func (d *decoder) candidate(c *chunk) error {
	for i := range c.Parts {
		if err := d.part(&c.Parts[i]); err != nil {
			return d.fault.Broken(err.Error(), err)
		}
	}
	if c.Grounding.says() {
		d.notes.add(c.Grounding)
		d.annotate()
	}
	if c.Finish != "" && c.Finish != "FINISH_REASON_UNSPECIFIED" {
		d.stop = c.Finish
	}
	if c.Message != "" {
		d.why = c.Message
	}
	return nil
}

func (d *decoder) part(p *part) error {
	p.Text = d.half.Join(p.Text)
	switch {
	case p.Call != nil:
		return d.call(p.Call, p.Signature)
	case p.Inline:
		if !p.Thought {
			d.begin(picture)
			d.out = append(d.out, model.Image{Block: d.blocks, URL: p.url(), MIME: p.MIME})
			d.blocks++
			if p.Signature != "" { // which belongs to this picture and to nothing else
				d.keep(signed(p.Signature), signatureType)
			}
			return nil
		}
	case p.Text != "" && p.Thought:
		if d.begin(thought) {
			d.items++
			d.signed = false
		}
		d.out = append(d.out, model.Reasoning{Item: d.items - 1, Text: p.Text})
	case p.Text != "":
		if d.begin(answer) {
			t := &text{block: d.blocks}
			d.blocks++
			d.texts = append(d.texts, t)
			d.spots[len(d.spots)-1] = t
		}
		t := d.texts[len(d.texts)-1]
		t.bytes = append(t.bytes, p.Text...)
		d.out = append(d.out, model.Text{Block: t.block, Text: p.Text})
	case p.Other != "":
		d.begin(other)
		d.keep(p.raw, p.Other)
		return nil
	}
	if p.Signature != "" {
		d.sign(p.Signature)
	}
	return nil
}

// keep hands out what the provider wants back and nobody else can read: code that it ran, and what came of it.
func (d *decoder) keep(raw []byte, typ string) {
	if whole := kept.Put(raw, typ, kept.Mark{Provider: d.fault.Provider}); whole != nil {
		d.out = append(d.out, model.Opaque{Raw: whole})
	}
}

// signatureType marks the signature of the picture before it.
const signatureType = "thoughtSignature"

func signed(signature string) []byte {
	raw, err := json.Marshal(map[string]string{signatureType: signature})
	if err != nil {
		return nil
	}
	return raw
}

// begin notes what kind of part comes, and reports whether it begins a new one.
func (d *decoder) begin(k kind) bool {
	if d.last == k && (k == thought || k == answer) {
		return false
	}
	d.last = k
	d.spots = append(d.spots, nil)
	return true
}

// sign keeps a signature that came with no call.
func (d *decoder) sign(signature string) {
	if d.items == 0 || d.signed {
		d.items++
	}
	d.signed = true
	d.out = append(d.out, model.Reasoning{Item: d.items - 1, Signature: signature})
}

func (d *decoder) call(c *functionCall, signature string) error {
	piece := model.ToolCall{Index: d.calls - 1, Signature: signature}
	fresh := c.Name != "" || d.args == nil
	if fresh {
		if c.Name == "" {
			return nil // the rest of a call that never began
		}
		if d.args != nil {
			d.out = append(d.out, model.ToolCall{Index: d.calls - 1, Arguments: d.args.close()})
		}
		d.begin(call)
		d.args = &writer{}
		piece.Index, piece.ID, piece.Name = d.calls, c.ID, c.Name
		d.calls++
	}
	if len(c.Args) > 0 && len(d.args.stack) == 0 {
		piece.Arguments = compact(c.Args)
		d.args = nil
	} else {
		for _, p := range c.Partial {
			more, err := d.args.write(p)
			if err != nil {
				return err
			}
			piece.Arguments += more
		}
		if !c.Continues {
			piece.Arguments += d.args.close()
			d.args = nil
		}
	}
	if fresh || piece.Arguments != "" || piece.Signature != "" {
		d.out = append(d.out, piece)
	}
	return nil
}

// compact is JSON without white space between its values.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw) // not JSON, which the caller will find out
	}
	return b.String()
}

// count takes what the provider says of the cost so far. The first chunks of some answers say nothing.
func (d *decoder) count(u usage) {
	sum := item.Usage{
		InputTokens:     u.prompt + u.toolPrompt,
		OutputTokens:    u.candidates + u.thoughts,
		CachedTokens:    u.cached,
		ReasoningTokens: u.thoughts,
	}
	if !sum.IsZero() && sum != d.told {
		d.told = sum
		d.out = append(d.out, model.Usage{Usage: sum})
	}
}

// finish returns the last parts of a complete answer.
func (d *decoder) finish() []model.Part {
	d.out = d.out[:0]
	if half := d.half.Rest(); half != "" && len(d.texts) > 0 {
		d.out = append(d.out, model.Text{Block: d.texts[len(d.texts)-1].block, Text: half})
	}
	d.annotate()
	if d.stop == "STOP" && d.args != nil { // the model is done, so nothing is missing but the end
		d.out = append(d.out, model.ToolCall{Index: d.calls - 1, Arguments: d.args.close()})
		d.args = nil
	}
	f := model.Finish{Raw: d.stop, Model: d.chunk.Model, Reason: item.FinishOther}
	switch d.stop {
	case "STOP":
		f.Reason = item.FinishStop
		if d.calls > 0 {
			f.Reason = item.FinishToolCalls
		}
	case "MAX_TOKENS":
		f.Reason = item.FinishLength
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		f.Reason = item.FinishFilter
	}
	if f.Reason == item.FinishFilter || f.Reason == item.FinishOther { // of a good end it says nothing new
		f.Message = d.why
	}
	d.out = append(d.out, f)
	return d.out
}
