package openai

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

// Every recording, sent whole, is what its golden file says; sent in any pieces, it is the same.
func TestRecordings(t *testing.T) {
	for _, r := range recordings(t) {
		t.Run(r.name, func(t *testing.T) {
			whole := collect(t, t.Context(), open(r.responses(), options(t, serve(t, r.kind, cuts["whole"](r.body)))), hello)
			checkGolden(t, r.name, whole.golden())
			for name, cut := range cuts {
				if testing.Short() && name == "byte by byte" && len(r.body) > 20_000 {
					continue
				}
				got := collect(t, t.Context(), open(r.responses(), options(t, serve(t, r.kind, cut(r.body)))), hello)
				if fmt.Sprint(got.parts) != fmt.Sprint(whole.parts) || fmt.Sprint(got.Err) != fmt.Sprint(whole.Err) {
					t.Errorf("%s: %d parts and error %v, but whole %d and %v", name, len(got.parts), got.Err, len(whole.parts), whole.Err)
				}
			}
		})
	}
}

func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata/golden", strings.ReplaceAll(name, "/", "-")+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The SDK's own decoder reads the same meaning, as far as it reads these recordings at all.
func TestSDKAgrees(t *testing.T) {
	for _, r := range recordings(t) {
		if strings.HasPrefix(r.name, "ollama/") {
			continue // another wire
		}
		t.Run(r.name, func(t *testing.T) {
			o := options(t, serve(t, r.kind, cuts["whole"](r.body)))
			ours := collect(t, t.Context(), open(r.responses(), o), hello)
			var theirs oracle
			if r.responses() {
				theirs = askResponses(t, o)
			} else {
				theirs = askChat(t, o)
			}
			if (theirs.err != nil) != (ours.Err != nil) && !strings.HasPrefix(r.name, "openrouter/") {
				t.Fatalf("ours ends with %v, theirs with %v", ours.Err, theirs.err)
			}
			var calls []string
			for _, c := range ours.Calls {
				calls = append(calls, c.CallID+" "+c.Name+" "+c.Arguments)
			}
			if ours.text() != theirs.text || fmt.Sprint(calls) != fmt.Sprint(theirs.calls) {
				t.Errorf("ours: %q %q\ntheirs: %q %q", ours.text(), calls, theirs.text, theirs.calls)
			}
			if theirs.err != nil {
				return
			}
			if ours.Usage == nil || int64(ours.Usage.InputTokens) != theirs.in || int64(ours.Usage.OutputTokens) != theirs.out ||
				int64(ours.Usage.CachedTokens) != theirs.cached {
				t.Errorf("ours: %+v, theirs: %d in, %d out, %d cached", ours.Usage, theirs.in, theirs.out, theirs.cached)
			}
		})
	}
}

// sdk are the options with which the SDK asks as we do.
func sdk(o Options) []option.RequestOption {
	return []option.RequestOption{option.WithHTTPClient(o.HTTPClient), option.WithMaxRetries(0), option.WithBaseURL(o.BaseURL), option.WithAPIKey("sk-test")}
}

type oracle struct {
	text            string
	calls           []string
	in, out, cached int64
	err             error
}

func askChat(t *testing.T, o Options) (a oracle) {
	service := openai.NewChatCompletionService(sdk(o)...)
	stream := service.NewStreaming(t.Context(), openai.ChatCompletionNewParams{Model: "m"})
	defer stream.Close()
	type call struct{ id, name, args string }
	var calls []call
	for stream.Next() {
		k := stream.Current()
		for _, ch := range k.Choices {
			if ch.Index != 0 {
				continue
			}
			a.text += ch.Delta.Content + ch.Delta.Refusal
			for _, c := range ch.Delta.ToolCalls {
				for int(c.Index) >= len(calls) {
					calls = append(calls, call{})
				}
				k := &calls[c.Index]
				k.id += c.ID
				k.name += c.Function.Name
				k.args += c.Function.Arguments
			}
		}
		if u := k.Usage; u.TotalTokens > 0 {
			a.in, a.out, a.cached = u.PromptTokens, u.CompletionTokens, u.PromptTokensDetails.CachedTokens
			// xAI counts reasoning apart; see usage.
			if u.TotalTokens == a.in+a.out+u.CompletionTokensDetails.ReasoningTokens {
				a.out = u.TotalTokens - a.in
			}
		}
	}
	for _, c := range calls {
		a.calls = append(a.calls, c.id+" "+c.name+" "+c.args)
	}
	a.err = stream.Err()
	return a
}

func askResponses(t *testing.T, o Options) (a oracle) {
	service := responses.NewResponseService(sdk(o)...)
	stream := service.NewStreaming(t.Context(), responses.ResponseNewParams{Model: "m"})
	defer stream.Close()
	for stream.Next() {
		ev := stream.Current()
		switch ev.Type {
		case "response.output_text.delta", "response.refusal.delta":
			a.text += ev.Delta
		case "response.output_item.done":
			if ev.Item.Type == "function_call" {
				a.calls = append(a.calls, ev.Item.CallID+" "+ev.Item.Name+" "+ev.Item.Arguments.OfString)
			}
		case "response.completed":
			u := ev.Response.Usage
			a.in, a.out, a.cached = u.InputTokens, u.OutputTokens, u.InputTokensDetails.CachedTokens
		}
	}
	a.err = stream.Err()
	return a
}

// Cut after any event before the last, an answer is an error of class Broken and never a short success.
func TestAnswersWithoutTheirEndAreBroken(t *testing.T) {
	for _, r := range recordings(t) {
		finish := []byte(`"finish_reason":"`)
		switch {
		case r.responses():
			finish = []byte("event: response.completed")
		case strings.HasPrefix(r.name, "ollama/"):
			finish = []byte(`"done":true`)
		}
		end := bytes.Index(r.body, finish)
		if end < 0 {
			continue // ends with an error anyway
		}
		t.Run(r.name, func(t *testing.T) {
			body := r.body[:bytes.LastIndexByte(r.body[:end], '\n')+1]
			for name, cut := range map[string][]byte{"before the end": body, "in the middle of a line": body[:len(body)*2/3], "nothing": nil} {
				a := collect(t, t.Context(), open(r.responses(), options(t, serve(t, r.kind, [][]byte{cut}))), hello)
				checkClass(t, name, a.Err, "model_broken")
			}
		})
	}
}

func TestOtherWaysToSayTheSame(t *testing.T) {
	for _, r := range recordings(t) {
		if strings.HasPrefix(r.name, "ollama/") {
			continue // lines of JSON, and no events
		}
		subject := providertest.Subject{Open: func(t testing.TB, at providertest.At) model.Model {
			return open(r.responses(), Options{Model: "m", Provider: "test", BaseURL: at.URL + "/v1", HTTPClient: at.Client})
		}}
		t.Run(r.name, func(t *testing.T) { subject.Undistorted(t, r.kind, r.body) })
	}
}
