// Package item holds the nouns of a conversation: messages, the output items that a model or a tool
// produces, the blocks inside them, and what they cost.
//
// They are plain values without behaviour beyond their JSON form. Two views of the same facts live here:
//
//   - A [Message] is one entry of a conversation, as kept in a thread's state and shown to models. An
//     assistant's Message holds everything one model call produced: reasoning, text and tool calls.
//   - An [Item] is one element of a task's output, as shown to people while it grows: [Reasoning],
//     [ToolCall], [ToolResult], and the text of a message ([Message] without reasoning and calls).
//
// A [ToolResult] has two bodies, because models and people need different things of it: Content is what
// the model reads, Blocks is what a person sees.
package item

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// Status says how far an item has come.
type Status string

const (
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Incomplete Status = "incomplete" // cut off: an error, a stop, the end of its task
)

// Type names the kinds of [Item].
type Type string

const (
	TypeReasoning  Type = "reasoning"
	TypeMessage    Type = "message"
	TypeToolCall   Type = "tool_call"
	TypeToolResult Type = "tool_result"
)

// Item is an element of a task's output: one of [Reasoning], [ToolCall], [ToolResult], [Message].
type Item interface {
	// ItemID is unique within a run tree.
	ItemID() string
	// ItemType says which of the four kinds it is.
	ItemType() Type
	sealed()
}

// Reasoning is what a model thought before it answered.
type Reasoning struct {
	ID string `json:"id,omitempty"`
	// Summary is what may be shown; raw thinking text is a single block of it.
	Summary []Block `json:"summary,omitempty"`
	// Signature proves to the provider that Summary is its own; without it the provider refuses the
	// reasoning on the next turn.
	Signature string `json:"signature,omitempty"`
	// Encrypted is reasoning that only the provider can read (redacted thinking, encrypted content).
	Encrypted string `json:"encrypted,omitempty"`
	// Provider names who made it; another provider must not be sent it.
	Provider string `json:"provider,omitempty"`
}

// ToolCall is a model's wish to have a tool called.
type ToolCall struct {
	// ID is the item's; CallID ties the call to its result and is what the provider is told.
	ID     string `json:"id,omitempty"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
	// Arguments is the JSON text as the model wrote it, which need not be valid.
	Arguments string `json:"arguments"`
	// Signature is an opaque token that some providers attach to a call and want back.
	Signature string `json:"signature,omitempty"`
}

// ToolResult is the outcome of one tool call.
type ToolResult struct {
	ID     string `json:"id,omitempty"`
	CallID string `json:"call_id"`
	Name   string `json:"name,omitempty"`
	// Error says that the call failed; Content then tells the model why.
	Error bool `json:"error,omitempty"`
	// Content is the model's view, Blocks the person's. A tool that has only one fills Content, and
	// people see that.
	Content []Block `json:"content,omitempty"`
	Blocks  []Block `json:"blocks,omitzero"` // empty and not nil: shown to nobody
}

func (r Reasoning) ItemID() string  { return r.ID }
func (c ToolCall) ItemID() string   { return c.ID }
func (r ToolResult) ItemID() string { return r.ID }
func (m Message) ItemID() string    { return m.ID }

func (Reasoning) ItemType() Type  { return TypeReasoning }
func (ToolCall) ItemType() Type   { return TypeToolCall }
func (ToolResult) ItemType() Type { return TypeToolResult }
func (Message) ItemType() Type    { return TypeMessage }

func (Reasoning) sealed()  {}
func (ToolCall) sealed()   {}
func (ToolResult) sealed() {}
func (Message) sealed()    {}

// View returns what a person sees of the result: Blocks, or Content where a tool gave only that.
func (r ToolResult) View() []Block {
	if r.Blocks != nil {
		return r.Blocks
	}
	return r.Content
}

// tagged is the JSON form of an Item inside something else: its type beside its value.
type tagged struct {
	Type  Type            `json:"type"`
	Value json.RawMessage `json:"value"`
}

// Unmarshal decodes what [Append] wrote.
func Unmarshal(data []byte) (Item, error) {
	t, ok := scanTagged(data)
	if !ok {
		t = tagged{}
		if err := json.Unmarshal(data, &t); err != nil {
			return nil, err
		}
	}
	switch t.Type {
	case TypeReasoning:
		return decode[Reasoning](t.Value)
	case TypeToolCall:
		return decode[ToolCall](t.Value)
	case TypeToolResult:
		return decode[ToolResult](t.Value)
	case TypeMessage:
		var m Message
		err := m.UnmarshalJSON(t.Value)
		return m, err
	case "":
		return nil, errors.New("an item needs a type")
	}
	return nil, &UnknownTypeError{Type: t.Type}
}

// scanTagged finds the type and the value in the form in which [Append] writes them, without copying either.
func scanTagged(data []byte) (t tagged, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":`))
	if !ok {
		return t, false
	}
	end, ok := jsonline.Skip(rest, 0)
	if !ok {
		return t, false
	}
	name, ok := jsonline.Text(rest[:end])
	if !ok {
		return t, false
	}
	value, ok := bytes.CutPrefix(rest[end:], []byte(`,"value":`))
	if !ok {
		return t, false
	}
	end, ok = jsonline.Skip(value, 0)
	return tagged{Type(name), value[:end]}, ok && string(value[end:]) == "}"
}

func decode[T Item](data []byte) (Item, error) {
	var v T
	err := json.Unmarshal(data, &v)
	return v, err
}

// UnknownTypeError is returned for an item of a kind that this version does not know.
type UnknownTypeError struct{ Type Type }

func (e *UnknownTypeError) Error() string { return "unknown item type " + string(e.Type) }
