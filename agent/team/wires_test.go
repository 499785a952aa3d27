package team_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/anthropic"
	"github.com/tributary-ai/tributary/model/gemini"
	"github.com/tributary-ai/tributary/model/openai"
)

// providerWire is how a provider says a text, in a stream and at once.
type providerWire struct {
	open            func(t *testing.T, srv *httptest.Server) model.Model
	isWhole         func(r *http.Request, body string) bool
	streamed, whole string // with %s for the text
	refusal         string // that it does not stream
}

func unstreamed(_ *http.Request, body string) bool { return strings.Contains(body, `"stream":false`) }

var providerWires = map[string]providerWire{
	"openai chat": {
		open: func(_ *testing.T, srv *httptest.Server) model.Model {
			return openai.Chat(openai.Options{Model: "m", BaseURL: srv.URL, Key: openai.NewKey("k"), HTTPClient: srv.Client()})
		},
		isWhole:  unstreamed,
		streamed: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		whole:    `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}`,
		refusal:  `{"error":{"message":"This model does not support streaming.","type":"invalid_request_error"}}`,
	},
	"openai responses": {
		open: func(_ *testing.T, srv *httptest.Server) model.Model {
			return openai.Responses(openai.Options{Model: "m", BaseURL: srv.URL, Key: openai.NewKey("k"), HTTPClient: srv.Client()})
		},
		isWhole: unstreamed,
		streamed: "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"m\"}}\n\n" +
			"data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"%[1]s\"}\n\n" +
			"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"id\":\"m\",\"content\":[{\"type\":\"output_text\",\"text\":\"%[1]s\"}]}]}}\n\n",
		whole:   `{"object":"response","status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"%s"}]}]}`,
		refusal: `{"error":{"message":"Your organization must be verified to stream this model.","type":"invalid_request_error","param":"stream"}}`,
	},
	"anthropic": {
		open: func(t *testing.T, srv *httptest.Server) model.Model {
			m, err := anthropic.New(anthropic.Options{Model: "m", BaseURL: srv.URL, HTTPClient: srv.Client()})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		isWhole: unstreamed,
		streamed: "data: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"%s\"}}\n\n" +
			"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		whole:   `{"type":"message","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn"}`,
		refusal: `{"type":"error","error":{"type":"invalid_request_error","message":"stream: streaming is not available"}}`,
	},
	"gemini": {
		open: func(t *testing.T, srv *httptest.Server) model.Model {
			m, err := gemini.New(gemini.Options{Model: "m", BaseURL: srv.URL, HTTPClient: srv.Client()})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		isWhole:  func(r *http.Request, _ string) bool { return strings.HasSuffix(r.URL.Path, ":generateContent") },
		streamed: "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"%s\"}]},\"finishReason\":\"STOP\"}]}\n\n",
		whole:    `{"candidates":[{"content":{"parts":[{"text":"%s"}]},"finishReason":"STOP"}]}`,
		refusal:  `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"streamGenerateContent is not supported for this model"}}`,
	},
}

// A provider whose stream breaks before its first token, or that has none, is asked once for the whole answer, on every wire.
func TestEveryProviderIsAskedForTheWholeWhereItDoesNotStream(t *testing.T) {
	for name, p := range providerWires {
		for how, fails := range map[string]func(http.ResponseWriter){
			"breaks at once": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "text/event-stream")
				_ = http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			},
			"does not stream": func(w http.ResponseWriter) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, p.refusal)
			},
		} {
			t.Run(name+" "+how, func(t *testing.T) {
				var mu sync.Mutex
				streams, wholes := 0, 0 // of Ada
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body)
					ada, whole := strings.Contains(strings.ToLower(string(body)), "you are ada,"), p.isWhole(r, string(body))
					mu.Lock()
					if ada && whole {
						wholes++
					} else if ada {
						streams++
					}
					mu.Unlock()
					switch {
					case whole:
						w.Header().Set("Content-Type", "application/json")
						fmt.Fprintf(w, p.whole, "Hello world.")
					case ada:
						fails(w)
					default:
						w.Header().Set("Content-Type", "text/event-stream")
						fmt.Fprintf(w, p.streamed, "Fine.")
					}
				}))
				defer srv.Close()
				_, frames, _, err := play(t, team.Options{Agent: agent.Options{Model: p.open(t, srv)}, Experts: experts("Ada", "Ben")})
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				if streams != 1 || wholes != 1 {
					t.Errorf("Ada's model was asked %d times for a stream and %d times for the whole, want once each", streams, wholes)
				}
				for _, r := range of(frames, "expert_result") {
					want := map[string]string{"ada": "Hello world.", "ben": "Fine."}[r.Expert]
					if r.Status != event.Success || *r.Content != want {
						t.Errorf("the result of %s is %s %q, want %q", r.Expert, r.Status, *r.Content, want)
					}
				}
				if err := invariants(frames); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
