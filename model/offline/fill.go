package offline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/internal/prose"
)

// shape is the part of a JSON schema that is needed to write some value that satisfies it.
type shape struct {
	Type       any               `json:"type"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Default    any               `json:"default"`
	Properties map[string]*shape `json:"properties"`
	Required   []string          `json:"required"`
	Items      *shape            `json:"items"`
	MinItems   int               `json:"minItems"`
	Minimum    *float64          `json:"minimum"`
	AnyOf      []*shape          `json:"anyOf"`
	OneOf      []*shape          `json:"oneOf"`
}

// fill writes a JSON object for a schema out of the one thing there is: the question. It is how the model
// takes part where a plan or arguments are asked for in a given form; there is no thought in it.
func fill(schema json.RawMessage, question string) string {
	var s shape
	if err := json.Unmarshal(schema, &s); err != nil {
		return "{}"
	}
	return encodeJSON(s.value("", question))
}

func (s *shape) value(name, question string) any {
	if s == nil {
		return question
	}
	switch {
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].value(name, question)
	case len(s.OneOf) > 0:
		return s.OneOf[0].value(name, question)
	}
	switch s.kind() {
	case "object":
		// Every property, required or not: the forms that models are given mean them all to be filled.
		obj := map[string]any{}
		for key, p := range s.Properties {
			obj[key] = p.value(key, question)
		}
		return obj
	case "array":
		var list []any
		for range max(s.MinItems, 1) {
			list = append(list, s.Items.value(name, question))
		}
		return list
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return strings.HasPrefix(name, "need") // need_search: yes, since nothing is known here
	case "null":
		return nil
	}
	if name == "locale" || name == "language" {
		if prose.Chinese(question) {
			return "zh-CN"
		}
		return "en-US"
	}
	return question
}

func (s *shape) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, ok := one.(string); ok && name != "null" {
				return name
			}
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return "string"
}

// encodeJSON writes a value as models do, without the escapes that HTML needs.
func encodeJSON(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "{}"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
