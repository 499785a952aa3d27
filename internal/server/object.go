package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// object is a JSON object whose members keep their order, so that answers read as people expect and do not
// change from one to the next.
type object []member

type member struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// pick keeps the members with these names; all of them where none is named.
func (o object) pick(names []string) object {
	if len(names) == 0 {
		return o
	}
	out := make(object, 0, len(names))
	for _, m := range o {
		if slices.Contains(names, m.name) {
			out = append(out, m)
		}
	}
	return out
}

// list is a JSON list that is never null.
type list []any

func (l list) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]any(l))
}

// stamp is a time as JavaScript writes it; null for none.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// orEmpty is an object that was given, or an empty one.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if isNull(raw) {
		return json.RawMessage("{}")
	}
	return raw
}

// orNull is a value that was given, or null.
func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

func isNull(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) == 0 || bytes.Equal(t, []byte("null"))
}

// fields reads the members of an object. What is no object has none.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// textOf reads a string member of an object.
func textOf(m map[string]json.RawMessage, name string) string {
	var s string
	_ = json.Unmarshal(m[name], &s) // what is no string is none
	return s
}

// merge sets the members of over in base.
func merge(base, over json.RawMessage) (json.RawMessage, error) {
	b, o := fields(base), fields(over)
	if len(b) == 0 {
		return over, nil
	}
	for k, v := range o {
		b[k] = v
	}
	return json.Marshal(b)
}
