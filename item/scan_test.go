package item

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// The short cut may only ever be faster: it never takes what encoding/json refuses, and never reads it otherwise.
func FuzzScannedMessageIsTheOneThatEncodingJSONReads(f *testing.F) {
	for _, s := range []string{
		`{"content":"hi\n","id":"m","tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{"finish_reason":"stop"},"type":"ai"}`,
		`{"content":[{"type":"text","text":"a"},{"type":"x"}],"type":"human","name":"n","role":"user"}`,
		`{"content":"a","content":"b","type":"human"}`,
		`{"content":null,"id":null,"type":"human"}`,
		`{"Content":"a","type":"human"}`,
		`{"content":"","tool_calls":[{"name":"f","args":{"a":1},"id":"c","type":"tool_call"}],"usage_metadata":{"input_tokens":1},"reasoning":[{"summary":[{"type":"text","text":"t"}]}],"type":"ai"}`,
		`{"content":"","invalid_tool_calls":[{"name":"f","args":"{","id":"c","at":0}],"blocks":[{"type":"text"}],"artifact":{"a":[]},"status":"error","tool_call_id":"c","type":"tool"}`,
		`{"content":"a","tool_calls":null,"usage_metadata":null,"artifact":null,"additional_kwargs":null,"type":"ai"}`,
		`{"content":"a","tool_calls":"x","type":"ai"}`,
		`[]`, `{}`, `{"type":5}`, `{"content":"a" ,"type":"ai"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		short, ok := scanWire(data)
		if !ok {
			return
		}
		var w wire
		if err := json.Unmarshal(data, &w); err != nil {
			t.Fatalf("the short cut took %q, which encoding/json refuses: %v", data, err)
		}
		var got, want Message
		gotErr, wantErr := got.fromWire(short), want.fromWire(w)
		if !reflect.DeepEqual(got, want) || (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q\n short cut     %#v, %v\n encoding/json %#v, %v", data, got, gotErr, want, wantErr)
		}
	})
}

// Without these, the fuzzing would also pass with a short cut that takes nothing.
func TestShortCutTakesWhatIsWritten(t *testing.T) {
	m := Message{
		ID: "m", Role: Assistant, Content: Text("all\nof it"), Reasoning: []Reasoning{{Summary: Text("hm")}}, Usage: &Usage{InputTokens: 1},
		ToolCalls: []ToolCall{{CallID: "c", Name: "f", Arguments: "{}"}, {CallID: "d", Name: "f", Arguments: "{"}}, Finish: FinishStop, Model: "x",
	}
	data, err := m.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := scanWire(data); !ok {
		t.Errorf("the short cut does not take %s", data)
	}
	if data, err = Marshal(m); err != nil {
		t.Fatal(err)
	}
	if got, ok := scanTagged(data); !ok || got.Type != TypeMessage {
		t.Errorf("the short cut does not take %s", data)
	}
}

func FuzzScannedItemIsTheOneThatEncodingJSONReads(f *testing.F) {
	for _, s := range []string{
		`{"type":"message","value":{"content":"hi","type":"ai"}}`, `{"type":"reasoning","value":{}}`, `{"type":"message","value":{}}}`, `{"type":"message","value":{},"value":{}}`,
		`{"type":"tool_call","value":null}`, `{"type":"message","value":}`, `{"type":"hologram","value":1}`, `{"type":"","value":{}}`, `{"type":"message" ,"value":{}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		short, ok := scanTagged(data)
		if !ok {
			return
		}
		var want tagged
		if err := json.Unmarshal(data, &want); err != nil || !reflect.DeepEqual(short, want) {
			t.Fatalf("%q\n short cut     %#v\n encoding/json %#v, %v", data, short, want, err)
		}
		_, err := Unmarshal(data)
		if unknown := (*UnknownTypeError)(nil); errors.As(err, &unknown) && unknown.Type != short.Type {
			t.Fatalf("%q: %v", data, err)
		}
	})
}
