package gemini

import (
	"cmp"
	"encoding/json"
	"mime"
	"net/url"
	"path"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// content is one turn.
type content struct {
	Role  string     `json:"role,omitempty"`
	Parts []sentPart `json:"parts"`
}

// sentPart is a part of a turn that we send; one of its fields besides Signature is set.
type sentPart struct {
	Text      string          `json:"text,omitempty"`
	Inline    *blob           `json:"inlineData,omitempty"`
	File      *fileData       `json:"fileData,omitempty"`
	Call      *sentCall       `json:"functionCall,omitempty"`
	Result    *sentResult     `json:"functionResponse,omitempty"`
	Signature string          `json:"thoughtSignature,omitempty"`
	Empty     bool            `json:"-"` // an empty text is meant
	Raw       json.RawMessage `json:"-"` // a part in the API's own words
}

// MarshalJSON writes an empty text where one is meant, and parts that were not ours as they came.
func (p sentPart) MarshalJSON() ([]byte, error) {
	if p.Raw != nil {
		return p.Raw, nil
	}
	if p.Empty {
		return json.Marshal(map[string]string{"text": "", "thoughtSignature": p.Signature})
	}
	type plain sentPart
	return json.Marshal(plain(p))
}

type blob struct {
	MIME string `json:"mimeType"`
	Data string `json:"data"`
}

type fileData struct {
	MIME string `json:"mimeType,omitempty"`
	URI  string `json:"fileUri"`
}

type sentCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type sentResult struct {
	ID       string            `json:"id,omitempty"`
	Name     string            `json:"name"`
	Response map[string]string `json:"response"`
}

const (
	byUser  = "user"
	byModel = "model"
)

// pass is the word with which the API lets calls through that it did not make itself.
const pass = "skip_thought_signature_validator"

// conversation gathers messages into the turns that the API wants.
type conversation struct {
	provider string
	signs    bool // the model refuses calls without a signature
	ids      bool // calls carry their ids; Vertex AI pairs them by order
	turns    []content
	system   []string
	sealed   bool // the last turn holds results, and must hold nothing else
}

func (c *conversation) add(msgs []item.Message) {
	taken := make([]bool, len(msgs)) // results that stand behind their call already
	for i, m := range msgs {
		switch m.Role {
		case item.System:
			c.system = append(c.system, m.Text())
		case item.Remove:
		case item.Assistant:
			c.assistant(m, msgs, i, taken)
		case item.Tool:
			if !taken[i] { // its call was trimmed away
				c.turn(byUser, sentPart{Text: "(Result of " + cmp.Or(m.Name, "a tool") + ":)"})
				c.turn(byUser, parts(m.Content)...)
			}
		case item.User:
			c.turn(byUser, parts(m.Content)...)
		default: // a role that only some client knows
			c.turn(byUser, parts(m.Content)...)
		}
	}
}

// turn adds parts to the conversation, in the last turn if that is of the same role.
func (c *conversation) turn(role string, add ...sentPart) {
	if len(add) == 0 {
		return
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].Role == role && !c.sealed {
		c.turns[n-1].Parts = append(c.turns[n-1].Parts, add...)
		return
	}
	if len(c.turns) == 0 && role == byModel { // the API wants the user to begin
		c.turn(byUser, sentPart{Text: "(The beginning of the conversation is left out.)"})
	}
	c.turns = append(c.turns, content{role, add})
	c.sealed = false
}

// assistant adds the answer at i, and right behind it the results of its calls.
func (c *conversation) assistant(m item.Message, msgs []item.Message, i int, taken []bool) {
	said := c.said(m.Content)
	if len(said)+len(m.ToolCalls) == 0 {
		return
	}
	for _, r := range m.Reasoning {
		if r.Provider == c.provider && r.Signature != "" {
			said = append(said, sentPart{Empty: true, Signature: r.Signature})
		}
	}
	var results, shown []sentPart
	signed := !c.signs
	for _, call := range m.ToolCalls {
		signed = signed || signature(call) != ""
	}
	for n, call := range m.ToolCalls {
		p := sentPart{Call: &sentCall{Name: call.Name, Args: request.Arguments(call.Arguments)}, Signature: signature(call)}
		if !signed && n == 0 { // one signature stands for all calls of a turn
			p.Signature = pass
		}
		answer := result(call, request.Result(call, msgs, i, taken), &shown)
		if c.ids {
			p.Call.ID, answer.Result.ID = call.CallID, call.CallID
		}
		said = append(said, p)
		results = append(results, answer)
	}
	c.turn(byModel, said...)
	if len(results) > 0 {
		c.turn(byUser, results...)
		c.sealed = true
		c.turn(byUser, shown...)
	}
}

// signature is that of a call, if it is one of Gemini's: others keep objects in its place.
func signature(call item.ToolCall) string {
	if strings.HasPrefix(call.Signature, "{") {
		return ""
	}
	return call.Signature
}

// said is the content of an answer, with what this provider is to get back of it and without what others keep.
func (c *conversation) said(blocks []item.Block) []sentPart {
	var out []sentPart
	for _, b := range blocks {
		raw, mark, marked := kept.Take(b.Foreign)
		switch {
		case !marked:
			out = append(out, parts([]item.Block{b})...)
		case mark.Provider != c.provider:
		case kept.Type(b.Foreign) == signatureType:
			var s struct {
				Signature string `json:"thoughtSignature"`
			}
			if n := len(out); n > 0 && out[n-1].Inline != nil && json.Unmarshal(raw, &s) == nil {
				out[n-1].Signature = s.Signature
			}
		default:
			out = append(out, sentPart{Raw: raw})
		}
	}
	return out
}

// result is what a call gave. Pictures and files in it are shown in a turn of their own.
func result(call item.ToolCall, m *item.Message, shown *[]sentPart) sentPart {
	out := &sentResult{Name: call.Name}
	switch {
	case m == nil:
		out.Response = map[string]string{"error": request.Interrupted}
	case m.Failed:
		out.Response = map[string]string{"error": request.Lines(m.Content)}
	default:
		out.Response = map[string]string{"output": request.Lines(m.Content)}
	}
	if m != nil {
		for _, p := range parts(m.Content) {
			if p.Text == "" {
				*shown = append(*shown, p)
			}
		}
	}
	return sentPart{Result: out}
}

// parts turns blocks into those of the API. Blank text is left out.
func parts(blocks []item.Block) []sentPart {
	var out []sentPart
	for _, b := range blocks {
		switch b.Type {
		case item.TextBlock:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, sentPart{Text: b.Text})
			}
		case item.ImageBlock, item.FileBlock:
			out = append(out, media(b))
		case item.ForeignBlock:
			if inTheAPIsWords(b.Foreign) {
				out = append(out, sentPart{Raw: b.Foreign})
			}
		}
	}
	return out
}

// media shows a picture or a file: its bytes, or where the provider can fetch it.
func media(b item.Block) sentPart {
	usual := map[item.BlockType]string{item.ImageBlock: "image/png"}[b.Type]
	if typ, data, ok := request.DataURL(b.URL); ok {
		if typ = cmp.Or(typ, b.MIME, usual); typ == "application/json" { // taken as text only
			typ = "text/plain"
		}
		return sentPart{Inline: &blob{cmp.Or(typ, "application/octet-stream"), data}}
	}
	u, err := url.Parse(b.URL)
	if err != nil || u.Host == "" {
		return sentPart{Text: "(" + cmp.Or(b.Name, "A "+string(b.Type)) + " was attached, which you cannot be shown.)"}
	}
	typ, _, _ := strings.Cut(mime.TypeByExtension(path.Ext(u.Path)), ";")
	return sentPart{File: &fileData{cmp.Or(b.MIME, typ, usual), b.URL}}
}

// inTheAPIsWords recognises parts that a client wrote for this API.
func inTheAPIsWords(raw json.RawMessage) bool {
	var p struct {
		Inline json.RawMessage `json:"inlineData"`
		File   json.RawMessage `json:"fileData"`
	}
	return json.Unmarshal(raw, &p) == nil && (p.Inline != nil || p.File != nil)
}
