package openai

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// inlineText returns the text of a file that is one and is given with its bytes: models read it best as text.
func inlineText(b item.Block) (string, bool) {
	mime, data, ok := request.DataURL(b.URL)
	mime = cmp.Or(b.MIME, mime, "text/plain")
	if !ok || !strings.HasPrefix(mime, "text/") && mime != "application/json" {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil || !item.ValidText(string(raw)) {
		return "", false
	}
	return fmt.Sprintf("<file name=%q>\n%s\n</file>", cmp.Or(b.Name, "file"), raw), true
}

// mention stands for a block that cannot be sent.
func mention(b item.Block) string {
	where := b.URL
	if strings.HasPrefix(where, "data:") {
		where, _, _ = strings.Cut(strings.TrimPrefix(where[:min(len(where), 100)], "data:"), ";")
	}
	what := string(b.Type)
	if b.Type == item.ForeignBlock {
		var part struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(b.Foreign, &part) // an unnamed part is mentioned without a name
		what = cmp.Or(part.Type, "content")
	}
	return "[" + strings.Join(strings.Fields(what+" "+b.Name+" "+where), " ") + ", not shown]"
}

// toolSchema is the schema of a tool's arguments, as an object that names its properties though there be none: one
// that does not is refused.
func toolSchema(raw json.RawMessage) (map[string]any, error) {
	m := map[string]any{}
	if !isNull(raw) {
		var err error
		if m, err = schemaObject(raw); err != nil {
			return nil, err
		}
	}
	if m == nil { // null, with space around it
		m = map[string]any{}
	}
	if m["type"] == nil {
		m["type"] = "object"
	}
	if m["type"] == "object" && m["properties"] == nil {
		m["properties"] = map[string]any{}
	}
	return m, nil
}

// schemaObject decodes a JSON schema.
func schemaObject(raw json.RawMessage) (map[string]any, error) {
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	return m, nil
}

// strictable reports that a schema has the form that strict mode demands: every object closed, and every
// property required. For other schemas strict mode is an error.
func strictable(schema any) bool {
	m, ok := schema.(map[string]any)
	if !ok {
		return true
	}
	if props, ok := m["properties"].(map[string]any); ok || m["type"] == "object" {
		if m["additionalProperties"] != false {
			return false
		}
		required, _ := m["required"].([]any)
		if len(required) != len(props) {
			return false
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions"} {
		children, _ := m[key].(map[string]any)
		for _, child := range children {
			if !strictable(child) {
				return false
			}
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		children, _ := m[key].([]any)
		for _, child := range children {
			if !strictable(child) {
				return false
			}
		}
	}
	return strictable(m["items"])
}

// ownReasoning returns what of a message's reasoning this provider made.
func ownReasoning(m item.Message, provider string) []item.Reasoning {
	var own []item.Reasoning
	for _, r := range m.Reasoning {
		if r.Provider == provider {
			own = append(own, r)
		}
	}
	return own
}

// isNull reports a value that was not given.
func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
