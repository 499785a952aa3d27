package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// The ways in which models are asked to think.
const (
	adaptive = "adaptive"
	budget   = "budget"
	none     = "none"
)

// messagesRequest is the request object.
type messagesRequest struct {
	Model     string         `json:"model,omitempty"`             // on Vertex AI it is in the address,
	Version   string         `json:"anthropic_version,omitempty"` // and this here instead of in a header
	MaxTokens int            `json:"max_tokens"`
	System    []*sentBlock   `json:"system,omitempty"`
	Tools     []any          `json:"tools,omitempty"` // each a *toolParam, or in the API's own words
	Choice    *toolChoice    `json:"tool_choice,omitempty"`
	Messages  []turn         `json:"messages"`
	Thinking  *thinkingParam `json:"thinking,omitempty"`
	Output    outputConfig   `json:"output_config,omitzero"`
	Stop      []string       `json:"stop_sequences,omitempty"`
	Metadata  *metadata      `json:"metadata,omitempty"`
	Container string         `json:"container,omitempty"`
	Temp      *float64       `json:"temperature,omitempty"`
	Stream    bool           `json:"stream"`
}

type toolParam struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *cacheMark      `json:"cache_control,omitempty"`
}

type toolChoice struct {
	Type string `json:"type"`
	Name string `json:"name,omitempty"`
}

// forced reports that a tool has to be called.
func (c *toolChoice) forced() bool { return c != nil && c.Type != "none" }

type thinkingParam struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string         `json:"effort,omitempty"`
	Format map[string]any `json:"format,omitempty"`
}

type metadata struct {
	UserID string `json:"user_id"`
}

// cacheMark asks the provider to keep what ends here.
type cacheMark struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

// vertexVersion is what Vertex AI wants to be told.
const vertexVersion = "vertex-2023-10-16"

// body is the request object as it goes out.
func (m *Model) body(req model.Request) ([]byte, error) {
	p := &messagesRequest{Model: m.opts.Model, MaxTokens: m.opts.MaxTokens, Stream: !req.Whole}
	if m.opts.Project != "" {
		p.Model, p.Version = "", vertexVersion
	}
	if req.MaxTokens > 0 {
		p.MaxTokens = req.MaxTokens
	}
	c := conversation{provider: m.opts.Provider, turns: []turn{}, called: map[string]bool{}, ids: map[string]bool{}}
	c.add(req.Messages)
	p.Messages = c.turns
	for _, s := range append([]string{req.System}, c.system...) {
		if strings.TrimSpace(s) != "" {
			p.System = append(p.System, textBlock(s))
		}
	}
	if err := m.tools(p, req, c.called); err != nil {
		return nil, err
	}
	m.think(p, req)
	if p.Thinking == nil { // thinking fixes it at 1
		p.Temp = req.Temp
	}
	for _, s := range req.Stop {
		if strings.TrimSpace(s) != "" { // the API refuses blank ones
			p.Stop = append(p.Stop, s)
		}
	}
	if len(req.Schema) > 0 {
		p.Output.Format = map[string]any{"type": "json_schema", "schema": req.Schema}
	}
	if req.User != "" {
		p.Metadata = &metadata{req.User}
	}
	m.cache(p)
	if id, ok := c.useContainer(m.opts.Tools, time.Now()); ok {
		p.Container = id
	}
	body, err := request.JSON(p)
	if err != nil {
		return nil, err
	}
	return request.Patch(body, m.opts.Extra, req.Extra)
}

// tools offers the request's tools and the provider's own. called are those that the conversation used.
func (m *Model) tools(p *messagesRequest, req model.Request, called map[string]bool) error {
	for _, t := range req.Tools {
		schema, err := objectSchema(t.Schema)
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.Name, err)
		}
		p.Tools = append(p.Tools, &toolParam{Name: t.Name, Description: t.Description, Schema: schema})
	}
	for _, raw := range m.opts.Tools {
		p.Tools = append(p.Tools, raw)
	}
	choice := req.Choice
	if len(req.Tools) == 0 {
		choice = "" // none to choose from
	}
	if len(p.Tools) == 0 && len(called) > 0 {
		// The API refuses calls in the history of a request that has no tools: name them, and forbid them.
		for _, name := range slices.Sorted(maps.Keys(called)) {
			p.Tools = append(p.Tools, &toolParam{Name: name, Schema: anyObject})
		}
		choice = "none"
	}
	switch choice {
	case "", "auto":
	case "none":
		p.Choice = &toolChoice{Type: "none"}
	case "required":
		p.Choice = &toolChoice{Type: "any"}
	default:
		p.Choice = &toolChoice{Type: "tool", Name: choice}
	}
	return nil
}

var anyObject = json.RawMessage(`{"type":"object"}`)

// objectSchema returns a schema that says of itself that it is an object's, as the API demands.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	if s := bytes.TrimSpace(schema); len(s) == 0 || bytes.Equal(s, []byte("null")) {
		return anyObject, nil
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(schema, &have); err != nil || have == nil {
		return nil, fmt.Errorf("the schema of the arguments is not a JSON object")
	}
	if _, ok := have["type"]; ok {
		return schema, nil
	}
	have["type"] = json.RawMessage(`"object"`)
	return json.Marshal(have)
}

const (
	minBudget = 1024 // the API's
	answer    = 8192 // tokens left for the answer besides a budget
)

var budgets = map[string]int{"low": 2048, "medium": 8192, "high": 16384}

// think asks for thinking, where the API allows it together with the rest of the request.
func (m *Model) think(p *messagesRequest, req model.Request) {
	if !req.Thinking.On || m.thinking == none {
		return
	}
	if p.Choice.forced() {
		return // a forced call leaves no room for it
	}
	if m.thinking == adaptive {
		// Newer models leave the text of their thinking out unless asked for it.
		p.Thinking = &thinkingParam{Type: "adaptive", Display: "summarized"}
		p.Output.Effort = req.Thinking.Effort
		return
	}
	if unsignedLoop(req.Messages, m.opts.Provider) {
		return
	}
	n := req.Thinking.Budget
	if n == 0 {
		n = budgets[req.Thinking.Effort]
	}
	if n == 0 {
		n = budgets["medium"]
	}
	n = max(n, minBudget)
	switch {
	case req.MaxTokens == 0:
		p.MaxTokens = max(p.MaxTokens, n+answer)
	case req.MaxTokens <= minBudget:
		return
	case n >= req.MaxTokens: // a budget must be smaller than the whole
		n = max(minBudget, req.MaxTokens/2)
	}
	p.Thinking = &thinkingParam{Type: "enabled", Budget: n}
}

// unsignedLoop reports that the model is to go on with calls which another provider made: it would be asked
// for the thinking that led to them, which it cannot show.
func unsignedLoop(msgs []item.Message, provider string) bool {
	for i := len(msgs) - 1; i >= 0; i-- {
		switch msgs[i].Role {
		case item.User:
			return false
		case item.Assistant:
			if len(msgs[i].ToolCalls) == 0 {
				return false
			}
			return !slices.ContainsFunc(msgs[i].Reasoning, func(r item.Reasoning) bool { return ours(r, provider) })
		case item.System, item.Tool, item.Remove:
		}
	}
	return false
}

// cache marks the ends of the three stretches that stay the same from call to call.
func (m *Model) cache(p *messagesRequest) {
	if m.opts.Cache == "" {
		return
	}
	mark := &cacheMark{"ephemeral", m.opts.Cache}
	if n := len(p.Tools); n > 0 {
		if t, ok := p.Tools[n-1].(*toolParam); ok {
			t.Cache = mark
		}
	}
	if n := len(p.System); n > 0 {
		p.System[n-1].Cache = mark
	}
	if len(p.Messages) == 0 {
		return
	}
	for _, b := range slices.Backward(p.Messages[len(p.Messages)-1].Content) {
		if b, ok := b.(*sentBlock); ok && !b.isThinking() { // which cannot be marked
			b.Cache = mark
			return
		}
	}
}

// version finds the generation in a model's name, wherever it is served: claude-3-7-sonnet-20250219,
// claude-opus-4-1@20250805, us.anthropic.claude-sonnet-4-20250514-v1:0.
var version = regexp.MustCompile(`claude-(?:[a-z]+-)*(\d)(?:[-.](\d{1,2})(?:\D|$))?`)

func generation(name string) (major, minor int, claude bool) {
	v := version.FindStringSubmatch(name)
	if v == nil {
		return 0, 0, strings.Contains(name, "claude")
	}
	major, _ = strconv.Atoi(v[1])
	minor, _ = strconv.Atoi(v[2])
	return major, minor, true
}

// thinkingOf tells how a model is asked to think by its name. What is not Claude but speaks its wire knows
// the older way.
func thinkingOf(name string) string {
	major, minor, claude := generation(name)
	switch {
	case !claude:
		return budget
	case major == 0:
		return adaptive
	case major < 3, major == 3 && minor < 7:
		return none
	case major == 3, major == 4 && minor < 6:
		return budget
	}
	return adaptive
}

// maxTokens is the length of an answer that a model surely allows.
func maxTokens(name string) int {
	major, minor, claude := generation(name)
	switch {
	case !claude:
		return 8192
	case major == 0 || major >= 4 || major == 3 && minor >= 7:
		return 32000
	case major == 3 && minor >= 5:
		return 8192
	}
	return 4096
}

func contextWindow(name string) int {
	if _, _, claude := generation(name); claude {
		return 200_000
	}
	return 0
}
