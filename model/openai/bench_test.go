package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

// canned answers every request with the same bytes, so that only the client is measured.
type canned []byte

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(c)),
	}, nil
}

var measured = []string{
	"openai-chat/text-long", "deepseek/reasoning", "qwen/reasoning", "openai-responses/reasoning-summary",
	"openai-responses/mcp-approval-continued",
}

// BenchmarkChunk is the cost of one chunk from bytes in memory to the part, with its share of the request, ours beside
// the SDK's own decoder.
func BenchmarkChunk(b *testing.B) {
	for _, r := range recordings(b) {
		if slices.Contains(measured, r.name) {
			compare(b, r, Options{BaseURL: "http://test/v1", HTTPClient: &http.Client{Transport: canned(r.body)}})
		}
	}
}

// BenchmarkSocket is the same from a socket. The server is another process and writes event by event.
func BenchmarkSocket(b *testing.B) {
	for _, r := range recordings(b) {
		if !slices.Contains(measured, r.name) {
			continue
		}
		client := &http.Client{Transport: &http.Transport{}}
		compare(b, r, Options{BaseURL: providertest.Elsewhere(b, r.kind, r.body) + "/v1", HTTPClient: client})
		client.CloseIdleConnections()
	}
}

func compare(b *testing.B, r recording, o Options) {
	o.Model, o.Provider = "m", "test"
	chunks := bytes.Count(r.body, []byte("data: {"))
	m := open(r.responses(), o)
	b.Run("recording="+r.name+"/reader=ours", func(b *testing.B) {
		cost.Chunks(b, chunks, len(r.body), func() {
			for p, err := range m.Stream(context.Background(), hello) {
				if err != nil {
					b.Fatal(err)
				}
				part = p
			}
		})
	})
	b.Run("recording="+r.name+"/reader=sdk", func(b *testing.B) {
		if r.responses() {
			service := responses.NewResponseService(sdk(o)...)
			cost.Chunks(b, chunks, len(r.body), func() {
				s := service.NewStreaming(context.Background(), responses.ResponseNewParams{Model: "m"})
				for s.Next() {
					text = s.Current().Delta
				}
				_ = s.Close()
			})
			return
		}
		service := openai.NewChatCompletionService(sdk(o)...)
		cost.Chunks(b, chunks, len(r.body), func() {
			s := service.NewStreaming(context.Background(), openai.ChatCompletionNewParams{Model: "m"})
			for s.Next() {
				if c := s.Current().Choices; len(c) > 0 {
					text = c[0].Delta.Content
				}
			}
			_ = s.Close()
		})
	})
}

// Kept so that the work is not optimised away.
var (
	part model.Part
	text string
)
