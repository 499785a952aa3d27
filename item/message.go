package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
// which its clients ignore. Input is read leniently: "role" for "type", OpenAI's names for either, content
// as a string or as parts, and message objects as LangChain serialises them ("lc": 1), which are read as
// data only.
type Message struct {
	ID      string
	Role    Role
	Name    string
	Content []Block

	// Of an assistant.
	Reasoning []Reasoning
	ToolCalls []ToolCall
	Usage     *Usage
	Finish    Finish
	Model     string

	// Of a tool: the call that it answers, whether it failed, and what people see in place of Content.
	CallID string
	Failed bool
	Blocks []Block

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

// wire is the JSON object. Field order is the order in which keys are written.
type wire struct {
	Content   json.RawMessage   `json:"content"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	ToolCalls []wireCall        `json:"tool_calls,omitempty"`
	Invalid   []wireInvalidCall `json:"invalid_tool_calls,omitempty"`
	CallID    string            `json:"tool_call_id,omitempty"`
	Status    string            `json:"status,omitempty"`
	Artifact  json.RawMessage   `json:"artifact,omitempty"`
	Usage     *wireUsage        `json:"usage_metadata,omitempty"`
	Reasoning []Reasoning       `json:"reasoning,omitempty"`
	Blocks    []Block           `json:"blocks,omitempty"`
	Kwargs    json.RawMessage   `json:"additional_kwargs"`
	Metadata  json.RawMessage   `json:"response_metadata"`
	Type      string            `json:"type"`
	Role      string            `json:"role,omitempty"` // only read
}

type wireCall struct {
	Name      string          `json:"name"`
	Args      json.RawMessage `json:"args"`
	ID        string          `json:"id"`
	Type      string          `json:"type"`
	Item      string          `json:"item_id,omitempty"`
	Signature string          `json:"signature,omitempty"`
	Function  *wireFunction   `json:"function,omitempty"` // OpenAI's spelling, only read
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireInvalidCall struct {
	Name  string `json:"name"`
	Args  string `json:"args"`
	ID    string `json:"id"`
	Error string `json:"error,omitempty"`
	Type  string `json:"type"`
	Item  string `json:"item_id,omitempty"`
	// At is the call's place among all calls of the message, so that the order survives being split
	// into valid and invalid ones.
	At int `json:"at,omitempty"`
}

type wireUsage struct {
	Input  int             `json:"input_tokens"`
	Output int             `json:"output_tokens"`
	Total  int             `json:"total_tokens"`
	In     *wireInDetails  `json:"input_token_details,omitempty"`
	Out    *wireOutDetails `json:"output_token_details,omitempty"`
	Cost   int64           `json:"cost_micros,omitempty"`
}

type wireInDetails struct {
	CacheRead     int `json:"cache_read,omitempty"`
	CacheCreation int `json:"cache_creation,omitempty"`
}

type wireOutDetails struct {
	Reasoning int `json:"reasoning,omitempty"`
}

var emptyObject = json.RawMessage("{}")

// MarshalJSON writes the LangChain form.
func (m Message) MarshalJSON() ([]byte, error) {
	content, err := marshalContent(m.Content, m.Parts)
	if err != nil {
		return nil, err
	}
	w := wire{
		Content: content, ID: m.ID, Name: m.Name, CallID: m.CallID, Reasoning: m.Reasoning, Blocks: m.Blocks,
		Kwargs: m.Kwargs, Metadata: m.Metadata, Type: langchainType(m.Role),
	}
	for i, c := range m.ToolCalls {
		if args, ok := argumentsObject(c.Arguments); ok {
			w.ToolCalls = append(w.ToolCalls, wireCall{Name: c.Name, Args: args, ID: c.CallID, Type: "tool_call", Item: c.ID, Signature: c.Signature})
		} else {
			w.Invalid = append(w.Invalid, wireInvalidCall{Name: c.Name, Args: c.Arguments, ID: c.CallID, Error: "the arguments are not a JSON object", Type: "invalid_tool_call", Item: c.ID, At: i})
		}
	}
	if m.Role == Tool {
		w.Status = "success"
		if m.Failed {
			w.Status = "error"
		}
	}
	if m.Usage != nil {
		w.Usage = usageToWire(*m.Usage)
	}
	if w.Kwargs, err = withKwargs(m); err != nil {
		return nil, err
	}
	if w.Metadata, err = withMetadata(m); err != nil {
		return nil, err
	}
	return json.Marshal(w)
}

func usageToWire(u Usage) *wireUsage {
	w := &wireUsage{Input: u.InputTokens, Output: u.OutputTokens, Total: u.Total(), Cost: u.CostMicros}
	if u.CachedTokens != 0 || u.CacheWriteTokens != 0 {
		w.In = &wireInDetails{u.CachedTokens, u.CacheWriteTokens}
	}
	if u.ReasoningTokens != 0 {
		w.Out = &wireOutDetails{u.ReasoningTokens}
	}
	return w
}

func (w *wireUsage) usage() Usage {
	u := Usage{InputTokens: w.Input, OutputTokens: w.Output, CostMicros: w.Cost}
	if w.In != nil {
		u.CachedTokens, u.CacheWriteTokens = w.In.CacheRead, w.In.CacheCreation
	}
	if w.Out != nil {
		u.ReasoningTokens = w.Out.Reasoning
	}
	return u
}

// UsageJSON is the usage object of LangChain's messages.
func UsageJSON(u Usage) ([]byte, error) { return json.Marshal(usageToWire(u)) }

// withKwargs adds reasoning text under the key that chat front ends show it from.
func withKwargs(m Message) (json.RawMessage, error) {
	var b strings.Builder
	for _, r := range m.Reasoning {
		b.WriteString(JoinText(r.Summary))
	}
	if b.Len() == 0 {
		return orEmpty(m.Kwargs), nil
	}
	return setKeys(m.Kwargs, map[string]any{"reasoning_content": b.String()})
}

func withMetadata(m Message) (json.RawMessage, error) {
	set := map[string]any{}
	if m.Finish != "" {
		set["finish_reason"] = m.Finish
	}
	if m.Model != "" {
		set["model_name"] = m.Model
	}
	if len(set) == 0 {
		return orEmpty(m.Metadata), nil
	}
	return setKeys(m.Metadata, set)
}

func orEmpty(obj json.RawMessage) json.RawMessage {
	if len(obj) == 0 {
		return emptyObject
	}
	return obj
}

func setKeys(obj json.RawMessage, set map[string]any) (json.RawMessage, error) {
	if len(obj) == 0 || bytes.Equal(obj, emptyObject) {
		return json.Marshal(set)
	}
	var have map[string]json.RawMessage
	if err := json.Unmarshal(obj, &have); err != nil {
		return nil, err
	}
	for k, v := range set {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		have[k] = b
	}
	return json.Marshal(have)
}

// takeKey removes a string key from an object and returns its value.
func takeKey(obj json.RawMessage, key string) (string, json.RawMessage) {
	if len(obj) == 0 || !bytes.Contains(obj, []byte(`"`+key+`"`)) {
		return "", obj
	}
	var have map[string]json.RawMessage
	if json.Unmarshal(obj, &have) != nil {
		return "", obj
	}
	var s string
	if json.Unmarshal(have[key], &s) != nil {
		return "", obj
	}
	delete(have, key)
	if len(have) == 0 {
		return s, nil
	}
	rest, err := json.Marshal(have)
	if err != nil {
		return "", obj
	}
	return s, rest
}

func argumentsObject(s string) (json.RawMessage, bool) {
	if strings.TrimSpace(s) == "" {
		return emptyObject, true
	}
	b := []byte(s)
	if t := bytes.TrimLeft(b, " \t\r\n"); len(t) == 0 || t[0] != '{' || !json.Valid(b) {
		return nil, false
	}
	return b, true
}

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

// UnmarshalJSON reads any of the forms named at [Message].
func (m *Message) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '"' { // a bare string is something the user said
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*m = Message{Role: User, Content: Text(s)}
		return nil
	}
	if len(data) > 0 && data[0] == '[' { // ["human", "hi"]
		var pair []string
		if err := json.Unmarshal(data, &pair); err != nil || len(pair) != 2 {
			return errors.New("a message given as a list must be [role, text]")
		}
		*m = Message{Role: RoleOf(pair[0]), Content: Text(pair[1])}
		return nil
	}
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if w.Type == "constructor" {
		return m.unmarshalConstructor(data)
	}
	return m.fromWire(w)
}

// unmarshalConstructor reads LangChain's serialised objects: the class name is only ever looked up among
// the names of roles, and the rest is read like any other message.
func (m *Message) unmarshalConstructor(data []byte) error {
	var c struct {
		ID     []string        `json:"id"`
		Kwargs json.RawMessage `json:"kwargs"`
	}
	if err := json.Unmarshal(data, &c); err != nil || len(c.ID) == 0 {
		return errors.New("message: a serialised object needs an id that names its class")
	}
	var w wire
	if err := json.Unmarshal(c.Kwargs, &w); err != nil {
		return fmt.Errorf("message: kwargs: %w", err)
	}
	w.Type = c.ID[len(c.ID)-1]
	return m.fromWire(w)
}

func (m *Message) fromWire(w wire) error {
	role := w.Type
	if role == "" || role == "message" {
		role = w.Role
	}
	if role == "" {
		return errors.New(`message: needs a "type" (human, ai, system, tool) or a "role"`)
	}
	content, parts, err := unmarshalContent(w.Content)
	if err != nil {
		return err
	}
	*m = Message{
		ID: w.ID, Role: RoleOf(role), Name: w.Name, Content: content, Parts: parts, CallID: w.CallID,
		Failed: w.Status == "error", Blocks: w.Blocks, Reasoning: w.Reasoning,
	}
	for _, c := range w.ToolCalls {
		call := ToolCall{ID: c.Item, CallID: c.ID, Name: c.Name, Arguments: string(c.Args), Signature: c.Signature}
		if c.Function != nil {
			call.Name, call.Arguments = c.Function.Name, c.Function.Arguments
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	for _, c := range w.Invalid {
		call := ToolCall{ID: c.Item, CallID: c.ID, Name: c.Name, Arguments: c.Args}
		at := min(max(c.At, 0), len(m.ToolCalls))
		m.ToolCalls = append(m.ToolCalls[:at], append([]ToolCall{call}, m.ToolCalls[at:]...)...)
	}
	if w.Usage != nil {
		u := w.Usage.usage()
		m.Usage = &u
	}
	return m.takeKnown(w)
}

// takeKnown moves what we have fields for out of the two open objects.
func (m *Message) takeKnown(w wire) error {
	for name, obj := range map[string]json.RawMessage{"additional_kwargs": w.Kwargs, "response_metadata": w.Metadata} {
		if t := bytes.TrimSpace(obj); len(t) > 0 && t[0] != '{' && !bytes.Equal(t, []byte("null")) {
			return fmt.Errorf("message: %s must be an object", name)
		}
	}
	thought, kwargs := takeKey(compactObject(w.Kwargs), "reasoning_content")
	if thought != "" && len(m.Reasoning) == 0 {
		m.Reasoning = []Reasoning{{Summary: Text(thought)}}
	}
	finish, meta := takeKey(compactObject(w.Metadata), "finish_reason")
	model, meta := takeKey(meta, "model_name")
	m.Kwargs, m.Metadata, m.Finish, m.Model = kwargs, meta, Finish(finish), model
	return nil
}

func compactObject(obj json.RawMessage) json.RawMessage {
	if len(obj) == 0 || bytes.Equal(obj, emptyObject) || bytes.Equal(obj, []byte("null")) {
		return nil
	}
	return obj
}

type wirePart struct {
	Type     string          `json:"type"`
	Text     *string         `json:"text,omitempty"`
	ImageURL json.RawMessage `json:"image_url,omitempty"`
	URL      string          `json:"url,omitempty"`
	MIME     string          `json:"mime_type,omitempty"`
	Name     string          `json:"filename,omitempty"`
	Ref      int             `json:"ref,omitempty"`
	Notes    []Annotation    `json:"annotations,omitempty"`
}

func marshalContent(blocks []Block, parts bool) (json.RawMessage, error) {
	if !parts && (len(blocks) == 0 || len(blocks) == 1 && plainText(blocks[0])) {
		return json.Marshal(JoinText(blocks))
	}
	out := make([]json.RawMessage, 0, len(blocks))
	for _, b := range blocks {
		raw, err := marshalPart(b)
		if err != nil {
			return nil, err
		}
		out = append(out, raw)
	}
	return json.Marshal(out)
}

func plainText(b Block) bool {
	return b.Type == TextBlock && b.Ref == 0 && len(b.Annotations) == 0 && b.Foreign == nil
}

func marshalPart(b Block) (json.RawMessage, error) {
	if b.Foreign != nil {
		return b.Foreign, nil
	}
	switch b.Type {
	case ImageBlock:
		url, err := json.Marshal(map[string]string{"url": b.URL})
		if err != nil {
			return nil, err
		}
		return json.Marshal(wirePart{Type: "image_url", ImageURL: url, MIME: b.MIME, Ref: b.Ref})
	case FileBlock:
		return json.Marshal(wirePart{Type: "file", URL: b.URL, MIME: b.MIME, Name: b.Name, Ref: b.Ref})
	case TextBlock:
		return json.Marshal(wirePart{Type: "text", Text: &b.Text, Ref: b.Ref, Notes: b.Annotations})
	}
	return nil, fmt.Errorf("block of unknown type %q", b.Type)
}

func unmarshalContent(raw json.RawMessage) (blocks []Block, parts bool, err error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, false, nil
	}
	switch raw[0] {
	case '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, false, err
		}
		return Text(s), false, nil
	case '[':
	default:
		return nil, false, errors.New("message: content must be a string or a list of parts")
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, false, err
	}
	for _, one := range list {
		b, err := unmarshalPart(one)
		if err != nil {
			return nil, false, err
		}
		blocks = append(blocks, b)
	}
	return blocks, true, nil
}

func unmarshalPart(raw json.RawMessage) (Block, error) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		var s string
		err := json.Unmarshal(t, &s)
		return Block{Type: TextBlock, Text: s}, err
	}
	var p wirePart
	if err := json.Unmarshal(raw, &p); err != nil {
		return Block{}, fmt.Errorf("message: content part: %w", err)
	}
	switch p.Type {
	case "text":
		if p.Text == nil {
			return Block{}, errors.New("message: a text part needs a text")
		}
		b := Block{Type: TextBlock, Text: *p.Text, Ref: p.Ref, Annotations: p.Notes}
		return b.keeping(raw, "type", "text", "ref", "annotations"), nil
	case "image_url":
		if url, ok := imageURL(p.ImageURL); ok {
			b := Block{Type: ImageBlock, URL: url, MIME: p.MIME, Ref: p.Ref}
			if !known(p.ImageURL, "url") { // a bare string, or a detail hint beside the address
				b.Foreign = bytes.Clone(raw)
			}
			return b.keeping(raw, "type", "image_url", "mime_type", "ref"), nil
		}
	case "file":
		if p.URL != "" {
			b := Block{Type: FileBlock, URL: p.URL, MIME: p.MIME, Name: p.Name, Ref: p.Ref}
			return b.keeping(raw, "type", "url", "mime_type", "filename", "ref"), nil
		}
	}
	return Block{Type: ForeignBlock, Foreign: bytes.Clone(raw)}, nil
}

// keeping holds on to the whole part where it has keys beyond ours (cache hints, provider extras).
func (b Block) keeping(raw json.RawMessage, ours ...string) Block {
	if !known(raw, ours...) {
		b.Foreign = bytes.Clone(raw)
	}
	return b
}

// imageURL accepts {"url": u} and, as some clients send it, a bare string.
func imageURL(raw json.RawMessage) (string, bool) {
	var url string
	if json.Unmarshal(raw, &url) == nil {
		return url, true
	}
	var obj struct {
		URL string `json:"url"`
	}
	return obj.URL, json.Unmarshal(raw, &obj) == nil && obj.URL != ""
}

func known(raw json.RawMessage, keys ...string) bool {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return false
	}
	for _, k := range keys {
		delete(obj, k)
	}
	return len(obj) == 0
}

// ValidText reports that a string can be stored and shown everywhere: UTF-8 without NUL.
func ValidText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }
