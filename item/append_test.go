package item_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

// byTags is what encoding/json makes of a value.
func byTags(t *rapid.T, v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// Items are written by hand; whoever marshals one inside something else must get the same bytes.
func TestHandWrittenFormIsTheOneThatTagsTell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		it := eventtest.Item(t)
		got, err := item.Append([]byte("kept"), it)
		if err != nil {
			t.Fatal(err)
		}
		want := byTags(t, struct {
			Type  item.Type `json:"type"`
			Value any       `json:"value"`
		}{it.ItemType(), it})
		if string(got) != "kept"+string(want) {
			t.Fatalf("got  %s\nwant kept%s", got, want)
		}
		block, usage := eventtest.Block(t), eventtest.Usage(t)
		if got, err := block.AppendJSON(nil); err != nil || !bytes.Equal(got, byTags(t, block)) {
			t.Fatalf("got %s and error %v, want %s", got, err, byTags(t, block))
		}
		if got, err := usage.AppendJSON(nil); err != nil || !bytes.Equal(got, byTags(t, usage)) {
			t.Fatalf("got %s and error %v, want %s", got, err, byTags(t, usage))
		}
	})
}

func TestMessageIsWrittenAsItsWireFormIsTagged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := eventtest.Message(t)
		want, err := item.ByTags(m)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.AppendJSON([]byte("kept")); err != nil || string(got) != "kept"+string(want) {
			t.Fatalf("got  %s and error %v\nwant kept%s", got, err, want)
		}
	})
}

// Blocks that are there and empty are shown to nobody; blocks that are not there are the content.
func TestEmptyListOfBlocksIsKeptApartFromNone(t *testing.T) {
	for want, r := range map[string]item.ToolResult{
		`{"type":"tool_result","value":{"call_id":"c"}}`:             {CallID: "c"},
		`{"type":"tool_result","value":{"call_id":"c","blocks":[]}}`: {CallID: "c", Blocks: []item.Block{}},
	} {
		if got, err := item.Marshal(r); err != nil || string(got) != want {
			t.Errorf("got %s and error %v, want %s", got, err, want)
		}
	}
}

func TestItemWithBrokenJSONInsideIsNotWritten(t *testing.T) {
	broken := item.Block{Type: item.ForeignBlock, Foreign: json.RawMessage(`{"a":`)}
	for _, it := range []item.Item{
		item.Reasoning{Summary: []item.Block{broken}},
		item.ToolResult{Content: []item.Block{broken}},
		item.ToolResult{Blocks: []item.Block{broken}},
		item.Message{Role: item.User, Kwargs: json.RawMessage(`{`)},
		nil,
	} {
		if got, err := item.Append([]byte("kept"), it); err == nil || string(got) != "kept" {
			t.Errorf("%#v: got %q and error %v, want the buffer as it was and an error", it, got, err)
		}
	}
}
