package item_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event/eventtest"
	"github.com/tributary-ai/tributary/item"
)

func decode(t testing.TB, data string) item.Message {
	t.Helper()
	var m item.Message
	if err := m.UnmarshalJSON([]byte(data)); err != nil {
		t.Fatalf("decode %s: %v", data, err)
	}
	return m
}

func encode(t testing.TB, m item.Message) string {
	t.Helper()
	data, err := m.MarshalJSON()
	if err != nil {
		t.Fatalf("encode %#v: %v", m, err)
	}
	return string(data)
}

// object decodes JSON for comparisons in which the order of keys does not count.
func object(t testing.TB, data string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := json.Unmarshal([]byte(data), &obj); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return obj
}

func TestMessagesAndItemsComeBackFromJSONAsTheyWere(t *testing.T) {
	t.Run("message", rapid.MakeCheck(func(t *rapid.T) {
		want := eventtest.Message(t)
		data, err := want.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got item.Message
		if err := got.UnmarshalJSON(data); err != nil {
			t.Fatalf("decode %s: %v", data, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n got %#v\nwant %#v", data, got, want)
		}
	}))
	t.Run("item", rapid.MakeCheck(func(t *rapid.T) {
		want := eventtest.Item(t)
		data, err := item.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := item.Unmarshal(data)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\n got %#v (%v)\nwant %#v", data, got, err, want)
		}
	}))
}

func TestMessageIsWrittenInLangChainsForm(t *testing.T) {
	m := item.Message{
		ID: "msg_1", Role: item.Assistant, Content: item.Text("Looking <b>up</b>."),
		Reasoning: []item.Reasoning{{Summary: item.Text("The user wants"), Signature: "sig"}, {Summary: item.Text(" the weather.")}},
		ToolCalls: []item.ToolCall{
			{ID: "item_1", CallID: "call_1", Name: "weather", Arguments: `{"city": "Paris"}`},
			{CallID: "call_2", Name: "weather", Arguments: `{"city": "Ro`},
		},
		Usage:  &item.Usage{InputTokens: 7, OutputTokens: 10, CachedTokens: 4, ReasoningTokens: 3},
		Finish: item.FinishToolCalls, Model: "m-1", Metadata: json.RawMessage(`{"output_version":"v1"}`),
	}
	const want = `{"content":"Looking <b>up</b>.","id":"msg_1",` +
		`"tool_calls":[{"name":"weather","args":{"city":"Paris"},"id":"call_1","type":"tool_call"}],` +
		`"invalid_tool_calls":[{"name":"weather","args":"{\"city\": \"Ro","id":"call_2","error":"the arguments are not a JSON object","type":"invalid_tool_call"}],` +
		`"usage_metadata":{"input_tokens":7,"output_tokens":10,"total_tokens":17,"input_token_details":{"cache_read":4},"output_token_details":{"reasoning":3}},` +
		`"reasoning":[{"summary":[{"type":"text","text":"The user wants"}],"signature":"sig"},{"summary":[{"type":"text","text":" the weather."}]}],` +
		`"additional_kwargs":{"reasoning_content":"The user wants the weather.","tributary_calls":[{"id":"call_1","item_id":"item_1"},{"id":"call_2","invalid":true}]},` +
		`"response_metadata":{"finish_reason":"tool_calls","model_name":"m-1","output_version":"v1"},"type":"ai"}`
	if got := encode(t, m); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Clients ask for the length of these lists without looking whether they are there.
func TestOnlyAssistantsAlwaysListTheirCalls(t *testing.T) {
	for role, want := range map[item.Role]string{
		item.Assistant: `{"content":"x","id":"1","tool_calls":[],"invalid_tool_calls":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"}`,
		item.User:      `{"content":"x","id":"1","additional_kwargs":{},"response_metadata":{},"type":"human"}`,
		item.Tool:      `{"content":"x","id":"1","status":"success","additional_kwargs":{},"response_metadata":{},"type":"tool"}`,
	} {
		if got := encode(t, item.Message{ID: "1", Role: role, Content: item.Text("x")}); got != want {
			t.Errorf("%s: got %s, want %s", role, got, want)
		}
	}
}

func TestMessageIsReadInEverySpelling(t *testing.T) {
	hi := item.UserText("", "hi")
	for name, tt := range map[string]struct {
		data string
		want item.Message
	}{
		"a string":              {`"hi"`, hi},
		"a pair":                {`["human","hi"]`, hi},
		"a pair, OpenAI's role": {`["user", "hi"]`, hi},
		"LangChain":             {`{"type":"human","content":"hi"}`, hi},
		"LangChain, a chunk":    {`{"type":"AIMessageChunk","content":"hi"}`, item.AssistantText("", "hi")},
		"OpenAI":                {`{"role":"user","content":"hi"}`, hi},
		"OpenAI, developer":     {`{"role":"developer","content":"be brief"}`, item.Message{Role: item.System, Content: item.Text("be brief")}},
		"OpenAI, responses":     {`{"type":"message","role":"user","content":"hi"}`, hi},
		"a named role":          {`{"type":"chat","role":"critic","content":"hm"}`, item.Message{Role: "critic", Content: item.Text("hm")}},
		"a role of their own":   {`{"role":"narrator","content":"once"}`, item.Message{Role: "narrator", Content: item.Text("once")}},
		"no content":            {`{"role":"user","content":null}`, item.Message{Role: item.User}},
		"parts":                 {`{"role":"user","content":[{"type":"text","text":"hi"}]}`, item.Message{Role: item.User, Content: item.Text("hi"), Parts: true}},
		"parts as strings":      {`{"role":"user","content":["hi"]}`, item.Message{Role: item.User, Content: item.Text("hi"), Parts: true}},
		"no parts":              {`{"role":"user","content":[]}`, item.Message{Role: item.User, Parts: true}},
		"serialised by LangChain": {
			`{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"hi","id":"m1","additional_kwargs":{},"response_metadata":{"finish_reason":"stop"}}}`,
			item.Message{ID: "m1", Role: item.Assistant, Content: item.Text("hi"), Finish: item.FinishStop},
		},
		"the word constructor in a text": {`{"role":"user","content":"\"constructor\" \"constructor\""}`, item.UserText("", `"constructor" "constructor"`)},
		"OpenAI's tool call": {
			`{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
			item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c1", Name: "f", Arguments: `{"a":1}`}}},
		},
		"a tool call with an object for OpenAI's string": {
			`{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f","arguments":{"a": 1}}}]}`,
			item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c1", Name: "f", Arguments: `{"a":1}`}}},
		},
		"a tool call with a string for LangChain's object": {
			`{"type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":"{\"a\":1}"}]}`,
			item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c1", Name: "f", Arguments: `{"a":1}`}}},
		},
		"a tool call without arguments": {
			`{"type":"ai","content":"","tool_calls":[{"id":"c1","name":"f","args":null}]}`,
			item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c1", Name: "f"}}},
		},
		"a tool's answer": {
			`{"role":"tool","tool_call_id":"c1","content":"21","status":"error","artifact":{ "raw": [1] }}`,
			item.Message{Role: item.Tool, CallID: "c1", Content: item.Text("21"), Failed: true, Artifact: json.RawMessage(`{"raw":[1]}`)},
		},
		"a removal": {`{"type":"remove","id":"m1","content":""}`, item.Message{ID: "m1", Role: item.Remove}},
		"reasoning as front ends send it back": {
			`{"type":"ai","content":"4","additional_kwargs":{"reasoning_content":"2+2","keep":"<this>"},"response_metadata":{"model_name":"m","finish_reason":"length","x":{"y":1}}}`,
			item.Message{
				Role: item.Assistant, Content: item.Text("4"), Reasoning: []item.Reasoning{{Summary: item.Text("2+2")}},
				Finish: item.FinishLength, Model: "m", Kwargs: json.RawMessage(`{"keep":"<this>"}`), Metadata: json.RawMessage(`{"x":{"y":1}}`),
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := decode(t, tt.data); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s\n got %#v\nwant %#v", tt.data, got, tt.want)
			}
		})
	}
}

func TestMessageThatMakesNoSenseIsRefused(t *testing.T) {
	for data, want := range map[string]string{
		`{}`:                                   `needs a "type"`,
		`null`:                                 `needs a "type"`,
		`{"type":"message","content":"x"}`:     `needs a "type"`,
		`{"role":"constructor","content":"x"}`: `needs a "type"`,
		`["message","x"]`:                      `needs a "type"`,
		`["human"]`:                            "must be [role, text]",
		`7`:                                    "message",
		`{"role":"user","content":{"a":1}}`:    "content must be a string or a list of parts",
		`{"role":"user","content":[7]}`:        "a content part must be an object or a string",
		`{"role":"user","content":[null]}`:     "a content part must be an object or a string",
		`{"role":"user","content":[{"type":"text"}]}`:                     "a text part needs a text",
		`{"role":"user","content":[{"type":"text","text":7}]}`:            "a text part needs a text",
		`{"role":"user","content":"x","additional_kwargs":[]}`:            "additional_kwargs must be an object",
		`{"role":"user","content":"x","response_metadata":"y"}`:           "response_metadata must be an object",
		`{"lc":1,"type":"constructor","id":[],"kwargs":{"content":"x"}}`:  "names its class",
		`{"lc":1,"type":"constructor","id":"X","kwargs":{"content":"x"}}`: "names its class",
		`{"lc":1,"type":"constructor","id":["HumanMessage"]}`:             "needs kwargs",
	} {
		var m item.Message
		if err := m.UnmarshalJSON([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want one with %q", data, err, want)
		}
	}
}

func TestContentPartsGoBackAsTheyCame(t *testing.T) {
	for name, part := range map[string]string{
		"text":                             `{"type":"text","text":"<i>"}`,
		"text with a cache hint":           `{"type":"text","text":"long","cache_control":{"type":"ephemeral"}}`,
		"text with others' annotations":    `{"type":"text","text":"cited","annotations":[{"type":"url_citation","url":"u","start_index":0,"end_index":5}]}`,
		"text with annotations of no list": `{"type":"text","text":"cited","annotations":{"file":1}}`,
		"text, keys in another order":      `{"text":"x","type":"text"}`,
		"image":                            `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`,
		"image with a detail":              `{"type":"image_url","image_url":{"url":"u","detail":"low"}}`,
		"image as a string":                `{"type":"image_url","image_url":"u"}`,
		"file":                             `{"type":"file","url":"u","mime_type":"text/plain","filename":"a.txt"}`,
		"file in OpenAI's form":            `{"type":"file","file":{"file_data":"data:,x"}}`,
		"Anthropic's document":             `{"type":"document","source":{"type":"base64","data":"AA=="},"text":{"no":"string"},"ref":"no number"}`,
		"a tool call":                      `{"type":"tool_call","id":"c","name":"f","args":{"b":1,"a":1.50}}`,
		"nothing in it":                    `{}`,
	} {
		t.Run(name, func(t *testing.T) {
			m := decode(t, `{"role":"user","content":[`+part+`]}`)
			got := object(t, encode(t, m))["content"]
			want := object(t, `{"content":[`+part+`]}`)["content"]
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
		})
	}
}

func TestPartsThatWeUnderstandCanBeReadWithoutTheirExtras(t *testing.T) {
	m := decode(t, `{"role":"user","content":[
		{"type":"text","text":"look: ","cache_control":{}},
		{"type":"image_url","image_url":{"url":"u","detail":"low"}},
		{"type":"text","text":"here","annotations":[{"type":"citation","start_index":2}]}]}`)
	if got := m.Text(); got != "look: here" {
		t.Errorf("text: got %q", got)
	}
	if b := m.Content[1]; b.Type != item.ImageBlock || b.URL != "u" {
		t.Errorf("image: got %#v", b)
	}
	if a := m.Content[2].Annotations; a != nil {
		t.Errorf("another program's annotations were taken for ours: %#v", a)
	}
}

func TestCallsKeepTheirOrderWhenSomeAreInvalid(t *testing.T) {
	t.Run("written by us", rapid.MakeCheck(func(t *rapid.T) {
		var want []item.ToolCall
		for _, args := range rapid.SliceOf(rapid.SampledFrom([]string{`{}`, `{"a":`, `{"b":2}`, `oops`})).Draw(t, "arguments") {
			want = append(want, item.ToolCall{CallID: "call_" + string(rune('a'+len(want)%26)), Name: "f", Arguments: args, Signature: "s"})
		}
		data, err := item.Message{Role: item.Assistant, ToolCalls: want}.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var got item.Message
		if err := got.UnmarshalJSON(data); err != nil || !reflect.DeepEqual(got.ToolCalls, want) {
			t.Fatalf("%s (%v)\n got %v\nwant %v", data, err, got.ToolCalls, want)
		}
	}))
	// LangChain's clients do not say where the invalid ones stood among the others, but they list them in order.
	t.Run("written by others", func(t *testing.T) {
		m := decode(t, `{"type":"ai","content":"","tool_calls":[{"id":"1","name":"f","args":{}}],
			"invalid_tool_calls":[{"id":"2","name":"f","args":"{"},{"id":"3","name":"f","args":"["},{"id":"4","name":"f","args":null}]}`)
		var ids string
		for _, c := range m.ToolCalls {
			ids += c.CallID
		}
		if ids != "1234" {
			t.Errorf("got calls in the order %s, want 1234", ids)
		}
	})
}

// What recordings of LangGraph's server and its clients hold must be in what we give back.
func TestRecordedMessagesLoseNothingThatWeHaveAWordFor(t *testing.T) {
	recorded, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(recorded)) {
		want, got := object(t, line), object(t, encode(t, decode(t, line)))
		// Pieces of calls belong to streams, not to conversations; content_blocks repeat the content; metadata
		// holds the versions of the client's packages.
		for _, key := range []string{"tool_call_chunks", "content_blocks", "metadata"} {
			delete(want, key)
		}
		if usage, ok := want["usage_metadata"].(map[string]any); ok { // details that are empty are left out
			maps.DeleteFunc(usage, func(_ string, v any) bool { return reflect.DeepEqual(v, map[string]any{}) })
		}
		for key, value := range want {
			if list, ok := value.([]any); ok && len(list) > 0 && key == "invalid_tool_calls" { // the reason is given in our words
				value, got[key] = list[0].(map[string]any)["args"], got[key].([]any)[0].(map[string]any)["args"]
			}
			if key == "tool_calls" {
				for _, c := range value.([]any) {
					c.(map[string]any)["type"] = "tool_call"
				}
			}
			if !reflect.DeepEqual(got[key], value) {
				t.Errorf("%s: got %v, want %v", key, got[key], value)
			}
		}
	}
}

func FuzzWhatDecodesAsMessageEncodesToItself(f *testing.F) {
	recorded, err := os.ReadFile("testdata/recorded.jsonl")
	if err != nil {
		f.Fatal(err)
	}
	for line := range bytes.Lines(recorded) {
		f.Add(line)
	}
	for _, p := range payloads {
		f.Add([]byte(p))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first item.Message
		if first.UnmarshalJSON(data) != nil {
			return
		}
		written := encode(t, first)
		if again := encode(t, decode(t, written)); again != written {
			t.Fatalf("%q is written as\n%s and then as\n%s", data, written, again)
		}
	})
}

// Python's convert_to_messages refuses a call with a key more; messages that were stored before we knew have them.
func TestCallsAreReadAsTheyWereWrittenBefore(t *testing.T) {
	old := decode(t, `{"type":"ai","content":"","tool_calls":[{"name":"f","args":{},"id":"a","type":"tool_call","item_id":"i1","signature":"s1"},{"name":"h","args":{},"id":"c","type":"tool_call"}],`+
		`"invalid_tool_calls":[{"name":"g","args":"{","id":"b","type":"invalid_tool_call","item_id":"i2","at":1}]}`)
	want := []item.ToolCall{
		{ID: "i1", CallID: "a", Name: "f", Arguments: "{}", Signature: "s1"}, {ID: "i2", CallID: "b", Name: "g", Arguments: "{"}, {CallID: "c", Name: "h", Arguments: "{}"},
	}
	if !reflect.DeepEqual(old.ToolCalls, want) {
		t.Errorf("old: got %+v, want %+v", old.ToolCalls, want)
	}
	if again := decode(t, encode(t, old)); !reflect.DeepEqual(again, old) {
		t.Errorf("written anew: got %+v, want %+v", again, old)
	}
	// What a client leaves out is gone, what it adds comes last, and what is not ours is nobody's.
	edited := decode(t, `{"type":"ai","content":"","tool_calls":[{"name":"new","args":{},"id":"n"},{"name":"f","args":{},"id":"a"}],"additional_kwargs":{"x":1,"tributary_calls":[{"id":"gone"},{"id":"a","item_id":"i1"}]}}`)
	if got := edited.ToolCalls; len(got) != 2 || got[0].ID != "i1" || got[1].CallID != "n" || string(edited.Kwargs) != `{"x":1}` {
		t.Errorf("edited: got %+v and %s", got, edited.Kwargs)
	}
}

func TestAToolsContentIsATextWhereItCanBe(t *testing.T) {
	result := item.Message{
		Role: item.Tool, CallID: "c", Content: []item.Block{{Type: item.TextBlock, Text: "ID: 1", Ref: 1}, {Type: item.TextBlock, Text: "Otters."}},
		Blocks: item.Text("Page A"),
	}
	const want = `{"content":"ID: 1\nOtters.","tool_call_id":"c","status":"success",` +
		`"artifact":{"type":"tributary","content":[{"type":"text","text":"ID: 1","ref":1},{"type":"text","text":"Otters."}],"blocks":[{"type":"text","text":"Page A"}]},` +
		`"additional_kwargs":{},"response_metadata":{},"type":"tool"}`
	written := encode(t, result)
	if written != want {
		t.Errorf("got  %s\nwant %s", written, want)
	}
	if again := decode(t, written); !reflect.DeepEqual(again, result) {
		t.Errorf("read back: got %+v, want %+v", again, result)
	}
	// A client that changes the text means it.
	changed := decode(t, strings.Replace(written, "Otters.\",\"tool", "Beavers.\",\"tool", 1))
	if got := changed.Text(); got != "ID: 1\nBeavers." || len(changed.Blocks) != 1 || changed.Artifact != nil {
		t.Errorf("changed: got %q, %v and artifact %s", got, changed.Blocks, changed.Artifact)
	}
	// What is no text stays a list, and so does what a client gave as one; a tool's own artifact stays its own.
	picture := item.Message{Role: item.Tool, CallID: "c", Content: []item.Block{{Type: item.ImageBlock, URL: "https://a/b.png"}}}
	for _, m := range []item.Message{picture, decode(t, `{"type":"tool","content":[{"type":"text","text":"a"}],"tool_call_id":"c"}`)} {
		if got := encode(t, m); !strings.HasPrefix(got, `{"content":[`) {
			t.Errorf("got %s, want a list", got)
		}
	}
	if got := decode(t, `{"type":"tool","content":"a","tool_call_id":"c","artifact":{"type":"mine","content":[]}}`); string(got.Artifact) != `{"type":"mine","content":[]}` {
		t.Errorf("artifact: got %s", got.Artifact)
	}
}

// Whatever a tool returns: its content is one text if all of it is text, and nothing is lost by that.
func TestAToolsContentIsATextExactlyIfAllOfItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := item.Message{Role: item.Tool, CallID: "c"}
		allText := true
		for range rapid.IntRange(1, 4).Draw(t, "blocks") {
			b := item.Block{Type: item.TextBlock, Text: rapid.StringMatching(`[a-z<\n"]{1,6}`).Draw(t, "text"), Ref: rapid.IntRange(0, 2).Draw(t, "ref")}
			if rapid.IntRange(0, 4).Draw(t, "picture") == 0 {
				b, allText = item.Block{Type: item.ImageBlock, URL: "https://a/b.png"}, false
			}
			m.Content = append(m.Content, b)
		}
		if rapid.Bool().Draw(t, "for people") {
			m.Blocks = item.Text("a page")
		}
		data, err := m.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		var shown struct{ Content any }
		if err := json.Unmarshal(data, &shown); err != nil {
			t.Fatal(err)
		}
		if _, text := shown.Content.(string); text != allText {
			t.Fatalf("all is text: %v; got %s", allText, data)
		}
		var again item.Message
		if err := again.UnmarshalJSON(data); err != nil || !reflect.DeepEqual(again.Content, m.Content) || !reflect.DeepEqual(again.Blocks, m.Blocks) {
			t.Fatalf("%s (%v)\n got %+v\nwant %+v", data, err, again, m)
		}
	})
}
