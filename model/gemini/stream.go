package gemini

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// chunk has the fields of a GenerateContentResponse that matter here.
type chunk struct {
	Candidates [1]candidate `json:"candidates"` // no more are asked for; JSON drops what does not fit
	Usage      usage        `json:"usageMetadata"`
	Model      steady       `json:"modelVersion"`
	Feedback   struct {
		Reason  string `json:"blockReason"`
		Message string `json:"blockReasonMessage"`
	} `json:"promptFeedback"`
	Error json.RawMessage `json:"error"`
}

type candidate struct {
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	Finish    string    `json:"finishReason"`
	Message   string    `json:"finishMessage"`
	Grounding grounding `json:"groundingMetadata"`
}

type part struct {
	Text      string        `json:"text"`
	Thought   bool          `json:"thought"`
	Signature string        `json:"thoughtSignature"`
	Call      *functionCall `json:"functionCall"`
	Inline    *struct {
		MIME string `json:"mimeType"`
		Data string `json:"data"`
	} `json:"inlineData"`
}

type functionCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	Partial   []partialArg    `json:"partialArgs"`
	Continues bool            `json:"willContinue"`
}

type usage struct {
	Prompt     count `json:"promptTokenCount"`
	ToolPrompt count `json:"toolUsePromptTokenCount"`
	Candidates count `json:"candidatesTokenCount"`
	Thoughts   count `json:"thoughtsTokenCount"`
	Cached     count `json:"cachedContentTokenCount"`
}

// count is a number of tokens. Package json makes a string of every number before it reads it, and every
// chunk has half a dozen of them.
type count int

func (c *count) UnmarshalJSON(b []byte) error {
	n := 0
	for _, digit := range b {
		if digit < '0' || digit > '9' || n > 1<<40 {
			return nil // nothing that could be a number of tokens
		}
		n = 10*n + int(digit-'0')
	}
	*c = count(n)
	return nil
}

// steady is a string that hardly ever changes from chunk to chunk, and is only made when it does.
type steady string

func (s *steady) UnmarshalJSON(b []byte) error {
	if len(b) >= 2 && b[0] == '"' && string(b[1:len(b)-1]) != string(*s) {
		return json.Unmarshal(b, (*string)(s))
	}
	return nil
}

type kind int

const (
	nothing kind = iota
	thought
	answer
	call
	picture
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

	told  item.Usage
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
	c.reset()
	if err := json.Unmarshal(data, c); err != nil {
		// A field of an unexpected type belongs to something new; whatever else the chunk says was read.
		var odd *json.UnmarshalTypeError
		if !errors.As(err, &odd) || odd.Field == "" {
			return nil, d.fault.Broken("a chunk of the answer is not valid JSON", err)
		}
	}
	if c.Error != nil {
		return nil, d.fault.Payload(data)
	}
	if err := d.candidate(&c.Candidates[0]); err != nil {
		return d.out, err
	}
	d.count(c.Usage)
	if f := c.Feedback; f.Reason != "" {
		e := d.fault.Broken("the prompt was blocked: "+join(f.Reason, f.Message), nil)
		e.Class = model.Refused
		return d.out, e
	}
	switch d.stop {
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS":
		return d.out, d.fault.Broken("the model called a tool wrongly: "+join(d.stop, c.Candidates[0].Message), nil)
	}
	return d.out, nil
}

// reset makes a chunk ready for the next payload. It keeps the model's name, and the room for parts.
func (c *chunk) reset() {
	parts := c.Candidates[0].Content.Parts
	clear(parts[:cap(parts)]) // package json leaves in an element what the payload does not mention
	*c = chunk{Model: c.Model}
	c.Candidates[0].Content.Parts = parts[:0]
}

func join(code, message string) string {
	if message == "" {
		return code
	}
	return code + ", " + message
}

func (d *decoder) candidate(c *candidate) error {
	for i := range c.Content.Parts {
		if err := d.part(&c.Content.Parts[i]); err != nil {
			return d.fault.Broken(err.Error(), err)
		}
	}
	if len(c.Grounding.Chunks)+len(c.Grounding.Supports) > 0 {
		d.notes.add(c.Grounding)
		d.annotate()
	}
	if c.Finish != "" && c.Finish != "FINISH_REASON_UNSPECIFIED" {
		d.stop = c.Finish
	}
	return nil
}

func (d *decoder) part(p *part) error {
	switch {
	case p.Call != nil:
		return d.call(p.Call, p.Signature)
	case p.Inline != nil:
		if !p.Thought {
			d.begin(picture)
			d.out = append(d.out, model.Image{Block: d.blocks, URL: "data:" + p.Inline.MIME + ";base64," + p.Inline.Data, MIME: p.Inline.MIME})
			d.blocks++
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
	}
	if p.Signature != "" {
		d.sign(p.Signature)
	}
	return nil
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
	whole := bytes.TrimSpace(c.Args)
	if len(whole) > 0 && !bytes.Equal(whole, []byte("null")) && len(d.args.stack) == 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, whole); err != nil {
			return err
		}
		piece.Arguments = b.String()
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

// count takes what the provider says of the cost so far. The first chunks of some answers say nothing.
func (d *decoder) count(u usage) {
	sum := item.Usage{
		InputTokens:     int(u.Prompt + u.ToolPrompt),
		OutputTokens:    int(u.Candidates + u.Thoughts),
		CachedTokens:    int(u.Cached),
		ReasoningTokens: int(u.Thoughts),
	}
	if !sum.IsZero() && sum != d.told {
		d.told = sum
		d.out = append(d.out, model.Usage{Usage: sum})
	}
}

// finish returns the last parts of a complete answer.
func (d *decoder) finish() []model.Part {
	d.out = d.out[:0]
	d.annotate()
	f := model.Finish{Raw: d.stop, Model: string(d.chunk.Model), Reason: item.FinishOther}
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
	d.out = append(d.out, f)
	return d.out
}
