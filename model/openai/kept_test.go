package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
)

func keptBlock(raw, provider, follows string) item.Block {
	return item.Block{Type: item.ForeignBlock, Foreign: kept.Put([]byte(raw), "", kept.Mark{Provider: provider, Follows: follows})}
}

// input is what the Responses API is sent of a conversation, each item as "type:id".
func input(t *testing.T, msgs ...item.Message) []string {
	t.Helper()
	_, body := sent(t, true, Options{Model: "gpt-5", Provider: providerOpenAI, BaseURL: "/v1"}, model.Request{Messages: msgs})
	var req struct{ Input []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &req); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, raw := range req.Input {
		var it struct{ Type, ID, Role, CallID, Result string }
		if err := json.Unmarshal(raw, &it); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Trim(it.Type+it.Role+":"+it.ID+it.Result, ":"))
	}
	return out
}

func TestItemsOfTheProvidersToolsGoBackInTheirPlace(t *testing.T) {
	search := item.Message{Role: item.Assistant,
		Reasoning: []item.Reasoning{
			{ID: "rs_1", Encrypted: "gA", Provider: providerOpenAI}, {ID: "rs_2", Encrypted: "gB", Provider: providerOpenAI}, {ID: "rs_3", Encrypted: "gC", Provider: providerOpenAI}},
		Content: []item.Block{
			keptBlock(`{"type":"web_search_call","id":"ws_1"}`, providerOpenAI, "rs_1"), {Type: item.TextBlock, Text: "Let me see. "},
			keptBlock(`{"type":"web_search_call","id":"ws_2"}`, providerOpenAI, "rs_2"), {Type: item.TextBlock, Text: "3,20 m."},
			keptBlock(`{"type":"server_tool_use","id":"st"}`, "anthropic", "")},
		ToolCalls: []item.ToolCall{{CallID: "c", Name: "f"}},
	}
	picture := item.Message{Role: item.Assistant, Content: []item.Block{
		{Type: item.ImageBlock, URL: "data:image/png;base64,AA==", MIME: "image/png"}, keptBlock(`{"type":"image_generation_call","id":"ig_1","status":"completed"}`, providerOpenAI, "")}}
	lost := item.Message{Role: item.Assistant, Content: []item.Block{keptBlock(`{"type":"image_generation_call","id":"ig_2"}`, providerOpenAI, ""), {Type: item.TextBlock, Text: "See above."}}}
	approval := item.Message{Role: item.User, Content: []item.Block{{Type: item.ForeignBlock, Foreign: json.RawMessage(`{"type":"mcp_approval_response","id":"ap","approve":true}`)}}}
	for name, c := range map[string]struct {
		msg  item.Message
		want string
	}{
		"each behind the reasoning that led to it": {search, "reasoning:rs_1 web_search_call:ws_1 assistant reasoning:rs_2 web_search_call:ws_2 reasoning:rs_3 assistant function_call"},
		"a picture with its bytes":                 {picture, "image_generation_call:ig_1AA=="},
		"a picture that is gone is left out":       {lost, "assistant"},
		"an answer to the provider's tool":         {approval, "mcp_approval_response:ap"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(input(t, c.msg), " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	_, body := sent(t, false, Options{Model: "m", Provider: providerDeepSeek, BaseURL: "/v1"}, model.Request{Messages: []item.Message{search}})
	if strings.Contains(body, "web_search_call") || !strings.Contains(body, "Let me see. 3,20 m.") {
		t.Errorf("Chat Completions has no place for these: %s", body)
	}
}

func TestOpenRouterGetsItsReasoningBackInItsFormat(t *testing.T) {
	got, err := json.Marshal(details([]item.Reasoning{
		{Summary: item.Text("Kurz"), Encrypted: `{"type":"reasoning.encrypted","data":"gA","format":"openai-responses-v1","index":0}`},
		{Summary: item.Text("Lang"), Signature: "sig"},
	}))
	want := `[{"format":"openai-responses-v1","index":0,"summary":"Kurz","type":"reasoning.summary"},{"type":"reasoning.encrypted","data":"gA","format":"openai-responses-v1","index":0},` +
		`{"index":1,"signature":"sig","text":"Lang","type":"reasoning.text"}]`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestGeminiGetsItsSignatureBackOnThisWire(t *testing.T) {
	msg := item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "c", Name: "f", Arguments: "{}", Signature: "c2ln"}, {CallID: "d", Name: "f", Arguments: "{}", Signature: `{"type":"code"}`}}}
	_, body := sent(t, false, Options{Model: "m", Provider: providerGemini, BaseURL: "/v1"}, model.Request{Messages: []item.Message{msg}})
	if strings.Count(body, "extra_content") != 1 || !strings.Contains(body, `"thought_signature": "c2ln"`) {
		t.Errorf("got %s", body)
	}
	_, body = sent(t, false, Options{Model: "m", Provider: providerOpenAI, BaseURL: "/v1"}, model.Request{Messages: []item.Message{msg}})
	if strings.Contains(body, "extra_content") {
		t.Errorf("OpenAI is sent %s", body)
	}
}
