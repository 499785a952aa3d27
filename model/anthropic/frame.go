package anthropic

import (
	"bytes"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// frame has the fields of all events that matter here. Raw values belong to the payload.
type frame struct {
	Type  string // kept from frame to frame
	Index int
	Usage usage
	Error []byte

	// Of the message that begins.
	ID, Model string

	Block []byte // content_block, an object
	Delta delta
}

type delta struct {
	Type     []byte
	Text     string // whatever the delta adds: text, thinking, a signature, a piece of JSON
	Citation citation
	Content  []byte // of a compaction

	// Of the message's end.
	Stop, Why string
	Container []byte // an object
}

// read fills the frame with the next payload.
func (f *frame) read(r *payload.Reader) {
	was := f.Type
	*f = frame{Usage: unsaid}
	for name := range r.Object {
		switch string(name) {
		case "type":
			f.Type = r.Same(was)
		case "index":
			f.Index = r.Int()
		case "message":
			f.message(r)
		case "content_block":
			if r.Kind() == '{' {
				f.Block = r.Raw()
			}
		case "delta":
			f.Delta.read(r)
		case "usage":
			f.Usage.read(r)
		case "error":
			if !r.Null() {
				f.Error = r.Raw()
			}
		}
	}
}

func (f *frame) message(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "id":
			f.ID = r.Text()
		case "model":
			f.Model = r.Text()
		case "usage":
			f.Usage.read(r)
		}
	}
}

func (d *delta) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "type":
			if r.Kind() == '"' {
				d.Type = bytes.Trim(r.Raw(), `"`) // stays when the next string is read
			}
		case "text", "thinking", "signature", "partial_json":
			d.Text = r.Piece()
		case "citation":
			d.Citation.read(r)
		case "content":
			d.Content = r.Raw()
		case "stop_reason":
			d.Stop = r.Text()
		case "stop_details":
			for name := range r.Object {
				if string(name) == "explanation" {
					d.Why = r.Text()
				}
			}
		case "container":
			if r.Kind() == '{' {
				d.Container = r.Raw()
			}
		}
	}
}

// startedBlock is what the start of a block says.
type startedBlock struct {
	Type, ID, Name, Text, Signature, Data string

	Input, Caller []byte
	Citations     []citation
}

func readBlock(raw []byte) (b startedBlock) {
	var r payload.Reader
	r.Reset(raw)
	for name := range r.Object {
		switch string(name) {
		case "type":
			b.Type = r.Text()
		case "id":
			b.ID = r.Text()
		case "name":
			b.Name = r.Text()
		case "text", "thinking":
			b.Text = r.Text()
		case "signature":
			b.Signature = r.Text()
		case "data":
			b.Data = r.Text()
		case "input":
			b.Input = bytes.Clone(r.Raw())
		case "caller":
			b.Caller = r.Raw()
		case "citations":
			for range r.Array {
				var c citation
				c.read(&r)
				b.Citations = append(b.Citations, c)
			}
		}
	}
	return b
}

// citation has the fields of all its kinds: of web pages, of search results that we gave, and of documents.
type citation struct {
	said                                bool
	quote, url, title, source, document string
}

func (c *citation) read(r *payload.Reader) {
	c.said = r.Kind() == '{'
	for name := range r.Object {
		switch string(name) {
		case "cited_text":
			c.quote = r.Text()
		case "url":
			c.url = r.Text()
		case "title":
			c.title = r.Text()
		case "source":
			c.source = r.Text()
		case "document_title":
			c.document = r.Text()
		}
	}
}

func (c citation) annotation(runes int) item.Annotation {
	a := item.Annotation{Type: item.URLCitation, End: runes, URL: c.url, Title: c.title, Quote: c.quote}
	if a.URL == "" {
		a.URL = c.source
	}
	if a.Title == "" {
		a.Title = c.document
	}
	return a
}

// usage is what a frame says of the cost, or what was said so far. A number that was not said is less than zero.
type usage struct{ input, output, fromCache, toCache, thinking int }

var unsaid = usage{-1, -1, -1, -1, -1}

func (u *usage) read(r *payload.Reader) {
	for name := range r.Object {
		if r.Null() {
			continue
		}
		switch string(name) {
		case "input_tokens":
			u.input = r.Int()
		case "output_tokens":
			u.output = r.Int()
		case "cache_read_input_tokens":
			u.fromCache = r.Int()
		case "cache_creation_input_tokens":
			u.toCache = r.Int()
		case "output_tokens_details":
			for name := range r.Object {
				if string(name) == "thinking_tokens" {
					u.thinking = r.Int()
				}
			}
		}
	}
}
