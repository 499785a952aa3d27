package answer

import (
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// responseEvent is one payload on the Responses wire, and only what we read of it.
type responseEvent struct {
	Type       string          `json:"type"`
	Output     int             `json:"output_index"`
	Content    int             `json:"content_index"`
	Summary    int             `json:"summary_index"`
	Delta      text            `json:"delta"`
	Text       text            `json:"text"`
	Refusal    text            `json:"refusal"`
	Arguments  arguments       `json:"arguments"`
	Item       *outputItem     `json:"item"`
	Part       *contentPart    `json:"part"`
	Annotation *annotation     `json:"annotation"`
	Image      json.RawMessage `json:"partial_image_b64"`
	Format     string          `json:"output_format"`
	Response   *response       `json:"response"`
	Error      json.RawMessage `json:"error"`
}

type outputItem struct {
	Type      string        `json:"type"`
	ID        string        `json:"id"`
	CallID    string        `json:"call_id"`
	Name      string        `json:"name"`
	Arguments arguments     `json:"arguments"`
	Encrypted string        `json:"encrypted_content"`
	Content   []contentPart `json:"content"`
	Summary   []contentPart `json:"summary"`
	Result    text          `json:"result"`
	Format    string        `json:"output_format"`
}

type contentPart struct {
	Type        string       `json:"type"`
	Text        text         `json:"text"`
	Refusal     text         `json:"refusal"`
	Annotations []annotation `json:"annotations"`
}

type response struct {
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Output     []outputItem    `json:"output"`
	Usage      *usage          `json:"usage"`
	Error      json.RawMessage `json:"error"`
	Incomplete *struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
}

// Responses reads one answer on the Responses wire. Things are told apart by their place in the output:
// ids may change from one event to the next where a proxy makes them up.
type Responses struct {
	fault   eventstream.Fault
	ev      responseEvent
	emit    func(model.Part) bool
	outputs map[int]*output
	blocks  int
	calls   int
	items   int // of reasoning
	refused bool
}

// output is what we know of one element of the output.
type output struct {
	kind   string
	number int              // of its call or reasoning item
	said   bool             // something of it was streamed
	blocks map[blockKey]int // numbers of its blocks; for reasoning, within the item
	notes  map[int]int      // annotations handed out, by content index
	id     bool             // the reasoning's id and encrypted content were handed out
}

type blockKey struct {
	kind  byte // 't'ext, 'r'efusal, 's'ummary, 'c'ontent of reasoning, 'i'mage
	index int
}

// NewResponses returns a decoder of one answer.
func NewResponses(fault eventstream.Fault) *Responses {
	return &Responses{fault: fault, outputs: make(map[int]*output)}
}

// Event reads one payload; see [Decoder].
func (d *Responses) Event(name string, data []byte, emit func(model.Part) bool) (bool, error) {
	d.ev = responseEvent{}
	if string(data) == "[DONE]" {
		return true, d.End(nil, emit)
	}
	if err := decode(d.fault, data, &d.ev); err != nil {
		return false, err
	}
	if d.ev.Type == "" {
		d.ev.Type = name
	}
	d.emit = emit
	return d.read(data)
}

// Whole reads a response that came in one piece; see [Decoder].
func (d *Responses) Whole(data []byte, emit func(model.Part) bool) error {
	d.emit = emit
	d.ev = responseEvent{}
	var r response
	if err := decode(d.fault, data, &r); err != nil {
		return err
	}
	if !isNull(r.Error) || r.Status == "" {
		return d.fault.Payload(data)
	}
	_, err := d.over(&r, data)
	return err
}

func (d *Responses) read(data []byte) (bool, error) {
	ev := &d.ev
	switch ev.Type {
	case "response.output_text.delta":
		d.text('t', ev.Delta)
	case "response.refusal.delta":
		d.text('r', ev.Delta)
	case "response.reasoning_summary_text.delta":
		d.thought('s', ev.Summary, ev.Delta)
	case "response.reasoning_text.delta":
		d.thought('c', ev.Content, ev.Delta)
	case "response.function_call_arguments.delta":
		d.arguments(ev.Output, string(ev.Delta))
	case "response.output_item.added":
		if ev.Item != nil {
			d.open(ev.Output, ev.Item)
		}
	case "response.output_text.annotation.added":
		if ev.Annotation != nil {
			d.annotate(d.at(ev.Output), ev.Content, *ev.Annotation)
		}

	// What follows repeats what was streamed, and is only read for what was not.
	case "response.output_text.done":
		d.rest('t', ev.Content, ev.Text)
	case "response.refusal.done":
		d.rest('r', ev.Content, ev.Refusal)
	case "response.reasoning_summary_text.done":
		d.restThought('s', ev.Summary, ev.Text)
	case "response.reasoning_text.done":
		d.restThought('c', ev.Content, ev.Text)
	case "response.function_call_arguments.done":
		if o := d.at(ev.Output); !o.said {
			d.arguments(ev.Output, string(ev.Arguments))
		}
	case "response.content_part.done":
		if ev.Part != nil {
			d.part(ev.Output, ev.Content, ev.Part)
		}
	case "response.output_item.done":
		if ev.Item != nil {
			d.close(ev.Output, ev.Item)
		}

	case "response.image_generation_call.partial_image":
		d.image(ev.Output, unquoted(ev.Image), ev.Format, true)
	case "response.completed", "response.incomplete", "response.done":
		if ev.Response == nil {
			return false, d.fault.Broken("the answer's end says nothing about it", nil)
		}
		return d.over(ev.Response, data)
	case "response.failed", "response.cancelled", "error":
		return false, d.fault.Payload(data)
	default:
		if !isNull(ev.Error) {
			return false, d.fault.Payload(data)
		}
		// Progress of the provider's own tools, and events that are newer than we are.
	}
	return false, nil
}

// at returns the element of the output at a place, known or not.
func (d *Responses) at(place int) *output {
	o := d.outputs[place]
	if o == nil {
		o = &output{blocks: make(map[blockKey]int), notes: make(map[int]int)}
		d.outputs[place] = o
	}
	return o
}

// open reads the beginning of an element.
func (d *Responses) open(place int, it *outputItem) *output {
	o := d.at(place)
	if o.kind != "" {
		return o
	}
	o.kind = it.Type
	switch it.Type {
	case "function_call":
		o.number = d.calls
		d.calls++
		id := it.CallID
		if id == "" {
			id = it.ID
		}
		d.emit(model.ToolCall{Index: o.number, ID: id, Name: it.Name})
	case "reasoning":
		o.number = d.items
		d.items++
	}
	return o
}

// close reads the end of an element, which repeats all of it.
func (d *Responses) close(place int, it *outputItem) {
	o := d.open(place, it)
	d.ev.Output = place
	switch it.Type {
	case "function_call":
		if !o.said {
			d.arguments(place, string(it.Arguments))
		}
	case "reasoning":
		for i, p := range it.Summary {
			d.restThought('s', i, p.Text)
		}
		for i, p := range it.Content {
			d.restThought('c', i, p.Text)
		}
		// The id of the first event may be another one. An item without any content is not worth mentioning.
		if !o.id && (it.Encrypted != "" || len(o.blocks) > 0) {
			o.id = true
			d.emit(model.Reasoning{Item: o.number, ID: it.ID, Encrypted: it.Encrypted})
		}
	case "image_generation_call":
		d.image(place, string(it.Result), it.Format, false)
	case "message":
		for i := range it.Content {
			d.part(place, i, &it.Content[i])
		}
	}
}

func (d *Responses) part(place, index int, p *contentPart) {
	d.ev.Output = place
	switch p.Type {
	case "output_text":
		d.rest('t', index, p.Text)
		o := d.at(place)
		for _, a := range p.Annotations[min(o.notes[index], len(p.Annotations)):] {
			d.annotate(o, index, a)
		}
	case "refusal":
		d.rest('r', index, p.Refusal)
	}
}

// block returns the number of a block of the answer.
func (d *Responses) block(o *output, kind byte, index int) (number int, known bool) {
	key := blockKey{kind, index}
	n, known := o.blocks[key]
	if !known {
		n = d.blocks
		d.blocks++
		o.blocks[key] = n
	}
	return n, known
}

func (d *Responses) text(kind byte, piece text) {
	if piece == "" {
		return
	}
	d.refused = d.refused || kind == 'r'
	n, _ := d.block(d.at(d.ev.Output), kind, d.ev.Content)
	d.emit(model.Text{Block: n, Text: string(piece)})
}

// rest hands out a whole text of which no piece was streamed.
func (d *Responses) rest(kind byte, index int, whole text) {
	if whole == "" {
		return
	}
	if n, known := d.block(d.at(d.ev.Output), kind, index); !known {
		d.refused = d.refused || kind == 'r'
		d.emit(model.Text{Block: n, Text: string(whole)})
	}
}

// thoughtBlock returns the number of a block within a reasoning item.
func (d *Responses) thoughtBlock(kind byte, index int) (o *output, number int, known bool) {
	o = d.open(d.ev.Output, &outputItem{Type: "reasoning"})
	key := blockKey{kind, index}
	n, known := o.blocks[key]
	if !known {
		n = len(o.blocks)
		o.blocks[key] = n
	}
	return o, n, known
}

func (d *Responses) thought(kind byte, index int, piece text) {
	if piece == "" {
		return
	}
	o, n, _ := d.thoughtBlock(kind, index)
	d.emit(model.Reasoning{Item: o.number, Block: n, Text: string(piece)})
}

func (d *Responses) restThought(kind byte, index int, whole text) {
	if whole == "" {
		return
	}
	if o, n, known := d.thoughtBlock(kind, index); !known {
		d.emit(model.Reasoning{Item: o.number, Block: n, Text: string(whole)})
	}
}

// arguments hands out a piece of a call's arguments. Those of the provider's own tools are not ours to run.
func (d *Responses) arguments(place int, piece string) {
	o := d.at(place)
	if o.kind != "function_call" || piece == "" {
		return
	}
	o.said = true
	d.emit(model.ToolCall{Index: o.number, Arguments: piece})
}

func (d *Responses) annotate(o *output, index int, a annotation) {
	o.notes[index]++
	if cite, ok := a.citation(); ok {
		n, _ := d.block(o, 't', index)
		d.emit(model.Annotation{Block: n, Annotation: cite})
	}
}

func (d *Responses) image(place int, data, format string, partial bool) {
	if data == "" {
		return
	}
	if format == "" {
		format = "png"
	}
	n, _ := d.block(d.at(place), 'i', 0)
	mime := "image/" + strings.ToLower(format)
	d.emit(model.Image{Block: n, Partial: partial, URL: "data:" + mime + ";base64," + data, MIME: mime})
}

// over reads the end of the answer.
func (d *Responses) over(r *response, data []byte) (bool, error) {
	if r.Status == "failed" || r.Status == "cancelled" || !isNull(r.Error) {
		return false, d.fault.Payload(data)
	}
	if len(d.outputs) == 0 { // nothing was streamed but the end
		for i := range r.Output {
			d.close(i, &r.Output[i])
		}
	}
	if r.Usage != nil {
		if u := r.Usage.usage(); !u.IsZero() {
			d.emit(model.Usage{Usage: u})
		}
	}
	raw := r.Status
	if r.Incomplete != nil && r.Incomplete.Reason != "" {
		raw = r.Incomplete.Reason
	}
	d.emit(model.Finish{Reason: d.reason(r, raw), Raw: raw, Model: r.Model})
	return true, nil
}

func (d *Responses) reason(r *response, raw string) item.Finish {
	switch {
	case raw == "max_output_tokens" || raw == "max_tokens":
		return item.FinishLength
	case raw == "content_filter":
		return item.FinishFilter
	case r.Status == "incomplete" || r.Incomplete != nil && r.Incomplete.Reason != "":
		return item.FinishOther
	case d.calls > 0:
		return item.FinishToolCalls
	case d.refused:
		return item.FinishRefusal
	}
	return item.FinishStop
}

// End says that nothing more will come; see [Decoder].
func (d *Responses) End(cause error, _ func(model.Part) bool) error {
	if cause != nil {
		return cause
	}
	return d.fault.Incomplete()
}
