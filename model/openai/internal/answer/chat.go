package answer

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// Chat reads one answer on the Chat Completions wire.
type Chat struct {
	fault eventstream.Fault
	chunk chunk
	emit  func(model.Part) bool

	think    thinkSplitter
	text     func(string) // are methods, bound once
	thought  func(string)
	blocks   blocks
	thoughts thoughts
	calls    calls

	usage   item.Usage
	refused bool
	finish  string
	model   string
}

// NewChat returns a decoder of one answer. Think spans in the text are separated from it unless the server is
// known not to send any, which literal says: then text that looks like one is text.
func NewChat(fault eventstream.Fault, literal bool) *Chat {
	d := &Chat{fault: fault}
	d.think.off = literal
	d.text = func(s string) {
		d.thoughts.over = true
		d.emit(model.Text{Block: d.blocks.at(contentBlock), Text: s})
	}
	d.thought = func(s string) { d.emit(model.Reasoning{Item: d.thoughts.current(), Text: s}) }
	return d
}

var doneMark = []byte("[DONE]")

// Event reads one payload; see [Decoder].
func (d *Chat) Event(_ string, data []byte, emit func(model.Part) bool) (bool, error) {
	if bytes.Equal(bytes.TrimSpace(data), doneMark) {
		return true, d.End(nil, emit)
	}
	d.chunk.reset()
	if err := decode(d.fault, data, &d.chunk); err != nil {
		return false, err
	}
	return d.read(data, emit)
}

// Whole reads an answer that was not streamed; see [Decoder].
func (d *Chat) Whole(data []byte, emit func(model.Part) bool) error {
	if _, err := d.Event("", data, emit); err != nil {
		return err
	}
	return d.End(nil, emit)
}

// read hands out what is in the decoded chunk; data is the payload that it came in.
func (d *Chat) read(data []byte, emit func(model.Part) bool) (bool, error) {
	k := &d.chunk
	d.emit = emit
	if len(k.Model) > 2 {
		if s := k.Model[1 : len(k.Model)-1]; string(s) != d.model {
			d.model = unquoted(k.Model)
		}
	}
	broken := !isNull(k.Error)
	if g := k.Groq; g != nil {
		broken = broken || !isNull(g.Error)
		d.count(g.Usage)
	}
	for i := range k.Choices {
		ch := &k.Choices[i]
		if ch.Index != 0 {
			continue
		}
		d.delta(&ch.Delta)
		if ch.Message != nil {
			d.delta(ch.Message)
		}
		d.count(ch.Usage)
		if ch.Finish == "error" {
			broken = true
		} else if ch.Finish != "" {
			d.finish = string(ch.Finish)
		}
	}
	d.count(k.Usage)
	d.ollama(k)
	// OpenRouter may follow up a finish ("length") with an error that says the same ("token limit reached").
	// The answer is complete all the same.
	if broken && d.finish == "" {
		return false, d.failed(data)
	}
	return false, nil
}

// failed names an error that the server reported in a payload.
func (d *Chat) failed(data []byte) error {
	if g := d.chunk.Groq; g != nil && !isNull(g.Error) && isNull(d.chunk.Error) {
		data, _ = json.Marshal(map[string]json.RawMessage{"error": g.Error})
	}
	return d.fault.Payload(data)
}

// ollama reads the fields of Ollama's own API.
func (d *Chat) ollama(k *chunk) {
	if k.Thinking != "" {
		d.thought(string(k.Thinking))
	}
	if k.Message != nil {
		d.delta(k.Message)
	}
	if k.Response != "" {
		d.think.split(string(k.Response), d.text, d.thought)
	}
	if k.Done {
		d.finish = k.DoneReason
		if d.finish == "" {
			d.finish = "stop"
		}
		d.count(&usage{Prompt: k.PromptEval, Completion: k.Eval})
	}
}

func (d *Chat) delta(v *delta) {
	d.reasoning(v)
	if v.Content != "" {
		d.think.split(string(v.Content), d.text, d.thought)
	}
	if v.Refusal != "" {
		d.refused, d.thoughts.over = true, true
		d.emit(model.Text{Block: d.blocks.at(refusalBlock), Text: string(v.Refusal)})
	}
	for _, img := range v.Images {
		if img.URL.URL != "" {
			d.thoughts.over = true
			d.emit(model.Image{Block: d.blocks.next(), URL: img.URL.URL, MIME: mimeOf(img.URL.URL)})
		}
	}
	for _, a := range v.Annotations {
		if cite, ok := a.citation(); ok {
			d.emit(model.Annotation{Block: d.blocks.at(contentBlock), Annotation: cite})
		}
	}
	for i := range v.ToolCalls {
		t := &v.ToolCalls[i]
		d.call(fragment{t.Index, string(t.ID), string(t.Function.Name), string(t.Function.Arguments)})
	}
	if f := v.Function; f != nil {
		first := 0
		d.call(fragment{&first, "", string(f.Name), string(f.Arguments)})
	}
}

func (d *Chat) call(f fragment) {
	d.thoughts.over = true
	d.calls.add(f, d.emit)
}

// reasoning reads the first of the several ways to send it that has something: servers that use two of them
// say the same in both.
func (d *Chat) reasoning(v *delta) {
	said := false
	for i := range v.Details {
		said = d.detail(&v.Details[i]) || said
	}
	if !said {
		for _, s := range [...]text{v.ReasoningC, v.Reasoning, v.Thinking} {
			if s != "" {
				d.thought(string(s))
				said = true
				break
			}
		}
	}
	if said {
		d.think.off = true
	}
}

// detail hands out an element of reasoning_details and reports whether it had text.
func (d *Chat) detail(v *detail) bool {
	index := 0
	if v.Index != nil {
		index = *v.Index
	}
	part := model.Reasoning{Text: string(v.Text + v.Summary), Signature: string(v.Signature), ID: string(v.ID)}
	if !isNull(v.Data) { // only the server can read it: it gets back the whole element
		raw, err := json.Marshal(map[string]any{"type": v.Type, "id": nullable(v.ID), "data": v.Data, "format": nullable(v.Format), "index": index})
		if err != nil {
			return false
		}
		part.Encrypted = string(raw)
	}
	if part.Text == "" && part.Signature == "" && part.Encrypted == "" {
		return false
	}
	part.Item = d.thoughts.of(index, part.Text != "")
	d.emit(part)
	return part.Text != ""
}

func nullable(t text) *text {
	if t == "" {
		return nil
	}
	return &t
}

// count hands out usage that is new.
func (d *Chat) count(u *usage) {
	if u == nil {
		return
	}
	if now := u.usage(); now != d.usage && !now.IsZero() {
		d.usage = now
		d.emit(model.Usage{Usage: now})
	}
}

// End says that nothing more will come; see [Decoder].
func (d *Chat) End(cause error, emit func(model.Part) bool) error {
	d.emit = emit
	d.think.flush(d.text, d.thought)
	switch {
	case d.finish == "" && cause != nil:
		return cause
	case d.finish == "":
		return d.fault.Incomplete()
	case d.finish == "insufficient_system_resource": // DeepSeek
		return d.fault.Payload([]byte(`{"type":"overloaded","message":"the provider ran out of resources in the middle of the answer"}`))
	case d.calls.nameless():
		return d.fault.Broken("a tool call came without the tool's name", nil)
	}
	emit(model.Finish{Reason: d.reason(), Raw: d.finish, Model: d.model})
	return nil
}

func (d *Chat) reason() item.Finish {
	switch d.finish {
	case "length", "max_tokens", "model_length":
		return item.FinishLength
	case "content_filter", "sensitive":
		return item.FinishFilter
	case "refusal":
		return item.FinishRefusal
	case "stop", "tool_calls", "function_call", "end_turn", "eos", "unload":
		// Some servers say "stop" after calls, and some "tool_calls" without any.
		switch {
		case len(d.calls.all) > 0:
			return item.FinishToolCalls
		case d.refused:
			return item.FinishRefusal
		}
		return item.FinishStop
	}
	return item.FinishOther
}
