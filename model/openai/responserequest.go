package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/known"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// responsesRequest is the request object of the Responses API.
type responsesRequest struct {
	Model        string           `json:"model"`
	Instructions string           `json:"instructions,omitempty"`
	Input        []any            `json:"input,omitempty"` // items, each of a type below or in the API's own words
	Tools        []any            `json:"tools,omitempty"` // each a responsesTool, or in the API's own words
	ToolChoice   any              `json:"tool_choice,omitempty"`
	Text         map[string]any   `json:"text,omitempty"`
	Reasoning    *reasoningEffort `json:"reasoning,omitempty"`
	Include      []string         `json:"include,omitempty"`
	Store        *bool            `json:"store,omitempty"`
	Stream       bool             `json:"stream"`

	MaxTokens        int      `json:"max_output_tokens,omitempty"`
	Temperature      *float64 `json:"temperature,omitempty"`
	User             string   `json:"user,omitempty"`
	SafetyIdentifier string   `json:"safety_identifier,omitempty"`
}

type reasoningEffort struct {
	Effort  string `json:"effort,omitempty"`
	Summary string `json:"summary"`
}

type responsesTool struct {
	Type string `json:"type"`
	functionTool
}

// The items of an input.
type (
	inputMessage struct {
		Role    string `json:"role"`
		Content any    `json:"content"` // a string, or a list of parts
	}
	inputCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	inputResult struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a string, or a list of parts
	}
	inputReasoning struct {
		Type      string     `json:"type"`
		ID        string     `json:"id,omitempty"`
		Summary   []textPart `json:"summary"`
		Content   []textPart `json:"content,omitempty"`
		Encrypted string     `json:"encrypted_content,omitempty"`
	}
)

// The parts of a message that are no [textPart].
type (
	inputImage struct {
		Type   string `json:"type"`
		URL    string `json:"image_url"`
		Detail string `json:"detail"`
	}
	inputFile struct {
		Type string `json:"type"`
		Name string `json:"filename,omitempty"`
		Data string `json:"file_data,omitempty"`
		URL  string `json:"file_url,omitempty"`
	}
)

// request puts a request into the words of the Responses API.
func (m *ResponsesModel) request(req model.Request) (*responsesRequest, error) {
	if len(req.Stop) > 0 {
		return nil, m.fault.BadRequest("the Responses API has no stop sequences; use Chat Completions for them")
	}
	p := &responsesRequest{Model: m.opts.Model, Instructions: req.System, MaxTokens: req.MaxTokens, Temperature: req.Temp, Stream: !req.Whole}
	if m.original() {
		p.Store = new(bool)
	}
	if m.info.Provider == providerOpenAI {
		p.SafetyIdentifier = req.User
	} else {
		p.User = req.User
	}
	if req.Thinking.On {
		p.Reasoning = &reasoningEffort{req.Thinking.Effort, "auto"}
	}
	// Models that do not think refuse to be asked for encrypted reasoning; those that do lose their thread between calls of
	// tools without it.
	if m.original() && (req.Thinking.On || known.Of(providerOpenAI, m.opts.Model).Unasked) {
		p.Include = []string{"reasoning.encrypted_content"}
	}
	if err := m.format(p, req); err != nil {
		return nil, err
	}
	if err := m.tools(p, req); err != nil {
		return nil, err
	}
	for _, msg := range req.Messages {
		p.Input = append(p.Input, m.items(msg)...)
	}
	return p, nil
}

func (m *ResponsesModel) format(p *responsesRequest, req model.Request) error {
	if isNull(req.Schema) {
		return nil
	}
	schema, err := schemaObject(req.Schema)
	if err != nil {
		return m.fault.BadRequest("the schema of the answer is not a JSON object")
	}
	p.Text = map[string]any{"format": map[string]any{
		"type": "json_schema", "name": cmp.Or(req.SchemaName, "answer"), "schema": schema, "strict": strictable(schema),
	}}
	return nil
}

func (m *ResponsesModel) tools(p *responsesRequest, req model.Request) error {
	for _, t := range req.Tools {
		schema, err := toolSchema(t.Schema)
		if err != nil {
			return m.fault.BadRequest("the schema of tool " + t.Name + " is not a JSON object")
		}
		// Strict is the default here, and an error for schemas with optional properties.
		p.Tools = append(p.Tools, responsesTool{"function", functionTool{t.Name, t.Description, schema, new(bool)}})
	}
	for _, raw := range m.opts.Tools {
		p.Tools = append(p.Tools, raw)
	}
	switch {
	case len(req.Tools) == 0 || req.Choice == "":
	case req.Choice == "auto" || req.Choice == "none" || req.Choice == "required":
		p.ToolChoice = req.Choice
	default:
		p.ToolChoice = map[string]any{"type": "function", "name": req.Choice}
	}
	return nil
}

// items are the input items that a message is on this wire.
func (m *ResponsesModel) items(msg item.Message) []any {
	switch msg.Role {
	case item.System:
		return []any{easy("system", m.content(msg.Content))}
	case item.User:
		return m.user(msg.Content)
	case item.Tool:
		return []any{m.result(msg)}
	case item.Assistant:
		return m.assistant(msg)
	case item.Remove:
	}
	return nil
}

// user is what a person says. Answers to the provider's own tools, which a client wrote in the API's words, are items
// of their own.
func (m *ResponsesModel) user(blocks []item.Block) []any {
	var out []any
	var said []item.Block
	for _, b := range blocks {
		switch typ := kept.Type(b.Foreign); {
		case b.Type == item.ForeignBlock && (typ == "mcp_approval_response" || strings.HasSuffix(typ, "_call_output")):
			out = append(out, b.Foreign)
		default:
			said = append(said, b)
		}
	}
	if len(said) > 0 || len(out) == 0 {
		out = append(out, easy("user", m.content(said)))
	}
	return out
}

// easy makes a message of content; a single text is sent as a string.
func easy(role string, content []any) inputMessage {
	if len(content) == 1 {
		if only, ok := content[0].(textPart); ok {
			return inputMessage{role, only.Text}
		}
	}
	return inputMessage{role, content}
}

// assistant gives an answer back as the items that it was, in their order where it is known. Of older messages it is not:
// there an item of the provider's own tools follows the reasoning that led to it, and other reasoning stands before the
// text or the calls, in the order in which it was thought.
func (m *ResponsesModel) assistant(msg item.Message) []any {
	a := answered{model: m, awaited: map[string]bool{}}
	if !msg.Interleaved() {
		a.thoughts = ownReasoning(msg, m.info.Provider)
		for _, b := range msg.Content {
			if _, mark, ok := kept.Take(b.Foreign); ok && mark.Provider == m.info.Provider && mark.Follows != "" {
				a.awaited[mark.Follows] = true
			}
		}
	}
	blocks := 0
	for p := range msg.InOrder() {
		switch {
		case p.Block != nil:
			a.block(msg.Content, blocks)
			blocks++
		case p.Call != nil:
			a.rest()
			a.items = append(a.items, inputCall{"function_call", p.Call.CallID, p.Call.Name, string(request.Arguments(p.Call.Arguments))})
		case msg.Interleaved() && p.Reasoning.Provider == m.info.Provider:
			a.stop()
			a.thoughts = append(a.thoughts, *p.Reasoning)
			a.thought(0)
		}
	}
	a.rest()
	// Reasoning that led to nothing, because the answer was cut off, is refused.
	for n := len(a.items); msg.Interleaved() && n > 0 && isReasoning(a.items[n-1]); n-- {
		a.items = a.items[:n-1]
	}
	return a.items
}

func isReasoning(it any) bool { _, ok := it.(inputReasoning); return ok }

// answered gathers the items of an answer.
type answered struct {
	model    *ResponsesModel
	items    []any
	thoughts []item.Reasoning // not yet given back
	awaited  map[string]bool  // ids of reasoning that something kept must follow
	said     strings.Builder
}

// block gives back the content at i.
func (a *answered) block(blocks []item.Block, i int) {
	b, provider := blocks[i], a.model.info.Provider
	raw, mark, marked := kept.Take(b.Foreign)
	switch {
	case marked && mark.Provider != provider: // of another provider's tools
	case marked:
		if raw, ok := withPicture(raw, blocks[:i]); ok {
			a.keep(raw, mark.Follows)
		}
	case b.Type == item.TextBlock:
		a.say(b.Text)
	case isPicture(blocks, i, provider): // goes with what is kept of it
	default:
		a.say(mention(b))
	}
}

// rest gives back what is due before a call or the end.
func (a *answered) rest() {
	a.stop()
	a.awaited = nil // what they led to was never kept
	a.think()
}

// think gives back the reasoning that is due before whatever comes next.
func (a *answered) think() {
	for len(a.thoughts) > 0 && !a.awaited[a.thoughts[0].ID] {
		a.thought(0)
	}
}

func (a *answered) thought(i int) {
	if it, ok := a.model.reasoning(a.thoughts[i]); ok {
		a.items = append(a.items, it)
	}
	a.thoughts = slices.Delete(a.thoughts, i, i+1)
}

func (a *answered) say(text string) {
	if a.said.Len() == 0 {
		a.think()
	}
	a.said.WriteString(text)
}

// stop ends the text so far.
func (a *answered) stop() {
	if a.said.Len() > 0 {
		a.items = append(a.items, inputMessage{"assistant", a.said.String()})
		a.said.Reset()
	}
}

func (a *answered) keep(raw json.RawMessage, follows string) {
	a.stop()
	if i := slices.IndexFunc(a.thoughts, func(r item.Reasoning) bool { return follows != "" && r.ID == follows }); i >= 0 {
		for before := 0; before < i; { // what was thought before it, and led to nothing that was kept
			if a.awaited[a.thoughts[before].ID] {
				before++
				continue
			}
			a.thought(before)
			i--
		}
		a.thought(i)
	}
	a.items = append(a.items, raw)
}

// isPicture reports that the block at i is a picture of which the next block keeps who made it.
func isPicture(blocks []item.Block, i int, provider string) bool {
	if i+1 == len(blocks) || blocks[i].Type != item.ImageBlock {
		return false
	}
	raw, mark, ok := kept.Take(blocks[i+1].Foreign)
	return ok && mark.Provider == provider && kept.Type(raw) == pictureType
}

const pictureType = "image_generation_call"

// withPicture gives what is kept of a picture its bytes back, which are in the block before it. Without them the API
// would look for the picture among what it has stored, where it is not.
func withPicture(raw json.RawMessage, before []item.Block) (json.RawMessage, bool) {
	if kept.Type(raw) != pictureType {
		return raw, true
	}
	if len(before) == 0 || before[len(before)-1].Type != item.ImageBlock {
		return nil, false
	}
	_, data, ok := request.DataURL(before[len(before)-1].URL)
	if !ok {
		return nil, false
	}
	var fields map[string]string
	if json.Unmarshal(raw, &fields) != nil {
		return nil, false
	}
	fields["result"] = data
	whole, err := json.Marshal(fields)
	return whole, err == nil
}

// reasoning gives an item back. OpenAI takes only what it encrypted, since it stores nothing for us; others
// take the text.
func (m *ResponsesModel) reasoning(r item.Reasoning) (it inputReasoning, ok bool) {
	it = inputReasoning{Type: "reasoning", ID: r.ID, Summary: []textPart{}}
	// An object is what OpenRouter encrypted on the other wire.
	if r.Encrypted != "" && r.Encrypted[0] != '{' {
		it.Encrypted = r.Encrypted
		for _, b := range r.Summary {
			it.Summary = append(it.Summary, textPart{"summary_text", b.Text})
		}
		return it, true
	}
	if m.original() || len(r.Summary) == 0 {
		return it, false
	}
	for _, b := range r.Summary {
		it.Content = append(it.Content, textPart{"reasoning_text", b.Text})
	}
	return it, true
}

func (m *ResponsesModel) content(blocks []item.Block) []any {
	out := make([]any, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, m.part(b))
	}
	return out
}

func (m *ResponsesModel) part(b item.Block) any {
	if s, ok := m.asText(b); ok {
		return textPart{"input_text", s}
	}
	switch {
	case b.Type == item.ImageBlock:
		return inputImage{"input_image", b.URL, cmp.Or(imageDetail(b), "auto")}
	case strings.HasPrefix(b.URL, "data:"):
		return inputFile{Type: "input_file", Name: cmp.Or(b.Name, "file"), Data: b.URL}
	}
	return inputFile{Type: "input_file", URL: b.URL} // which has no name beside it
}

// asText returns the text that stands for a block, if it is sent as such.
func (m *ResponsesModel) asText(b item.Block) (string, bool) {
	switch b.Type {
	case item.TextBlock:
		return b.Text, true
	case item.ImageBlock, item.FileBlock:
		if s, ok := inlineText(b); ok {
			return s, true
		}
		if !m.textOnly {
			return "", false
		}
	case item.ForeignBlock:
	}
	return mention(b), true
}

// result is the output of a call, which may hold images and files on this wire.
func (m *ResponsesModel) result(msg item.Message) inputResult {
	out := inputResult{Type: "function_call_output", CallID: msg.CallID}
	parts := m.content(msg.Content)
	texts := make([]string, len(parts))
	for i, p := range parts {
		text, ok := p.(textPart)
		if !ok {
			out.Output = parts
			return out
		}
		texts[i] = text.Text
	}
	out.Output = strings.Join(texts, "\n") // for the reasons of request.Lines
	return out
}
