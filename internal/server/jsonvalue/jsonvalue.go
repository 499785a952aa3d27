// Package jsonvalue is JSON as the routes read and write it: objects whose members keep their order, and values that are
// passed on as they came.
//
// # Laws
//
//   - The members of an [Object] are written in the order in which they stand, so that equal answers are equal bytes.
//   - A [List] is never null.
//   - What is not of the kind that a reader asks for reads as nothing, never as an error: whoever must refuse it has
//     checked it before.
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/internal/jsonline"
)

// Object is a JSON object whose members keep their order, so that answers read as people expect and do not
// change from one to the next.
type Object []Member

// Member is one member of an [Object]. It is an alias so that members can be written as {"name", value}.
type Member = struct {
	Name  string
	Value any
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) { return o.append(nil) }

// append writes an object with those inside of it in one go: what a MarshalJSON returns encoding/json reads once more,
// and with an object in each other that would be once for each.
func (o Object) append(dst []byte) (_ []byte, err error) {
	dst = append(dst, '{')
	for i, m := range o {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsonline.AppendString(dst, m.Name), ':')
		if dst, err = appendValue(dst, m.Value); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func appendValue(dst []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...), nil
	case string:
		return jsonline.AppendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case json.RawMessage:
		return jsonline.AppendRaw(dst, v)
	case Object:
		return v.append(dst)
	}
	raw, err := json.Marshal(value)
	return append(dst, raw...), err
}

// Pick keeps the members with these names; all of them where none is named.
func (o Object) Pick(names []string) Object {
	if len(names) == 0 {
		return o
	}
	out := make(Object, 0, len(names))
	for _, m := range o {
		if slices.Contains(names, m.Name) {
			out = append(out, m)
		}
	}
	return out
}

// With adds the members of an object, in the order of their names, that are not there yet.
func (o Object) With(raw json.RawMessage) Object {
	out := slices.Clone(o)
	m := Fields(raw)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.ContainsFunc(o, func(known Member) bool { return known.Name == name }) {
			out = append(out, Member{name, m[name]})
		}
	}
	return out
}

// List is a JSON list that is never null.
type List []any

// MarshalJSON writes a list also where there is none.
func (l List) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]any(l))
}

// Time is a time as JavaScript writes it; null for none.
func Time(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// OrEmpty is an object that was given, or an empty one.
func OrEmpty(raw json.RawMessage) json.RawMessage {
	if IsNull(raw) {
		return json.RawMessage("{}")
	}
	return raw
}

// OrNull is a value that was given, or null.
func OrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// IsNull reports that a value is absent, or null.
func IsNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || bytes.Equal(t, []byte("null"))
}

// Fields reads the members of an object. What is no object has none.
func Fields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// Text reads a string member of an object.
func Text(m map[string]json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(m[name], &s) // what is no string is none
	return s
}

// Merge sets the members of over in base.
func Merge(base, over json.RawMessage) (json.RawMessage, error) {
	b, o := Fields(base), Fields(over)
	if len(b) == 0 {
		return over, nil
	}
	for k, v := range o {
		b[k] = v
	}
	return json.Marshal(b)
}
