package faults

import (
	"fmt"
	"strconv"
)

// wire is how a provider writes an answer.
type wire struct {
	start   func(model string) string
	word    func(model, text string) string
	call    func(model, id, arguments string, words int) string // with the end of the answer
	end     func(words int) string
	failure func(text string) string
}

// chat is OpenAI's Chat Completions.
var chat = &wire{
	start: func(string) string { return "" },
	word: func(model, text string) string {
		return chunk(model, fmt.Sprintf(`{"index":0,"delta":{"content":%s},"finish_reason":null}`, strconv.Quote(text)), "")
	},
	call: func(model, id, arguments string, words int) string {
		half := len(arguments) / 2
		return chunk(model, fmt.Sprintf(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":%q,"type":"function","function":{"name":"effect","arguments":%q}}]},"finish_reason":null}`, id, arguments[:half]), "") +
			chunk(model, fmt.Sprintf(`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":%q}}]},"finish_reason":null}`, arguments[half:]), "") +
			chunk(model, `{"index":0,"delta":{},"finish_reason":"tool_calls"}`, "") + chatEnd(words)
	},
	end: func(words int) string {
		return chunk("mock", `{"index":0,"delta":{},"finish_reason":"stop"}`, "") + chatEnd(words)
	},
	failure: func(text string) string {
		return fmt.Sprintf("data: {\"error\":{\"message\":%s,\"type\":\"server_error\"}}\n\n", strconv.Quote(text))
	},
}

// chatEnd tells the usage in a chunk of its own, without choices, as OpenAI does.
func chatEnd(words int) string {
	usage := fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, inputTokens, words, inputTokens+words)
	return chunk("mock", "", usage) + "data: [DONE]\n\n"
}

func chunk(model, choice, usage string) string {
	return fmt.Sprintf("data: {\"id\":\"chatcmpl-mock\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":[%s]%s}\n\n", model, choice, usage)
}

// messages is Anthropic's Messages. Input is told at the start of a stream, so a broken call has a known cost.
var messages = &wire{
	start: func(model string) string {
		return anthropicEvent("message_start", fmt.Sprintf(`"message":{"id":"msg_mock","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, model, inputTokens)) +
			anthropicEvent("content_block_start", `"index":0,"content_block":{"type":"text","text":""}`)
	},
	word: func(_, text string) string {
		return anthropicEvent("content_block_delta", fmt.Sprintf(`"index":0,"delta":{"type":"text_delta","text":%s}`, strconv.Quote(text)))
	},
	call: func(_, id, arguments string, words int) string {
		return anthropicEvent("content_block_stop", `"index":0`) +
			anthropicEvent("content_block_start", fmt.Sprintf(`"index":1,"content_block":{"type":"tool_use","id":%q,"name":"effect","input":{}}`, id)) +
			anthropicEvent("content_block_delta", fmt.Sprintf(`"index":1,"delta":{"type":"input_json_delta","partial_json":%q}`, arguments)) +
			anthropicEvent("content_block_stop", `"index":1`) + anthropicEnd("tool_use", words)
	},
	end: func(words int) string {
		return anthropicEvent("content_block_stop", `"index":0`) + anthropicEnd("end_turn", words)
	},
	failure: func(text string) string {
		return anthropicEvent("error", fmt.Sprintf(`"error":{"type":"overloaded_error","message":%s}`, strconv.Quote(text)))
	},
}

func anthropicEnd(reason string, words int) string {
	return anthropicEvent("message_delta", fmt.Sprintf(`"delta":{"stop_reason":%q},"usage":{"output_tokens":%d}`, reason, words)) + anthropicEvent("message_stop", "")
}

func anthropicEvent(name, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", name, name, members)
}
