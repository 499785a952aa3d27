package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
)

// sent returns the request that a model sends, and the answer that it makes of an empty one.
func sent(t *testing.T, responses bool, o Options, req model.Request) (*http.Request, string) {
	t.Helper()
	var got *http.Request
	var body []byte
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if responses {
			_, _ = io.WriteString(w, "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\"}}\n\n")
		} else {
			_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	defer srv.Close()
	o.HTTPClient = srv.Client()
	o.BaseURL = srv.URL + o.BaseURL
	if a := collect(t, t.Context(), open(responses, o), req); a.Err != nil {
		t.Fatal(a.Err)
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	pretty, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return got, string(pretty) + "\n"
}

const (
	png = "data:image/png;base64,iVBORw0KGgo="
	pdf = "data:application/pdf;base64,JVBERg=="
)

// story is a conversation with everything in it that a wire may have to carry.
func story(provider, sealed string) model.Request {
	temp := 0.5
	return model.Request{
		System: "be brief",
		Messages: []item.Message{
			{Role: item.User, Content: []item.Block{
				{Type: item.TextBlock, Text: "look"},
				{Type: item.ImageBlock, URL: png, MIME: "image/png"},
				{Type: item.ImageBlock, URL: "https://example.com/a.png", Foreign: json.RawMessage(`{"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}}`)},
				{Type: item.FileBlock, URL: pdf, Name: "a.pdf", MIME: "application/pdf"},
				{Type: item.FileBlock, URL: "https://example.com/b.pdf", Name: "b.pdf"},
				{Type: item.FileBlock, URL: "data:text/plain;base64,aGk=", Name: "c.txt"},
				{Type: item.ForeignBlock, Foreign: json.RawMessage(`{"type":"video","x":1}`)},
			}},
			{Role: item.Assistant, Content: item.Text("old answer"), Reasoning: []item.Reasoning{{Summary: item.Text("old thought"), Provider: provider}}},
			item.UserText("3", "go on"),
			{Role: item.Assistant,
				Reasoning: []item.Reasoning{
					{ID: "rs_1", Summary: item.Text("own thought"), Encrypted: sealed, Provider: provider},
					{ID: "th_1", Summary: item.Text("foreign thought"), Signature: "sig", Provider: "anthropic"},
				},
				ToolCalls: []item.ToolCall{
					{CallID: "c1", Name: "look_up", Arguments: `{"q":"x"}`},
					{CallID: "c2", Name: "look_up", Arguments: `{"q":`},
					{CallID: "c3", Name: "now"},
				}},
			{Role: item.Tool, CallID: "c1", Content: []item.Block{{Type: item.TextBlock, Text: "a picture"}, {Type: item.ImageBlock, URL: png}}},
			{Role: item.Tool, CallID: "c2", Failed: true, Content: item.Text("the arguments are not JSON")},
			{Role: item.Tool, CallID: "c3", Content: item.Text("noon")},
			{Role: item.Remove, ID: "x"},
		},
		Tools: []model.Tool{
			{Name: "look_up", Description: "looks things up", Schema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}}}`)},
			{Name: "now"},
		},
		Choice:     "look_up",
		Schema:     json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`),
		SchemaName: "reply",
		Thinking:   model.Thinking{On: true, Effort: "high"},
		MaxTokens:  100, Temp: &temp, User: "u-1",
		Extra: map[string]json.RawMessage{"seed": json.RawMessage("7")},
	}
}

// What each provider is sent, in full, is in a file to be read.
func TestRequests(t *testing.T) {
	for name, tc := range map[string]struct {
		responses bool
		o         Options
	}{
		"chat-openai":         {false, Options{Provider: providerOpenAI}},
		"chat-deepseek":       {false, Options{Provider: providerDeepSeek, TextOnly: true}},
		"chat-openrouter":     {false, Options{Provider: providerOpenRouter}},
		"chat-qwen":           {false, Options{Provider: providerQwen}},
		"responses-openai":    {true, Options{Provider: providerOpenAI}},
		"responses-elsewhere": {true, Options{Provider: "vllm", TextOnly: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.o.Model, tc.o.Key, tc.o.BaseURL = "m", NewKey(canary), "/v1"
			sealed := `{"type":"reasoning.encrypted","data":"zz"}`
			if tc.responses {
				sealed = "gAAAAA=="
			}
			r, body := sent(t, tc.responses, tc.o, story(tc.o.Provider, sealed))
			path := map[bool]string{false: "/v1/chat/completions", true: "/v1/responses"}[tc.responses]
			if r.URL.Path != path || r.Header.Get("Authorization") != "Bearer "+canary {
				t.Errorf("sent to %s with %q", r.URL, r.Header.Get("Authorization"))
			}
			file := filepath.Join("testdata/requests", name+".json")
			if *update {
				if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if body != string(want) {
				t.Errorf("got\n%s\nwant\n%s", body, want)
			}
			if strings.Contains(body, "foreign thought") {
				t.Error("another provider's reasoning is sent")
			}
		})
	}
}

func TestAzure(t *testing.T) {
	wires(t, func(t *testing.T, responses bool) {
		r, _ := sent(t, responses, Options{Model: "deployed", Key: NewKey(canary), AzureVersion: "2025-04-01-preview"}, hello)
		want := "/openai/deployments/deployed/chat/completions"
		if responses {
			want = "/openai/responses"
		}
		if r.URL.Path != want || r.URL.Query().Get("api-version") != "2025-04-01-preview" || r.Header.Get("Api-Key") != canary {
			t.Errorf("sent to %s with %q", r.URL, r.Header)
		}
	})
	if p := Chat(Options{Model: "m", AzureVersion: "v", BaseURL: "https://x.openai.azure.com"}).Describe().Provider; p != "azure" {
		t.Errorf("provider %q", p)
	}
}

// A token takes the place of the key; and neither goes over a line that others can read.
func TestAzureWithATokenAndWithoutAWall(t *testing.T) {
	token := func(context.Context) (Key, error) { return NewKey("t-1"), nil }
	wires(t, func(t *testing.T, responses bool) {
		r, _ := sent(t, responses, Options{Model: "deployed", Key: NewKey(canary), Token: token, AzureVersion: "v"}, hello)
		if r.Header.Get("Authorization") != "Bearer t-1" || r.Header.Get("Api-Key") != "" {
			t.Errorf("sent %v", r.Header)
		}
		a := collect(t, t.Context(), open(responses, Options{Model: "m", AzureVersion: "v", BaseURL: "http://r.openai.azure.com"}), hello)
		checkClass(t, "over http", a.Err, model.BadRequest)
	})
}

// A key in the environment belongs to OpenAI and must not be sent elsewhere.
func TestTheEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-from-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-x")
	wires(t, func(t *testing.T, responses bool) {
		r, _ := sent(t, responses, Options{Model: "m", BaseURL: "/v1"}, hello)
		if a := r.Header.Get("Authorization"); a != "" {
			t.Errorf("sent %q", a)
		}
		if r.Header.Get("OpenAI-Organization") != "" {
			t.Error("sent the organisation")
		}
	})
}

func TestExtrasAndHeaders(t *testing.T) {
	o := Options{Model: "m", BaseURL: "/v1", Headers: map[string]string{"X-Title": "tributary"}, Extra: map[string]json.RawMessage{
		"stream_options": json.RawMessage("null"), "top_k": json.RawMessage("1"), "provider": json.RawMessage(`{"order":["a"]}`),
	}}
	req := hello
	req.Extra = map[string]json.RawMessage{"top_k": json.RawMessage("2"), "model": json.RawMessage(`"other"`)}
	r, body := sent(t, false, o, req)
	var got map[string]any
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if got["top_k"] != 2.0 || got["model"] != "other" || got["stream"] != true || got["provider"] == nil {
		t.Errorf("sent %s", body)
	}
	if _, there := got["stream_options"]; there {
		t.Errorf("null does not remove a field: %s", body)
	}
	if r.Header.Get("X-Title") != "tributary" || r.Header.Get("Accept") != "text/event-stream" {
		t.Errorf("headers %v", r.Header)
	}
}

func TestRequestsThatCannotBePut(t *testing.T) {
	o := Options{Model: "m", BaseURL: "http://127.0.0.1:1"}
	wires(t, func(t *testing.T, responses bool) {
		for name, req := range map[string]model.Request{
			"schema": {Schema: json.RawMessage(`"x"`)},
			"tool":   {Tools: []model.Tool{{Name: "f", Schema: json.RawMessage(`[`)}}},
		} {
			checkClass(t, name, collect(t, t.Context(), open(responses, o), req).Err, model.BadRequest)
		}
	})
	checkClass(t, "stop", collect(t, t.Context(), Responses(o), model.Request{Stop: []string{"x"}}).Err, model.BadRequest)
}

func TestProvidersAreRecognised(t *testing.T) {
	for url, want := range map[string]string{
		"": "openai", "https://api.openai.com/v1": "openai", "https://api.deepseek.com": "deepseek", "https://openrouter.ai/api/v1": "openrouter",
		"https://dashscope-intl.aliyuncs.com/compatible-mode/v1": "qwen", "https://api.moonshot.cn/v1": "kimi", "https://api.x.ai/v1": "xai",
		"https://notx.ai/v1": "notx.ai", "http://localhost:11434/v1": "localhost:11434", "::": "openai-compatible",
		"https://r.openai.azure.com/openai/v1": "azure",
	} {
		if got := Chat(Options{BaseURL: url}).Describe().Provider; got != want {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
	}
	info := Responses(Options{Model: "m", ContextWindow: 8, Thinking: true, TextOnly: true, Provider: "p"}).Describe()
	if want := (model.Info{Provider: "p", Model: "m", ContextWindow: 8, Thinking: true}); info != want {
		t.Errorf("got %+v, want %+v", info, want)
	}
}

func TestStrictSchemas(t *testing.T) {
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                               true,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                            false,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object"}}},"required":["a"],"additionalProperties":false}`:      false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"object"}]}},"required":["a"],"additionalProperties":false}`:   false,
		`{"type":"object","$defs":{"d":{"type":"object","properties":{"x":{}}}},"properties":{},"required":[],"additionalProperties":false}`: false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string"}]}},"required":["a"],"additionalProperties":false}`:   true,
	} {
		var v any
		if err := json.Unmarshal([]byte(schema), &v); err != nil {
			t.Fatal(err)
		}
		if got := strictable(v); got != want {
			t.Errorf("%s: %v", schema, got)
		}
	}
}

// OpenAI answers 400 to an object that does not say which properties it has.
func TestAToolWithoutArgumentsSaysSo(t *testing.T) {
	wires(t, func(t *testing.T, responses bool) {
		for _, schema := range []string{``, ` null `, `{}`, `{"type":"object"}`, `{"type":"object","additionalProperties":false}`, `{"type":"object","properties":null}`} {
			_, body := sent(t, responses, Options{Model: "m", BaseURL: "/v1"}, model.Request{Messages: hello.Messages, Tools: []model.Tool{{Name: "now", Schema: json.RawMessage(schema)}}})
			var req struct {
				Tools []struct {
					Parameters object
					Function   struct{ Parameters object }
				}
			}
			if err := json.Unmarshal([]byte(body), &req); err != nil || len(req.Tools) != 1 {
				t.Fatalf("%v in %s", err, body)
			}
			got := req.Tools[0].Parameters
			if !responses {
				got = req.Tools[0].Function.Parameters
			}
			if props, ok := got["properties"].(map[string]any); got["type"] != "object" || !ok || len(props) != 0 {
				t.Errorf("schema %q is sent as %v", schema, got)
			}
		}
	})
}

type object = map[string]any
