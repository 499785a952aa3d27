package graph

import (
	"encoding"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// schema is as much of JSON Schema as Go types can say.
type schema struct {
	Type       string             `json:"type,omitempty"`
	Format     string             `json:"format,omitempty"`
	Enum       []string           `json:"enum,omitempty"`
	Items      *schema            `json:"items,omitempty"`
	Values     *schema            `json:"additionalProperties,omitempty"`
	Properties map[string]*schema `json:"properties,omitempty"`
	Required   []string           `json:"required,omitempty"`
}

func schemaOf(t reflect.Type) json.RawMessage { return describe(t, nil).encode() }

func (s *schema) encode() json.RawMessage {
	raw, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

var (
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
	timeType      = reflect.TypeFor[time.Time]()
)

// describe follows a type; within holds the structs that it is inside of, so that a type that contains
// itself ends as "anything".
func describe(t reflect.Type, within []reflect.Type) *schema {
	if t == timeType {
		return &schema{Type: "string", Format: "date-time"}
	}
	if t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return &schema{}
	}
	if t.Implements(textMarshaler) {
		return &schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &schema{Type: "integer"}
	case reflect.Float32, reflect.Float64:
		return &schema{Type: "number"}
	case reflect.String:
		return &schema{Type: "string"}
	case reflect.Pointer:
		return describe(t.Elem(), within)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &schema{Type: "string"}
		}
		return &schema{Type: "array", Items: describe(t.Elem(), within)}
	case reflect.Map:
		return &schema{Type: "object", Values: describe(t.Elem(), within)}
	case reflect.Struct:
		if slices.Contains(within, t) {
			return &schema{}
		}
		return describeStruct(t, append(slices.Clip(within), t))
	}
	return &schema{}
}

func describeStruct(t reflect.Type, within []reflect.Type) *schema {
	s := &schema{Type: "object", Properties: map[string]*schema{}}
	for _, f := range reflect.VisibleFields(t) {
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		if !f.IsExported() || len(f.Index) > 1 || tag == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s.Properties[name] = describe(f.Type, within)
		if !strings.Contains(opts, "omitempty") && !strings.Contains(opts, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
	return s
}
