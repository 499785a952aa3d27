package anthropic

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":20,"output_tokens":1}}}`
	stop  = `{"type":"message_stop"}`
)

func began(index, block string) string {
	return `{"type":"content_block_start","index":` + index + `,"content_block":` + block + `}`
}

func grew(index, delta string) string {
	return `{"type":"content_block_delta","index":` + index + `,"delta":` + delta + `}`
}

func ended(index string) string { return `{"type":"content_block_stop","index":` + index + `}` }

// Shapes that the service and its copies are known to send. Each is read the same at every way to cut it.
func TestShapes(t *testing.T) {
	done := func(reason, more string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null` + more + `},"usage":{"output_tokens":9}}`
	}
	usage := item.Usage{InputTokens: 20, OutputTokens: 9}
	finish := func(reason item.Finish, raw string) *model.Finish {
		return &model.Finish{Reason: reason, Raw: raw, Model: "claude-x"}
	}
	for name, c := range map[string]struct {
		payloads []string
		want     providertest.Answer
		err      string
	}{
		"a tool of the provider's, with input in pieces, and its result": {
			[]string{start, began("0", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`), grew("0", `{"type":"input_json_delta","partial_json":""}`),
				grew("0", `{"type":"input_json_delta","partial_json":"{\"query\": \"Pe"}`), grew("0", `{"type":"input_json_delta","partial_json":"gel\"}"}`), ended("0"),
				began("1", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://p","title":"P","encrypted_content":"Eo8="}]}`), ended("1"),
				began("2", `{"type":"text","text":""}`), grew("2", `{"type":"citations_delta","citation":{"type":"web_search_result_location","cited_text":"3,20 m","url":"https://p","title":"P","encrypted_index":"Eo"}}`),
				grew("2", `{"type":"text_delta","text":"3,20 m"}`), ended("2"), done("end_turn", ""), stop},
			providertest.Answer{Texts: []string{"3,20 m"}, Kept: []string{"server_tool_use", "web_search_tool_result"}, Usage: usage, Finish: finish(item.FinishStop, "end_turn"),
				Notes: []model.Annotation{{Annotation: item.Annotation{Type: item.URLCitation, End: 6, URL: "https://p", Title: "P", Quote: "3,20 m"}}}}, ""},
		"paused in the middle of its own tools": {
			[]string{start, began("0", `{"type":"text","text":"Ich suche."}`), ended("0"), began("1", `{"type":"server_tool_use","id":"srvtoolu_1","name":"code_execution","input":{"code":"1"}}`), ended("1"), done("pause_turn", ""), stop},
			providertest.Answer{Texts: []string{"Ich suche."}, Kept: []string{"server_tool_use"}, Usage: usage, Finish: finish(item.FinishPause, "pause_turn")}, ""},
		"refused, with a reason": {
			[]string{start, `{"type":"ping"}`, done("refusal", `,"stop_details":{"type":"refusal","category":"cyber","explanation":"Nicht erlaubt."}`), stop},
			providertest.Answer{Usage: usage, Finish: &model.Finish{Reason: item.FinishRefusal, Raw: "refusal", Model: "claude-x", Message: "Nicht erlaubt."}}, ""},
		"no room left": {
			[]string{start, began("0", `{"type":"text","text":"Halb"}`), ended("0"), done("model_context_window_exceeded", ""), stop},
			providertest.Answer{Texts: []string{"Halb"}, Usage: usage, Finish: finish(item.FinishLength, "model_context_window_exceeded")}, ""},
		"a summary of what was left out": {
			[]string{start, began("0", `{"type":"compaction","content":null}`), grew("0", `{"type":"compaction_delta","content":"Bisher: nichts."}`), ended("0"), began("1", `{"type":"text","text":"Gut"}`), ended("1"), done("end_turn", ""), stop},
			providertest.Answer{Texts: []string{"Gut"}, Kept: []string{"compaction"}, Usage: usage, Finish: finish(item.FinishStop, "end_turn")}, ""},
		"thinking that is left out, a signature before it, and one that is sealed": {
			[]string{start, began("0", `{"type":"thinking","thinking":"","signature":""}`), grew("0", `{"type":"signature_delta","signature":"EqQ"}`), grew("0", `{"type":"thinking_delta","thinking":"hm"}`), ended("0"),
				began("1", `{"type":"thinking","thinking":""}`), grew("1", `{"type":"signature_delta","signature":"EqR"}`), ended("1"),
				began("2", `{"type":"redacted_thinking","data":"EmwK"}`), ended("2"), began("3", `{"type":"text","text":"Ja"}`), ended("3"), done("end_turn", ""), stop},
			providertest.Answer{Texts: []string{"Ja"}, Usage: usage, Finish: finish(item.FinishStop, "end_turn"),
				Reasoning: []item.Reasoning{{Summary: item.Text("hm"), Signature: "EqQ"}, {Signature: "EqR"}, {Encrypted: "EmwK"}}}, ""},
		"the first message said twice": {
			[]string{start, start, began("0", `{"type":"text","text":"Ja"}`), ended("0"), done("end_turn", ""), stop},
			providertest.Answer{Texts: []string{"Ja"}, Usage: usage, Finish: finish(item.FinishStop, "end_turn")}, ""},
		"another message in the middle of one": {
			[]string{start, began("0", `{"type":"text","text":"Halb"}`), strings.Replace(start, "msg_1", "msg_2", 1), began("0", `{"type":"text","text":"Ganz"}`), ended("0"), done("end_turn", ""), stop},
			providertest.Answer{Texts: []string{"Halb"}, Usage: item.Usage{InputTokens: 20, OutputTokens: 1}}, "another answer began in the middle of this one"},
		"input counted at the end only, with what the tools read": {
			[]string{strings.Replace(start, `"input_tokens":20,"output_tokens":1`, `"input_tokens":0,"output_tokens":0`, 1), began("0", `{"type":"text","text":"Ja"}`), ended("0"),
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":300,"cache_read_input_tokens":50,"cache_creation_input_tokens":null,"output_tokens":4,"server_tool_use":{"web_search_requests":1},"output_tokens_details":{"thinking_tokens":2}}}`, stop},
			providertest.Answer{Texts: []string{"Ja"}, Usage: item.Usage{InputTokens: 350, OutputTokens: 4, CachedTokens: 50, ReasoningTokens: 2}, Finish: finish(item.FinishStop, "end_turn")}, ""},
		"counted anew after a compaction": {
			[]string{strings.Replace(start, `"input_tokens":20,`, `"input_tokens":100,"cache_read_input_tokens":55096,`, 1), began("0", `{"type":"text","text":"Ja"}`), ended("0"),
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":181,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":8,"iterations":[{"type":"compaction","input_tokens":100}]}}`, stop},
			providertest.Answer{Texts: []string{"Ja"}, Usage: item.Usage{InputTokens: 181, OutputTokens: 8}, Finish: finish(item.FinishStop, "end_turn")}, ""},
		"an error without its event's name": {
			[]string{start, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`}, providertest.Answer{Usage: item.Usage{InputTokens: 20, OutputTokens: 1}}, "Overloaded"},
	} {
		t.Run(name, func(t *testing.T) {
			body := []byte("data: " + strings.Join(c.payloads, "\n\ndata: ") + "\n\n")
			for cut, pieces := range providertest.Cuts {
				got, _, err := providertest.Collect(t, client(t, providertest.Replay(t, media, pieces(body))), providertest.Hello)
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%s: error %v, want %q", cut, err, c.err)
				}
				if !reflect.DeepEqual(got, c.want) {
					t.Fatalf("%s: got\n%+v %+v\nwant\n%+v %+v", cut, got, got.Finish, c.want, c.want.Finish)
				}
			}
		})
	}
}

func keptBlock(raw, typ, provider string) item.Block {
	return item.Block{Type: item.ForeignBlock, Foreign: kept.Put([]byte(raw), typ, kept.Mark{Provider: provider})}
}

func TestBlocksOfTheProvidersToolsGoBack(t *testing.T) {
	answer := func(blocks ...item.Block) item.Message { return item.Message{Role: item.Assistant, Content: blocks} }
	use := keptBlock(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}}`, "", "anthropic")
	result := keptBlock(`{"type":"web_search_tool_result","tool_use_id":"s1","content":[]}`, "", "anthropic")
	open := keptBlock(`{"type":"server_tool_use","id":"s2","name":"web_search","input":{}}`, "", "anthropic")
	text := item.Block{Type: item.TextBlock, Text: "Hier."}

	got := sent(t, Options{}, model.Request{Messages: []item.Message{
		user("a"), answer(use, result, text, open, keptBlock(`{"type":"web_search_call","id":"w"}`, "", "openai")), user("b"), answer(text, open)}})
	same(t, "messages", got["messages"], `[{"role":"user","content":[{"type":"text","text":"a"}]},
		{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"s1","content":[]},{"type":"text","text":"Hier."}]},
		{"role":"user","content":[{"type":"text","text":"b"}]},
		{"role":"assistant","content":[{"type":"text","text":"Hier."},{"type":"server_tool_use","id":"s2","name":"web_search","input":{}}]}]`)
}

func TestCodeGoesOnRunningWhereItRan(t *testing.T) {
	conversation := func(expires time.Time) model.Request {
		raw, err := json.Marshal(map[string]any{"id": "container_1", "expires_at": expires})
		if err != nil {
			t.Fatal(err)
		}
		return model.Request{Messages: []item.Message{user("a"),
			{Role: item.Assistant, Content: []item.Block{{Type: item.TextBlock, Text: "Hier."}, keptBlock(string(raw), containerType, "anthropic")},
				ToolCalls: []item.ToolCall{{CallID: "c", Name: "f", Arguments: "{}", Signature: `{"type":"code_execution_20250825","tool_id":"s1"}`}}},
			{Role: item.Tool, CallID: "c", Content: item.Text("ok")}}}
	}
	code := Options{Tools: []json.RawMessage{json.RawMessage(`{"type":"code_execution_20250825","name":"code_execution"}`)}}
	later, earlier := time.Now().Add(time.Hour), time.Now().Add(-time.Hour)
	got := sent(t, code, conversation(later))
	if got["container"] != "container_1" {
		t.Errorf("container %v", got["container"])
	}
	call := got["messages"].([]any)[1].(map[string]any)["content"].([]any)[1]
	same(t, "call", call, `{"type":"tool_use","id":"c","name":"f","input":{},"caller":{"type":"code_execution_20250825","tool_id":"s1"}}`)
	for name, o := range map[string]map[string]any{"it has expired": sent(t, code, conversation(earlier)), "no code can be run": sent(t, Options{}, conversation(later))} {
		if c, there := o["container"]; there {
			t.Errorf("%s, and yet container %v is asked for", name, c)
		}
	}
}
