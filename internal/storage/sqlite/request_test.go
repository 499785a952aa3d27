package sqlite

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/run"
)

// A request is read as it was written, however large its input is, and as encoding/json reads it.
func TestRequestsAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := run.Request{Assistant: rapid.String().Draw(t, "assistant"), Multitask: run.Enqueue}
		if rapid.Bool().Draw(t, "settings") {
			r.Metadata = json.RawMessage(`{"input":"no, this is not it","a\"b":[1,{}]}`)
			r.Config = json.RawMessage(`{"configurable":{"input":{}}}`)
		}
		long := strings.Repeat(rapid.SampledFrom([]string{"word ", `\"`, "ü", `\u003c`, "}", ","}).Draw(t, "word"), rapid.SampledFrom([]int{0, 1, 700, 5000}).Draw(t, "words"))
		r.Input = json.RawMessage(rapid.SampledFrom([]string{`{"messages":[{"content":"` + long + `"}]}`, `"` + long + `"`, ` { "a" : "` + long + `" } `, ``}).Draw(t, "input"))
		stored, err := encodeRequest(r)
		if err != nil {
			t.Fatal(err)
		}
		var want, got run.Request
		if err := json.Unmarshal([]byte(stored), &want); err != nil {
			t.Fatalf("%.200s is no request: %v", stored, err)
		}
		if err := decodeRequest([]byte(stored), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%.200s is read as %.200v, want %.200v; %v", stored, got, want, err)
		}
	})
}
