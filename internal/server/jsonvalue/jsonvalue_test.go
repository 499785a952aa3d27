package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// slow is an object as encoding/json alone would write it, member by member.
type slow jsonvalue.Object

func (o slow) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := json.Marshal(m.Name)
		if err != nil {
			return nil, err
		}
		v := m.Value
		if inner, ok := v.(jsonvalue.Object); ok {
			v = slow(inner)
		}
		value, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		b = append(append(append(b, key...), ':'), value...)
	}
	return append(b, '}'), nil
}

func object(t *rapid.T, depth int) jsonvalue.Object {
	var o jsonvalue.Object
	text := rapid.SampledFrom([]string{"", "plain", "<b>&amp;", "\"\\\n\u2028é\xff"})
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		var v any
		switch rapid.IntRange(0, 7).Draw(t, "kind") {
		case 0:
			v = nil
		case 1:
			v = text.Draw(t, "text")
		case 2:
			v = rapid.Bool().Draw(t, "bool")
		case 3:
			v = rapid.SampledFrom([]json.RawMessage{nil, json.RawMessage(`{"a": [1, "<"]}`), json.RawMessage(`null`), json.RawMessage(`{`), {}}).Draw(t, "raw")
		case 4:
			v = rapid.SliceOf(text).Draw(t, "list")
		case 5:
			v = rapid.Float64().Draw(t, "number")
		default:
			if depth > 0 {
				v = object(t, depth-1)
			}
		}
		o = append(o, jsonvalue.Member{Name: text.Draw(t, "name"), Value: v})
	}
	return o
}

func TestObjectIsWrittenAsEncodingJSONWouldMemberByMember(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := object(t, 3)
		want, wrong := json.Marshal(slow(o))
		got, err := json.Marshal(o)
		if (err == nil) != (wrong == nil) || !bytes.Equal(got, want) {
			t.Fatalf("got  %s, %v\nwant %s, %v", got, err, want, wrong)
		}
	})
}
