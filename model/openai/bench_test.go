package openai

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"runtime"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/tributary-ai/tributary/model"
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

// BenchmarkChunk is the cost of one chunk from the socket to the part, with its share of the request, ours
// beside the SDK's own decoder:
//
//	go test -run xxx -bench Chunk -count 6 ./model/openai | benchstat -col /by -
func BenchmarkChunk(b *testing.B) {
	for _, r := range recordings(b) {
		switch r.name {
		case "openai-chat/text-long", "deepseek/reasoning", "qwen/reasoning", "openai-responses/reasoning-summary", "openai-responses/mcp-approval-continued":
		default:
			continue
		}
		chunks := bytes.Count(r.body, []byte("data: {"))
		o := Options{Model: "m", Provider: "test", HTTPClient: &http.Client{Transport: canned(r.body)}, BaseURL: "http://test/v1"}
		m := open(r.responses(), o)
		b.Run("stream="+r.name+"/by=us", func(b *testing.B) {
			perChunk(b, chunks, func() {
				for p, err := range m.Stream(context.Background(), hello) {
					if err != nil {
						b.Fatal(err)
					}
					part = p
				}
			})
		})
		b.Run("stream="+r.name+"/by=sdk", func(b *testing.B) {
			if r.responses() {
				service := responses.NewResponseService(o.requestOptions()...)
				perChunk(b, chunks, func() {
					s := service.NewStreaming(context.Background(), responses.ResponseNewParams{Model: "m"})
					for s.Next() {
						text = s.Current().Delta
					}
					_ = s.Close()
				})
				return
			}
			service := openai.NewChatCompletionService(o.requestOptions()...)
			perChunk(b, chunks, func() {
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
}

// Kept so that the work is not optimised away.
var (
	part model.Part
	text string
)

func perChunk(b *testing.B, chunks int, call func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		call()
	}
	runtime.ReadMemStats(&after)
	n := float64(b.N) * float64(chunks)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/chunk")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/chunk")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "B/chunk")
}
