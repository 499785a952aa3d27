package openapi

import (
	"encoding/json"
	"go/token"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// schemas makes JSON Schemas of Go types. Structs with exported names stand apart, and are referred to.
type schemas struct {
	named jsonvalue.Object
	types map[string]reflect.Type // by their names
	// answers says that what is described is written by us: members are there unless they may be left out, and what
	// is pointed to can be null. Of what others write only what is required must be there.
	answers bool
	// partial says that nothing is required, of a struct of which all else is.
	partial bool
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	timeType = reflect.TypeFor[time.Time]()
)

func typed(name string) jsonvalue.Object { return jsonvalue.Object{{"type", name}} }

// of is the schema of a value: an object by its members, anything else by its type.
func (s *schemas) of(v any) jsonvalue.Object {
	switch v := v.(type) {
	case nil:
		return jsonvalue.Object{}
	case edge.Shaped:
		return v.Shape()
	case jsonvalue.Object:
		properties, required := jsonvalue.Object{}, []string{}
		for _, m := range v {
			properties = append(properties, jsonvalue.Member{m.Name, s.of(m.Value)})
			required = append(required, m.Name)
		}
		return jsonvalue.Object{{"type", "object"}, {"properties", properties}, {"required", required}}
	}
	t := reflect.TypeOf(v)
	return s.orNull(t, s.ofType(t))
}

// orNull is the schema of what may be null, if a type says so.
func (s *schemas) orNull(t reflect.Type, o jsonvalue.Object) jsonvalue.Object {
	if s.answers && t.Kind() == reflect.Pointer {
		return jsonvalue.Object{{"anyOf", jsonvalue.List{o, typed("null")}}}
	}
	return o
}

func (s *schemas) ofType(t reflect.Type) jsonvalue.Object {
	if v, ok := reflect.New(t).Interface().(edge.Shaped); ok && t.Kind() != reflect.Pointer {
		return v.Shape()
	}
	switch {
	case t == rawType:
		return jsonvalue.Object{}
	case t == timeType:
		return jsonvalue.Object{{"type", "string"}, {"format", "date-time"}}
	}
	switch t.Kind() {
	case reflect.Bool:
		return typed("boolean")
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return typed("integer")
	case reflect.Float64:
		return typed("number")
	case reflect.String:
		return typed("string")
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.Slice:
		return jsonvalue.Object{{"type", "array"}, {"items", s.ofType(t.Elem())}}
	case reflect.Map:
		return jsonvalue.Object{{"type", "object"}, {"additionalProperties", s.ofType(t.Elem())}}
	case reflect.Struct:
		return s.ofStruct(t)
	case reflect.Interface:
		return jsonvalue.Object{}
	}
	panic("openapi: a " + t.String() + " has no schema") // a mistake in a description, found by the first test
}

// ofStruct refers to a struct that has a name.
func (s *schemas) ofStruct(t reflect.Type) jsonvalue.Object {
	name := t.Name()
	if n, ok := reflect.Zero(t).Interface().(edge.Named); ok {
		name = n.SchemaName()
	}
	if s.partial || !token.IsExported(name) {
		return s.members(t)
	}
	switch s.types[name] {
	case nil:
		s.types[name] = t
		at := len(s.named)
		s.named = append(s.named, jsonvalue.Member{Name: name}) // it may refer to itself
		s.named[at].Value = s.members(t)
	case t:
	default:
		panic("openapi: " + t.String() + " and " + s.types[name].String() + " have the same name")
	}
	return jsonvalue.Object{{"$ref", "#/components/schemas/" + name}}
}

func (s *schemas) members(t reflect.Type) jsonvalue.Object {
	properties, required := jsonvalue.Object{}, []string{}
	for _, f := range edge.Fields(t) {
		properties = append(properties, jsonvalue.Member{f.Name, s.member(f)})
		if s.answers && !f.OmitEmpty || !s.answers && !s.partial && f.Tag.Get("required") != "" {
			required = append(required, f.Name)
		}
	}
	o := jsonvalue.Object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		o = append(o, jsonvalue.Member{"required", required})
	}
	return o
}

// member is the schema of a field, with what its tags say.
func (s *schemas) member(f edge.Field) jsonvalue.Object {
	o := s.ofType(f.Type)
	if kind := f.Tag.Get("type"); kind != "" {
		o = typed(kind)
	}
	if format := f.Tag.Get("format"); format != "" {
		o = append(o, jsonvalue.Member{"format", format})
	}
	if words := f.Tag.Get("enum"); words != "" {
		o = oneOf(o, strings.Split(words, ","))
	}
	if !f.OmitEmpty {
		o = s.orNull(f.Type, o)
	}
	if doc := f.Tag.Get("doc"); doc != "" {
		o = append(o, jsonvalue.Member{"description", doc})
	}
	return o
}

// oneOf lets a text, or each text of a list, or either where both are allowed, be one of some words.
func oneOf(o jsonvalue.Object, words []string) jsonvalue.Object {
	word := edge.Word(words).Shape()
	out := slices.Clone(o)
	for i, m := range out {
		switch m.Name {
		case "type":
			if m.Value == "string" {
				return word
			}
		case "items":
			out[i].Value = word
		case "oneOf":
			out[i].Value = jsonvalue.List{word, jsonvalue.Object{{"type", "array"}, {"items", word}}}
		}
	}
	return out
}
