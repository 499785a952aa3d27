package answer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// Chat reads one answer on the Chat Completions wire.
type Chat struct {
	fault eventstream.Fault
	in    payload.Reader
	chunk chunk
	emit  func(model.Part) bool

	think    thinkSplitter
	text     func(string) // are methods, bound once
	thought  func(string)
	blocks   blocks
	thoughts thoughts
	calls    calls

	said, mused payload.Halves // of text and thoughts

	usage    item.Usage
	counted  bool // a payload without choices said what the answer cost
	refused  bool
	streamed bool // pieces came; a whole message beside them says the same again
	finish   string

	runes int               // of the text
	pages []item.Annotation // what was searched for the answer
	ran   []executed        // by the provider, and not handed out yet
	known int               // how many such tools were handed out
}

// Habits are what is known of the server and the request before an answer comes.
type Habits struct {
	// Literal says that the server sends no think spans in its text: what looks like one is text.
	Literal bool
	// Opened says that the answer begins inside of a think span whose tag was in the prompt, so that only its end is told.
	Opened bool
	// Tools are the names of those that can be called.
	Tools []string
}

// NewChat returns a decoder of one answer. Think spans in the text are separated from it, unless the server is known not to
// send any.
func NewChat(fault eventstream.Fault, h Habits) *Chat {
	d := &Chat{fault: fault, calls: calls{tools: h.Tools}}
	d.think.off = h.Literal
	if h.Opened && !h.Literal {
		d.think.open()
	}
	d.text = func(s string) {
		d.thoughts.over = true
		d.runes += utf8.RuneCountInString(s)
		d.emit(model.Text{Block: d.blocks.at(contentBlock), Text: s})
	}
	d.thought = func(s string) { d.emit(model.Reasoning{Item: d.thoughts.current(), Text: s}) }
	return d
}

var doneMark = []byte("[DONE]")

// Event reads one payload; see [Decoder].
func (d *Chat) Event(name string, data []byte, emit func(model.Part) bool) (bool, error) {
	if bytes.Equal(bytes.TrimSpace(data), doneMark) {
		if d.finish == "" && d.counted { // Snowflake never says why, but only a finished answer is counted
			d.finish = "stop"
		}
		return true, d.End(nil, emit)
	}
	d.in.Reset(data)
	d.chunk.read(&d.in)
	if err := d.in.End(); err != nil {
		return false, broken(d.fault, err)
	}
	d.chunk.Failure = d.chunk.Failure || name == "error"
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
	broken := k.Failure || k.Error != nil || k.GroqErr != nil
	for i := range k.Choices {
		ch := &k.Choices[i]
		if ch.Index != 0 {
			continue
		}
		d.delta(&ch.Delta)
		d.streamed = d.streamed || ch.Delta.said()
		if ch.Message != nil && !d.streamed { // Writer sends both
			d.delta(ch.Message)
		}
		switch ch.Finish {
		case "":
		case "error", "network_error": // the second is Zhipu's
			broken = true
		default:
			d.finish = ch.Finish
		}
	}
	if len(k.Pages) > 0 {
		d.pages = k.Pages
	}
	d.ollama(k)
	if k.Usage.said {
		d.count(k.Usage.usage())
		d.counted = len(k.Choices) == 0
	}
	// OpenRouter may follow up a finish ("length") with an error that says the same ("token limit reached").
	// The answer is complete all the same.
	if broken && d.finish == "" {
		if k.Error == nil && k.GroqErr != nil {
			data = append(append([]byte(`{"error":`), k.GroqErr...), '}')
		}
		return false, d.fault.Payload(data)
	}
	return false, nil
}

// ollama reads the fields of Ollama's own API.
func (d *Chat) ollama(k *chunk) {
	if k.Thinking != "" {
		d.thought(k.Thinking)
	}
	if k.Message != nil {
		d.delta(k.Message)
	}
	if k.Response != "" {
		d.think.split(k.Response, d.text, d.thought)
	}
	if k.Done {
		d.finish = cmp.Or(k.DoneReason, "stop")
	}
}

func (d *Chat) delta(v *delta) {
	d.reasoning(v)
	if v.Content != "" {
		if s := d.said.Join(v.Content); s != "" {
			d.think.split(s, d.text, d.thought)
		}
	}
	if v.Refusal != "" {
		d.refused, d.thoughts.over = true, true
		d.emit(model.Text{Block: d.blocks.at(refusalBlock), Text: v.Refusal})
	}
	for _, url := range v.Images {
		if url != "" {
			d.thoughts.over = true
			d.emit(model.Image{Block: d.blocks.next(), URL: url, MIME: mimeOf(url)})
		}
	}
	for _, a := range v.Annotations {
		if cite, ok := a.citation(); ok {
			d.emit(model.Annotation{Block: d.blocks.at(contentBlock), Annotation: cite})
		}
	}
	for _, f := range v.ToolCalls {
		d.thoughts.over = true
		d.calls.add(f, d.emit)
	}
	for _, e := range v.Executed {
		d.execute(e)
	}
}

// execute takes what is said of a tool that the provider ran: first what it is asked, then all of that again with what it
// found. It is handed out once, when it is whole.
func (d *Chat) execute(e executed) {
	i := slices.IndexFunc(d.ran, func(old executed) bool { return old.index == e.index })
	switch {
	case e.raw == nil || e.index < d.known:
		return
	case i >= 0:
		d.ran[i] = e
	default:
		d.ran = append(d.ran, e)
	}
	for len(d.ran) > 0 && d.ran[0].done {
		d.keep()
	}
}

// keep hands out the first of the tools that the provider ran.
func (d *Chat) keep() {
	e := d.ran[0]
	d.ran, d.known = d.ran[1:], max(d.known, e.index+1)
	// The element has a type of its own, such as "search", which tells nobody what it is.
	raw := append(append([]byte(`{"executed":`), e.raw...), '}')
	d.emit(model.Opaque{Raw: kept.Put(raw, "executed_tool", kept.Mark{Provider: d.fault.Provider})})
}

// reasoning hands out the details where they say something, since they say most.
func (d *Chat) reasoning(v *delta) {
	said := false
	for i := range v.Details {
		said = d.detail(&v.Details[i]) || said
	}
	if !said && v.Reasoning != "" {
		if s := d.mused.Join(v.Reasoning); s != "" {
			d.thought(s)
		}
		said = true
	}
	if said {
		d.think.close()
	}
}

// detail hands out an element of reasoning_details and reports whether it had text.
func (d *Chat) detail(v *detail) bool {
	part := model.Reasoning{Text: v.text, Signature: v.signature, Encrypted: v.sealed, ID: v.id}
	if part.Text == "" && part.Signature == "" && part.Encrypted == "" {
		return false
	}
	part.Item = d.thoughts.of(v.index, part.Text != "")
	d.emit(part)
	return part.Text != ""
}

// count hands out usage that is new.
func (d *Chat) count(now item.Usage) {
	if now != d.usage && !now.IsZero() {
		d.usage = now
		d.emit(model.Usage{Usage: now})
	}
}

// End says that nothing more will come; see [Decoder].
func (d *Chat) End(cause error, emit func(model.Part) bool) error {
	d.emit = emit
	if half := d.said.Rest(); half != "" {
		d.think.split(half, d.text, d.thought)
	}
	if half := d.mused.Rest(); half != "" {
		d.thought(half)
	}
	d.think.flush(d.text, d.thought)
	d.calls.end(emit)
	for len(d.ran) > 0 {
		d.keep()
	}
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
	if d.runes == 0 && d.reason() == item.FinishStop {
		if all := d.think.unclosed(); all != "" { // the span was none
			d.text(all)
		}
	}
	for _, page := range d.pages {
		if page.End = d.runes; d.runes > 0 {
			emit(model.Annotation{Block: d.blocks.at(contentBlock), Annotation: page})
		}
	}
	emit(model.Finish{Reason: d.reason(), Raw: d.finish, Model: d.chunk.Model})
	return nil
}

func (d *Chat) reason() item.Finish {
	switch strings.ToLower(d.finish) {
	case "length", "max_tokens", "model_length":
		return item.FinishLength
	case "content_filter", "sensitive", "safety", "recitation":
		return item.FinishFilter
	case "refusal":
		return item.FinishRefusal
	case "stop", "tool_calls", "tool_call", "tool_use", "function_call", "end_turn", "stop_sequence", "eos", "eos_token", "unload":
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
