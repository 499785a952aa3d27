package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// params puts a request into the words of Chat Completions.
func (m *ChatModel) params(req model.Request) (openai.ChatCompletionNewParams, error) {
	p := openai.ChatCompletionNewParams{
		Model:         m.opts.Model,
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: param.NewOpt(true)},
	}
	extra := extraFields(m.opts.extra(req))
	m.limits(&p, req)
	m.thinking(&p, req.Thinking, extra)
	system, err := m.format(&p, req)
	if err != nil {
		return p, err
	}
	if err := m.tools(&p, req); err != nil {
		return p, err
	}
	p.Messages = m.messages(system, req.Messages)
	p.SetExtraFields(extra)
	return p, nil
}

// original reports that OpenAI itself answers, here or at Azure, which has renamed some fields since others
// copied them.
func (c caller) original() bool {
	return c.info.Provider == providerOpenAI || c.info.Provider == providerAzure
}

func (m *ChatModel) limits(p *openai.ChatCompletionNewParams, req model.Request) {
	if req.MaxTokens > 0 {
		n := param.NewOpt(int64(req.MaxTokens))
		if m.original() {
			p.MaxCompletionTokens = n
		} else {
			p.MaxTokens = n
		}
	}
	if req.Temp != nil {
		p.Temperature = param.NewOpt(*req.Temp)
	}
	if len(req.Stop) > 0 {
		p.Stop.OfStringArray = req.Stop
	}
	switch {
	case req.User == "":
	case m.info.Provider == providerOpenAI:
		p.SafetyIdentifier = param.NewOpt(req.User)
	default:
		p.User = param.NewOpt(req.User)
	}
}

// thinking asks for reasoning in the provider's own way. What an Extra says about it already stays.
func (m *ChatModel) thinking(p *openai.ChatCompletionNewParams, t model.Thinking, extra map[string]any) {
	if !t.On {
		return
	}
	set := func(key string, v any) {
		if _, said := extra[key]; !said {
			extra[key] = v
		}
	}
	switch m.info.Provider {
	case providerDeepSeek, providerKimi:
		set("thinking", map[string]any{"type": "enabled"})
	case providerQwen:
		set("enable_thinking", true)
		if t.Budget > 0 {
			set("thinking_budget", t.Budget)
		}
	case providerOpenRouter:
		switch {
		case t.Budget > 0:
			set("reasoning", map[string]any{"max_tokens": t.Budget})
		case t.Effort != "":
			set("reasoning", map[string]any{"effort": t.Effort})
		default:
			set("reasoning", map[string]any{"enabled": true})
		}
	default:
		p.ReasoningEffort = shared.ReasoningEffort(t.Effort)
	}
}

// format asks for an answer in JSON. It returns the system prompt, which has to say so where the wire cannot.
func (m *ChatModel) format(p *openai.ChatCompletionNewParams, req model.Request) (system string, err error) {
	if isNull(req.Schema) {
		return req.System, nil
	}
	schema, err := schemaObject(req.Schema)
	if err != nil {
		return "", m.fault.BadRequest("the schema of the answer is not a JSON object")
	}
	if m.info.Provider == providerDeepSeek {
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
		return strings.TrimSpace(req.System + "\n\nAnswer with one JSON object that satisfies this JSON schema:\n" + string(req.Schema)), nil
	}
	format := shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: cmp.Or(req.SchemaName, "answer"), Schema: schema}
	if strictable(schema) {
		format.Strict = param.NewOpt(true)
	}
	p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: format}
	return req.System, nil
}

func (m *ChatModel) tools(p *openai.ChatCompletionNewParams, req model.Request) error {
	for _, t := range req.Tools {
		schema, err := toolSchema(t.Schema)
		if err != nil {
			return m.fault.BadRequest("the schema of tool " + t.Name + " is not a JSON object")
		}
		f := shared.FunctionDefinitionParam{Name: t.Name, Parameters: schema}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(f))
	}
	switch {
	case len(req.Tools) == 0 || req.Choice == "":
	case req.Choice == "auto" || req.Choice == "none" || req.Choice == "required":
		p.ToolChoice.OfAuto = param.NewOpt(req.Choice)
	default:
		p.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: req.Choice})
	}
	return nil
}

func (m *ChatModel) messages(system string, in []item.Message) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(in)+1)
	if system != "" {
		out = append(out, openai.SystemMessage(system))
	}
	turn := lastUser(in)
	var shown []item.Block // images that tools returned, for after the last of their results
	flush := func() {
		if len(shown) > 0 {
			out = append(out, openai.UserMessage(m.parts(shown)))
			shown = nil
		}
	}
	for i, msg := range in {
		if msg.Role != item.Tool {
			flush()
		}
		switch msg.Role {
		case item.System:
			out = append(out, openai.SystemMessage(m.flat(msg.Content)))
		case item.User:
			out = append(out, m.user(msg))
		case item.Assistant:
			out = append(out, m.assistant(msg, i > turn))
		case item.Tool:
			out = append(out, openai.ToolMessage(m.toolText(msg), msg.CallID))
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

func (m *ChatModel) user(msg item.Message) openai.ChatCompletionMessageParamUnion {
	var out openai.ChatCompletionMessageParamUnion
	if m.allText(msg.Content) {
		out = openai.UserMessage(m.flat(msg.Content))
	} else {
		out = openai.UserMessage(m.parts(msg.Content))
	}
	if m.original() && validName(msg.Name) {
		out.OfUser.Name = param.NewOpt(msg.Name)
	}
	return out
}

// validName reports a name that OpenAI accepts.
func validName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsAny(s, " \t\r\n<|\\/>")
}

func (m *ChatModel) assistant(msg item.Message, current bool) openai.ChatCompletionMessageParamUnion {
	a := &openai.ChatCompletionAssistantMessageParam{}
	if s := m.flat(spoken(msg.Content)); s != "" || len(msg.ToolCalls) == 0 {
		a.Content.OfString = param.NewOpt(s)
	}
	for _, c := range msg.ToolCalls {
		f := &openai.ChatCompletionMessageFunctionToolCallParam{
			ID:       c.CallID,
			Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: string(request.Arguments(c.Arguments))},
		}
		if m.info.Provider == providerGemini && c.Signature != "" && c.Signature[0] != '{' { // that is Anthropic's
			f.SetExtraFields(map[string]any{"extra_content": map[string]any{"google": map[string]any{"thought_signature": c.Signature}}})
		}
		a.ToolCalls = append(a.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: f})
	}
	if fields := m.reasoning(msg, current); fields != nil {
		a.SetExtraFields(fields)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: a}
}

// spoken leaves out what providers keep of their own tools: this wire has no place for it.
func spoken(blocks []item.Block) []item.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b item.Block) bool {
		_, _, ok := kept.Take(b.Foreign)
		return ok
	})
}

// reasoning returns the fields that give a provider its reasoning back. OpenAI does not take it on this
// wire; DeepSeek and Kimi want it between the calls of one turn, and not from earlier turns.
func (m *ChatModel) reasoning(msg item.Message, current bool) map[string]any {
	own := ownReasoning(msg, m.info.Provider)
	if len(own) == 0 {
		return nil
	}
	switch m.info.Provider {
	case providerDeepSeek, providerKimi:
		if !current || len(msg.ToolCalls) == 0 {
			return nil
		}
		var b strings.Builder
		for _, r := range own {
			b.WriteString(item.JoinText(r.Summary))
		}
		return map[string]any{"reasoning_content": b.String()}
	case providerOpenRouter:
		return map[string]any{"reasoning_details": details(own)}
	}
	return nil
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

func (m *ChatModel) toolText(msg item.Message) string {
	var rest []item.Block
	for _, b := range msg.Content {
		if b.Type == item.ImageBlock && !m.textOnly {
			b = item.Block{Type: item.TextBlock, Text: "[image, shown below]"}
		}
		rest = append(rest, b)
	}
	return m.flat(rest)
}

func (m *ChatModel) parts(blocks []item.Block) []openai.ChatCompletionContentPartUnionParam {
	out := make([]openai.ChatCompletionContentPartUnionParam, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, m.part(b))
	}
	return out
}

func (m *ChatModel) part(b item.Block) openai.ChatCompletionContentPartUnionParam {
	switch b.Type {
	case item.TextBlock:
		return openai.TextContentPart(b.Text)
	case item.ImageBlock:
		return openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: b.URL, Detail: imageDetail(b)})
	case item.FileBlock:
		return m.file(b)
	case item.ForeignBlock:
		// A part that a client wrote for this very wire goes through as it is.
		var p struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(b.Foreign, &p) == nil && (p.Type == "input_audio" || p.Type == "file") {
			return param.Override[openai.ChatCompletionContentPartUnionParam](b.Foreign)
		}
	}
	return openai.TextContentPart(mention(b))
}

func (m *ChatModel) file(b item.Block) openai.ChatCompletionContentPartUnionParam {
	if s, ok := inlineText(b); ok {
		return openai.TextContentPart(s)
	}
	mime, data, ok := request.DataURL(b.URL)
	if !ok {
		return openai.TextContentPart(mention(b)) // a file by its address
	}
	if format, isAudio := strings.CutPrefix(cmp.Or(b.MIME, mime), "audio/"); isAudio {
		switch format {
		case "mpeg":
			format = "mp3"
		case "x-wav", "wave":
			format = "wav"
		}
		return openai.InputAudioContentPart(openai.ChatCompletionContentPartInputAudioInputAudioParam{Data: data, Format: format})
	}
	return openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{
		FileData: param.NewOpt(b.URL), Filename: param.NewOpt(cmp.Or(b.Name, "file")),
	})
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
