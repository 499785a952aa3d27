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

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// conversation gathers messages into the turns that the API wants.
type conversation struct {
	provider string
	turns    []sdk.MessageParam
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
				c.turn(sdk.MessageParamRoleUser, content(resultAsText(m))...)
			}
		case item.User:
			c.turn(sdk.MessageParamRoleUser, content(m.Content)...)
		default: // a role that only some client knows
			c.turn(sdk.MessageParamRoleUser, content(m.Content)...)
		}
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].Role == sdk.MessageParamRoleAssistant {
		trimEnd(c.turns[n-1].Content)
	}
}

// turn adds blocks to the conversation, in the last turn if that is of the same role.
func (c *conversation) turn(role sdk.MessageParamRole, blocks ...sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.turns); n > 0 && c.turns[n-1].Role == role {
		c.turns[n-1].Content = append(c.turns[n-1].Content, blocks...)
		return
	}
	if len(c.turns) == 0 && role == sdk.MessageParamRoleAssistant { // the API wants the user to begin
		c.turn(sdk.MessageParamRoleUser, sdk.NewTextBlock("(The beginning of the conversation is left out.)"))
	}
	c.turns = append(c.turns, sdk.MessageParam{Role: role, Content: blocks})
}

// trimEnd makes an answer that the model is to continue acceptable: it must not end in white space.
func trimEnd(blocks []sdk.ContentBlockParamUnion) {
	if n := len(blocks); n > 0 && blocks[n-1].OfText != nil {
		blocks[n-1].OfText.Text = strings.TrimRight(blocks[n-1].OfText.Text, " \t\r\n")
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
	var blocks, results []sdk.ContentBlockParamUnion
	for p := range m.InOrder() {
		switch {
		case p.Reasoning != nil:
			blocks = append(blocks, c.thought(*p.Reasoning)...)
		case p.Block != nil:
			blocks = append(blocks, c.said([]item.Block{*p.Block}, i == last(msgs))...)
		case p.Call != nil:
			use := c.use(*p.Call, i, len(results))
			blocks = append(blocks, use)
			results = append(results, result(use.OfToolUse.ID, request.Result(*p.Call, msgs, i, taken)))
		}
	}
	// Thinking that led to nothing, because the answer was cut off, is no turn and must not end one.
	for len(blocks) > 0 && (blocks[len(blocks)-1].OfThinking != nil || blocks[len(blocks)-1].OfRedactedThinking != nil) {
		blocks = blocks[:len(blocks)-1]
	}
	c.turn(sdk.MessageParamRoleAssistant, blocks...)
	c.turn(sdk.MessageParamRoleUser, results...)
}

// made reports that an answer is this provider's own, as far as one can tell: it holds something that only it makes.
func (c *conversation) made(m item.Message) bool {
	return slices.ContainsFunc(m.Reasoning, func(r item.Reasoning) bool { return ours(r, c.provider) }) ||
		slices.ContainsFunc(m.Content, func(b item.Block) bool { _, _, ok := c.own(b); return ok })
}

func (c *conversation) thought(r item.Reasoning) []sdk.ContentBlockParamUnion {
	switch {
	case !ours(r, c.provider):
		return nil
	case r.Encrypted != "":
		return []sdk.ContentBlockParamUnion{sdk.NewRedactedThinkingBlock(r.Encrypted)}
	}
	return []sdk.ContentBlockParamUnion{sdk.NewThinkingBlock(r.Signature, item.JoinText(r.Summary))}
}

// use is the n-th call of the answer at i.
func (c *conversation) use(call item.ToolCall, i, n int) sdk.ContentBlockParamUnion {
	id := toolID(call.CallID, i, n)
	if c.ids[id] {
		id = toolID("", i, n)
	}
	c.ids[id] = true
	c.called[call.Name] = true
	use := sdk.NewToolUseBlock(id, request.Arguments(call.Arguments), call.Name)
	if json.Valid([]byte(call.Signature)) && kept.Type([]byte(call.Signature)) != "" {
		use.OfToolUse.Caller = param.Override[sdk.ToolUseBlockParamCallerUnion](json.RawMessage(call.Signature))
	}
	return use
}

func result(id string, m *item.Message) sdk.ContentBlockParamUnion {
	out := sdk.ToolResultBlockParam{ToolUseID: id}
	if m == nil {
		out.IsError = sdk.Bool(true)
		m = &item.Message{Content: item.Text(request.Interrupted)}
	}
	if m.Failed {
		out.IsError = sdk.Bool(true)
	}
	for _, b := range content(m.Content) {
		out.Content = append(out.Content, sdk.ToolResultBlockParamContentUnion{OfText: b.OfText, OfImage: b.OfImage, OfDocument: b.OfDocument, OfSearchResult: b.OfSearchResult})
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &out}
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
func content(blocks []item.Block) []sdk.ContentBlockParamUnion {
	var out []sdk.ContentBlockParamUnion
	for _, b := range blocks {
		switch b.Type {
		case item.TextBlock:
			if strings.TrimSpace(b.Text) != "" {
				out = append(out, sdk.NewTextBlock(b.Text))
			}
		case item.ImageBlock:
			out = append(out, image(b))
		case item.FileBlock:
			out = append(out, file(b))
		case item.ForeignBlock:
			if one, ok := foreign(b.Foreign); ok {
				out = append(out, one)
			}
		}
	}
	return out
}

func image(b item.Block) sdk.ContentBlockParamUnion {
	if mime, data, ok := request.DataURL(b.URL); ok {
		return sdk.NewImageBlockBase64(cmp.Or(mime, b.MIME, "image/png"), data)
	}
	if !strings.HasPrefix(b.URL, "http://") && !strings.HasPrefix(b.URL, "https://") {
		return leftOut(b)
	}
	return sdk.NewImageBlock(sdk.URLImageSourceParam{URL: b.URL})
}

func file(b item.Block) sdk.ContentBlockParamUnion {
	mime, data, inline := request.DataURL(b.URL)
	mime = cmp.Or(mime, b.MIME)
	var out sdk.ContentBlockParamUnion
	switch {
	case inline && mime == "application/pdf":
		out = sdk.NewDocumentBlock(sdk.Base64PDFSourceParam{Data: data})
	case inline && strings.HasPrefix(mime, "image/"):
		return sdk.NewImageBlockBase64(mime, data)
	case inline && (strings.HasPrefix(mime, "text/") || mime == "application/json"):
		plain, err := base64.StdEncoding.DecodeString(data)
		if err != nil || len(bytes.TrimSpace(plain)) == 0 {
			return leftOut(b)
		}
		out = sdk.NewDocumentBlock(sdk.PlainTextSourceParam{Data: strings.ToValidUTF8(string(plain), "\uFFFD")})
	case !inline && strings.HasPrefix(b.URL, "http") && (mime == "application/pdf" || mime == "" && strings.HasSuffix(b.URL, ".pdf")):
		out = sdk.NewDocumentBlock(sdk.URLPDFSourceParam{URL: b.URL})
	default:
		return leftOut(b)
	}
	if b.Name != "" {
		out.OfDocument.Title = sdk.String(b.Name)
	}
	return out
}

// leftOut stands for something that the model cannot be shown; the conversation goes on without it.
func leftOut(b item.Block) sdk.ContentBlockParamUnion {
	return sdk.NewTextBlock("(" + cmp.Or(b.Name, "A "+string(b.Type)) + " of type " + cmp.Or(b.MIME, "unknown") + " was attached, which you cannot be shown.)")
}

// foreign passes on parts that a client wrote in the API's own words.
func foreign(raw json.RawMessage) (sdk.ContentBlockParamUnion, bool) {
	var head struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &head) != nil {
		return sdk.ContentBlockParamUnion{}, false
	}
	switch head.Type {
	case "image":
		one := param.Override[sdk.ImageBlockParam](raw)
		return sdk.ContentBlockParamUnion{OfImage: &one}, true
	case "document":
		one := param.Override[sdk.DocumentBlockParam](raw)
		return sdk.ContentBlockParamUnion{OfDocument: &one}, true
	case "search_result":
		one := param.Override[sdk.SearchResultBlockParam](raw)
		return sdk.ContentBlockParamUnion{OfSearchResult: &one}, true
	}
	return sdk.ContentBlockParamUnion{}, false
}
