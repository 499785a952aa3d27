package task

import (
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

func appendTime(dst []byte, key string, at time.Time) []byte {
	if at.IsZero() {
		return dst
	}
	dst = append(jsonline.AppendKey(dst, key), '"')
	return append(at.UTC().AppendFormat(dst, time.RFC3339Nano), '"')
}

// appendValue writes what comes seldom with encoding/json. The values are ours and always encode, but for raw
// JSON from outside, which jsonline.AppendForeign is for.
func appendValue(dst []byte, key string, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		data = []byte("null")
	}
	return append(jsonline.AppendKey(dst, key), data...)
}

// appendBlock writes a block of the user's view. While it grows, its annotations are kept back.
func appendBlock(dst []byte, b *item.Block, open bool) []byte {
	dst = append(dst, `{"type":`...)
	dst = jsonline.AppendString(dst, string(b.Type))
	if b.Type == item.TextBlock || b.Text != "" {
		dst = jsonline.AppendField(dst, "text", b.Text)
	}
	if b.Type == item.ImageBlock {
		dst = append(dst, `,"image_url":{"url":`...)
		dst = append(jsonline.AppendString(dst, b.URL), '}')
	} else {
		dst = jsonline.AppendOptField(dst, "url", b.URL)
	}
	dst = jsonline.AppendOptField(dst, "mime_type", b.MIME)
	dst = jsonline.AppendOptField(dst, "name", b.Name)
	if b.Foreign != nil {
		dst = jsonline.AppendForeign(jsonline.AppendKey(dst, "foreign"), b.Foreign)
	}
	if b.Ref != 0 {
		dst = jsonline.AppendIntField(dst, "id", b.Ref)
	}
	if len(b.Annotations) > 0 && !open {
		dst = append(dst, `,"annotations":[`...)
		for i, a := range b.Annotations {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"type":`...)
			dst = jsonline.AppendString(dst, string(a.Type))
			if a.Ref != 0 {
				dst = jsonline.AppendIntField(dst, "reference_id", a.Ref)
			}
			dst = jsonline.AppendIntField(dst, "start_index", a.Start)
			dst = jsonline.AppendIntField(dst, "end_index", a.End)
			dst = jsonline.AppendOptField(dst, "url", a.URL)
			dst = jsonline.AppendOptField(dst, "title", a.Title)
			dst = append(jsonline.AppendOptField(dst, "quote", a.Quote), '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendItem writes an item without the closing brace. A result that contains a sub-agent gets no list here.
func appendItem(dst []byte, it *transcript.Item) []byte {
	dst = appendHead(dst, it)
	switch {
	case it.Type == item.TypeToolCall:
		return jsonline.AppendField(dst, "arguments", it.Arguments)
	case it.Type == item.TypeToolResult && it.Failed:
		dst = append(dst, `,"is_error":true`...)
	}
	if it.Progress != nil {
		dst = appendProgress(dst, it.Progress)
	}
	if it.Task != "" {
		return dst
	}
	dst = append(jsonline.AppendKey(dst, listOf(it.Type)), '[')
	for i := range it.Blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendBlock(dst, &it.Blocks[i].Block, it.Blocks[i].Open)
	}
	return append(dst, ']')
}

// appendHead writes what an item is, without what it has grown by, and without the closing brace.
func appendHead(dst []byte, it *transcript.Item) []byte {
	dst = append(dst, `{"type":`...)
	dst = jsonline.AppendString(dst, string(it.Type))
	dst = jsonline.AppendField(dst, "id", it.ID)
	dst = jsonline.AppendField(dst, "status", string(it.Status))
	if it.Attempt > 1 {
		dst = jsonline.AppendIntField(dst, "attempt", it.Attempt)
	}
	switch it.Type {
	case item.TypeReasoning:
	case item.TypeToolCall:
		dst = jsonline.AppendField(dst, "call_id", it.CallID)
		dst = jsonline.AppendField(dst, "name", it.Name)
	case item.TypeToolResult:
		dst = jsonline.AppendField(dst, "call_id", it.CallID)
		dst = jsonline.AppendOptField(dst, "name", it.Name)
	case item.TypeMessage:
		dst = jsonline.AppendField(dst, "role", string(it.Role))
	}
	return dst
}

// appendProgress writes how a tool call is coming on.
func appendProgress(dst []byte, e *event.ToolProgressed) []byte {
	return appendValue(dst, "progress", progressObject{e.Message, e.Done, e.Total, e.Data})
}

type progressObject struct {
	Message string          `json:"message,omitempty"`
	Done    float64         `json:"done,omitempty"`
	Total   float64         `json:"total,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// listOf names the list of blocks of an item.
func listOf(t item.Type) string {
	if t == item.TypeReasoning {
		return "summary"
	}
	return "block_list"
}

// standing is the word for how a task stands.
func standing(t *transcript.Task) string {
	if t.Queued {
		return "queued"
	}
	return life(t.Status)
}

// life is the word for how a task that has begun stands.
func life(s event.Status) string {
	switch s {
	case event.Success:
		return "completed"
	case event.Interrupted:
		return "input_required"
	case event.Cancelled:
		return "canceled"
	case event.TimedOut:
		return "expired"
	case event.Failed:
		return "failed"
	}
	return "working"
}

// The objects of seldom frames, also found in the folded object.

type planObject struct {
	ID    string           `json:"id"`
	Team  string           `json:"team_id,omitempty"`
	Title string           `json:"title,omitempty"`
	Steps []event.PlanStep `json:"steps"`
}

func plan(e event.PlanUpdated) planObject {
	if e.Steps == nil {
		e.Steps = []event.PlanStep{}
	}
	return planObject{e.Plan, e.Team, e.Title, e.Steps}
}

type teamObject struct {
	ID      string         `json:"id"`
	Title   string         `json:"title,omitempty"`
	Lead    string         `json:"lead,omitempty"`
	Members []event.Member `json:"members"`
	Outcome string         `json:"outcome,omitempty"`
	Reason  string         `json:"reason,omitempty"`
}

func team(e event.TeamFormed) teamObject {
	if e.Members == nil {
		e.Members = []event.Member{}
	}
	return teamObject{ID: e.Team, Title: e.Title, Lead: e.Lead, Members: e.Members}
}

func appendInterrupt(dst []byte, e *event.InterruptRaised) []byte {
	dst = append(dst, `{"id":`...)
	dst = jsonline.AppendString(dst, e.ID)
	dst = jsonline.AppendOptField(dst, "ask", string(e.Ask))
	dst = jsonline.AppendForeign(jsonline.AppendKey(dst, "value"), e.Value)
	if len(e.Options) > 0 {
		dst = appendValue(dst, "options", e.Options)
	}
	return append(dst, '}')
}
