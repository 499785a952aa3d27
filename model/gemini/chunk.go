package gemini

import (
	"bytes"
	"encoding/json"

	"github.com/tributary-ai/tributary/model/internal/payload"
)

// chunk has the fields of a GenerateContentResponse that matter here. Raw values belong to the payload.
type chunk struct {
	Parts     []part
	Finish    string
	Message   string
	Grounding grounding
	Usage     usage
	Model     string // kept from chunk to chunk

	Blocked, BlockedWhy string // of the prompt
	Error               []byte
}

// part is a piece of the content; which fields are set tells its kind.
type part struct {
	Text      string
	Thought   bool
	Signature string
	Call      *functionCall
	Inline    bool
	MIME      string
	Data      []byte // base64, of what is inline
	Other     string // the name of a field that we do not know
	raw       []byte
}

type functionCall struct {
	ID, Name  string
	Args      []byte
	Partial   []partialArg
	Continues bool
}

type usage struct{ prompt, toolPrompt, candidates, thoughts, cached int }

// read fills the chunk with the next payload. It uses the room for parts again.
func (c *chunk) read(r *payload.Reader) {
	*c = chunk{Model: c.Model, Parts: c.Parts[:0]}
	for name := range r.Object {
		switch string(name) {
		case "candidates":
			for i := range r.Array {
				if i == 0 { // no more are asked for
					c.candidate(r)
				}
			}
		case "usageMetadata":
			c.Usage.read(r)
		case "modelVersion":
			if model := r.Same(c.Model); model != "" {
				c.Model = model
			}
		case "promptFeedback":
			for name := range r.Object {
				switch string(name) {
				case "blockReason":
					c.Blocked = r.Text()
				case "blockReasonMessage":
					c.BlockedWhy = r.Text()
				}
			}
		case "error":
			if !r.Null() {
				c.Error = r.Raw()
			}
		}
	}
}

func (c *chunk) candidate(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "content":
			for name := range r.Object {
				if string(name) == "parts" {
					for range r.Array {
						c.Parts = append(c.Parts, readPart(r))
					}
				}
			}
		case "finishReason":
			c.Finish = r.Text()
		case "finishMessage":
			c.Message = r.Text()
		case "groundingMetadata":
			c.Grounding.read(r)
		case "citationMetadata":
			c.Grounding.readCitations(r)
		}
	}
}

func readPart(r *payload.Reader) (p part) {
	if r.Kind() != '{' {
		r.Skip()
		return p
	}
	whole := r.Rest()
	for name := range r.Object {
		switch string(name) {
		case "text":
			p.Text = r.Piece()
		case "thought":
			p.Thought = r.Bool()
		case "thoughtSignature", "thought_signature":
			p.Signature = r.Text()
		case "functionCall":
			p.Call = readCall(r)
		case "inlineData":
			p.inline(r)
		case "videoMetadata", "partMetadata", "mediaResolution":
		default:
			if k := r.Kind(); k == '{' || k == '[' {
				p.Other = string(name)
			}
		}
	}
	p.raw = bytes.TrimRight(whole[:len(whole)-len(r.Rest())], " \t\r\n")
	return p
}

func (p *part) inline(r *payload.Reader) {
	p.Inline = r.Kind() == '{'
	for name := range r.Object {
		switch string(name) {
		case "mimeType":
			p.MIME = r.Text()
		case "data":
			if r.Kind() == '"' {
				raw := r.Raw()
				p.Data = raw[1 : len(raw)-1]
			}
		}
	}
}

// url is what is inline as an address that holds it.
func (p *part) url() string {
	data := p.Data
	if bytes.IndexByte(data, '\\') >= 0 { // \/ and \u003d, which are the same
		var plain string
		if json.Unmarshal(append(append([]byte{'"'}, data...), '"'), &plain) == nil {
			data = []byte(plain)
		}
	}
	return "data:" + p.MIME + ";base64," + string(data)
}

func readCall(r *payload.Reader) *functionCall {
	if r.Kind() != '{' {
		r.Skip()
		return nil
	}
	c := &functionCall{}
	for name := range r.Object {
		switch string(name) {
		case "id":
			c.ID = r.Text()
		case "name":
			c.Name = r.Text()
		case "args":
			if !r.Null() {
				c.Args = r.Raw()
			}
		case "partialArgs":
			// Arguments by path are rare, and of many kinds. One of an unexpected kind is left out.
			_ = json.Unmarshal(r.Raw(), &c.Partial)
		case "willContinue":
			c.Continues = r.Bool()
		}
	}
	return c
}

func (u *usage) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "promptTokenCount":
			u.prompt = r.Int()
		case "toolUsePromptTokenCount":
			u.toolPrompt = r.Int()
		case "candidatesTokenCount", "responseTokenCount":
			u.candidates = r.Int()
		case "thoughtsTokenCount":
			u.thoughts = r.Int()
		case "cachedContentTokenCount":
			u.cached = r.Int()
		}
	}
}
