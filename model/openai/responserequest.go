package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// params puts a request into the words of the Responses API.
func (m *ResponsesModel) params(req model.Request) (responses.ResponseNewParams, error) {
	p := responses.ResponseNewParams{Model: m.opts.Model}
	if len(req.Stop) > 0 {
		return p, m.fault.BadRequest("the Responses API has no stop sequences; use Chat Completions for them")
	}
	if m.original() {
		p.Store = param.NewOpt(false)
	}
	if req.System != "" {
		p.Instructions = param.NewOpt(req.System)
	}
	if req.MaxTokens > 0 {
		p.MaxOutputTokens = param.NewOpt(int64(req.MaxTokens))
	}
	if req.Temp != nil {
		p.Temperature = param.NewOpt(*req.Temp)
	}
	switch {
	case req.User == "":
	case m.info.Provider == providerOpenAI:
		p.SafetyIdentifier = param.NewOpt(req.User)
	default:
		p.User = param.NewOpt(req.User)
	}
	if req.Thinking.On {
		p.Reasoning = shared.ReasoningParam{Effort: shared.ReasoningEffort(req.Thinking.Effort), Summary: shared.ReasoningSummaryAuto}
	}
	if m.original() && (req.Thinking.On || alwaysThinks(m.opts.Model)) {
		p.Include = []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent}
	}
	if err := m.format(&p, req); err != nil {
		return p, err
	}
	if err := m.tools(&p, req); err != nil {
		return p, err
	}
	for _, msg := range req.Messages {
		p.Input.OfInputItemList = append(p.Input.OfInputItemList, m.items(msg)...)
	}
	p.SetExtraFields(extraFields(m.opts.extra(req)))
	return p, nil
}

// alwaysThinks recognises OpenAI's reasoning models by name. Others refuse to be asked for encrypted
// reasoning, and these lose their thread between calls of tools without it.
func alwaysThinks(name string) bool {
	name = strings.ToLower(name)
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "codex"} {
		if strings.HasPrefix(name, prefix) {
			return !strings.Contains(name, "-chat")
		}
	}
	return false
}

func (m *ResponsesModel) format(p *responses.ResponseNewParams, req model.Request) error {
	if isNull(req.Schema) {
		return nil
	}
	schema, err := schemaObject(req.Schema)
	if err != nil {
		return m.fault.BadRequest("the schema of the answer is not a JSON object")
	}
	p.Text.Format.OfJSONSchema = &responses.ResponseFormatTextJSONSchemaConfigParam{
		Name: cmp.Or(req.SchemaName, "answer"), Schema: schema, Strict: param.NewOpt(strictable(schema)),
	}
	return nil
}

func (m *ResponsesModel) tools(p *responses.ResponseNewParams, req model.Request) error {
	for _, t := range req.Tools {
		schema, err := toolSchema(t.Schema)
		if err != nil {
			return m.fault.BadRequest("the schema of tool " + t.Name + " is not a JSON object")
		}
		// Strict is the default here, and an error for schemas with optional properties.
		f := &responses.FunctionToolParam{Name: t.Name, Parameters: schema, Strict: param.NewOpt(false)}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: f})
	}
	switch {
	case len(req.Tools) == 0 || req.Choice == "":
	case req.Choice == "auto" || req.Choice == "none" || req.Choice == "required":
		p.ToolChoice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptions(req.Choice))
	default:
		p.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: req.Choice}
	}
	return nil
}

// items are the input items that a message is on this wire.
func (m *ResponsesModel) items(msg item.Message) []responses.ResponseInputItemUnionParam {
	switch msg.Role {
	case item.System:
		return []responses.ResponseInputItemUnionParam{easy(responses.EasyInputMessageRoleSystem, m.content(msg.Content))}
	case item.User:
		return m.user(msg.Content)
	case item.Tool:
		return []responses.ResponseInputItemUnionParam{m.result(msg)}
	case item.Assistant:
		return m.assistant(msg)
	case item.Remove:
	}
	return nil
}

// user is what a person says. Answers to the provider's own tools, which a client wrote in the API's words, are items
// of their own.
func (m *ResponsesModel) user(blocks []item.Block) []responses.ResponseInputItemUnionParam {
	var out []responses.ResponseInputItemUnionParam
	var said []item.Block
	for _, b := range blocks {
		switch typ := kept.Type(b.Foreign); {
		case b.Type == item.ForeignBlock && (typ == "mcp_approval_response" || strings.HasSuffix(typ, "_call_output")):
			out = append(out, param.Override[responses.ResponseInputItemUnionParam](b.Foreign))
		default:
			said = append(said, b)
		}
	}
	if len(said) > 0 || len(out) == 0 {
		out = append(out, easy(responses.EasyInputMessageRoleUser, m.content(said)))
	}
	return out
}

// easy makes a message of content; a single text is sent as a string.
func easy(role responses.EasyInputMessageRole, content responses.ResponseInputMessageContentListParam) responses.ResponseInputItemUnionParam {
	if len(content) == 1 && content[0].OfInputText != nil {
		return responses.ResponseInputItemParamOfMessage(content[0].OfInputText.Text, role)
	}
	return responses.ResponseInputItemParamOfMessage(content, role)
}

// assistant gives an answer back as the items that it was, in their order where it is known. Of older messages it is not:
// there an item of the provider's own tools follows the reasoning that led to it, and other reasoning stands before the
// text or the calls, in the order in which it was thought.
func (m *ResponsesModel) assistant(msg item.Message) []responses.ResponseInputItemUnionParam {
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
			a.items = append(a.items, responses.ResponseInputItemParamOfFunctionCall(string(request.Arguments(p.Call.Arguments)), p.Call.CallID, p.Call.Name))
		case msg.Interleaved() && p.Reasoning.Provider == m.info.Provider:
			a.stop()
			a.thoughts = append(a.thoughts, *p.Reasoning)
			a.thought(0)
		}
	}
	a.rest()
	// Reasoning that led to nothing, because the answer was cut off, is refused.
	for n := len(a.items); msg.Interleaved() && n > 0 && a.items[n-1].OfReasoning != nil; n-- {
		a.items = a.items[:n-1]
	}
	return a.items
}

// answered gathers the items of an answer.
type answered struct {
	model    *ResponsesModel
	items    []responses.ResponseInputItemUnionParam
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
		a.items = append(a.items, responses.ResponseInputItemUnionParam{OfReasoning: it})
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
		a.items = append(a.items, responses.ResponseInputItemParamOfMessage(a.said.String(), responses.EasyInputMessageRoleAssistant))
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
	a.items = append(a.items, param.Override[responses.ResponseInputItemUnionParam](raw))
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
func (m *ResponsesModel) reasoning(r item.Reasoning) (*responses.ResponseReasoningItemParam, bool) {
	it := &responses.ResponseReasoningItemParam{ID: r.ID, Summary: []responses.ResponseReasoningItemSummaryParam{}}
	if r.ID == "" {
		it.SetExtraFields(map[string]any{"id": param.Omit})
	}
	// An object is what OpenRouter encrypted on the other wire.
	if r.Encrypted != "" && r.Encrypted[0] != '{' {
		it.EncryptedContent = param.NewOpt(r.Encrypted)
		for _, b := range r.Summary {
			it.Summary = append(it.Summary, responses.ResponseReasoningItemSummaryParam{Text: b.Text})
		}
		return it, true
	}
	if m.original() || len(r.Summary) == 0 {
		return nil, false
	}
	for _, b := range r.Summary {
		it.Content = append(it.Content, responses.ResponseReasoningItemContentParam{Text: b.Text})
	}
	return it, true
}

func (m *ResponsesModel) content(blocks []item.Block) responses.ResponseInputMessageContentListParam {
	out := make(responses.ResponseInputMessageContentListParam, 0, len(blocks))
	for _, b := range blocks {
		out = append(out, m.part(b))
	}
	return out
}

func (m *ResponsesModel) part(b item.Block) responses.ResponseInputContentUnionParam {
	if s, ok := m.asText(b); ok {
		return responses.ResponseInputContentParamOfInputText(s)
	}
	if b.Type == item.ImageBlock {
		p := responses.ResponseInputContentParamOfInputImage(responses.ResponseInputImageDetail(cmp.Or(imageDetail(b), "auto")))
		p.OfInputImage.ImageURL = param.NewOpt(b.URL)
		return p
	}
	f := &responses.ResponseInputFileParam{Filename: param.NewOpt(cmp.Or(b.Name, "file"))}
	if strings.HasPrefix(b.URL, "data:") {
		f.FileData = param.NewOpt(b.URL)
	} else {
		f.FileURL = param.NewOpt(b.URL)
		f.Filename = param.Opt[string]{} // only with the bytes
	}
	return responses.ResponseInputContentUnionParam{OfInputFile: f}
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
func (m *ResponsesModel) result(msg item.Message) responses.ResponseInputItemUnionParam {
	var list responses.ResponseFunctionCallOutputItemListParam
	var b strings.Builder
	rich := false
	for _, bl := range msg.Content {
		p := m.part(bl)
		switch {
		case p.OfInputText != nil:
			b.WriteString(p.OfInputText.Text)
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputText: &responses.ResponseInputTextContentParam{Text: p.OfInputText.Text}})
		case p.OfInputImage != nil:
			rich = true
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputImage: &responses.ResponseInputImageContentParam{ImageURL: p.OfInputImage.ImageURL, Detail: responses.ResponseInputImageContentDetail(p.OfInputImage.Detail)}})
		case p.OfInputFile != nil:
			rich = true
			list = append(list, responses.ResponseFunctionCallOutputItemUnionParam{OfInputFile: &responses.ResponseInputFileContentParam{FileData: p.OfInputFile.FileData, FileURL: p.OfInputFile.FileURL, Filename: p.OfInputFile.Filename}})
		}
	}
	out := &responses.ResponseInputItemFunctionCallOutputParam{CallID: param.NewOpt(msg.CallID)}
	if rich {
		out.Output.OfResponseFunctionCallOutputItemArray = list
	} else {
		out.Output.OfString = param.NewOpt(b.String())
	}
	return responses.ResponseInputItemUnionParam{OfFunctionCallOutput: out}
}
