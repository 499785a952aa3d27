package gemini

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// decoded decodes payloads as one answer.
func decoded(t *testing.T, payloads ...string) []model.Part {
	t.Helper()
	d := decoder{fault: eventstream.Fault{Provider: "g"}}
	var all []model.Part
	for _, p := range payloads {
		parts, err := d.decode([]byte(p))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parts...)
	}
	return append(all, d.finish()...)
}

func parted(parts string) string { return `{"candidates":[{"content":{"parts":[` + parts + `]}}]}` }

func TestPartsAreGatheredIntoBlocks(t *testing.T) {
	const stop = `{"candidates":[{"finishReason":"STOP"}]}`
	end := model.Finish{Reason: item.FinishStop, Raw: "STOP"}
	for name, c := range map[string]struct {
		in   []string
		want []model.Part
	}{
		"thoughts between texts": {
			[]string{parted(`{"text":"a","thought":true},{"text":"b","thought":true},{"text":"c"}`), parted(`{"text":"d"},{"text":"e","thought":true}`), parted(`{"text":"f"}`), stop},
			[]model.Part{model.Reasoning{Text: "a"}, model.Reasoning{Text: "b"}, model.Text{Text: "c"}, model.Text{Text: "d"},
				model.Reasoning{Item: 1, Text: "e"}, model.Text{Block: 1, Text: "f"}, end}},
		"signatures of texts": {
			[]string{parted(`{"text":"a","thought":true}`), parted(`{"text":"b","thoughtSignature":"s1"}`), parted(`{"text":"","thoughtSignature":"s2"}`), stop},
			[]model.Part{model.Reasoning{Text: "a"}, model.Text{Text: "b"}, model.Reasoning{Signature: "s1"}, model.Reasoning{Item: 1, Signature: "s2"}, end}},
		"a picture between texts": {
			[]string{parted(`{"text":"a"},{"inlineData":{"mimeType":"image/png","data":"AA=="}},{"text":"b"}`), stop},
			[]model.Part{model.Text{Text: "a"}, model.Image{Block: 1, URL: "data:image/png;base64,AA==", MIME: "image/png"}, model.Text{Block: 2, Text: "b"}, end}},
		"calls with ids, and one without arguments": {
			[]string{parted(`{"functionCall":{"id":"1","name":"f","args":{ "a" : [1] }}},{"functionCall":{"name":"g"}}`), stop},
			[]model.Part{model.ToolCall{ID: "1", Name: "f", Arguments: `{"a":[1]}`}, model.ToolCall{Index: 1, Name: "g", Arguments: "{}"},
				model.Finish{Reason: item.FinishToolCalls, Raw: "STOP"}}},
		"a call that never closes stays as it is": {
			[]string{parted(`{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}]}}`), `{"candidates":[{"finishReason":"MAX_TOKENS"}]}`},
			[]model.Part{model.ToolCall{Name: "f", Arguments: `{"a":"x`}, model.Finish{Reason: item.FinishLength, Raw: "MAX_TOKENS"}}},
		"a call that the next one closes": {
			[]string{parted(`{"functionCall":{"name":"f","willContinue":true}}`), parted(`{"functionCall":{"name":"g","args":{}}}`), stop},
			[]model.Part{model.ToolCall{Name: "f"}, model.ToolCall{Arguments: "{}"}, model.ToolCall{Index: 1, Name: "g", Arguments: "{}"},
				model.Finish{Reason: item.FinishToolCalls, Raw: "STOP"}}},
		"filtered": {
			[]string{`{"candidates":[{"finishReason":"SAFETY"}],"modelVersion":"m"}`},
			[]model.Part{model.Finish{Reason: item.FinishFilter, Raw: "SAFETY", Model: "m"}}},
		"usage and grounding after the finish, said twice": {
			[]string{parted(`{"text":"größer, höher"}`), stop,
				`{"candidates":[{"groundingMetadata":{"groundingChunks":[{"web":{"uri":"u","title":"t"}}],"groundingSupports":[{"segment":{"startIndex":10,"endIndex":16,"text":"höher"},"groundingChunkIndices":[0,7]}]}}],"usageMetadata":{"promptTokenCount":2,"cachedContentTokenCount":1}}`,
				`{"candidates":[{"groundingMetadata":{"groundingSupports":[{"segment":{"startIndex":10,"endIndex":16},"groundingChunkIndices":[0]}]}}]}`},
			[]model.Part{model.Text{Text: "größer, höher"}, model.Annotation{Annotation: item.Annotation{Type: item.URLCitation, Start: 8, End: 13, URL: "u", Title: "t"}},
				model.Usage{Usage: item.Usage{InputTokens: 2, CachedTokens: 1}}, end}},
		"kinds of parts and fields that nobody has heard of": {
			[]string{`{"candidates":[{"index":0,"content":{"parts":[{"executableCode":{"code":"1"}},{"text":"a","mood":{}}]},"safetyRatings":"none"},{"index":1,"content":{"parts":[{"text":"other"}]}}],"modelVersion":{"x":1}}`, stop},
			[]model.Part{model.Opaque{Raw: json.RawMessage(`{"type":"executableCode","executableCode":{"code":"1"},"tributary":{"provider":"g","typed":true}}`)}, model.Text{Text: "a"}, end}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decoded(t, c.in...); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %#v\nwant %#v", got, c.want)
			}
		})
	}
}

func TestArgumentsByPath(t *testing.T) {
	w := &writer{}
	var got strings.Builder
	for _, p := range []string{
		`{"jsonPath":"$.to[0].name","stringValue":"A\"n","willContinue":true}`,
		`{"jsonPath":"$.to[0].name","stringValue":"na <ü>"}`,
		`{"jsonPath":"$.to[0].age","numberValue":1e3}`,
		`{"jsonPath":"$.to[1].name","stringValue":""}`,
		`{"jsonPath":"$['a key']['it\\'s']","boolValue":false}`,
		`{"jsonPath":"$.none","nullValue":"NULL_VALUE"}`,
		`{"jsonPath":"$.open","stringValue":"x","willContinue":true}`,
	} {
		var a partialArg
		if err := json.Unmarshal([]byte(p), &a); err != nil {
			t.Fatal(err)
		}
		more, err := w.write(a)
		if err != nil {
			t.Fatal(err)
		}
		got.WriteString(more)
	}
	got.WriteString(w.close())
	want := `{"to":[{"name":"A\"nna <ü>","age":1e3},{"name":""}],"a key":{"it's":false},"none":null,"open":"x"}`
	if got.String() != want {
		t.Errorf("got  %s\nwant %s", got.String(), want)
	}
	for _, bad := range []string{"", "a", "$", "$.", "$[0]", "$.a[", "$.a[x]", "$.a[-1]", "$['a]", "$.a" + strings.Repeat("[0]", 200)} {
		if _, err := (&writer{}).write(partialArg{Path: bad}); err == nil {
			t.Errorf("path %q passes", bad)
		}
	}
	if _, err := (&writer{}).write(partialArg{Path: "$.a[1000000000]"}); err == nil {
		t.Error("an array begins at its billionth element")
	}
}

// pieces takes a value apart as the provider does: leaf by leaf, strings in fragments.
func pieces(t *rapid.T, path string, v any, out []partialArg) []partialArg {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			out = pieces(t, path+"['"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(k)+"']", e, out)
		}
	case []any:
		for i, e := range v {
			out = pieces(t, path+"["+strconv.Itoa(i)+"]", e, out)
		}
	case string:
		cut := []rune(v)
		for len(cut) > 0 && rapid.Bool().Draw(t, "more") {
			n := rapid.IntRange(0, len(cut)).Draw(t, "cut")
			s := string(cut[:n])
			out = append(out, partialArg{Path: path, String: &s, Continues: true})
			cut = cut[n:]
		}
		s := string(cut)
		out = append(out, partialArg{Path: path, String: &s})
	case float64:
		b, _ := json.Marshal(v)
		out = append(out, partialArg{Path: path, Number: b})
	case bool:
		out = append(out, partialArg{Path: path, Bool: &v})
	case nil:
		out = append(out, partialArg{Path: path, Null: json.RawMessage(`"NULL_VALUE"`)})
	}
	return out
}

func TestArgumentsTakenApartAndPutTogetherAreTheSame(t *testing.T) {
	leaf := rapid.OneOf(rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Float64Range(-1e6, 1e6), func(f float64) any { return f }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Just[any](nil))
	key := rapid.StringMatching(`[a-z' \\.\[\]ü]{1,4}`)
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		if depth == 0 {
			return leaf
		}
		// Empty containers have no leaf and so no path.
		return rapid.OneOf(leaf, rapid.Map(rapid.MapOfN(key, value(depth-1), 1, 3), func(m map[string]any) any { return m }),
			rapid.Map(rapid.SliceOfN(value(depth-1), 1, 3), func(s []any) any { return s }))
	}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(key, value(2), 0, 4).Draw(t, "arguments")
		w := &writer{}
		var text strings.Builder
		for _, p := range pieces(t, "$", want, nil) {
			more, err := w.write(p)
			if err != nil {
				t.Fatalf("%+v: %v", p, err)
			}
			text.WriteString(more)
		}
		text.WriteString(w.close())
		var got map[string]any
		if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
			t.Fatalf("%s: %v", text.String(), err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// FuzzDecoder: whatever comes, the decoder neither panics nor breaks a law.
func FuzzDecoder(f *testing.F) {
	for _, payloads := range recordings(f) {
		for _, frame := range framings {
			_, body := frame(payloads)
			f.Add(body)
		}
	}
	f.Add([]byte("data: " + parted(`{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.a['b'][0]","numberValue":1},{"jsonPath":"$.a['b'][1]","stringValue":"ü","willContinue":true}]}}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		next := payloads(bytes.NewReader(body), 0)
		var d decoder
		texts := map[int]int{}
		calls := 0
		look := func(parts []model.Part) {
			for _, p := range parts {
				switch p := p.(type) {
				case model.Text:
					texts[p.Block] += len([]rune(p.Text))
				case model.ToolCall:
					if p.Index > calls || p.Index == calls && p.Name == "" {
						t.Fatalf("call %+v after %d", p, calls)
					}
					if p.Index == calls {
						calls++
					}
				case model.Annotation:
					if p.Start < 0 || p.End <= p.Start || p.End > texts[p.Block] {
						t.Fatalf("annotation %+v of %d", p, texts[p.Block])
					}
				case model.Reasoning, model.Usage, model.Image, model.Finish:
				}
			}
		}
		for {
			chunk, err := next()
			if err != nil {
				break
			}
			parts, err := d.decode(chunk)
			look(parts)
			if err != nil {
				var e *model.Error
				if !errors.As(err, &e) {
					t.Fatalf("error %v", err)
				}
				return
			}
		}
		look(d.finish())
	})
}
