package anthropic

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// turn is what one side says.
type turn struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // each a *sentBlock, or in the API's own words
}

// The roles of turns.
const (
	userRole      = "user"
	assistantRole = "assistant"
)

// sentBlock is a piece of a turn. Which members it has depends on its type.
type sentBlock struct {
	Type   string  `json:"type"`
	Text   string  `json:"text,omitempty"`
	Source *source `json:"source,omitempty"` // of an image or a document
	Title  string  `json:"title,omitempty"`

	ID     string          `json:"id,omitempty"` // of a call
	Name   string          `json:"name,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"`
	Caller json.RawMessage `json:"caller,omitempty"`

	Answers string `json:"tool_use_id,omitempty"` // of a result
	Content []any  `json:"content,omitempty"`
	IsError bool   `json:"is_error,omitempty"`

	Thinking  *string `json:"thinking,omitempty"`
	Signature string  `json:"signature,omitempty"`
	Data      string  `json:"data,omitempty"`

	Cache *cacheMark `json:"cache_control,omitempty"`
}

// source is where an image or a document is.
type source struct {
	Type string `json:"type"`
	MIME string `json:"media_type,omitempty"`
	Data string `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

func textBlock(s string) *sentBlock { return &sentBlock{Type: "text", Text: s} }

func (b *sentBlock) isThinking() bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// conversation gathers messages into the turns that the API wants.
type conversation struct {
	provider string
	turns    []turn
	system   []string
	called   map[string]bool // names of tools
	ids      map[string]bool // of calls: no two may be the same

	served    map[string]bool // ids of calls of the provider's own tools that have results
	container json.RawMessage // where the provider's code ran last
}

// containerType marks what is kept of a container.
const containerType = "container"

func (c *conversation) add(msgs []item.Message) {
	taken := make([]bool, len(msgs)) // results that stand behind their call already
	c.findServed(msgs)
	for i, m := range msgs {
		switch m.Role {
		case item.System:
			c.system = append(c.system, m.Text())
		case item.Remove:
		case item.Assistant:
			c.assistant(m, msgs, i, taken)
		case item.Tool:
			if !taken[i] { // its call was trimmed away
				c.turn(userRole, content(resultAsText(m))...)
			}
		case item.User:
			c.turn(userRole, content(m.Content)...)
		default: // a role that only some client knows
			c.turn(userRole, content(m.Content)...)
		}
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].Role == assistantRole {
		trimEnd(c.turns[n-1].Content)
	}
}

// turn adds blocks to the conversation, in the last turn if that is of the same role.
func (c *conversation) turn(role string, blocks ...any) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].Role == role {
		c.turns[n-1].Content = append(c.turns[n-1].Content, blocks...)
		return
	}
	if len(c.turns) == 0 && role == assistantRole { // the API wants the user to begin
		c.turn(userRole, textBlock("(The beginning of the conversation is left out.)"))
	}
	c.turns = append(c.turns, turn{role, blocks})
}

// trimEnd makes an answer that the model is to continue acceptable: it must not end in white space.
func trimEnd(blocks []any) {
	if n := len(blocks); n > 0 {
		if b, ok := blocks[n-1].(*sentBlock); ok && b.Type == "text" {
			b.Text = strings.TrimRight(b.Text, " \t\r\n")
		}
	}
}

// ours reports whether reasoning was made by this provider and can be shown to it.
func ours(r item.Reasoning, provider string) bool {
	return r.Provider == provider && (r.Signature != "" || r.Encrypted != "")
}

// assistant adds the answer at i, and right behind it the results of its calls. An answer of this provider goes back in the
// order in which it came, since the API refuses thinking in another place; what others made has its calls last, which
// every API takes.
func (c *conversation) assistant(m item.Message, msgs []item.Message, i int, taken []bool) {
	if !c.made(m) {
		m.Order = ""
	}
	var blocks, results []any
	for p := range m.InOrder() {
		switch {
		case p.Reasoning != nil:
			blocks = append(blocks, c.thought(*p.Reasoning)...)
		case p.Block != nil:
			blocks = append(blocks, c.said([]item.Block{*p.Block}, i == last(msgs))...)
		case p.Call != nil:
			use := c.use(*p.Call, i, len(results))
			blocks = append(blocks, use)
			results = append(results, result(use.ID, request.Result(*p.Call, msgs, i, taken)))
		}
	}
	// Thinking that led to nothing, because the answer was cut off, is no turn and must not end one.
	for len(blocks) > 0 {
		if b, ok := blocks[len(blocks)-1].(*sentBlock); !ok || !b.isThinking() {
			break
		}
		blocks = blocks[:len(blocks)-1]
	}
	c.turn(assistantRole, blocks...)
	c.turn(userRole, results...)
}

// made reports that an answer is this provider's own, as far as one can tell: it holds something that only it makes.
func (c *conversation) made(m item.Message) bool {
	return slices.ContainsFunc(m.Reasoning, func(r item.Reasoning) bool { return ours(r, c.provider) }) ||
		slices.ContainsFunc(m.Content, func(b item.Block) bool { _, _, ok := c.own(b); return ok })
}

func (c *conversation) thought(r item.Reasoning) []any {
	switch {
	case !ours(r, c.provider):
		return nil
	case r.Encrypted != "":
		return []any{&sentBlock{Type: "redacted_thinking", Data: r.Encrypted}}
	}
	said := item.JoinText(r.Summary)
	return []any{&sentBlock{Type: "thinking", Thinking: &said, Signature: r.Signature}}
}

// use is the n-th call of the answer at i.
func (c *conversation) use(call item.ToolCall, i, n int) *sentBlock {
	id := toolID(call.CallID, i, n)
	if c.ids[id] {
		id = toolID("", i, n)
	}
	c.ids[id] = true
	c.called[call.Name] = true
	use := &sentBlock{Type: "tool_use", ID: id, Name: call.Name, Input: request.Arguments(call.Arguments)}
	if json.Valid([]byte(call.Signature)) && kept.Type([]byte(call.Signature)) != "" {
		use.Caller = json.RawMessage(call.Signature)
	}
	return use
}

func result(id string, m *item.Message) *sentBlock {
	out := &sentBlock{Type: "tool_result", Answers: id}
	if m == nil {
		out.IsError = true
		m = &item.Message{Content: item.Text(request.Interrupted)}
	}
	out.IsError = out.IsError || m.Failed
	out.Content = content(m.Content)
	return out
}

func resultAsText(m item.Message) []item.Block {
	name := m.Name
	if name == "" {
		name = "a tool"
	}
	return append(item.Text("(Result of "+name+":)"), m.Content...)
}

var goodID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// toolID gives the id of a call the shape that the API accepts. Other providers put anything into it; two ids
// that differ must still differ afterwards, so a changed one carries a hash of what it was.
func toolID(id string, message, call int) string {
	if id == "" {
		return "call_" + strconv.Itoa(message) + "_" + strconv.Itoa(call)
	}
	if goodID.MatchString(id) {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return "call_" + strconv.FormatUint(h.Sum64(), 16)
}

// content turns blocks into those of the API. Blank text is left out.
func content(blocks []item.Block) []any {
	var out []any
	for _, b := range blocks {
		switch b.Type {
		case item.TextBlock:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, textBlock(b.Text))
			}
		case item.ImageBlock:
			out = append(out, image(b))
		case item.FileBlock:
			out = append(out, file(b))
		case item.ForeignBlock:
			switch kept.Type(b.Foreign) { // parts that a client wrote in the API's own words
			case "image", "document", "search_result":
				out = append(out, b.Foreign)
			}
		}
	}
	return out
}

func image(b item.Block) *sentBlock {
	if mime, data, ok := request.DataURL(b.URL); ok {
		return inlineImage(cmp.Or(mime, b.MIME, "image/png"), data)
	}
	if !strings.HasPrefix(b.URL, "http://") && !strings.HasPrefix(b.URL, "https://") {
		return leftOut(b)
	}
	return &sentBlock{Type: "image", Source: &source{Type: "url", URL: b.URL}}
}

func inlineImage(mime, data string) *sentBlock {
	return &sentBlock{Type: "image", Source: &source{Type: "base64", MIME: mime, Data: data}}
}

func file(b item.Block) *sentBlock {
	const pdf = "application/pdf"
	mime, data, inline := request.DataURL(b.URL)
	mime = cmp.Or(mime, b.MIME)
	var from source
	switch {
	case inline && mime == pdf:
		from = source{Type: "base64", MIME: pdf, Data: data}
	case inline && strings.HasPrefix(mime, "image/"):
		return inlineImage(mime, data)
	case inline && (strings.HasPrefix(mime, "text/") || mime == "application/json"):
		plain, err := base64.StdEncoding.DecodeString(data)
		if err != nil || len(bytes.TrimSpace(plain)) == 0 {
			return leftOut(b)
		}
		from = source{Type: "text", MIME: "text/plain", Data: strings.ToValidUTF8(string(plain), "\uFFFD")}
	case !inline && strings.HasPrefix(b.URL, "http") && (mime == pdf || mime == "" && strings.HasSuffix(b.URL, ".pdf")):
		from = source{Type: "url", URL: b.URL}
	default:
		return leftOut(b)
	}
	return &sentBlock{Type: "document", Source: &from, Title: b.Name}
}

// leftOut stands for something that the model cannot be shown; the conversation goes on without it.
func leftOut(b item.Block) *sentBlock {
	return textBlock("(" + cmp.Or(b.Name, "A "+string(b.Type)) + " of type " + cmp.Or(b.MIME, "unknown") + " was attached, which you cannot be shown.)")
}
