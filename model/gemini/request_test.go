package gemini

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

// sent returns the request object that a request becomes.
func sent(t testing.TB, o Options, req model.Request) map[string]any {
	t.Helper()
	if o.Model == "" {
		o.Model = "gemini-2.5-flash"
	}
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.body(req)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(body, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

var same = providertest.SameJSON

func user(text string) item.Message { return item.UserText("", text) }

func TestRequestIsWrittenInTheProvidersWords(t *testing.T) {
	temp := 0.5
	got := sent(t, Options{Tools: []json.RawMessage{json.RawMessage(`{"googleSearch":{}}`)}}, model.Request{
		System: "Be brief.", Messages: []item.Message{user("Weather?")},
		Tools:  []model.Tool{{Name: "weather", Description: "tells it", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "now"}},
		Choice: "weather", MaxTokens: 100, Temp: &temp, Stop: []string{"END"}, Schema: json.RawMessage(`{"type":"array"}`),
	})
	same(t, "request", any(got), `{
		"systemInstruction": {"parts": [{"text": "Be brief."}]},
		"contents": [{"role": "user", "parts": [{"text": "Weather?"}]}],
		"tools": [
			{"functionDeclarations": [{"name": "weather", "description": "tells it", "parametersJsonSchema": {"type": "object"}}, {"name": "now"}]},
			{"googleSearch": {}}],
		"toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["weather"]}},
		"generationConfig": {"temperature": 0.5, "maxOutputTokens": 100, "stopSequences": ["END"],
			"responseMimeType": "application/json", "responseJsonSchema": {"type": "array"}}}`)
	for choice, want := range map[string]string{
		"required": `{"functionCallingConfig":{"mode":"ANY"}}`, "none": `{"functionCallingConfig":{"mode":"NONE"}}`, "auto": `null`} {
		got := sent(t, Options{}, model.Request{Messages: []item.Message{user("x")}, Tools: []model.Tool{{Name: "now"}}, Choice: choice})
		same(t, choice, got["toolConfig"], want)
	}
}

var elsewhere = []item.Message{
	{Role: item.System, Content: item.Text("You are kind.")},
	user("one"), user("two"), user("  "),
	{Role: item.Assistant, Content: item.Text("Let me see."),
		Reasoning: []item.Reasoning{
			{Provider: "openai", Encrypted: "theirs", Signature: "theirs"},
			{Provider: "gemini", Summary: item.Text("hm"), Signature: "c2ln"}},
		ToolCalls: []item.ToolCall{
			{CallID: "call|1.a", Name: "look", Arguments: `{"q":1}`},
			{CallID: "2", Name: "look", Arguments: `{"q": "cut o`},
			{CallID: "3", Name: "stop", Arguments: ""}}},
	{Role: item.Tool, CallID: "2", Failed: true, Content: item.Text("not JSON")},
	user("and then?"),
	{Role: item.Tool, CallID: "call|1.a", Content: []item.Block{{Type: item.TextBlock, Text: "found"}, {Type: item.ImageBlock, URL: "data:image/png;base64,AAAA"}}},
	{Role: item.Tool, CallID: "gone", Name: "old", Content: item.Text("late")},
	{Role: item.Assistant, Content: item.Text("Done.")},
}

func TestConversationFromElsewhereIsMadeToFit(t *testing.T) {
	got := sent(t, Options{}, model.Request{Messages: elsewhere})
	same(t, "system", got["systemInstruction"], `{"parts":[{"text":"You are kind."}]}`)
	same(t, "contents", got["contents"], `[
		{"role": "user", "parts": [{"text": "one"}, {"text": "two"}]},
		{"role": "model", "parts": [
			{"text": "Let me see."},
			{"text": "", "thoughtSignature": "c2ln"},
			{"functionCall": {"id": "call|1.a", "name": "look", "args": {"q": 1}}},
			{"functionCall": {"id": "2", "name": "look", "args": {"invalid_arguments": "{\"q\": \"cut o"}}},
			{"functionCall": {"id": "3", "name": "stop", "args": {}}}]},
		{"role": "user", "parts": [
			{"functionResponse": {"id": "call|1.a", "name": "look", "response": {"output": "found"}}},
			{"functionResponse": {"id": "2", "name": "look", "response": {"error": "not JSON"}}},
			{"functionResponse": {"id": "3", "name": "stop", "response": {"error": "The call was interrupted; whether it had any effect is not known."}}}]},
		{"role": "user", "parts": [
			{"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
			{"text": "and then?"}, {"text": "(Result of old:)"}, {"text": "late"}]},
		{"role": "model", "parts": [{"text": "Done."}]}]`)
}

func TestCallsCarryTheirSignatures(t *testing.T) {
	calls := func(o Options, signatures ...string) []any {
		m := item.Message{Role: item.Assistant}
		for _, s := range signatures {
			m.ToolCalls = append(m.ToolCalls, item.ToolCall{CallID: "1", Name: "f", Signature: s})
		}
		got := sent(t, o, model.Request{Messages: []item.Message{user("x"), m}})
		var out []any
		for _, p := range got["contents"].([]any)[1].(map[string]any)["parts"].([]any) {
			out = append(out, p.(map[string]any)["thoughtSignature"])
		}
		return out
	}
	three := Options{Model: "gemini-3-pro-preview"}
	same(t, "its own", any(calls(three, "c2ln", "")), `["c2ln", null]`)
	same(t, "of others", any(calls(three, "", "")), `["`+pass+`", null]`)
	same(t, "of others, for a model that does not ask", any(calls(Options{}, "", "")), `[null, null]`)
}

func TestVertexPairsCallsByOrder(t *testing.T) {
	got := sent(t, Options{Project: "p"}, model.Request{Messages: elsewhere})
	if b, _ := json.Marshal(got); strings.Contains(string(b), `"id"`) {
		t.Errorf("an id in %s", b)
	}
}

func TestImagesAndFiles(t *testing.T) {
	got := sent(t, Options{}, model.Request{Messages: []item.Message{{Role: item.User, Content: []item.Block{
		{Type: item.ImageBlock, URL: "https://x/y.jpg"},
		{Type: item.ImageBlock, URL: "data:image/webp;base64,AAAA"},
		{Type: item.FileBlock, URL: "https://x/v1beta/files/abc", MIME: "audio/mp3"},
		{Type: item.FileBlock, URL: "gs://bucket/a.pdf"},
		{Type: item.FileBlock, URL: "data:application/json,%7B%7D"},
		{Type: item.FileBlock, URL: "file.bin", Name: "file.bin"},
		{Type: item.ForeignBlock, Foreign: json.RawMessage(`{"type":"media","fileData":{"fileUri":"u"}}`)},
		{Type: item.ForeignBlock, Foreign: json.RawMessage(`{"type":"input_audio"}`)},
	}}}})
	same(t, "contents", got["contents"], `[{"role": "user", "parts": [
		{"fileData": {"mimeType": "image/jpeg", "fileUri": "https://x/y.jpg"}},
		{"inlineData": {"mimeType": "image/webp", "data": "AAAA"}},
		{"fileData": {"mimeType": "audio/mp3", "fileUri": "https://x/v1beta/files/abc"}},
		{"fileData": {"mimeType": "application/pdf", "fileUri": "gs://bucket/a.pdf"}},
		{"inlineData": {"mimeType": "text/plain", "data": "e30="}},
		{"text": "(file.bin was attached, which you cannot be shown.)"},
		{"type": "media", "fileData": {"fileUri": "u"}}]}]`)
}

func TestThinkingIsAskedForAsTheModelKnowsIt(t *testing.T) {
	for _, c := range []struct {
		model string
		ask   model.Thinking
		want  string
	}{
		{"gemini-3-pro-preview", model.Thinking{On: true, Effort: "low"}, `{"includeThoughts":true,"thinkingLevel":"low"}`},
		{"gemini-3-pro-preview", model.Thinking{On: true}, `{"includeThoughts":true}`},
		{"gemini-2.5-flash", model.Thinking{On: true, Effort: "high"}, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", model.Thinking{On: true, Budget: 77}, `{"includeThoughts":true,"thinkingBudget":77}`},
		{"gemini-2.0-flash", model.Thinking{On: true}, `null`},
		{"gemini-3-pro-preview", model.Thinking{}, `null`},
	} {
		got := sent(t, Options{Model: c.model}, model.Request{Messages: []item.Message{user("x")}, Thinking: c.ask})
		config, _ := got["generationConfig"].(map[string]any)
		same(t, c.model, config["thinkingConfig"], c.want)
	}
}

func TestExtraIsMerged(t *testing.T) {
	got := sent(t, Options{Extra: map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"topK":5,"seed":1}`)}}, model.Request{
		Messages: []item.Message{user("x")}, MaxTokens: 9,
		Extra: map[string]json.RawMessage{"generationConfig": json.RawMessage(`{"topK":6}`), "safetySettings": json.RawMessage(`[]`)},
	})
	same(t, "config", got["generationConfig"], `{"maxOutputTokens":9,"topK":6,"seed":1}`)
	same(t, "safety", got["safetySettings"], `[]`)
}

func TestWhereTheCallGoes(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{Model: "models/gemini-2.5-pro"}, "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"},
		{Options{Model: "gemini-2.5-pro", Array: true}, "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent"},
		{Options{Model: "tunedModels/mine"}, "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		{Options{Model: "g", Project: "p", Location: "europe-west1"}, "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/publishers/google/models/g:streamGenerateContent?alt=sse"},
		{Options{Model: "g", Project: "p"}, "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/g:streamGenerateContent?alt=sse"},
		{Options{Model: "endpoints/7", Project: "p"}, "https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/7:streamGenerateContent?alt=sse"},
		{Options{Model: "g", BaseURL: "http://proxy/v1beta/?tag=a"}, "http://proxy/v1beta/models/g:streamGenerateContent?alt=sse&tag=a"},
	} {
		m, err := New(c.o)
		if err != nil {
			t.Fatal(err)
		}
		if m.at.URL.String() != c.want {
			t.Errorf("%+v asks\n     %s\nwant %s", c.o, m.at.URL.String(), c.want)
		}
	}
	for _, o := range []Options{{}, {Model: "m", Location: "l"}, {Model: "m", BaseURL: "no url"}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v passes", o)
		}
	}
	m, _ := New(Options{Model: "gemini-2.5-pro"})
	if got, want := m.Describe(), (model.Info{Provider: "gemini", Model: "gemini-2.5-pro", ContextWindow: 1 << 20, Thinking: true, Vision: true}); got != want {
		t.Errorf("describes itself as %+v", got)
	}
}

func TestTheTokenIsSentAndNeverPrinted(t *testing.T) {
	secret := "ya-" + canary
	srv := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			t.Errorf("the server saw %v", r.Header)
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"error":{"message":"token ` + secret + ` may not","status":"PERMISSION_DENIED"}}`))
	})
	m := client(t, srv, func(o *Options) {
		o.Key = Key{}
		o.Token = func(context.Context) (Key, error) { return NewKey(secret), nil }
	})
	_, _, err := providertest.Collect(t, m, providertest.Hello)
	providertest.Check(t, err, model.Auth, http.StatusForbidden)

	m = client(t, srv, func(o *Options) {
		o.Token = func(context.Context) (Key, error) { return Key{}, errors.New("the metadata server is away") }
	})
	_, _, err = providertest.Collect(t, m, providertest.Hello)
	providertest.Check(t, err, model.Auth, 0)
}

// drawn makes conversations such as trimming, cancelling and other providers leave behind.
func drawn(t *rapid.T) []item.Message {
	ids := rapid.SampledFrom([]string{"", "a", "b", "call.c"})
	texts := rapid.SampledFrom([]string{"", " \n", "word", "Wörter "})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) item.Message {
		m := item.Message{
			Role:    rapid.SampledFrom([]item.Role{item.User, item.Assistant, item.Tool, item.Tool, item.System, "critic"}).Draw(t, "role"),
			Content: item.Text(texts.Draw(t, "text")),
		}
		switch m.Role {
		case item.Tool:
			m.CallID = ids.Draw(t, "id")
		case item.Assistant:
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, item.ToolCall{CallID: ids.Draw(t, "id"), Name: "f", Arguments: rapid.SampledFrom([]string{"", "{}", "{", "1"}).Draw(t, "args")})
			}
			if rapid.Bool().Draw(t, "thinks") {
				m.Reasoning = []item.Reasoning{{Provider: rapid.SampledFrom([]string{"anthropic", "gemini"}).Draw(t, "by"), Signature: "s"}}
			}
		case item.User, item.System, item.Remove:
		}
		return m
	}), 0, 9).Draw(t, "messages")
}

func TestEveryConversationKeepsTheAPIsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m, _ := New(Options{Model: "gemini-3-pro"})
		body, err := m.body(model.Request{Messages: drawn(t)})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Contents []struct {
				Role  string
				Parts []struct {
					Text             *string
					ThoughtSignature string
					FunctionCall     *struct{ Args map[string]any }
					FunctionResponse *struct{ Response map[string]any }
				}
			}
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		calls := 0 // of the turn before
		for i, turn := range got.Contents {
			if i == 0 && turn.Role != "user" || len(turn.Parts) == 0 {
				t.Fatalf("turn %d is of %s, with %d parts", i, turn.Role, len(turn.Parts))
			}
			results, others, made := 0, 0, 0
			for n, p := range turn.Parts {
				switch {
				case p.FunctionCall != nil:
					if made == 0 && p.ThoughtSignature == "" || p.FunctionCall.Args == nil || turn.Role != "model" {
						t.Fatalf("call %d of turn %d: %+v", n, i, p)
					}
					made++
				case p.FunctionResponse != nil:
					results++
				default:
					others++
					if (p.Text == nil || strings.TrimSpace(*p.Text) == "") && p.ThoughtSignature == "" {
						t.Fatal("blank text")
					}
				}
			}
			if results != calls || results > 0 && others > 0 {
				t.Fatalf("%d results and %d other parts after %d calls", results, others, calls)
			}
			calls = made
		}
		if calls > 0 {
			t.Fatal("the last turn has calls without results")
		}
	})
}
