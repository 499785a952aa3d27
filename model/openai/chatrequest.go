package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// chatRequest is the request object of Chat Completions.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Tools         []any         `json:"tools,omitempty"` // each a chatTool, or in the API's own words
	ToolChoice    any           `json:"tool_choice,omitempty"`
	Format        any           `json:"response_format,omitempty"`
	Stream        bool          `json:"stream"`
	StreamOptions streamOptions `json:"stream_options,omitzero"`

	MaxTokens           int      `json:"max_tokens,omitempty"`
	MaxCompletionTokens int      `json:"max_completion_tokens,omitempty"`
	Temperature         *float64 `json:"temperature,omitempty"`
	Stop                []string `json:"stop,omitempty"`
	User                string   `json:"user,omitempty"`
	SafetyIdentifier    string   `json:"safety_identifier,omitempty"`

	// How each provider is asked to think.
	Effort    string         `json:"reasoning_effort,omitempty"`
	Thinking  map[string]any `json:"thinking,omitempty"`
	Thinks    bool           `json:"enable_thinking,omitempty"`
	Budget    int            `json:"thinking_budget,omitempty"`
	Reasoning map[string]any `json:"reasoning,omitempty"`
}

// streamOptions ask for the usage at the end of a stream.
type streamOptions struct {
	Usage bool `json:"include_usage"`
}

// chatMessage is a message of any role.
type chatMessage struct {
	Role    string     `json:"role"`
	Content any        `json:"content,omitempty"` // a string, or a list of parts
	Name    string     `json:"name,omitempty"`
	CallID  string     `json:"tool_call_id,omitempty"`
	Calls   []chatCall `json:"tool_calls,omitempty"`

	Reasoning string `json:"reasoning_content,omitempty"`
	Details   []any  `json:"reasoning_details,omitempty"`
}

type chatCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function chatFunction   `json:"function"`
	Extra    map[string]any `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type chatTool struct {
	Type     string       `json:"type"`
	Function functionTool `json:"function"`
}

// functionTool is a tool in the words that both wires share.
type functionTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
	Strict      *bool          `json:"strict,omitempty"`
}

// schemaFormat asks for an answer that satisfies a schema.
type schemaFormat struct {
	Name   string         `json:"name"`
	Schema map[string]any `json:"schema"`
	Strict bool           `json:"strict,omitempty"`
}

// The parts of a message.
type (
	textPart struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	imagePart struct {
		Type  string    `json:"type"`
		Image chatImage `json:"image_url"`
	}
	chatImage struct {
		URL    string `json:"url"`
		Detail string `json:"detail,omitempty"`
	}
	audioPart struct {
		Type  string `json:"type"`
		Audio struct {
			Data   string `json:"data"`
			Format string `json:"format"`
		} `json:"input_audio"`
	}
	filePart struct {
		Type string `json:"type"`
		File struct {
			Data string `json:"file_data"`
			Name string `json:"filename"`
		} `json:"file"`
	}
)

// request puts a request into the words of Chat Completions.
func (m *ChatModel) request(req model.Request) (*chatRequest, error) {
	p := &chatRequest{Model: m.opts.Model, Stream: !req.Whole, StreamOptions: streamOptions{Usage: !req.Whole}}
	m.limits(p, req)
	m.thinking(p, req.Thinking, m.opts.extra(req))
	system, err := m.format(p, req)
	if err != nil {
		return nil, err
	}
	if err := m.tools(p, req); err != nil {
		return nil, err
	}
	p.Messages = m.messages(system, req.Messages)
	return p, nil
}

// original reports that OpenAI itself answers, here or at Azure, which has renamed some fields since others
// copied them.
func (c caller) original() bool {
	return c.info.Provider == providerOpenAI || c.info.Provider == providerAzure
}

func (m *ChatModel) limits(p *chatRequest, req model.Request) {
	if m.original() {
		p.MaxCompletionTokens = req.MaxTokens
	} else {
		p.MaxTokens = req.MaxTokens
	}
	p.Temperature, p.Stop = req.Temp, req.Stop
	if m.info.Provider == providerOpenAI {
		p.SafetyIdentifier = req.User
	} else {
		p.User = req.User
	}
}

// thinking asks for reasoning in the provider's own way. What an Extra says about it already stays.
func (m *ChatModel) thinking(p *chatRequest, t model.Thinking, extra map[string]json.RawMessage) {
	if !t.On {
		return
	}
	said := func(key string) bool { _, ok := extra[key]; return ok }
	switch m.info.Provider {
	case providerDeepSeek, providerKimi:
		if !said("thinking") {
			p.Thinking = map[string]any{"type": "enabled"}
		}
	case providerQwen:
		p.Thinks, p.Budget = true, t.Budget
	case providerOpenRouter:
		switch {
		case said("reasoning"):
		case t.Budget > 0:
			p.Reasoning = map[string]any{"max_tokens": t.Budget}
		case t.Effort != "":
			p.Reasoning = map[string]any{"effort": t.Effort}
		default:
			p.Reasoning = map[string]any{"enabled": true}
		}
	default:
		p.Effort = t.Effort
	}
}

// format asks for an answer in JSON. It returns the system prompt, which has to say so where the wire cannot.
func (m *ChatModel) format(p *chatRequest, req model.Request) (system string, err error) {
	if isNull(req.Schema) {
		return req.System, nil
	}
	schema, err := schemaObject(req.Schema)
	if err != nil {
		return "", m.fault.BadRequest("the schema of the answer is not a JSON object")
	}
	if m.info.Provider == providerDeepSeek {
		p.Format = map[string]any{"type": "json_object"}
		return strings.TrimSpace(req.System + "\n\nAnswer with one JSON object that satisfies this JSON schema:\n" + string(req.Schema)), nil
	}
	p.Format = map[string]any{"type": "json_schema", "json_schema": schemaFormat{cmp.Or(req.SchemaName, "answer"), schema, strictable(schema)}}
	return req.System, nil
}

func (m *ChatModel) tools(p *chatRequest, req model.Request) error {
	for _, t := range req.Tools {
		schema, err := toolSchema(t.Schema)
		if err != nil {
			return m.fault.BadRequest("the schema of tool " + t.Name + " is not a JSON object")
		}
		p.Tools = append(p.Tools, chatTool{"function", functionTool{Name: t.Name, Description: t.Description, Parameters: schema}})
	}
	for _, raw := range m.opts.Tools {
		p.Tools = append(p.Tools, raw)
	}
	switch {
	case len(req.Tools) == 0 || req.Choice == "":
	case req.Choice == "auto" || req.Choice == "none" || req.Choice == "required":
		p.ToolChoice = req.Choice
	default:
		p.ToolChoice = map[string]any{"type": "function", "function": map[string]any{"name": req.Choice}}
	}
	return nil
}

func (m *ChatModel) messages(system string, in []item.Message) []chatMessage {
	out := make([]chatMessage, 0, len(in)+1)
	if system != "" {
		out = append(out, chatMessage{Role: "system", Content: system})
	}
	turn := lastUser(in)
	var shown []item.Block // images that tools returned, for after the last of their results
	flush := func() {
		if len(shown) > 0 {
			out = append(out, chatMessage{Role: "user", Content: m.parts(shown)})
			shown = nil
		}
	}
	for i, msg := range in {
		if msg.Role != item.Tool {
			flush()
		}
		switch msg.Role {
		case item.System:
			out = append(out, chatMessage{Role: "system", Content: m.flat(msg.Content)})
		case item.User:
			out = append(out, m.user(msg))
		case item.Assistant:
			out = append(out, m.assistant(msg, i > turn))
		case item.Tool:
			out = append(out, chatMessage{Role: "tool", Content: m.toolText(msg), CallID: msg.CallID})
			shown = append(shown, m.pictures(msg.Content)...)
		case item.Remove:
		}
	}
	flush()
	return out
}

// lastUser is the place of the last message by the user: what follows it belongs to one turn.
func lastUser(in []item.Message) int {
	for i := len(in) - 1; i >= 0; i-- {
		if in[i].Role == item.User {
			return i
		}
	}
	return -1
}

func (m *ChatModel) user(msg item.Message) chatMessage {
	out := chatMessage{Role: "user"}
	if m.allText(msg.Content) {
		out.Content = m.flat(msg.Content)
	} else {
		out.Content = m.parts(msg.Content)
	}
	if m.original() && validName(msg.Name) {
		out.Name = msg.Name
	}
	return out
}

// validName reports a name that OpenAI accepts.
func validName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsAny(s, " \t\r\n<|\\/>")
}

func (m *ChatModel) assistant(msg item.Message, current bool) chatMessage {
	a := chatMessage{Role: "assistant"}
	if s := m.flat(spoken(msg.Content)); s != "" || len(msg.ToolCalls) == 0 {
		a.Content = s
	}
	for _, c := range msg.ToolCalls {
		call := chatCall{ID: c.CallID, Type: "function", Function: chatFunction{c.Name, string(request.Arguments(c.Arguments))}}
		if m.info.Provider == providerGemini && c.Signature != "" && c.Signature[0] != '{' { // that is Anthropic's
			call.Extra = map[string]any{"google": map[string]any{"thought_signature": c.Signature}}
		}
		a.Calls = append(a.Calls, call)
	}
	m.remember(&a, msg, current)
	return a
}

// spoken leaves out what providers keep of their own tools: this wire has no place for it.
func spoken(blocks []item.Block) []item.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b item.Block) bool {
		_, _, ok := kept.Take(b.Foreign)
		return ok
	})
}

// remember gives a provider its reasoning back. OpenAI does not take it on this wire; DeepSeek and Kimi want it between
// the calls of one turn, and not from earlier turns.
func (m *ChatModel) remember(a *chatMessage, msg item.Message, current bool) {
	own := ownReasoning(msg, m.info.Provider)
	switch m.info.Provider {
	case providerDeepSeek, providerKimi:
		if !current || len(msg.ToolCalls) == 0 {
			return
		}
		for _, r := range own {
			a.Reasoning += item.JoinText(r.Summary)
		}
	case providerOpenRouter:
		a.Details = details(own)
	}
}

// details are OpenRouter's reasoning_details. What the provider behind it encrypted says in which format the text
// beside it was: OpenAI's and xAI's is a summary.
func details(own []item.Reasoning) []any {
	var out []any
	for i, r := range own {
		var sealed struct {
			Format string `json:"format"`
			Index  *int   `json:"index"`
		}
		isSealed := r.Encrypted != "" && json.Unmarshal([]byte(r.Encrypted), &sealed) == nil
		if s := item.JoinText(r.Summary); s != "" || r.Signature != "" {
			d := map[string]any{"type": "reasoning.text", "text": s, "index": i}
			if strings.HasPrefix(sealed.Format, "openai-") || strings.HasPrefix(sealed.Format, "xai-") {
				d = map[string]any{"type": "reasoning.summary", "summary": s, "index": i}
			}
			if sealed.Format != "" {
				d["format"] = sealed.Format
			}
			if sealed.Index != nil {
				d["index"] = *sealed.Index
			}
			if r.Signature != "" {
				d["signature"] = r.Signature
			}
			out = append(out, d)
		}
		if isSealed {
			out = append(out, json.RawMessage(r.Encrypted))
		}
	}
	return out
}

func (m *ChatModel) allText(blocks []item.Block) bool {
	for _, b := range blocks {
		if b.Type != item.TextBlock && !m.textOnly {
			return false
		}
	}
	return true
}

// flat is content as one string, with mentions of what is no text.
func (m *ChatModel) flat(blocks []item.Block) string {
	if len(blocks) == 1 && blocks[0].Type == item.TextBlock {
		return blocks[0].Text
	}
	var b strings.Builder
	for _, bl := range blocks {
		if bl.Type == item.TextBlock {
			b.WriteString(bl.Text)
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		s, ok := inlineText(bl)
		if !ok {
			s = mention(bl)
		}
		b.WriteString(s + "\n")
	}
	return b.String()
}

// pictures are the blocks of a tool's result that a tool message cannot hold but a user's can.
func (m *ChatModel) pictures(blocks []item.Block) []item.Block {
	var out []item.Block
	for _, b := range blocks {
		if b.Type == item.ImageBlock && !m.textOnly {
			out = append(out, b)
		}
	}
	return out
}

// toolText is a tool's content as one string. Each block stands on lines of its own, for the reasons of request.Lines.
func (m *ChatModel) toolText(msg item.Message) string {
	var rest []item.Block
	for i, b := range msg.Content {
		if b.Type == item.ImageBlock && !m.textOnly {
			b = item.Block{Type: item.TextBlock, Text: "[image, shown below]"}
		}
		if i > 0 && b.Type == item.TextBlock && rest[i-1].Type == item.TextBlock {
			b.Text = "\n" + b.Text
		}
		rest = append(rest, b)
	}
	return m.flat(rest)
}

func (m *ChatModel) parts(blocks []item.Block) []any {
	out := make([]any, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, m.part(b))
	}
	return out
}

func (m *ChatModel) part(b item.Block) any {
	switch b.Type {
	case item.TextBlock:
		return textPart{"text", b.Text}
	case item.ImageBlock:
		return imagePart{"image_url", chatImage{b.URL, imageDetail(b)}}
	case item.FileBlock:
		return m.file(b)
	case item.ForeignBlock:
		// A part that a client wrote for this very wire goes through as it is.
		if typ := kept.Type(b.Foreign); typ == "input_audio" || typ == "file" {
			return b.Foreign
		}
	}
	return textPart{"text", mention(b)}
}

func (m *ChatModel) file(b item.Block) any {
	if s, ok := inlineText(b); ok {
		return textPart{"text", s}
	}
	mime, data, ok := request.DataURL(b.URL)
	if !ok {
		return textPart{"text", mention(b)} // a file by its address
	}
	if format, isAudio := strings.CutPrefix(cmp.Or(b.MIME, mime), "audio/"); isAudio {
		switch format {
		case "mpeg":
			format = "mp3"
		case "x-wav", "wave":
			format = "wav"
		}
		audio := audioPart{Type: "input_audio"}
		audio.Audio.Data, audio.Audio.Format = data, format
		return audio
	}
	file := filePart{Type: "file"}
	file.File.Data, file.File.Name = b.URL, cmp.Or(b.Name, "file")
	return file
}

// imageDetail is the hint beside an image's address, which clients of this wire may give.
func imageDetail(b item.Block) string {
	var p struct {
		URL struct {
			Detail string `json:"detail"`
		} `json:"image_url"`
	}
	if b.Foreign == nil || json.Unmarshal(b.Foreign, &p) != nil {
		return ""
	}
	return p.URL.Detail
}
