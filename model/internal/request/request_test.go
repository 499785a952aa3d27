package request_test

import (
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/internal/request"
)

func TestDataURLs(t *testing.T) {
	for in, want := range map[string][2]string{
		"data:image/png;base64,AA==":            {"image/png", "AA=="},
		"data:text/plain;charset=utf-8,a%20b":   {"text/plain", "YSBi"},
		"data:text/plain;charset=x;base64,YQ==": {"text/plain", "YQ=="},
		"data:,a":                               {"", "YQ=="},
	} {
		if mime, data, ok := request.DataURL(in); !ok || mime != want[0] || data != want[1] {
			t.Errorf("%s: %q, %q, %v", in, mime, data, ok)
		}
	}
	for _, in := range []string{"", "https://x", "data:image/png", "data:,%zz"} {
		if _, _, ok := request.DataURL(in); ok {
			t.Errorf("%q passes", in)
		}
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	for in, want := range map[string]string{
		"": "{}", " \n": "{}", ` {"a":1} `: `{"a":1}`, `[1]`: `{"invalid_arguments":"[1]"}`, `{"a`: `{"invalid_arguments":"{\"a"}`, "null": `{"invalid_arguments":"null"}`,
	} {
		if got := string(request.Arguments(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestPatch(t *testing.T) {
	patch := func(s string) map[string]json.RawMessage {
		var m map[string]json.RawMessage
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	got, err := request.Patch([]byte(`{"a":1,"b":{"c":1,"d":2},"e":5}`), patch(`{"a":null,"b":{"c":null,"x":{"y":1}},"e":{"f":null,"g":1}}`), nil, patch(`{"h":[1]}`))
	if want := `{"b":{"d":2,"x":{"y":1}},"e":{"g":1},"h":[1]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := request.Patch([]byte(`{}`), map[string]json.RawMessage{"k": json.RawMessage("{")}); err == nil {
		t.Error("what is no JSON passes")
	}
}

func TestResultsAreFoundBehindTheirCall(t *testing.T) {
	msgs := []item.Message{
		{Role: item.Assistant}, {Role: item.Tool, CallID: "b"}, {Role: item.User}, {Role: item.Tool}, {Role: item.Assistant}, {Role: item.Tool, CallID: "c"},
	}
	taken := make([]bool, len(msgs))
	if got := request.Result(item.ToolCall{CallID: "b"}, msgs, 0, taken); got != &msgs[1] {
		t.Errorf("b: %v", got)
	}
	if got := request.Result(item.ToolCall{CallID: "a"}, msgs, 0, taken); got != &msgs[3] {
		t.Errorf("a, in order: %v", got)
	}
	if got := request.Result(item.ToolCall{CallID: "c"}, msgs, 0, taken); got != nil {
		t.Errorf("c is answered in another turn: %v", got)
	}
}

// Wires without blocks show each block of a tool's result on lines of its own: a number does not run into its passage, and no two blocks
// make up what neither of them says.
func TestBlocksOfAResultStayApart(t *testing.T) {
	got := request.Lines([]item.Block{
		{Type: item.TextBlock, Text: "<referencable-item>\nID: 1", Ref: 1}, {Type: item.TextBlock, Text: "2024 was wet. </", Ref: 1},
		{Type: item.ImageBlock, URL: "https://a/b.png"}, {Type: item.TextBlock, Text: "referencable-item>", Ref: 1},
	})
	if want := "<referencable-item>\nID: 1\n2024 was wet. </\nreferencable-item>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
