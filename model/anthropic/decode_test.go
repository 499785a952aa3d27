package anthropic

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// events decodes payloads as one answer.
func events(t *testing.T, payloads ...string) ([]model.Part, error) {
	t.Helper()
	var d decoder
	var all []model.Part
	for _, p := range payloads {
		parts, err := d.decode("", []byte(p))
		all = append(all, parts...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

func TestWhatOtherServersDo(t *testing.T) {
	for name, c := range map[string]struct {
		in   []string
		want []model.Part
	}{
		"input whole with the start of the block": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{"a":1}}}`, `{"type":"content_block_stop","index":0}`},
			[]model.Part{model.ToolCall{ID: "1", Name: "f"}, model.ToolCall{Arguments: `{"a":1}`}}},
		"no input at all": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f"}}`, `{"type":"content_block_stop","index":0}`},
			[]model.Part{model.ToolCall{ID: "1", Name: "f"}, model.ToolCall{Arguments: "{}"}}},
		"text with the start of the block": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"!"}}`},
			[]model.Part{model.Text{Text: "Hi"}, model.Text{Text: "!"}}},
		"no start of the block": {
			[]string{`{"type":"content_block_delta","index":3,"delta":{"type":"text_delta","text":"Hi"}}`},
			[]model.Part{model.Text{Text: "Hi"}}},
		"blocks side by side": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f"}}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"2","name":"g"}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"b\":2}"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":1}"}}`,
				`{"type":"content_block_stop","index":1}`, `{"type":"content_block_stop","index":0}`},
			[]model.Part{model.ToolCall{ID: "1", Name: "f"}, model.ToolCall{Index: 1, ID: "2", Name: "g"}, model.ToolCall{Index: 1, Arguments: `{"b":2}`}, model.ToolCall{Arguments: `{"a":1}`}}},
		"blocks that never end": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"f","input":{}}}`, `{"type":"message_stop"}`},
			[]model.Part{model.ToolCall{ID: "1", Name: "f"}, model.ToolCall{Arguments: "{}"}, model.Finish{Reason: item.FinishOther}}},
		"signature in pieces": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ab"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"cd"}}`, `{"type":"content_block_stop","index":0}`},
			[]model.Part{model.Reasoning{Signature: "abcd"}}},
		"usage that takes its word back": { // the last is cumulative, but a zero in it says nothing
			[]string{`{"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":7,"cache_creation_input_tokens":2,"output_tokens":1}}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":9,"cache_read_input_tokens":null}}`},
			[]model.Part{model.Usage{Usage: item.Usage{InputTokens: 14, OutputTokens: 1, CachedTokens: 7, CacheWriteTokens: 2}},
				model.Usage{Usage: item.Usage{InputTokens: 14, OutputTokens: 9, CachedTokens: 7, CacheWriteTokens: 2}}}},
		"a citation of a document": {
			[]string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"größer"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"q","document_title":"D","start_char_index":1}}}`,
				`{"type":"content_block_stop","index":0}`},
			[]model.Part{model.Text{Text: "größer"}, model.Annotation{Annotation: item.Annotation{Type: item.URLCitation, End: 6, Title: "D", Quote: "q"}}}},
		"kinds of events, blocks and fields that nobody has heard of": {
			[]string{`{"type":"weather","index":"seven"}`, `{"type":"content_block_start","index":0,"content_block":{"type":"sculpture","data":{"x":1},"text":[1]}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"not text"}}`, `{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hi","mood":{"type":1}}}`},
			[]model.Part{model.Text{Text: "Hi"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := events(t, c.in...)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %#v\nwant %#v", got, c.want)
			}
		})
	}
}

// FuzzDecoder: whatever comes, the decoder neither panics nor breaks a law, and a call's arguments are
// never lost.
func FuzzDecoder(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.sse")
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := eventstream.NewReader(bytes.NewReader(body))
		var d decoder
		texts, calls := -1, 0
		for !d.finished {
			ev, err := r.Next()
			if err != nil {
				return
			}
			parts, err := d.decode(ev.Name, ev.Data)
			for i, p := range parts {
				switch p := p.(type) {
				case model.Text:
					if p.Text == "" {
						t.Fatal("empty text")
					}
					texts = max(texts, p.Block)
				case model.ToolCall:
					if p.Index > calls {
						t.Fatalf("call %d after %d", p.Index, calls)
					}
					if p.Index == calls {
						calls++
					}
				case model.Annotation:
					if p.Block > texts || p.End <= p.Start {
						t.Fatalf("annotation %+v of %d texts", p, texts)
					}
				case model.Finish:
					if i != len(parts)-1 {
						t.Fatal("something follows the finish")
					}
				case model.Reasoning, model.Usage, model.Image, model.Opaque:
				}
			}
			if err != nil {
				var e *model.Error
				if !errors.As(err, &e) {
					t.Fatalf("error %v", err)
				}
				return
			}
		}
	})
}
