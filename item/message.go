package item

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// Role says who speaks in a [Message].
type Role string

const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
	// Remove marks the message with the same ID for removal; see graph.Messages.
	Remove Role = "remove"
)

// RemoveAll is the ID with which a Remove message clears the whole conversation.
const RemoveAll = "__remove_all__"

// Message is one entry of a conversation.
//
// Its JSON form is LangChain's message object, because that is what most clients write into a thread and
// expect to read back; a checkpoint can then be shown to them without being translated. What LangChain has
// no word for (reasoning with its signature, a tool result's second view) goes under keys of our own,
// which its clients ignore. An assistant's message always has tool_calls and invalid_tool_calls, as
// LangChain's has: clients ask for their length without looking. Input is read leniently: "role" for "type",
// OpenAI's names for either, content as a string or as parts, and message objects as LangChain serialises
// them ("lc": 1), which are read as data only.
type Message struct {
	ID      string
	Role    Role
	Name    string
	Content []Block

	// Of an assistant.
	Reasoning []Reasoning
	ToolCalls []ToolCall
	Order     Order // of Reasoning, Content and ToolCalls among each other, where it is not this one
	Usage     *Usage
	Finish    Finish
	Model     string

	// Of a tool: the call that it answers, whether it failed, what people see in place of Content, and what
	// the tool made besides, which clients may use and no model is shown.
	CallID   string
	Failed   bool
	Blocks   []Block
	Artifact json.RawMessage

	// Kwargs and Metadata are LangChain's additional_kwargs and response_metadata as a client gave them,
	// objects or empty. What we know ourselves (reasoning text, finish reason, model) is not kept in them.
	Kwargs   json.RawMessage
	Metadata json.RawMessage

	// Parts keeps the spelling of the content: a client that sent a list gets a list back.
	Parts bool
}

// Finish says why a model stopped.
type Finish string

const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length"
	FinishFilter    Finish = "content_filter"
	FinishRefusal   Finish = "refusal"
	FinishOther     Finish = "other"
)

// Text is the text of the message, without reasoning.
func (m Message) Text() string { return JoinText(m.Content) }

// UserText and AssistantText make the two commonest messages.
func UserText(id, text string) Message {
	return Message{ID: id, Role: User, Content: Text(text)}
}

func AssistantText(id, text string) Message {
	return Message{ID: id, Role: Assistant, Content: Text(text)}
}

// langchainType is a role in LangChain's spelling, which is the one we write.
func langchainType(r Role) string {
	switch r {
	case User:
		return "human"
	case Assistant:
		return "ai"
	}
	return string(r)
}

// RoleOf reads a role in LangChain's or OpenAI's spelling. Unknown names are kept as they are.
func RoleOf(s string) Role {
	switch s {
	case "human", "user", "HumanMessage", "HumanMessageChunk":
		return User
	case "ai", "assistant", "AIMessage", "AIMessageChunk", "model":
		return Assistant
	case "system", "developer", "SystemMessage", "SystemMessageChunk":
		return System
	case "tool", "function", "ToolMessage", "ToolMessageChunk":
		return Tool
	case "remove", "RemoveMessage":
		return Remove
	}
	return Role(s)
}

// ValidText reports that a string can be stored and shown everywhere: UTF-8 without NUL.
func ValidText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
