package graph

import (
	"encoding/json"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

// The members of an object are what encoding/json says, whatever the object is.
func TestLookingIntoAnInputFindsWhatDecodingItDoes(t *testing.T) {
	values := rapid.SampledFrom([]string{`1`, `"a\"b"`, `[{"x":[]},"ü"]`, `{}`, `{"messages":[]}`, `null`, ` 1`, `"\ud800"`, `tru`, `"`, ``})
	keys := rapid.SampledFrom([]string{`messages`, `a`, `b\"c`, `\u0061`, `ü`, ``, `\ud83d\ude00`, `\q`})
	rapid.Check(t, func(t *rapid.T) {
		text := "{"
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			if i > 0 {
				text += ","
			}
			text += `"` + keys.Draw(t, "key") + `":` + values.Draw(t, "value")
		}
		text += rapid.SampledFrom([]string{"}", "}", "}", "} ", "", "}}"}).Draw(t, "end")
		var want map[string]json.RawMessage
		wrong := json.Unmarshal([]byte(text), &want)
		got, ok := lookInto([]byte(text))
		if ok && wrong != nil {
			t.Fatalf("%s is taken for %v, but it is not JSON: %v", text, got, wrong)
		}
		if ok && !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Fatalf("%s has the members %s, want %s", text, got, want)
		}
		if !ok && wrong == nil && text == `{"messages":[{"x":[]},"ü"]}` {
			t.Fatalf("%s is not looked into", text)
		}
	})
}
