package answer

import (
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// raw is a value of a payload that is decoded only where it is needed: the events that end something repeat all of it,
// and most often all of it was streamed. It is valid as long as the payload.
type raw []byte

// text is the value as a string, or the texts of a list of parts.
func (v raw) text() string {
	var r payload.Reader
	r.Reset(v)
	return texts(&r)
}

// piece is text that may end in half a character.
func (v raw) piece() string {
	var r payload.Reader
	r.Reset(v)
	return pieces(&r)
}

// arguments is the value as a string of JSON, which may end in half a character.
func (v raw) arguments() string {
	var r payload.Reader
	r.Reset(v)
	return arguments(&r)
}

// responseEvent is one payload on the Responses wire, and only what we read of it.
type responseEvent struct {
	Type    string // kept from event to event
	Placed  bool   // Output was given
	Output  int
	Content int
	Summary int
	ItemID  raw
	Delta   raw
	Text    raw
	Refusal raw
	Args    raw
	Image   raw
	Format  string

	Item, Part, Annotation, Response raw // objects
	Error                            raw
}

// read fills the event with the next payload.
func (e *responseEvent) read(r *payload.Reader) {
	was := e.Type
	*e = responseEvent{}
	for name := range r.Object {
		switch string(name) {
		case "type":
			e.Type = r.Same(was)
		case "output_index":
			if c := r.Kind(); c >= '0' && c <= '9' {
				e.Placed, e.Output = true, r.Int()
			}
		case "content_index":
			e.Content = r.Int()
		case "summary_index":
			e.Summary = r.Int()
		case "item_id":
			e.ItemID = present(r)
		case "delta":
			e.Delta = present(r)
		case "text":
			e.Text = present(r)
		case "refusal":
			e.Refusal = present(r)
		case "arguments":
			e.Args = present(r)
		case "partial_image_b64":
			e.Image = present(r)
		case "output_format":
			e.Format = r.Text()
		case "item":
			e.Item = object(r)
		case "part":
			e.Part = object(r)
		case "annotation":
			e.Annotation = object(r)
		case "response":
			e.Response = object(r)
		case "error":
			e.Error = present(r)
		}
	}
}

// object returns an object as it stands, and nothing for what is none.
func object(r *payload.Reader) raw {
	if r.Kind() != '{' {
		r.Skip()
		return nil
	}
	return r.Raw()
}

// outputItem is an element of the output.
type outputItem struct {
	Type, ID, CallID, Name, Encrypted, Format, Status string

	Args, Result     raw
	Content, Summary []contentPart
	whole            raw
}

func readItem(in raw) (it outputItem) {
	it.whole = in
	var r payload.Reader
	r.Reset(in)
	for name := range r.Object {
		switch string(name) {
		case "type":
			it.Type = r.Text()
		case "id":
			it.ID = r.Text()
		case "call_id":
			it.CallID = r.Text()
		case "name":
			it.Name = r.Text()
		case "status":
			it.Status = r.Text()
		case "arguments":
			it.Args = present(&r)
		case "encrypted_content":
			it.Encrypted = r.Text()
		case "result":
			it.Result = present(&r)
		case "output_format":
			it.Format = r.Text()
		case "content":
			for range r.Array {
				it.Content = append(it.Content, readPart(object(&r)))
			}
		case "summary":
			for range r.Array {
				it.Summary = append(it.Summary, readPart(object(&r)))
			}
		}
	}
	return it
}

type contentPart struct {
	Type        string
	Text        raw
	Refusal     raw
	Annotations []annotation
}

func readPart(in raw) (p contentPart) {
	var r payload.Reader
	r.Reset(in)
	for name := range r.Object {
		switch string(name) {
		case "type":
			p.Type = r.Text()
		case "text":
			p.Text = present(&r)
		case "refusal":
			p.Refusal = present(&r)
		case "annotations":
			for range r.Array {
				p.Annotations = append(p.Annotations, readAnnotation(&r))
			}
		}
	}
	return p
}

// response is what the last event says of the whole answer.
type response struct {
	Model, Status, Incomplete string

	Usage  usage
	Failed bool
	Output []raw
}

func readResponse(in raw) (out response) {
	var r payload.Reader
	r.Reset(in)
	for name := range r.Object {
		switch string(name) {
		case "model":
			out.Model = r.Text()
		case "status":
			out.Status = r.Text()
		case "usage":
			out.Usage.read(&r)
		case "error":
			out.Failed = present(&r) != nil
		case "output":
			for range r.Array {
				out.Output = append(out.Output, object(&r))
			}
		case "incomplete_details":
			for name := range r.Object {
				if string(name) == "reason" {
					out.Incomplete = r.Text()
				}
			}
		}
	}
	out.Failed = out.Failed || out.Status == "failed" || out.Status == "cancelled"
	return out
}

func (r *response) reason(calls int, refused bool) (reason item.Finish, word string) {
	word = r.Status
	if r.Incomplete != "" {
		word = r.Incomplete
	}
	switch {
	case word == "max_output_tokens" || word == "max_tokens":
		return item.FinishLength, word
	case word == "content_filter":
		return item.FinishFilter, word
	case r.Status == "incomplete" || r.Incomplete != "":
		return item.FinishOther, word
	case calls > 0:
		return item.FinishToolCalls, word
	case refused:
		return item.FinishRefusal, word
	}
	return item.FinishStop, word
}
