package item

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// wire is the JSON object, for reading. Its tags tell in what order and when keys are written too, by hand: see append.
type wire struct {
	Content   json.RawMessage   `json:"content"`
	ID        string            `json:"id,omitempty"`
	Name      string            `json:"name,omitempty"`
	ToolCalls []wireCall        `json:"tool_calls,omitzero"` // of an assistant always, if empty
	Invalid   []wireInvalidCall `json:"invalid_tool_calls,omitzero"`
	CallID    string            `json:"tool_call_id,omitempty"`
	Status    string            `json:"status,omitempty"`
	Artifact  json.RawMessage   `json:"artifact,omitempty"`
	Usage     *wireUsage        `json:"usage_metadata,omitempty"`
	Reasoning []Reasoning       `json:"reasoning,omitempty"`
	Order     json.RawMessage   `json:"order,omitempty"`
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
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// wireInvalidCall is a call whose arguments are not a JSON object, which LangChain lists apart.
type wireInvalidCall struct {
	Name      string `json:"name"`
	Args      string `json:"args"`
	ID        string `json:"id"`
	Error     string `json:"error,omitempty"`
	Type      string `json:"type"`
	Item      string `json:"item_id,omitempty"`
	Signature string `json:"signature,omitempty"`
	// At is the call's place among all calls of the message, so that the order survives being split
	// into valid and invalid ones. Other programs do not write it; their invalid calls come last.
	At *int `json:"at,omitempty"`
}

var emptyObject = json.RawMessage("{}")

// UnmarshalJSON reads any of the forms named at [Message]. Bytes that are not UTF-8 become U+FFFD, also in
// what is kept without being understood: nothing downstream has to expect them.
func (m *Message) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if !utf8.Valid(data) {
		data = bytes.ToValidUTF8(data, []byte("\ufffd"))
	}
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
		role, err := wire{Role: pair[0]}.role()
		*m = Message{Role: role, Content: Text(pair[1])}
		return err
	}
	w, err := readWire(data)
	if err != nil {
		return err
	}
	return m.fromWire(w)
}

// readWire reads a message object. Of one that LangChain serialised ("lc": 1, "type": "constructor") the class
// name is only ever looked up among the names of roles, and its arguments are read like any other message.
func readWire(data []byte) (w wire, err error) {
	if bytes.Contains(data, []byte(`"constructor"`)) {
		var c struct {
			Type   string          `json:"type"`
			ID     json.RawMessage `json:"id"`
			Kwargs json.RawMessage `json:"kwargs"`
		}
		if err := json.Unmarshal(data, &c); err != nil {
			return w, fmt.Errorf("message: %w", err)
		}
		if c.Type == "constructor" {
			var class []string
			if json.Unmarshal(c.ID, &class) != nil || len(class) == 0 {
				return w, errors.New("message: a serialised object needs an id that names its class")
			}
			if len(c.Kwargs) == 0 {
				return w, errors.New("message: a serialised object needs kwargs")
			}
			if err := json.Unmarshal(c.Kwargs, &w); err != nil {
				return w, fmt.Errorf("message: kwargs: %w", err)
			}
			w.Type = class[len(class)-1]
			return w, nil
		}
	}
	if w, ok := scanWire(data); ok {
		return w, nil
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return w, fmt.Errorf("message: %w", err)
	}
	return w, nil
}

// scanWire reads a message object in about the form in which we write it, without encoding/json for its texts. On
// anything that it is not sure of it reports false. What it returns holds parts of data.
func scanWire(data []byte) (w wire, ok bool) {
	if end, ok := jsonline.Skip(data, 0); !ok || end != len(data) || data[0] != '{' {
		return wire{}, false
	}
	seen := map[string]bool{} // of a key that comes twice encoding/json makes more than this could
	for key, value := range jsonline.Members(data) {
		if seen[string(key)] || !w.take(string(key), value) {
			return wire{}, false
		}
		seen[string(key)] = true
	}
	return w, true
}

// take reads one member, and reports whether it knew what to make of it.
func (w *wire) take(key string, value []byte) (ok bool) {
	switch key {
	case "content":
		w.Content = value
	case "artifact":
		w.Artifact = value
	case "additional_kwargs":
		w.Kwargs = value
	case "response_metadata":
		w.Metadata = value
	case "order":
		w.Order = value
	case "id":
		w.ID, ok = jsonline.Text(value)
		return ok
	case "name":
		w.Name, ok = jsonline.Text(value)
		return ok
	case "tool_call_id":
		w.CallID, ok = jsonline.Text(value)
		return ok
	case "status":
		w.Status, ok = jsonline.Text(value)
		return ok
	case "type":
		w.Type, ok = jsonline.Text(value)
		return ok
	case "role":
		w.Role, ok = jsonline.Text(value)
		return ok
	case "tool_calls":
		return json.Unmarshal(value, &w.ToolCalls) == nil
	case "invalid_tool_calls":
		return json.Unmarshal(value, &w.Invalid) == nil
	case "usage_metadata":
		return json.Unmarshal(value, &w.Usage) == nil
	case "reasoning":
		return json.Unmarshal(value, &w.Reasoning) == nil
	case "blocks":
		return json.Unmarshal(value, &w.Blocks) == nil
	default: // perhaps a key of ours in other letters
		return false
	}
	return true
}

// role says who speaks. Some types leave that to the role beside them.
func (w wire) role() (Role, error) {
	name := w.Type
	switch name {
	case "", "message", "chat", "ChatMessage", "ChatMessageChunk":
		if w.Role != "" {
			name = w.Role
		}
	}
	switch name {
	case "", "message", "constructor": // names of forms; as a role they could not be read back
		return "", errors.New(`message: needs a "type" (human, ai, system, tool) or a "role"`)
	}
	return RoleOf(name), nil
}

func (m *Message) fromWire(w wire) error {
	role, err := w.role()
	if err != nil {
		return err
	}
	content, parts, err := unmarshalContent(w.Content)
	if err != nil {
		return err
	}
	*m = Message{
		ID: w.ID, Role: role, Name: w.Name, Content: content, Parts: parts, CallID: w.CallID,
		Failed: role == Tool && w.Status == "error", Blocks: w.Blocks, Reasoning: w.Reasoning,
	}
	if !isNull(w.Artifact) {
		m.Artifact = compact(w.Artifact)
	}
	for _, c := range w.ToolCalls {
		call := ToolCall{ID: c.Item, CallID: c.ID, Name: c.Name, Arguments: argumentsText(c.Args), Signature: c.Signature}
		if c.Function != nil {
			call.Name, call.Arguments = c.Function.Name, argumentsText(c.Function.Arguments)
		}
		m.ToolCalls = append(m.ToolCalls, call)
	}
	for _, c := range w.Invalid {
		at := len(m.ToolCalls)
		if c.At != nil {
			at = min(max(*c.At, 0), at)
		}
		call := ToolCall{ID: c.Item, CallID: c.ID, Name: c.Name, Arguments: c.Args, Signature: c.Signature}
		m.ToolCalls = slices.Insert(m.ToolCalls, at, call)
	}
	if w.Usage != nil {
		u := w.Usage.usage()
		m.Usage = &u
	}
	if role == Assistant {
		m.Order = readOrder(w.Order)
	}
	return m.takeKnown(w)
}

// argumentsText reads arguments as an object, as JSON text inside a string, or null.
func argumentsText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(compact(raw))
}

// takeKnown moves what we have fields for out of the two open objects.
func (m *Message) takeKnown(w wire) error {
	kwargs, ok := openObject(w.Kwargs)
	if !ok {
		return errors.New("message: additional_kwargs must be an object")
	}
	meta, ok := openObject(w.Metadata)
	if !ok {
		return errors.New("message: response_metadata must be an object")
	}
	thought, kwargs := takeKey(kwargs, "reasoning_content")
	if thought != "" && len(m.Reasoning) == 0 {
		m.Reasoning = []Reasoning{{Summary: Text(thought)}}
	}
	finish, meta := takeKey(meta, "finish_reason")
	model, meta := takeKey(meta, "model_name")
	m.Kwargs, m.Metadata, m.Finish, m.Model = kwargs, meta, Finish(finish), model
	return nil
}

// openObject returns an object without white space, nil for an empty one, and false for anything else.
func openObject(raw json.RawMessage) (json.RawMessage, bool) {
	if isNull(raw) {
		return nil, true
	}
	raw = compact(raw)
	if bytes.Equal(raw, emptyObject) {
		return nil, true
	}
	return raw, raw[0] == '{'
}

// takeKey removes a string key from an object and returns its value.
func takeKey(obj json.RawMessage, key string) (string, json.RawMessage) {
	var have map[string]json.RawMessage
	if len(obj) == 0 || json.Unmarshal(obj, &have) != nil {
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
	rest, err := marshal(have)
	if err != nil {
		return "", obj
	}
	return s, rest
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// compact takes the white space out of JSON that has been parsed before.
func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// marshal is json.Marshal without its escapes for HTML: what a client sent goes back as it was spelled.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
