package chat

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/item"
)

// request is the body of POST /api/chat/stream. Every member may be left out or null; those that nobody knows are passed over,
// as DeerFlow does.
type request struct {
	Messages  []said     `json:"messages" doc:"what is said; the thread has what was said before"`
	Resources []resource `json:"resources" doc:"documents that the user chose"`
	Debug     *bool      `json:"debug" doc:"without effect"`
	Thread    *string    `json:"thread_id" doc:"__default__, the default, is a new one"`
	Locale    *string    `json:"locale" doc:"default en-US"`

	MaxPlanIterations *int  `json:"max_plan_iterations" doc:"default 1"`
	MaxSteps          *int  `json:"max_step_num" doc:"default 3"`
	MaxSearchResults  *int  `json:"max_search_results" doc:"default 3"`
	AutoAccept        *bool `json:"auto_accepted_plan" doc:"carry plans out without asking"`

	Feedback  *string `json:"interrupt_feedback" doc:"the answer to a question: accepted, edit_plan, or another of its options"`
	Interrupt *string `json:"interrupt_id" doc:"the question that is answered; needed where there are several"`

	MCP               json.RawMessage `json:"mcp_settings" type:"object" doc:"MCP servers of this request"`
	Background        *bool           `json:"enable_background_investigation" doc:"default true"`
	WebSearch         *bool           `json:"enable_web_search" doc:"default true"`
	Style             *string         `json:"report_style" enum:"academic,popular_science,news,social_media,strategic_investment"`
	DeepThinking      *bool           `json:"enable_deep_thinking"`
	Clarify           *bool           `json:"enable_clarification"`
	MaxClarifications *int            `json:"max_clarification_rounds" doc:"default 3"`
	BeforeTools       []string        `json:"interrupt_before_tools" doc:"not possible here: a request that names tools is refused"`
}

// said is a message.
type said struct {
	Role    string  `json:"role" doc:"user or assistant"`
	Content content `json:"content"`
}

func (said) SchemaName() string { return "ChatMessage" }

// content is a text, or a list of parts.
type content struct {
	raw  json.RawMessage // as our messages have it
	text string
}

type part struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	ImageURL *string `json:"image_url,omitempty"`
}

// Shape says that it has two forms.
func (content) Shape() jsonvalue.Object {
	text := jsonvalue.Object{{"type", "string"}}
	parts := jsonvalue.Object{{"type", "object"}, {"properties", jsonvalue.Object{{"type", text}, {"text", text}, {"image_url", text}}}}
	return jsonvalue.Object{{"oneOf", jsonvalue.List{text, jsonvalue.Object{{"type", "array"}, {"items", parts}}}}}
}

// UnmarshalJSON reads either form.
func (c *content) UnmarshalJSON(data []byte) error {
	c.raw = append([]byte(nil), data...)
	if json.Unmarshal(data, &c.text) == nil {
		return nil
	}
	var parts []part
	if json.Unmarshal(data, &parts) != nil {
		return run.Invalidf("messages", "must have a content that is a text, or a list of parts")
	}
	out := make([]any, 0, len(parts))
	for _, p := range parts {
		switch {
		case p.Text != nil && (p.Type == "text" || p.Type == ""):
			c.text += *p.Text
			out = append(out, map[string]any{"type": "text", "text": *p.Text})
		case p.ImageURL != nil:
			out = append(out, map[string]any{"type": "image_url", "image_url": map[string]string{"url": *p.ImageURL}})
		default:
			return run.Invalidf("messages", "must have parts with a text or an image_url")
		}
	}
	var err error
	c.raw, err = json.Marshal(out)
	return err
}

// resource is a document that the user chose.
type resource struct {
	URI         string `json:"uri"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
}

func (resource) SchemaName() string { return "ChatResource" }

// defaultThread stands for a new one.
const defaultThread = "__default__"

// thread is the one that the request names; empty for a new one.
func (q *request) thread() (string, error) {
	if q.Thread == nil || *q.Thread == "" || *q.Thread == defaultThread {
		return "", nil
	}
	return edge.ParseThread("thread_id", *q.Thread)
}

// validate checks what the graph does not.
func (q *request) validate() error {
	if len(q.BeforeTools) > 0 {
		return run.Invalidf("interrupt_before_tools",
			"the calls of a research cannot be approved one by one; leave it empty, or leave those tools out of the configuration")
	}
	for field, n := range map[string]*int{
		"max_plan_iterations": q.MaxPlanIterations, "max_step_num": q.MaxSteps, "max_search_results": q.MaxSearchResults, "max_clarification_rounds": q.MaxClarifications,
	} {
		if n != nil && *n < 0 {
			return run.Invalidf(field, "must not be negative")
		}
	}
	if _, err := edge.OneOf("report_style", strings.ToLower(or(q.Style, "")), "academic", "popular_science", "news", "social_media", "strategic_investment"); err != nil {
		return err
	}
	if err := edge.WantObject("mcp_settings", q.MCP); err != nil {
		return err
	}
	return q.commandless()
}

// commandless refuses servers that would be processes on this machine: a request never has that right.
func (q *request) commandless() error {
	if jsonvalue.IsNull(q.MCP) {
		return nil
	}
	var settings struct {
		Servers map[string]json.RawMessage `json:"servers"`
	}
	if json.Unmarshal(q.MCP, &settings) != nil {
		return run.Invalidf("mcp_settings", `must be as in {"servers":{"name":{"url":"https://…"}}}`)
	}
	for name, raw := range settings.Servers {
		var s map[string]json.RawMessage
		if json.Unmarshal(raw, &s) != nil {
			return run.Invalidf("mcp_settings", `must be as in {"servers":{"name":{"url":"https://…"}}}`)
		}
		for _, member := range []string{"command", "args", "env"} {
			switch strings.TrimSpace(string(s[member])) {
			case "", "null", `""`, "[]", "{}":
			default:
				return edge.RefuseField(http.StatusForbidden, "mcp_settings",
					fmt.Sprintf("mcp_settings: server %q has a %s; a request may bring servers with a url only", edge.Clip(name), member))
			}
		}
	}
	return nil
}

// config is what the run is configured with, with DeerFlow's defaults.
func (q *request) config() (json.RawMessage, error) {
	values := map[string]any{
		"locale": or(q.Locale, "en-US"), "max_plan_iterations": or(q.MaxPlanIterations, 1), "max_step_num": or(q.MaxSteps, 3),
		"max_search_results": or(q.MaxSearchResults, 3), "auto_accepted_plan": or(q.AutoAccept, false),
		"enable_background_investigation": or(q.Background, true), "enable_web_search": or(q.WebSearch, true),
		"report_style": strings.ToLower(or(q.Style, "academic")), "enable_deep_thinking": or(q.DeepThinking, false),
		"enable_clarification": or(q.Clarify, false), "max_clarification_rounds": or(q.MaxClarifications, 3),
	}
	if len(q.Resources) > 0 {
		values["resources"] = q.Resources
	}
	if !jsonvalue.IsNull(q.MCP) {
		values["mcp_settings"] = q.MCP
	}
	return json.Marshal(map[string]any{"configurable": values})
}

func or[T any](p *T, usual T) T {
	if p == nil {
		return usual
	}
	return *p
}

// input is what is said, as the graph's field.
func (q *request) input() (json.RawMessage, error) {
	if len(q.Messages) == 0 {
		return nil, run.Invalidf("messages", "is empty; say something")
	}
	list := make([]item.Message, len(q.Messages))
	for i, m := range q.Messages {
		name := fmt.Sprintf("messages[%d]", i)
		role := item.RoleOf(m.Role)
		if role != item.User && role != item.Assistant && role != item.System {
			return nil, run.Invalidf(name+".role", "must be user, assistant or system, not %q", edge.Clip(m.Role))
		}
		raw, err := json.Marshal(map[string]any{"role": role, "content": m.Content.raw})
		if err != nil || json.Unmarshal(raw, &list[i]) != nil {
			return nil, run.Invalidf(name+".content", "must be a text, or a list of parts")
		}
		if role == item.User && len(list[i].Content) == 0 {
			return nil, run.Invalidf(name+".content", "is empty")
		}
	}
	return json.Marshal(map[string]any{"messages": list})
}

// last is the text of the last message.
func (q *request) last() string {
	if len(q.Messages) == 0 {
		return ""
	}
	return q.Messages[len(q.Messages)-1].Content.text
}

// answer is what the person said to a question, as DeerFlow writes it.
func (q *request) answer() string {
	text := "[" + *q.Feedback + "]"
	if last := q.last(); len(q.Messages) > 0 {
		text += " " + last
	}
	return text
}
