package answer

import (
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/payload"
)

// chunk is one payload of a streamed chat completion, and only what we read of it. Ollama's own API streams
// objects of another shape; their fields are here too, since they do not collide.
type chunk struct {
	Model   string // kept from chunk to chunk
	Choices []choice
	Usage   usage
	Error   []byte // raw; empty for null
	GroqErr []byte
	Failure bool // the whole payload is an error object

	// Pages are what Perplexity searched for the answer; every chunk repeats them.
	Pages []item.Annotation

	Message    *delta // Ollama, /api/chat
	Response   string // Ollama, /api/generate
	Thinking   string
	Done       bool
	DoneReason string
}

type choice struct {
	Index   int
	Delta   delta
	Message *delta // of an answer that is not streamed
	Finish  string
}

type delta struct {
	Content     string
	Refusal     string
	Reasoning   string // the first of its names that says something: servers that use two say the same in both
	Details     []detail
	ToolCalls   []fragment
	Annotations []annotation
	Images      []string // addresses
	Executed    []executed
}

// said reports that there is something in it.
func (d *delta) said() bool {
	return d.Content != "" || d.Refusal != "" || d.Reasoning != "" ||
		len(d.Details)+len(d.ToolCalls)+len(d.Annotations)+len(d.Images)+len(d.Executed) > 0
}

// read fills the chunk with the next payload.
func (c *chunk) read(r *payload.Reader) {
	*c = chunk{Model: c.Model, Choices: c.Choices[:0]}
	for name := range r.Object {
		switch string(name) {
		case "model":
			if model := r.Same(c.Model); model != "" {
				c.Model = model
			}
		case "choices":
			for range r.Array {
				c.choice(r, c.next())
			}
		case "usage":
			c.Usage.read(r)
		case "citations": // Perplexity: addresses
			for range r.Array {
				if r.Kind() == '"' {
					c.page(item.Annotation{URL: r.Text()})
				}
			}
		case "search_results": // Perplexity: the same pages, with their titles
			for range r.Array {
				c.page(readAnnotation(r).Annotation)
			}
		case "error":
			c.Error = present(r)
		case "object": // vLLM, DashScope
			c.Failure = c.Failure || string(r.Word()) == "error"
		case "x_groq":
			for name := range r.Object {
				switch string(name) {
				case "usage":
					c.Usage.read(r)
				case "error":
					c.GroqErr = present(r)
				}
			}
		case "message":
			c.Message = message(r)
		case "response":
			c.Response = r.Text()
		case "thinking":
			c.Thinking = r.Text()
		case "done":
			c.Done = r.Bool()
		case "done_reason":
			c.DoneReason = r.Text()
		case "prompt_eval_count":
			c.Usage.given(&c.Usage.input, r)
		case "eval_count":
			c.Usage.given(&c.Usage.output, r)
		}
	}
}

// next adds a choice. It uses the room again that choices of earlier chunks had.
func (c *chunk) next() *choice {
	if len(c.Choices) == cap(c.Choices) {
		c.Choices = append(c.Choices, choice{})
		return &c.Choices[len(c.Choices)-1]
	}
	c.Choices = c.Choices[:len(c.Choices)+1]
	ch := &c.Choices[len(c.Choices)-1]
	*ch = choice{Delta: delta{ToolCalls: ch.Delta.ToolCalls[:0]}}
	return ch
}

func (c *chunk) choice(r *payload.Reader, ch *choice) {
	for name := range r.Object {
		switch string(name) {
		case "index":
			ch.Index = r.Int()
		case "delta":
			ch.Delta.read(r)
		case "message":
			ch.Message = message(r)
		case "finish_reason":
			ch.Finish = r.Text()
		case "usage": // Kimi
			c.Usage.read(r)
		}
	}
}

// present returns a value as it stands, or nothing for null.
func present(r *payload.Reader) []byte {
	if r.Null() {
		r.Skip()
		return nil
	}
	return r.Raw()
}

func message(r *payload.Reader) *delta {
	if r.Kind() != '{' {
		r.Skip()
		return nil
	}
	var d delta
	d.read(r)
	return &d
}

func (d *delta) read(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "content":
			d.content(r)
		case "refusal":
			d.Refusal = r.Text()
		case "reasoning_content", // DeepSeek, Qwen, Kimi, xAI, vLLM
			"reasoning", // Groq, OpenRouter, newer vLLM
			"thinking":  // Ollama
			if s := pieces(r); d.Reasoning == "" {
				d.Reasoning = s
			}
		case "reasoning_details": // OpenRouter
			for range r.Array {
				d.Details = append(d.Details, readDetail(r))
			}
		case "tool_calls":
			if r.Kind() == '{' { // one, without the list around it
				d.ToolCalls = append(d.ToolCalls, readCall(r))
				continue
			}
			for range r.Array {
				d.ToolCalls = append(d.ToolCalls, readCall(r))
			}
		case "function_call": // before there were tools
			if r.Kind() == '{' {
				first := fragment{numbered: true}
				first.function(r)
				d.ToolCalls = append(d.ToolCalls, first)
			}
		case "annotations":
			for range r.Array {
				d.Annotations = append(d.Annotations, readAnnotation(r))
			}
		case "images": // OpenRouter
			for range r.Array {
				d.image(r)
			}
		case "executed_tools": // Groq
			for range r.Array {
				d.Executed = append(d.Executed, readExecuted(r))
			}
		}
	}
}

// content reads a string, or a list of parts as Mistral sends it: texts, and what was thought.
func (d *delta) content(r *payload.Reader) {
	if r.Kind() != '[' {
		d.Content = r.Piece()
		return
	}
	for range r.Array {
		if r.Kind() == '"' {
			d.Content += r.Piece()
			continue
		}
		var said, thought string
		for name := range r.Object {
			switch string(name) {
			case "text":
				said = r.Piece()
			case "thinking":
				thought = pieces(r)
			}
		}
		d.Content += said
		d.Reasoning += thought
	}
}

func (d *delta) image(r *payload.Reader) {
	for name := range r.Object {
		if string(name) != "image_url" {
			continue
		}
		for name := range r.Object {
			if string(name) == "url" {
				d.Images = append(d.Images, r.Text())
			}
		}
	}
}

// pieces reads a string, or the texts of a list of parts, which may end in half a character.
func pieces(r *payload.Reader) string {
	if r.Kind() != '[' {
		return r.Piece()
	}
	var b strings.Builder
	for range r.Array {
		if r.Kind() == '"' {
			b.WriteString(r.Piece())
			continue
		}
		for name := range r.Object {
			if string(name) == "text" {
				b.WriteString(r.Piece())
			}
		}
	}
	return b.String()
}

// texts reads a string, or the texts of a list of parts.
func texts(r *payload.Reader) string {
	if r.Kind() != '[' {
		return r.Text()
	}
	var b strings.Builder
	for range r.Array {
		if r.Kind() == '"' {
			b.Write(r.Word())
			continue
		}
		for name := range r.Object {
			if string(name) == "text" {
				b.Write(r.Word())
			}
		}
	}
	return b.String()
}

func readCall(r *payload.Reader) (f fragment) {
	for name := range r.Object {
		switch string(name) {
		case "index":
			if !r.Null() {
				f.numbered, f.index = true, r.Int()
			}
		case "id":
			f.id = r.Text()
		case "function":
			f.function(r)
		case "extra_content": // Gemini, where it speaks like OpenAI
			for name := range r.Object {
				if string(name) != "google" {
					continue
				}
				for name := range r.Object {
					if string(name) == "thought_signature" {
						f.signature = r.Text()
					}
				}
			}
		}
	}
	return f
}

func (f *fragment) function(r *payload.Reader) {
	for name := range r.Object {
		switch string(name) {
		case "name":
			f.name = r.Text()
		case "arguments":
			f.args = arguments(r)
		}
	}
}

// arguments reads a string of JSON, which may end in half a character, or the JSON itself, as some servers send it.
func arguments(r *payload.Reader) string {
	if r.Kind() == '"' {
		return r.Piece()
	}
	return string(present(r))
}

// detail is an element of reasoning_details.
type detail struct {
	index               int
	id, text, signature string
	sealed              string // the whole element, if only the server can read it
}

func readDetail(r *payload.Reader) (d detail) {
	if r.Kind() != '{' {
		r.Skip()
		return d
	}
	// An element that holds data is kept whole, so it is read twice.
	raw := r.Raw()
	var in payload.Reader
	in.Reset(raw)
	for name := range in.Object {
		switch string(name) {
		case "index":
			d.index = in.Int()
		case "id":
			d.id = in.Text()
		case "text", "summary":
			d.text += in.Text()
		case "signature":
			d.signature = in.Text()
		case "data":
			if !in.Null() {
				d.sealed = string(raw)
			}
		}
	}
	return d
}
