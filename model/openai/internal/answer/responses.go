package answer

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// Responses reads one answer on the Responses wire. Things are told apart by their place in the output:
// ids may change from one event to the next where a proxy makes them up. Only where no place is given do
// ids count.
type Responses struct {
	fault   eventstream.Fault
	in      payload.Reader
	ev      responseEvent
	emit    func(model.Part) bool
	outputs map[int]*output
	last    int // the place that the last event was about
	blocks  int
	calls   int
	items   int // of reasoning
	refused bool
	follows string // the id of reasoning that nothing has followed yet

	said, mused, asked payload.Halves // of texts, thoughts and arguments
	spoken             int            // the block of the last piece of text
}

// output is what we know of one element of the output.
type output struct {
	kind   string
	id     string           // of its first event
	number int              // of its call or reasoning item
	said   bool             // something of it was streamed
	blocks map[blockKey]int // numbers of its blocks; for reasoning, within the item
	notes  map[int]int      // annotations handed out, by content index
	closed bool             // what only its end says was handed out
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
	if bytes.Equal(bytes.TrimSpace(data), doneMark) {
		return true, d.End(nil, emit)
	}
	d.in.Reset(data)
	d.ev.read(&d.in)
	if err := d.in.End(); err != nil {
		return false, broken(d.fault, err)
	}
	if d.ev.Type == "" {
		d.ev.Type = name
	}
	d.emit = emit
	d.place()
	return d.read(data)
}

// place finds out what element of the output an event is about, if it does not say so itself.
func (d *Responses) place() {
	ev := &d.ev
	if !ev.Placed {
		ev.Output = d.last
		if ev.Type == "response.output_item.added" && len(d.outputs) > 0 {
			ev.Output++
		}
		id := ev.ItemID.text()
		for place, o := range d.outputs {
			if id != "" && o.id == id {
				ev.Output = place
			}
		}
	}
	d.last = ev.Output
}

// Whole reads an answer that was not streamed; see [Decoder].
func (d *Responses) Whole(data []byte, emit func(model.Part) bool) error {
	d.emit = emit
	d.in.Reset(data)
	d.in.Skip()
	if err := d.in.End(); err != nil {
		return broken(d.fault, err)
	}
	_, err := d.over(data, data)
	return err
}

func (d *Responses) read(data []byte) (bool, error) {
	ev := &d.ev
	switch ev.Type {
	case "response.output_text.delta":
		d.text('t', d.said.Join(ev.Delta.piece()))
	case "response.refusal.delta":
		d.text('r', d.said.Join(ev.Delta.piece()))
	case "response.reasoning_summary_text.delta":
		d.thought('s', ev.Summary, d.mused.Join(ev.Delta.piece()))
	case "response.reasoning_text.delta":
		d.thought('c', ev.Content, d.mused.Join(ev.Delta.piece()))
	case "response.function_call_arguments.delta":
		d.arguments(ev.Output, ev.Delta.arguments())
	case "response.output_item.added":
		if ev.Item != nil {
			it := readItem(ev.Item)
			d.open(ev.Output, &it)
		}
	case "response.output_text.annotation.added":
		if ev.Annotation != nil {
			var r payload.Reader
			r.Reset(ev.Annotation)
			d.annotate(d.at(ev.Output), ev.Content, readAnnotation(&r))
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
			d.arguments(ev.Output, ev.Args.arguments())
		}
	case "response.content_part.done":
		if ev.Part != nil {
			p := readPart(ev.Part)
			d.part(ev.Output, ev.Content, &p)
		}
	case "response.output_item.done":
		if ev.Item != nil {
			it := readItem(ev.Item)
			d.close(ev.Output, &it)
		}

	case "response.image_generation_call.partial_image":
		d.image(ev.Output, ev.Image.text(), ev.Format, true)
	case "response.completed", "response.incomplete", "response.done":
		if ev.Response == nil {
			return false, d.fault.Broken("the answer's end says nothing about it", nil)
		}
		return d.over(ev.Response, data)
	case "response.failed", "response.cancelled", "error":
		return false, d.fault.Payload(data)
	default:
		if ev.Error != nil {
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
		o = &output{}
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
	o.kind, o.id = it.Type, it.ID
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
	follows := d.follows
	d.follows = ""
	switch it.Type {
	case "function_call":
		if !o.said {
			d.arguments(place, it.Args.arguments())
		}
	case "reasoning":
		for i, p := range it.Summary {
			d.restThought('s', i, p.Text)
		}
		for i, p := range it.Content {
			d.restThought('c', i, p.Text)
		}
		// The id of the first event may be another one. An item without any content is not worth mentioning.
		if !o.closed && (it.Encrypted != "" || len(o.blocks) > 0) {
			o.closed, d.follows = true, it.ID
			d.emit(model.Reasoning{Item: o.number, ID: it.ID, Encrypted: it.Encrypted})
		}
	case "message":
		for i := range it.Content {
			d.part(place, i, &it.Content[i])
		}
	case "image_generation_call":
		d.image(place, it.Result.text(), it.Format, false)
		d.keep(o, pictureOf(it), follows)
	default:
		d.keep(o, it.whole, follows)
	}
}

// keep hands out an element of one of the provider's own tools, which the provider wants back, and right behind the
// reasoning that led to it.
func (d *Responses) keep(o *output, whole []byte, follows string) {
	if o.closed || kept.Type(whole) == "" {
		return
	}
	o.closed = true
	d.emit(model.Opaque{Raw: kept.Put(whole, "", kept.Mark{Provider: d.fault.Provider, Follows: follows})})
}

// pictureOf is what is kept of a picture besides the picture: who made it. The bytes are in the block before.
func pictureOf(it *outputItem) []byte {
	if it.ID == "" {
		return nil
	}
	kept, err := json.Marshal(map[string]string{"type": it.Type, "id": it.ID, "status": it.Status})
	if err != nil {
		return nil
	}
	return kept
}

func (d *Responses) part(place, index int, p *contentPart) {
	d.ev.Output = place
	switch p.Type {
	case "output_text", "text":
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
		o.add(key, n)
	}
	return n, known
}

func (o *output) add(key blockKey, n int) {
	if o.blocks == nil {
		o.blocks = make(map[blockKey]int)
	}
	o.blocks[key] = n
}

func (d *Responses) text(kind byte, piece string) {
	if piece == "" {
		return
	}
	d.refused = d.refused || kind == 'r'
	d.spoken, _ = d.block(d.at(d.ev.Output), kind, d.ev.Content)
	d.emit(model.Text{Block: d.spoken, Text: piece})
}

// rest hands out a whole text of which no piece was streamed.
func (d *Responses) rest(kind byte, index int, whole raw) {
	o := d.at(d.ev.Output)
	if _, known := o.blocks[blockKey{kind, index}]; known {
		return
	}
	if s := whole.text(); s != "" {
		n, _ := d.block(o, kind, index)
		d.refused = d.refused || kind == 'r'
		d.emit(model.Text{Block: n, Text: s})
	}
}

// thoughtBlock returns the number of a block within a reasoning item.
func (d *Responses) thoughtBlock(kind byte, index int) (o *output, number int, known bool) {
	o = d.open(d.ev.Output, &outputItem{Type: "reasoning"})
	key := blockKey{kind, index}
	n, known := o.blocks[key]
	if !known {
		n = len(o.blocks)
		o.add(key, n)
	}
	return o, n, known
}

func (d *Responses) thought(kind byte, index int, piece string) {
	if piece == "" {
		return
	}
	o, n, _ := d.thoughtBlock(kind, index)
	d.emit(model.Reasoning{Item: o.number, Block: n, Text: piece})
}

func (d *Responses) restThought(kind byte, index int, whole raw) {
	if o := d.outputs[d.ev.Output]; o != nil {
		if _, known := o.blocks[blockKey{kind, index}]; known {
			return
		}
	}
	d.thought(kind, index, whole.text())
}

// arguments hands out a piece of a call's arguments. Those of the provider's own tools are not ours to run.
func (d *Responses) arguments(place int, piece string) {
	o := d.at(place)
	if o.kind != "function_call" || piece == "" {
		return
	}
	o.said = true
	if piece = d.asked.Join(piece); piece == "" {
		return
	}
	d.emit(model.ToolCall{Index: o.number, Arguments: piece})
}

func (d *Responses) annotate(o *output, index int, a annotation) {
	if o.notes == nil {
		o.notes = make(map[int]int)
	}
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
func (d *Responses) over(whole raw, data []byte) (bool, error) {
	r := readResponse(whole)
	if r.Failed {
		return false, d.fault.Payload(data)
	}
	d.missed(r.Output)
	if half := d.said.Rest(); half != "" {
		d.emit(model.Text{Block: d.spoken, Text: half})
	}
	if r.Usage.said {
		if u := r.Usage.usage(); !u.IsZero() {
			d.emit(model.Usage{Usage: u})
		}
	}
	reason, word := r.reason(d.calls, d.refused)
	d.emit(model.Finish{Reason: reason, Raw: word, Model: r.Model})
	return true, nil
}

// missed hands out what only the end of the answer says: all of it where nothing was streamed, otherwise elements at
// places that no event was about.
func (d *Responses) missed(all []raw) {
	streamed := len(d.outputs)
	if streamed >= len(all) {
		return // places may be counted differently, but nothing is missing
	}
	for i, one := range all {
		if d.outputs[i] == nil {
			it := readItem(one)
			d.close(i, &it)
		}
	}
}

// End says that nothing more will come; see [Decoder].
func (d *Responses) End(cause error, _ func(model.Part) bool) error {
	if cause != nil {
		return cause
	}
	return d.fault.Incomplete()
}
