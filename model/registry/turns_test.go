package registry_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model/registry"
)

// provider answers with one recording after the other and keeps what it was asked.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	answers []string
	asked   []string
}

func newProvider(t *testing.T, answers ...string) *provider {
	p := &provider{answers: answers}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, p.answers[min(len(p.asked), len(p.answers))-1])
	}))
	t.Cleanup(p.Close)
	return p
}

// ask says something in a thread and returns the thread.
func ask(t *testing.T, rt *tributary.Runtime, thread, text string) string {
	t.Helper()
	for env, err := range rt.Stream(t.Context(), tributary.Request{Thread: thread, Text: text}) {
		if err != nil {
			t.Fatal(err)
		}
		thread = env.Thread
		if end, ok := env.Event.(event.RunEnded); ok && end.Error != nil {
			t.Fatal(end.Error)
		}
	}
	return thread
}

// What a provider's own tools did in one turn is in the request of the next, after it went through events and a
// checkpoint; and it is not in a request to anybody else.
func TestWhatAProvidersToolsDidComesBackOnTheNextTurn(t *testing.T) {
	recording := func(path string) string {
		raw, err := os.ReadFile("../" + path)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	const code = `data: {"candidates":[{"content":{"parts":[{"executableCode":{"language":"PYTHON","code":"print(6*7)"},"thoughtSignature":"c2lnbmVk"},{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":"42\n"}},{"text":"It is 42."}]},"finishReason":"STOP"}],"modelVersion":"gemini-3-pro"}` + "\n\n"
	for name, c := range map[string]struct {
		config registry.Config
		answer string
		want   []string // in this order
		others []string // in no request to another provider
	}{
		"openai-responses": {
			registry.Config{Provider: "openai-responses", Model: "gpt-5"}, recording("openai/testdata/openai-responses/url-citations.sse"),
			[]string{`"type":"web_search_call"`, "Mount Columbia", "and then?"}, []string{"web_search_call"},
		},
		"anthropic": {
			registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5"}, recording("anthropic/testdata/web-search-citations.sse"),
			[]string{`"type":"server_tool_use"`, `"type":"web_search_tool_result"`, `"encrypted_content"`, "and then?"}, []string{"server_tool_use", "encrypted_content"},
		},
		"gemini": {
			registry.Config{Provider: "gemini", Model: "gemini-3-pro"}, code,
			[]string{`"executableCode"`, `"thoughtSignature":"c2lnbmVk"`, `"codeExecutionResult"`, "It is 42.", "and then?"}, []string{"executableCode", "c2lnbmVk"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			own := newProvider(t, c.answer)
			other := newProvider(t, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			c.config.Name, c.config.BaseURL, c.config.Key = "own", own.URL, registry.NewSecret("k")
			reg := open(t, registry.Options{Models: []registry.Config{c.config, {Name: "other", Provider: "vllm", Model: "m", BaseURL: other.URL}}})
			first, _ := reg.Lookup("own")
			second, _ := reg.Lookup("other")
			dir := t.TempDir()

			rt, err := tributary.Open(t.Context(), tributary.Options{Dir: dir, Models: tributary.OneModel(first.Model())})
			if err != nil {
				t.Fatal(err)
			}
			thread := ask(t, rt, "", "first")
			ask(t, rt, thread, "and then?")
			if err := rt.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			rest := own.asked[1]
			if !json.Valid([]byte(rest)) || strings.Contains(rest, `"tributary"`) {
				t.Errorf("the request is not what the API takes: %.2000s", rest)
			}
			for _, want := range c.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Fatalf("%s is not in the request, or not in its place: %.3000s", want, own.asked[1])
				}
				rest = after
			}

			rt, err = tributary.Open(t.Context(), tributary.Options{Dir: dir, Models: tributary.OneModel(second.Model())})
			if err != nil {
				t.Fatal(err)
			}
			ask(t, rt, thread, "and you?")
			if err := rt.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, never := range c.others {
				if strings.Contains(other.asked[0], never) {
					t.Errorf("%s is told another provider: %.2000s", never, other.asked[0])
				}
			}
		})
	}
}
