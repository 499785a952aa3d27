package tasks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/item"
)

// messagesField is where a graph keeps its conversation.
const messagesField = "messages"

// inputOf translates the input of a request into an object of the graph's fields; nil to go on.
func inputOf(g *graph.Graph, raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil, run.Invalidf("input", "is required: a text, a list of blocks or messages, or an object of the graph's fields")
	}
	var messages []item.Message
	var err error
	switch raw[0] {
	case 'n':
		return nil, nil
	case '"':
		if input, ok := textInput(raw); ok && keepsMessages(g) {
			return input, nil
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, run.Invalidf("input", "%v", err)
		}
		if strings.TrimSpace(text) == "" {
			return nil, run.Invalidf("input", "is empty")
		}
		messages = []item.Message{item.UserText("", text)}
	case '[':
		messages, err = inputList(raw)
	case '{':
		if !hasRole(raw) {
			return raw, checkFields(g, raw)
		}
		messages, err = readMessages([]json.RawMessage{raw}, func(int) string { return "input" })
	default:
		return nil, run.Invalidf("input", "must be a text, a list or an object")
	}
	if err != nil {
		return nil, err
	}
	if !keepsMessages(g) {
		return nil, run.Invalidf("input", "graph %q keeps no messages; give an object of its fields: %s", g.Name(), fieldNames(g))
	}
	return json.Marshal(map[string][]item.Message{messagesField: messages})
}

func keepsMessages(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Fields(), func(f graph.FieldInfo) bool { return f.Name == messagesField })
}

// textInput is the input of one message for a long text that is spelled as JSON: megabytes are put in as they are instead of
// being read and written again. It leaves short ones to others, and those that might be nothing but white space.
func textInput(raw json.RawMessage) (json.RawMessage, bool) {
	const long = 4 << 10
	inside := bytes.TrimSpace(raw[1 : len(raw)-1])
	if len(raw) < long || len(inside) == 0 || inside[0] == '\\' {
		return nil, false
	}
	const gap = "\x00" // no text has it
	frame, err := json.Marshal(map[string][]item.Message{messagesField: {item.UserText("", gap)}})
	before, after, ok := bytes.Cut(frame, []byte(`"\u0000"`))
	if err != nil || !ok || bytes.Contains(after, []byte(`\u0000`)) {
		return nil, false
	}
	input := make([]byte, 0, len(before)+len(raw)+len(after))
	return append(append(append(input, before...), raw...), after...), true
}

// checkFields refuses what the graph has no place for.
func checkFields(g *graph.Graph, raw json.RawMessage) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return run.Invalidf("input", "%v", err)
	}
	for name := range object {
		if !slices.ContainsFunc(g.Fields(), func(f graph.FieldInfo) bool { return f.Name == name }) {
			return run.Invalidf("input."+name, "graph %q has no such field; it has %s", g.Name(), fieldNames(g))
		}
	}
	return nil
}

func fieldNames(g *graph.Graph) string {
	var names []string
	for _, f := range g.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

func hasRole(raw json.RawMessage) bool {
	var m struct {
		Role *json.RawMessage `json:"role"`
	}
	return json.Unmarshal(raw, &m) == nil && m.Role != nil
}

// inputList reads a list: of messages if the first has a role, else of the blocks of one message.
func inputList(raw json.RawMessage) ([]item.Message, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, run.Invalidf("input", "%v", err)
	}
	if len(list) == 0 {
		return nil, run.Invalidf("input", "is empty")
	}
	if hasRole(list[0]) {
		return readMessages(list, func(i int) string { return fmt.Sprintf("input[%d]", i) })
	}
	for i := range list {
		part, err := inputPart(list[i])
		if err != nil {
			return nil, run.Invalidf(fmt.Sprintf("input[%d]", i), "%v", err)
		}
		list[i] = part
	}
	body, err := json.Marshal(map[string]any{"role": "user", "content": list})
	if err != nil {
		return nil, err
	}
	var m item.Message
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, run.Invalidf("input", "%v", err)
	}
	return []item.Message{m}, nil
}

// inputPart checks one block, and spells a picture as models' messages do.
func inputPart(raw json.RawMessage) (json.RawMessage, error) {
	var b struct {
		Type     string          `json:"type"`
		Text     *string         `json:"text"`
		URL      string          `json:"url"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, fmt.Errorf("must be a block: an object with a type, and a text or an address that are strings")
	}
	switch b.Type {
	case "text":
		if b.Text == nil {
			return nil, fmt.Errorf("a text block needs a text")
		}
		return raw, nil
	case "image", "image_url":
		url := b.ImageURL
		if jsonvalue.IsNull(url) && b.URL != "" {
			quoted, err := json.Marshal(b.URL)
			if err != nil {
				return nil, err
			}
			url = quoted
		}
		if jsonvalue.IsNull(url) {
			return nil, fmt.Errorf("an image block needs an image_url")
		}
		return json.Marshal(map[string]any{"type": "image_url", "image_url": url})
	case "file":
		if b.URL == "" {
			return nil, fmt.Errorf("a file block needs a url")
		}
		return raw, nil
	case "":
		return nil, fmt.Errorf("has no type")
	}
	return nil, fmt.Errorf("type %q is not one of text, image, file", b.Type)
}

// readMessages reads messages that a client gives as the conversation's.
func readMessages(list []json.RawMessage, name func(int) string) ([]item.Message, error) {
	messages := make([]item.Message, len(list))
	for i, raw := range list {
		if !hasRole(raw) {
			return nil, run.Invalidf(name(i)+".role", "is required of every message of a list")
		}
		m := &messages[i]
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, run.Invalidf(name(i), "%v", err)
		}
		switch m.Role {
		case item.User, item.Assistant, item.System, item.Tool:
		default:
			return nil, run.Invalidf(name(i)+".role", "must be user, assistant, system or tool, not %q", m.Role)
		}
		if m.Role == item.User && len(m.Content) == 0 {
			return nil, run.Invalidf(name(i)+".content", "is empty")
		}
		if m.Role == item.Tool && m.CallID == "" {
			return nil, run.Invalidf(name(i)+".tool_call_id", "is required of a tool's message")
		}
	}
	return messages, nil
}
