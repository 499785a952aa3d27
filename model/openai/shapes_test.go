package openai

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

// sse frames payloads.
func sse(payloads ...string) string { return "data: " + strings.Join(payloads, "\n\ndata: ") + "\n\n" }

// Shapes that servers are known to send, written down from their documentation and bug reports. Each is read the same at
// every way to cut it.
func TestShapesOfChat(t *testing.T) {
	const end = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct{ body, want string }{
		"Azure: filters before the first choice, and after the last": {
			sse(`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false,"severity":"safe"}}}]}`,
				`{"choices":[{"content_filter_results":{},"delta":{"content":"","refusal":null,"role":"assistant"},"finish_reason":null,"index":0,"logprobs":null}],"model":"gpt-x","usage":null}`,
				`{"choices":[{"content_filter_results":{"hate":{"filtered":false}},"delta":{"content":"Moin"},"finish_reason":null,"index":0}],"model":"gpt-x"}`,
				`{"choices":[{"delta":{},"finish_reason":"stop","index":0}],"model":"gpt-x"}`,
				`{"choices":[{"content_filter_offsets":{"check_offset":1},"content_filter_results":{},"finish_reason":null,"index":0}],"model":""}`,
				`{"choices":[],"model":"gpt-x","usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}`, "[DONE]"),
			"text 0: \"Moin\"\nusage: {InputTokens:4 OutputTokens:2 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: stop (stop) by gpt-x\n"},
		"Azure: filtered in the middle": {
			sse(`{"choices":[{"index":0,"delta":{"content":"Man nehme"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"content_filter","content_filter_results":{"violence":{"filtered":true,"severity":"high"}}}]}`),
			"text 0: \"Man nehme\"\nfinish: content_filter (content_filter) by \n"},
		"vLLM: null wherever nothing is said": {
			sse(`{"id":"c","model":"q","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":null,"reasoning_content":null,"tool_calls":null,"refusal":null,"annotations":null,"images":null,"function_call":null},"logprobs":null,"finish_reason":null,"stop_reason":null,"token_ids":null}],"usage":null,"error":null,"prompt_token_ids":null}`,
				`{"id":"c","model":"q","choices":[{"index":0,"delta":null,"finish_reason":null}]}`, `{"choices":null}`,
				`{"id":"c","model":"q","choices":[{"index":0,"delta":{"content":"Hallo","tool_calls":[]},"logprobs":{"content":[{"token":"Hallo","logprob":-Infinity,"top_logprobs":[]}]},"finish_reason":""}]}`,
				`{"id":"c","model":"q","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","stop_reason":151645}],"usage":{"prompt_tokens":3,"total_tokens":4,"completion_tokens":1,"prompt_tokens_details":null}}`, "[DONE]"),
			"text 0: \"Hallo\"\nusage: {InputTokens:3 OutputTokens:1 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: stop (stop) by q\n"},
		"usage in every chunk, growing": {
			sse(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1,"total_tokens":10}}`,
				`{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11}}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":5}}`, "[DONE]"),
			"text 0: \"ab\"\nusage: {InputTokens:9 OutputTokens:2 CachedTokens:4 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: length (length) by \n"},
		"OpenRouter: comments, price, sealed reasoning, a second finish": {
			": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n" + sse(
				`{"provider":"OpenAI","model":"o","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"Kurz","reasoning_details":[{"type":"reasoning.summary","summary":"Kurz","format":"openai-responses-v1","index":0}]},"finish_reason":null,"native_finish_reason":null}]}`,
				`{"model":"o","choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning_details":[{"type":"reasoning.encrypted","data":"gAAA","id":"rs_1","format":"openai-responses-v1","index":0}]}}]}`,
				`{"model":"o","choices":[{"index":0,"delta":{"content":"Ja."},"finish_reason":null}]}`,
				`{"model":"o","choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop","native_finish_reason":"completed"}]}`,
				`{"model":"o","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":20,"total_tokens":28,"cost":0.000123,"is_byok":false,"cost_details":{"upstream_inference_cost":null},"completion_tokens_details":{"reasoning_tokens":16}}}`, "[DONE]"),
			"reasoning 0.0: \"Kurz\"\nsealed 0: \"|{\\\"type\\\":\\\"reasoning.encrypted\\\",\\\"data\\\":\\\"gAAA\\\",\\\"id\\\":\\\"rs_1\\\",\\\"format\\\":\\\"openai-responses-v1\\\",\\\"index\\\":0}|rs_1\"\ntext 0: \"Ja.\"\n" +
				"usage: {InputTokens:8 OutputTokens:20 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:16 CostMicros:123}\nfinish: stop (stop) by o\n"},
		"Groq: usage in x_groq": {
			sse(`{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"x_groq":{"id":"req_1"}}`, `{"choices":[{"index":0,"delta":{"content":"Na"}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.1,"prompt_tokens":5,"prompt_time":0.001,"completion_tokens":1,"total_tokens":6}}}`, "[DONE]"),
			"text 0: \"Na\"\nusage: {InputTokens:5 OutputTokens:1 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: stop (stop) by \n"},
		"calls of one tool, all with index 0 and whole": {
			sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}]}}]}`, end),
			"call 0: a f({}) valid=true\ncall 1: b f({}) valid=true\nfinish: tool_calls (stop) by \n"},
		"calls of one tool, all with index 0 and without ids": {
			sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\":2}"}}]}}]}`, end),
			"call 0:  f({\"x\":1}) valid=true\ncall 1:  f({\"x\":2}) valid=true\nfinish: tool_calls (stop) by \n"},
		"one call, its name in every fragment": {
			sse(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":"{\"x\""}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":":1}"}}]}}]}`, `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"f","arguments":""}}]}}]}`, end),
			"call 0: a f({\"x\":1}) valid=true\nfinish: tool_calls (stop) by \n"},
		"one call, without a list around it": {
			sse(`{"choices":[{"index":0,"delta":{"tool_calls":{"index":0,"id":"a","function":{"name":"f","arguments":{"x":[1,"é"]}}}}}]}`, end),
			"call 0: a f({\"x\":[1,\"é\"]}) valid=true\nfinish: tool_calls (stop) by \n"},
		"Gemini: a signature, and no index": {
			sse(`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"extra_content":{"google":{"thought_signature":"c2ln"}},"function":{"arguments":"{\"x\":1}","name":"f"},"id":"a","type":"function"}]},"finish_reason":"stop"}]}`, "[DONE]"),
			"call 0: a f({\"x\":1}) valid=true\nsigned 0: c2ln\nfinish: tool_calls (stop) by \n"},
		"DeepSeek behind a server that separates nothing": {
			sse(`{"choices":[{"index":0,"delta":{"content":"<thi"}}]}`, `{"choices":[{"index":0,"delta":{"content":"nk>Zwei"}}]}`, `{"choices":[{"index":0,"delta":{"content":" und zwei</"}}]}`, `{"choices":[{"index":0,"delta":{"content":"think>\n\nVier"}}]}`, end),
			"reasoning 0.0: \"Zwei und zwei\"\ntext 0: \"Vier\"\nfinish: stop (stop) by \n"},
		"Snowflake: no reason, but the cost": {
			sse(`{"choices":[{"index":0,"delta":{"content":"Da"}}]}`, `{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":1,"total_tokens":3}}`, "[DONE]"),
			"text 0: \"Da\"\nusage: {InputTokens:2 OutputTokens:1 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: stop (stop) by \n"},
		"vLLM: an error that is the whole payload": {
			sse(`{"choices":[{"index":0,"delta":{"content":"Da"}}]}`, `{"object":"error","message":"EngineCore encountered an issue","type":"InternalServerError","param":null,"code":500}`, "[DONE]"),
			"text 0: \"Da\"\nerror: model_server: EngineCore encountered an issue\n"},
		"an error whose event says so": {
			"event: error\n" + sse(`{"message":"the line is busy","code":503}`), "error: model_overloaded: the line is busy\n"},
		"Zhipu: a reason that is an error": {
			sse(`{"choices":[{"index":0,"delta":{"content":"Da"},"finish_reason":"network_error"}]}`, "[DONE]"), "text 0: \"Da\"\nerror: model_server: the provider reported an error without a reason\n"},
		"Ollama's lines, with another name on them": {
			`{"model":"l","message":{"role":"assistant","content":"Gu"},"done":false}` + "\n" + `{"model":"l","message":{"role":"assistant","content":"t"},"done":true,"done_reason":"stop","prompt_eval_count":7,"eval_count":2}` + "\n",
			"text 0: \"Gut\"\nusage: {InputTokens:7 OutputTokens:2 CachedTokens:0 CacheWriteTokens:0 ReasoningTokens:0 CostMicros:0}\nfinish: stop (stop) by l\n"},
	} {
		t.Run(name, func(t *testing.T) { everyCut(t, false, c.body, c.want) })
	}
}

func TestShapesOfResponses(t *testing.T) {
	const completed = `{"type":"response.completed","response":{"status":"completed","model":"x","output":[]}}`
	for name, c := range map[string]struct{ body, want string }{
		"without places, told apart by their ids": {
			sse(`{"type":"response.output_item.added","item":{"type":"reasoning","id":"rs_1"}}`, `{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","summary_index":0,"delta":"hm"}`,
				`{"type":"response.output_item.added","item":{"type":"message","id":"m_1"}}`, `{"type":"response.output_text.delta","item_id":"m_1","content_index":0,"delta":"Gu"}`,
				`{"type":"response.output_item.added","item":{"type":"function_call","id":"fc_1","call_id":"c","name":"f"}}`, `{"type":"response.output_text.delta","item_id":"m_1","content_index":0,"delta":"t"}`,
				`{"type":"response.function_call_arguments.delta","item_id":"fc_1","delta":"{}"}`, completed),
			"reasoning 0.0: \"hm\"\ntext 0: \"Gut\"\ncall 0: c f({}) valid=true\nfinish: tool_calls (completed) by x\n"},
		"a call that only the end tells": {
			sse(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Gut"}`,
				`{"type":"response.completed","response":{"status":"completed","model":"x","output":[{"type":"message","content":[{"type":"output_text","text":"Gut"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}}`),
			"text 0: \"Gut\"\ncall 0: c f({}) valid=true\nfinish: tool_calls (completed) by x\n"},
		"done before added, and said once": {
			sse(`{"type":"response.output_text.done","output_index":0,"content_index":0,"text":"Gut"}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"m"}}`,
				`{"type":"response.content_part.done","output_index":0,"content_index":0,"part":{"type":"output_text","text":"Gut"}}`, completed),
			"text 0: \"Gut\"\nfinish: stop (completed) by x\n"},
		"reasoning that led to a search stays before it": {
			sse(`{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}}`,
				`{"type":"response.output_item.done","output_index":1,"item":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"Pegel"}}}`,
				`{"type":"response.output_text.delta","output_index":2,"content_index":0,"delta":"3,20 m"}`, completed),
			"sealed 0: \"|gAAA|rs_1\"\ntext 0: \"3,20 m\"\nkept 0: {\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\",\"action\":{\"type\":\"search\",\"query\":\"Pegel\"},\"tributary\":{\"provider\":\"test\",\"follows\":\"rs_1\"}}… (151 bytes)\nfinish: stop (completed) by x\n"},
		"an error without a type of its own": {
			"event: error\n" + sse(`{"code":"server_error","message":"the oven is cold","param":null}`), "error: model_server: the oven is cold\n"},
		"queued, then failed": {
			sse(`{"type":"response.queued","response":{"status":"queued","error":null}}`, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Please try again in 1.5s."}}}`),
			"error: model_rate_limit: Please try again in 1.5s.\n"},
	} {
		t.Run(name, func(t *testing.T) { everyCut(t, true, c.body, c.want) })
	}
}

func everyCut(t *testing.T, responses bool, body, want string) {
	t.Helper()
	for name, cut := range cuts {
		a := collect(t, t.Context(), open(responses, options(t, serve(t, "text/event-stream", cut([]byte(body))))), hello)
		got := a.golden()
		if strings.Contains(want, "signed") {
			for _, p := range a.parts {
				if call, ok := p.(model.ToolCall); ok && call.Signature != "" {
					got = strings.Replace(got, "finish:", "signed 0: "+call.Signature+"\nfinish:", 1)
				}
			}
		}
		if got != want {
			t.Fatalf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}
