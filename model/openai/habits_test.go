package openai

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// stream answers with chat chunks, given as their choices' deltas, and then finishes.
func stream(t testing.TB, finish string, deltas ...string) reply {
	t.Helper()
	var b strings.Builder
	for _, d := range deltas {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	fmt.Fprintf(&b, "data: {\"model\":\"x\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	srv := serve(t, "text/event-stream", [][]byte{[]byte(b.String())})
	defer srv.Close()
	a := collect(t, t.Context(), Chat(options(t, srv)), hello)
	if a.Err != nil {
		t.Errorf("error %v", a.Err)
	}
	return a
}

func TestHabitsOfToolCalls(t *testing.T) {
	two := []string{`a f {"x":1}`, `b g {"y":2}`}
	for name, tc := range map[string]struct {
		deltas []string // tool_calls
		want   []string
	}{
		"by index": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`,
			`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
		"interleaved": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\""}}`,
			`{"index":0,"function":{"arguments":":1}"}}`, `{"index":1,"function":{"arguments":":2}"}}`}, two},
		"empty and null ids and names later": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"id":"","function":{"name":"","arguments":"1"}}`, `{"index":0,"id":null,"function":{"name":null,"arguments":"}"}}`,
			`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
		"ids and names repeated": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"1}"}}`,
			`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`, `{"index":1,"id":"b","function":{"name":"g","arguments":"2}"}}`}, two},
		"index always 0": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`, `{"index":0,"function":{"arguments":"2}"}}`}, two},
		"numbered from 1": {[]string{
			`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":2,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
		"a new id for every fragment": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":0,"id":"a2","function":{"arguments":"1}"}}`,
			`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
		"no index": {[]string{
			`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"function":{"arguments":"1}"}}`,
			`{"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
		"no index, interleaved by id": {[]string{
			`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
			`{"id":"a","function":{"arguments":"1}"}}`, `{"id":"b","function":{"arguments":"2}"}}`}, two},
		"neither index nor id": {[]string{
			`{"function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"function":{"name":"f","arguments":"{\"x\":2}"}}`, `{"function":{"name":"g","arguments":"{"}}`, `{"function":{"name":"g","arguments":"}"}}`},
			[]string{` f {"x":1}`, ` f {"x":2}`, ` g {}`}},
		"the name comes late": {[]string{
			`{"index":0,"id":"a","function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"name":"f","arguments":":1}"}}`}, two[:1]},
		"arguments as an object": {[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`}, two[:1]},
		"no arguments":           {[]string{`{"index":0,"id":"a","function":{"name":"f","arguments":null}}`, `{"index":0,"id":"b","function":{"name":"g"}}`}, []string{"a f ", "b g "}},
		"two in one chunk": {[]string{
			`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`}, two},
	} {
		t.Run(name, func(t *testing.T) {
			var deltas []string
			for _, d := range tc.deltas {
				deltas = append(deltas, `{"tool_calls":[`+d+`]}`)
			}
			a := stream(t, "stop", deltas...)
			var got []string
			for _, c := range a.Calls {
				got = append(got, c.CallID+" "+c.Name+" "+c.Arguments)
			}
			if fmt.Sprint(got) != fmt.Sprint(tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if a.Finish == nil || a.Finish.Reason != item.FinishToolCalls {
				t.Errorf("finish %v after calls", a.Finish)
			}
		})
	}
	if a := stream(t, "function_call", `{"function_call":{"name":"f","arguments":"{"}}`, `{"function_call":{"arguments":"}"}}`); len(a.Calls) != 1 || a.Calls[0].Arguments != "{}" {
		t.Errorf("the old way: got %v", a.Calls)
	}
}

func TestHabitsOfReasoning(t *testing.T) {
	for name, tc := range map[string]struct {
		deltas             []string
		thought, text, sig string
	}{
		"reasoning_content":                {[]string{`{"reasoning_content":"a"}`, `{"reasoning_content":"b","content":""}`, `{"content":"c","reasoning_content":null}`}, "ab", "c", ""},
		"reasoning":                        {[]string{`{"reasoning":"a"}`, `{"reasoning":"b"}`, `{"content":"c"}`}, "ab", "c", ""},
		"both, saying the same":            {[]string{`{"reasoning":"a","reasoning_content":"a"}`, `{"content":"c"}`}, "a", "c", ""},
		"details":                          {[]string{`{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}`, `{"reasoning_details":[{"type":"reasoning.text","signature":"s","index":0}]}`, `{"content":"c"}`}, "a", "c", "s||"},
		"details of a summary":             {[]string{`{"reasoning_details":[{"type":"reasoning.summary","summary":"a"}]}`, `{"content":"c"}`}, "a", "c", ""},
		"encrypted details":                {[]string{`{"reasoning":"a","reasoning_details":[{"type":"reasoning.encrypted","data":"zz","id":"r","format":"f","index":1}]}`, `{"content":"c"}`}, "a", "c", `|{"type":"reasoning.encrypted","data":"zz","id":"r","format":"f","index":1}|r`},
		"think span":                       {[]string{`{"content":"<think>\na"}`, `{"content":"b\n</think>\n\nc"}`}, "ab\n", "c", ""},
		"think span in pieces":             {[]string{`{"content":"<th"}`, `{"content":"ink"}`, `{"content":">a<"}`, `{"content":"/thi"}`, `{"content":"nk>"}`, `{"content":"\n"}`, `{"content":"\nc"}`}, "a", "c", ""},
		"think span not closed":            {[]string{`{"content":"<think>a</th"}`}, "a</th", "", ""},
		"a tag that is none":               {[]string{`{"content":"<thi"}`, `{"content":"s> is <think> in a line"}`}, "", "<this> is <think> in a line", ""},
		"cut off in a tag":                 {[]string{`{"content":"<thin"}`}, "", "<thin", ""},
		"a span after some text":           {[]string{`{"content":"c\n<think>a</think>d"}`}, "a", "c\nd", ""},
		"two spans":                        {[]string{`{"content":"<think>a</think>\n<think>b</think>c"}`}, "ab", "c", ""},
		"a tag where the server separates": {[]string{`{"reasoning_content":"a"}`, `{"content":"<think>c</think>"}`}, "a", "<think>c</think>", ""},
		"content in parts":                 {[]string{`{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"c"}]}`}, "x", "c", ""},
		"content in parts, as Mistral":     {[]string{`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]}]}`, `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"b"},{"type":"reference","reference_ids":[1]}]}]}`, `{"content":[{"type":"text","text":"c"},{"type":"reference","reference_ids":[2]}]}`, `{"content":"d"}`}, "ab", "cd", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := stream(t, "stop", tc.deltas...)
			var sealed string
			for _, s := range a.Sealed {
				sealed += s
			}
			if a.reasoning() != tc.thought || a.text() != tc.text || sealed != tc.sig {
				t.Errorf("got reasoning %q, text %q, sealed %q", a.reasoning(), a.text(), sealed)
			}
		})
	}
	a := stream(t, "stop", `{"reasoning":"a"}`, `{"content":"b"}`, `{"reasoning":"c"}`)
	if len(a.Reasoning) != 2 {
		t.Errorf("what is thought after text is another item: got %v", a.Reasoning)
	}
}

func TestHabitsOfUsageAndEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, body string
		usage      item.Usage
		finish     model.Finish
	}{
		"usage of Groq":            {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":{"prompt_tokens":1,"completion_tokens":2}}}`, item.Usage{InputTokens: 1, OutputTokens: 2}, model.Finish{Reason: item.FinishStop, Raw: "stop"}},
		"usage of Kimi":            {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":1,"completion_tokens":2,"cached_tokens":1}}]}`, item.Usage{InputTokens: 1, OutputTokens: 2, CachedTokens: 1}, model.Finish{Reason: item.FinishStop, Raw: "stop"}},
		"usage of DeepSeek":        {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_cache_hit_tokens":2}}`, item.Usage{InputTokens: 3, OutputTokens: 2, CachedTokens: 2}, model.Finish{Reason: item.FinishStop, Raw: "stop"}},
		"no [DONE]":                {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":3}}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishLength, Raw: "length"}},
		"filtered":                 {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":3}}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishFilter, Raw: "content_filter"}},
		"an unknown reason":        {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tired"}],"usage":{"prompt_tokens":3}}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishOther, Raw: "tired"}},
		"calls that did not come":  {"", `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3}}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishStop, Raw: "tool_calls"}},
		"not streamed":             {"", `{"object":"chat.completion","model":"x","choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3}}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishStop, Raw: "stop", Model: "x"}},
		"Ollama, thinking, a tool": {"application/x-ndjson", `{"model":"q","message":{"role":"assistant","content":"","thinking":"hm"}}` + "\n" + `{"model":"q","message":{"content":"","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":3}`, item.Usage{InputTokens: 3}, model.Finish{Reason: item.FinishToolCalls, Raw: "stop", Model: "q"}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.kind == "" {
				tc.kind = "text/event-stream"
			}
			a := collect(t, t.Context(), Chat(options(t, serve(t, tc.kind, [][]byte{[]byte(tc.body)}))), hello)
			if a.Err != nil || a.Usage == nil || *a.Usage != tc.usage || *a.Finish != tc.finish {
				t.Errorf("got %+v, %+v, %v", a.Usage, a.Finish, a.Err)
			}
		})
	}
}

func TestHabitsOfResponses(t *testing.T) {
	completed := func(output string) string {
		return `{"type":"response.completed","response":{"status":"completed","model":"x","output":[` + output + `],"usage":{"input_tokens":1,"output_tokens":2}}}`
	}
	const call = `{"type":"function_call","id":"fc","call_id":"c","name":"f","arguments":"{\"x\":1}"}`
	const thought = `{"type":"reasoning","id":"rs_2","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"zz"}`
	const message = `{"type":"message","id":"m","content":[{"type":"output_text","text":"hi","annotations":[{"type":"url_citation","start_index":0,"end_index":2,"url":"u","title":"t"}]}]}`
	for name, tc := range map[string]struct {
		events []string
		want   string
	}{
		"ids that change": {[]string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"item_id":"other","delta":"hm"}`,
			`{"type":"response.output_item.done","output_index":0,"item":` + thought + `}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":1,"item_id":"fc_7","delta":"{\"x\":1}"}`,
			`{"type":"response.output_item.done","output_index":1,"item":` + call + `}`, completed(thought + "," + call)},
			"reasoning 0.0: \"hm\"\nsealed 0: \"|zz|rs_2\"\ncall 0: c f({\"x\":1}) valid=true\nfinish: tool_calls (completed) by x\n"},
		"no deltas": {[]string{
			`{"type":"response.output_item.done","output_index":0,"item":` + thought + `}`,
			`{"type":"response.output_item.done","output_index":1,"item":` + message + `}`,
			`{"type":"response.output_item.done","output_index":2,"item":` + call + `}`, completed("")},
			"reasoning 0.0: \"hm\"\nsealed 0: \"|zz|rs_2\"\ntext 0: \"hi\"\ncites u (t) for \"hi\"\ncall 0: c f({\"x\":1}) valid=true\nfinish: tool_calls (completed) by x\n"},
		"only the end": {[]string{completed(message)}, "text 0: \"hi\"\ncites u (t) for \"hi\"\nfinish: stop (completed) by x\n"},
		"raw reasoning beside a summary": {[]string{
			`{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"raw"}`,
			`{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"short"}`, completed("")},
			"reasoning 0.0: \"raw\"\nreasoning 0.1: \"short\"\nfinish: stop (completed) by x\n"},
		"a refusal": {[]string{
			`{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"no"}`,
			`{"type":"response.refusal.done","output_index":0,"content_index":0,"refusal":"no"}`, completed("")},
			"text 0: \"no\"\nfinish: refusal (completed) by x\n"},
		"cut by length": {[]string{firstEvent(true)[len("data: "):], `{"type":"response.incomplete","response":{"status":"incomplete","model":"x","incomplete_details":{"reason":"max_output_tokens"}}}`},
			"text 0: \"hi\"\nfinish: length (max_output_tokens) by x\n"},
		"cut by a filter": {[]string{`{"type":"response.incomplete","response":{"status":"incomplete","model":"x","incomplete_details":{"reason":"content_filter"}}}`},
			"finish: content_filter (content_filter) by x\n"},
		"the provider's own tools": {[]string{
			`{"type":"response.output_item.added","output_index":0,"item":{"type":"mcp_call","id":"m","name":"f","arguments":""}}`,
			`{"type":"response.mcp_call_arguments.delta","output_index":0,"delta":"{}"}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{}"}`,
			`{"type":"response.invented.tomorrow","output_index":{"odd":1},"delta":7}`, completed("")},
			"finish: stop (completed) by x\n"},
	} {
		t.Run(name, func(t *testing.T) {
			body := "data: " + strings.Join(tc.events, "\n\ndata: ") + "\n\n"
			a := collect(t, t.Context(), Responses(options(t, serve(t, "text/event-stream", [][]byte{[]byte(body)}))), hello)
			if a.Finish != nil && a.Finish.Raw == "completed" && (a.Usage == nil || *a.Usage != item.Usage{InputTokens: 1, OutputTokens: 2}) {
				t.Errorf("usage %+v", a.Usage)
			}
			a.Usage = nil
			if got := a.golden(); got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
	t.Run("not streamed", func(t *testing.T) {
		body := `{"object":"response","status":"completed","model":"x","output":[` + message + `]}`
		a := collect(t, t.Context(), Responses(options(t, serve(t, "application/json", [][]byte{[]byte(body)}))), hello)
		if a.Err != nil || a.text() != "hi" {
			t.Errorf("got %q, %v", a.text(), a.Err)
		}
	})
}
