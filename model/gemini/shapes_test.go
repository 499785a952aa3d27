package gemini

import (
	"reflect"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/kept"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

// Shapes that the service is known to send. Each is read the same in both framings and at every way to cut it.
func TestShapes(t *testing.T) {
	finish := func(reason item.Finish, raw, why string) *model.Finish {
		return &model.Finish{Reason: reason, Raw: raw, Message: why}
	}
	done := finish(item.FinishStop, "STOP", "")
	const stop = `{"candidates":[{"finishReason":"STOP"}]}`
	for name, c := range map[string]struct {
		payloads []string
		want     providertest.Answer
		err      string
	}{
		"code that it ran, and what came of it": {
			[]string{parted(`{"executableCode":{"language":"PYTHON","code":"6*7"},"thoughtSignature":"c2ln"}`), parted(`{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42"}},{"text":"42."}`), stop},
			providertest.Answer{Texts: []string{"42."}, Kept: []string{"executableCode", "codeExecutionResult"}, Finish: done}, ""},
		"a picture with a signature": {
			[]string{parted(`{"inlineData":{"mimeType":"image/png","data":"iVBOR\/8="},"thoughtSignature":"c2ln"}`), stop},
			providertest.Answer{Texts: []string{""}, Images: []string{"data:image/png;base64,iVBOR/8="}, Kept: []string{"thoughtSignature"}, Finish: done}, ""},
		"a signature on an empty text at the end": {
			[]string{parted(`{"text":"Ja."}`), `{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"},"finishReason":"STOP"}]}`},
			providertest.Answer{Texts: []string{"Ja."}, Reasoning: []item.Reasoning{{Signature: "c2ln"}}, Finish: done}, ""},
		"parallel calls, of which the first is signed": {
			[]string{parted(`{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f"}},{"functionCall":{"id":"i","name":"g","args":null}}`), stop},
			providertest.Answer{Calls: []item.ToolCall{{Name: "f", Arguments: `{"x":1}`, Signature: "c2ln"}, {Name: "f", Arguments: "{}"}, {CallID: "i", Name: "g", Arguments: "{}"}}, Finish: finish(item.FinishToolCalls, "STOP", "")}, ""},
		"a call whose end does not come, of an answer that ends": {
			[]string{parted(`{"functionCall":{"name":"f","willContinue":true,"partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}]}}`), stop},
			providertest.Answer{Calls: []item.ToolCall{{Name: "f", Arguments: `{"a":"x"}`}}, Finish: finish(item.FinishToolCalls, "STOP", "")}, ""},
		"usage in every chunk, growing": {
			[]string{`{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":8,"totalTokenCount":8}}`,
				`{"candidates":[{"content":{"parts":[{"text":"b"}]}}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":1,"thoughtsTokenCount":5,"totalTokenCount":14,"promptTokensDetails":[{"modality":"TEXT","tokenCount":8}]}}`,
				`{"candidates":[{"content":{},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":8,"candidatesTokenCount":2,"thoughtsTokenCount":5,"cachedContentTokenCount":3,"toolUsePromptTokenCount":10,"totalTokenCount":25}}`},
			providertest.Answer{Texts: []string{"ab"}, Usage: item.Usage{InputTokens: 18, OutputTokens: 7, CachedTokens: 3, ReasoningTokens: 5}, Finish: done}, ""},
		"filtered, with a reason": {
			[]string{parted(`{"text":"Man nehme"}`), `{"candidates":[{"finishReason":"SAFETY","finishMessage":"zu scharf","safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH","blocked":true}]}]}`},
			providertest.Answer{Texts: []string{"Man nehme"}, Finish: finish(item.FinishFilter, "SAFETY", "zu scharf")}, ""},
		"a prompt that is blocked": {
			[]string{`{"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[]},"usageMetadata":{"promptTokenCount":3}}`},
			providertest.Answer{Usage: item.Usage{InputTokens: 3}}, "the prompt was blocked: SAFETY"},
		"a call that was not asked for": {
			[]string{`{"candidates":[{"content":{},"finishReason":"UNEXPECTED_TOOL_CALL","finishMessage":"no tools"}]}`}, providertest.Answer{}, "the model called a tool wrongly: UNEXPECTED_TOOL_CALL, no tools"},
		"citations of what it learnt": {
			[]string{parted(`{"text":"Über allen "}`), `{"candidates":[{"content":{"parts":[{"text":"Gipfeln"}]},"citationMetadata":{"citationSources":[{"startIndex":6,"endIndex":19,"uri":"https://g","license":""},{"startIndex":400,"endIndex":500,"uri":"https://nowhere"}]}}]}`, stop},
			providertest.Answer{Texts: []string{"Über allen Gipfeln"}, Finish: done, Notes: []model.Annotation{{Annotation: item.Annotation{Type: item.URLCitation, Start: 5, End: 18, URL: "https://g"}}}}, ""},
		"Vertex AI's citations": {
			[]string{parted(`{"text":"Ruh"}`), `{"candidates":[{"citationMetadata":{"citations":[{"endIndex":3,"uri":"https://g","title":"G"}]},"finishReason":"RECITATION"}]}`},
			providertest.Answer{Texts: []string{"Ruh"}, Finish: finish(item.FinishFilter, "RECITATION", ""), Notes: []model.Annotation{{Annotation: item.Annotation{Type: item.URLCitation, End: 3, URL: "https://g", Title: "G"}}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var payloads [][]byte
			for _, p := range c.payloads {
				payloads = append(payloads, []byte(p))
			}
			for framing, frame := range framings {
				kind, body := frame(payloads)
				for cut, pieces := range providertest.Cuts {
					got, _, err := providertest.Collect(t, client(t, providertest.Replay(t, kind, pieces(body))), providertest.Hello)
					if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
						t.Fatalf("%s, %s: error %v, want %q", framing, cut, err, c.err)
					}
					if !reflect.DeepEqual(got, c.want) {
						t.Fatalf("%s, %s: got\n%+v %+v\nwant\n%+v %+v", framing, cut, got, got.Finish, c.want, c.want.Finish)
					}
				}
			}
		})
	}
}

func TestPartsOfTheProvidersToolsGoBack(t *testing.T) {
	put := func(raw, typ, provider string) item.Block {
		return item.Block{Type: item.ForeignBlock, Foreign: kept.Put([]byte(raw), typ, kept.Mark{Provider: provider})}
	}
	got := sent(t, Options{}, model.Request{Messages: []item.Message{user("a"), {Role: item.Assistant, Content: []item.Block{
		put(`{"executableCode":{"code":"6*7"},"thoughtSignature":"c2ln"}`, "executableCode", "gemini"), put(`{"codeExecutionResult":{"output":"42"}}`, "codeExecutionResult", "gemini"),
		{Type: item.TextBlock, Text: "42."}, put(`{"type":"server_tool_use","id":"s"}`, "", "anthropic"),
		{Type: item.ImageBlock, URL: "data:image/png;base64,AA=="}, put(`{"thoughtSignature":"cGlj"}`, signatureType, "gemini"),
	}, ToolCalls: []item.ToolCall{{CallID: "c", Name: "f", Signature: `{"type":"of another provider"}`}}}}})
	same(t, "answer", got["contents"].([]any)[1], `{"role":"model","parts":[{"executableCode":{"code":"6*7"},"thoughtSignature":"c2ln"},{"codeExecutionResult":{"output":"42"}},{"text":"42."},
		{"inlineData":{"mimeType":"image/png","data":"AA=="},"thoughtSignature":"cGlj"},{"functionCall":{"id":"c","name":"f","args":{}}}]}`)
}
