package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/anthropic"
	"github.com/tributary-ai/tributary/model/openai"
)

// object is a block or an item of a provider's.
type object = map[string]any

// api is a provider that answers with a given stream and keeps what it was asked last.
type api struct {
	answer string
	asked  object
	client *http.Client
	url    string
}

func serveAPI(t *testing.T) *api {
	a := &api{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.asked = nil
		_ = json.Unmarshal(body, &a.asked) // what is no object fails the test
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, a.answer)
	}))
	t.Cleanup(srv.Close)
	a.client, a.url = srv.Client(), srv.URL
	return a
}

func (a *api) claude(t *testing.T) model.Model {
	m, err := anthropic.New(anthropic.Options{Model: "claude-sonnet-5", BaseURL: a.url, HTTPClient: a.client})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (a *api) gpt() model.Model {
	return openai.Responses(openai.Options{Model: "gpt-5", Provider: "openai", BaseURL: a.url, HTTPClient: a.client})
}

// fataler is a test, of either sort.
type fataler interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// again makes an answer, keeps it as a thread does, holds what the log tells of it to be the same, and returns what the
// next call sends back after the user's question.
func (a *api) again(t fataler, m model.Model, list string) []any {
	w := newWorld()
	opts := agent.CallOptions{Taken: func(string) bool { return false }}
	res, err := w.attempt(context.Background(), caller(m, model.Request{Messages: []item.Message{item.UserText("u", "hi")}}, opts), object{})
	if err != nil {
		t.Fatal(err)
	}
	msgs, err := graph.Decode(res, graph.Messages("messages").Field)
	if err != nil || len(msgs) != 1 {
		t.Fatalf("%d messages, %v", len(msgs), err)
	}
	msg := msgs[0]
	if logged, err := relogged(w); err != nil || len(logged) != 1 || logged[0].Order != msg.Order {
		t.Fatalf("the log tells %+v (%v), the thread has the order %q", logged, err, msg.Order)
	}
	history := []item.Message{item.UserText("u", "hi"), msg}
	for _, c := range msg.ToolCalls {
		history = append(history, item.Message{Role: item.Tool, CallID: c.CallID, Content: item.Text("done")})
	}
	history = append(history, item.UserText("v", "and now?"))
	if _, err := newWorld().attempt(context.Background(), caller(m, model.Request{Messages: history}, opts), object{}); err != nil {
		t.Fatal(err)
	}
	sent, _ := a.asked[list].([]any)
	return sent
}

// relogged is what a process that finds the log after a crash makes of it.
func relogged(w *world) ([]item.Message, error) {
	var f transcript.Fold
	for _, env := range w.mem.Events() {
		data, err := json.Marshal(env)
		if err != nil {
			return nil, err
		}
		var read event.Envelope
		if err := json.Unmarshal(data, &read); err != nil {
			return nil, err
		}
		_ = f.Apply(&read) // laws are checked elsewhere
	}
	return f.Messages(""), nil
}

// assistant is the content of the one answer in an Anthropic conversation.
func assistant(t fataler, turns []any) []any {
	if len(turns) != 3 || turns[1].(object)["role"] != "assistant" {
		t.Fatalf("the conversation is %v", turns)
	}
	return turns[1].(object)["content"].([]any)
}

// sse frames events.
func sse(events ...object) string {
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e["type"], data)
	}
	return b.String()
}

// streamed is how Anthropic streams an answer.
func streamed(answer object) string {
	head := object{}
	for k, v := range answer {
		head[k] = v
	}
	head["content"], head["stop_reason"] = []any{}, nil
	events := []object{{"type": "message_start", "message": head}}
	for i, c := range answer["content"].([]any) {
		begin, deltas := object{}, []object(nil)
		for k, v := range c.(object) {
			begin[k] = v
		}
		switch begin["type"] {
		case "thinking":
			deltas = []object{{"type": "thinking_delta", "thinking": begin["thinking"]}, {"type": "signature_delta", "signature": begin["signature"]}}
			begin["thinking"], begin["signature"] = "", ""
		case "text":
			deltas = []object{{"type": "text_delta", "text": begin["text"]}}
			begin["text"] = ""
		case "tool_use", "server_tool_use":
			input, err := json.Marshal(begin["input"])
			if err != nil {
				panic(err)
			}
			deltas = []object{{"type": "input_json_delta", "partial_json": string(input)}}
			begin["input"] = object{}
		}
		events = append(events, object{"type": "content_block_start", "index": i, "content_block": begin})
		for _, d := range deltas {
			events = append(events, object{"type": "content_block_delta", "index": i, "delta": d})
		}
		events = append(events, object{"type": "content_block_stop", "index": i})
	}
	end := object{"stop_reason": answer["stop_reason"]}
	if answer["container"] != nil {
		end["container"] = answer["container"]
	}
	return sse(append(events, object{"type": "message_delta", "delta": end, "usage": object{"output_tokens": 5}}, object{"type": "message_stop"})...)
}

func answered(blocks ...object) object {
	var content []any
	for _, b := range blocks {
		content = append(content, b)
	}
	return object{"id": "msg_1", "model": "claude-sonnet-5", "role": "assistant", "stop_reason": "tool_use", "content": content, "usage": object{"input_tokens": 1}}
}

func thinking(n int) object {
	return object{"type": "thinking", "thinking": fmt.Sprintf("thought %d", n), "signature": fmt.Sprintf("sig%d", n)}
}

func served(n int) []object {
	id := fmt.Sprintf("srvtoolu_%d", n)
	return []object{
		{"type": "server_tool_use", "id": id, "name": "web_search", "input": object{"query": fmt.Sprint(n)}},
		{"type": "web_search_tool_result", "tool_use_id": id, "content": []any{}},
	}
}

func said(n int) object { return object{"type": "text", "text": fmt.Sprintf("text %d", n)} }

func used(n int) object {
	return object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", n), "name": "look", "input": object{"q": fmt.Sprint(n)}}
}

// sameBlocks fails unless two lists of blocks are the same, member for member.
func sameBlocks(t fataler, got []any, want []any) {
	if !reflect.DeepEqual(got, want) {
		g, _ := json.Marshal(got)
		w, _ := json.Marshal(want)
		t.Fatalf("sent back\n%s\nwant\n%s", g, w)
	}
}

// plain is a value as JSON reads it.
func plain(t fataler, v any) []any {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out []any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestInterleavedThinkingGoesBackToAnthropicAsItCame(t *testing.T) {
	a := serveAPI(t)
	s := served(1)
	answer := answered(thinking(1), s[0], s[1], thinking(2), said(1), thinking(3), used(1))
	a.answer = streamed(answer)
	sameBlocks(t, assistant(t, a.again(t, a.claude(t), "messages")), plain(t, answer["content"]))
}

func TestARecordedConversationWithAnthropicGoesBackAsItCame(t *testing.T) {
	var recorded struct {
		Answer object
		Again  []object
	}
	readRecording(t, "anthropic.json", &recorded)
	a := serveAPI(t)
	a.answer = streamed(recorded.Answer)
	got := assistant(t, a.again(t, a.claude(t), "messages"))
	sameBlocks(t, got, plain(t, recorded.Answer["content"]))
	if want := typesOf(plain(t, recorded.Again)); !slices.Equal(typesOf(got), want) {
		t.Errorf("sent back %v, the recorded client sent %v", typesOf(got), want)
	}
}

func TestAnyOrderGoesBackToAnthropicAsItCame(t *testing.T) {
	a := serveAPI(t)
	m := a.claude(t)
	rapid.Check(t, func(t *rapid.T) {
		blocks := []object{thinking(0)} // by which the answer is known for Anthropic's
		for n, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"thinking", "redacted", "served", "text", "call"}), 0, 10).Draw(t, "kinds") {
			switch kind {
			case "thinking":
				blocks = append(blocks, thinking(n+1))
			case "redacted":
				blocks = append(blocks, object{"type": "redacted_thinking", "data": fmt.Sprintf("secret%d", n)})
			case "served":
				blocks = append(blocks, served(n)...)
			case "text":
				blocks = append(blocks, said(n))
			case "call":
				blocks = append(blocks, used(n))
			}
		}
		answer := answered(append(blocks, rapid.SampledFrom([]object{said(99), used(99)}).Draw(t, "last"))...)
		a.answer = streamed(answer)
		sameBlocks(t, assistant(t, a.again(t, m, "messages")), plain(t, answer["content"]))
	})
}

// items streams the items of an answer on OpenAI's Responses wire.
func items(all ...object) string {
	events := []object{{"type": "response.created", "response": object{"id": "resp_1", "model": "gpt-5"}}}
	for i, it := range all {
		begin := object{}
		for k, v := range it {
			begin[k] = v
		}
		add := func(typ string, more object) {
			e := object{"type": typ, "output_index": i, "item_id": it["id"]}
			for k, v := range more {
				e[k] = v
			}
			events = append(events, e)
		}
		switch it["type"] {
		case "message":
			text := it["content"].([]any)[0].(object)["text"]
			begin["content"] = []any{}
			add("response.output_item.added", object{"item": begin})
			add("response.content_part.added", object{"content_index": 0, "part": object{"type": "output_text", "text": ""}})
			add("response.output_text.delta", object{"content_index": 0, "delta": text})
			add("response.output_text.done", object{"content_index": 0, "text": text})
		case "function_call":
			begin["arguments"] = ""
			add("response.output_item.added", object{"item": begin})
			add("response.function_call_arguments.delta", object{"delta": it["arguments"]})
			add("response.function_call_arguments.done", object{"arguments": it["arguments"]})
		default:
			add("response.output_item.added", object{"item": begin})
		}
		add("response.output_item.done", object{"item": it})
	}
	return sse(append(events, object{"type": "response.completed", "response": object{
		"id": "resp_1", "model": "gpt-5", "status": "completed", "output": all, "usage": object{"input_tokens": 1, "output_tokens": 1}}})...)
}

// names are what tells items apart: their type, and what only they have.
func names(sent []any) []string {
	var out []string
	for _, v := range sent {
		it := v.(object)
		switch {
		case it["type"] == "reasoning":
			out = append(out, fmt.Sprint("reasoning ", it["id"], " ", it["encrypted_content"]))
		case it["type"] == "function_call":
			out = append(out, fmt.Sprint("function_call ", it["call_id"], " ", it["arguments"]))
		case it["type"] == "function_call_output" || it["role"] == "user":
		case it["role"] == "assistant":
			text, ok := it["content"].(string)
			if !ok {
				text = fmt.Sprint(it["content"].([]any)[0].(object)["text"])
			}
			if n := len(out); n > 0 && strings.HasPrefix(out[n-1], "message ") { // texts in a row are one
				out[n-1] += text
				continue
			}
			out = append(out, "message "+text)
		default:
			out = append(out, fmt.Sprint(it["type"], " ", it["id"]))
		}
	}
	return out
}

func TestAnyOrderGoesBackToOpenAIAsItCame(t *testing.T) {
	a := serveAPI(t)
	m := a.gpt()
	rapid.Check(t, func(t *rapid.T) {
		var all []object
		for n, kind := range rapid.SliceOfN(rapid.SampledFrom([]string{"reasoning", "search", "message", "call"}), 0, 10).Draw(t, "kinds") {
			switch kind {
			case "reasoning":
				all = append(all, object{"type": "reasoning", "id": fmt.Sprintf("rs_%d", n), "summary": []any{}, "encrypted_content": fmt.Sprintf("gAAA%d", n)})
			case "search":
				all = append(all, object{"type": "web_search_call", "id": fmt.Sprintf("ws_%d", n), "status": "completed", "action": object{"type": "search", "query": "x"}})
			case "message":
				all = append(all, message(n))
			case "call":
				all = append(all, object{"type": "function_call", "id": fmt.Sprintf("fc_%d", n), "call_id": fmt.Sprintf("call_%d", n), "name": "look", "arguments": fmt.Sprintf(`{"q":%d}`, n), "status": "completed"})
			}
		}
		all = append(all, message(99)) // reasoning at the end would lead to nothing
		a.answer = items(all...)
		got, want := names(a.again(t, m, "input")), names(plain(t, all))
		if !slices.Equal(got, want) {
			t.Fatalf("sent back\n%q\nwant\n%q", got, want)
		}
	})
}

func message(n int) object {
	return object{"type": "message", "id": fmt.Sprintf("msg_%d", n), "role": "assistant", "status": "completed",
		"content": []any{object{"type": "output_text", "text": fmt.Sprintf("text %d. ", n)}}}
}

func TestARecordedConversationWithOpenAIGoesBackAsItCame(t *testing.T) {
	var recorded struct{ Again []object }
	readRecording(t, "responses.json", &recorded)
	body, err := os.ReadFile(filepath.Join("testdata", "interleaved", "responses.sse"))
	if err != nil {
		t.Fatal(err)
	}
	a := serveAPI(t)
	a.answer = string(body)
	got, want := names(a.again(t, a.gpt(), "input")), names(plain(t, recorded.Again))
	if len(want) != 4 || !slices.Equal(got, want) {
		t.Errorf("sent back\n%q\nthe recorded client sent\n%q", got, want)
	}
}

func typesOf(blocks []any) []string {
	var out []string
	for _, b := range blocks {
		out = append(out, fmt.Sprint(b.(object)["type"]))
	}
	return out
}

func readRecording(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "interleaved", name))
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
