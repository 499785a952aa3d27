package anthropic

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

// measured are a usual answer and one of which most is what a search found.
var measured = []string{"thinking.sse", "web-search-citations.sse"}

// BenchmarkChunk is the cost of one event from bytes in memory to parts, so that only decoders are compared.
func BenchmarkChunk(b *testing.B) {
	for _, name := range measured {
		raw := fixture(b, name)
		n := bytes.Count(raw, []byte("\ndata:"))
		b.Run("recording="+name+"/reader=ours", func(b *testing.B) {
			cost.Chunks(b, n, len(raw), func() { decodeAll(b, raw) })
		})
		b.Run("recording="+name+"/reader=sdk", func(b *testing.B) {
			cost.Chunks(b, n, len(raw), func() {
				s := ssestream.NewStream[sdk.MessageStreamEventUnion](ssestream.NewDecoder(&http.Response{
					Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(raw))}), nil)
				for s.Next() {
				}
				if s.Err() != nil {
					b.Fatal(s.Err())
				}
			})
		})
	}
}

func decodeAll(t testing.TB, raw []byte) {
	r := eventstream.NewReader(bytes.NewReader(raw))
	var d decoder
	for !d.finished {
		ev, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.decode(ev.Name, ev.Data); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkSocket is the same from a socket to the caller's loop, with the request and all else that a call costs. The
// server is another process and writes event by event.
func BenchmarkSocket(b *testing.B) {
	for _, name := range measured {
		raw := fixture(b, name)
		n := bytes.Count(raw, []byte("\ndata:"))
		url := providertest.Elsewhere(b, media, raw)
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		b.Run("recording="+name+"/reader=ours", func(b *testing.B) {
			m := subject.Open(b, providertest.At{URL: url, Client: client})
			cost.Chunks(b, n, len(raw), func() {
				for _, err := range m.Stream(context.Background(), providertest.Hello) {
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		b.Run("recording="+name+"/reader=sdk", func(b *testing.B) {
			c := sdk.NewClient(option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithHTTPClient(client))
			cost.Chunks(b, n, len(raw), func() {
				s := c.Messages.NewStreaming(context.Background(), sdk.MessageNewParams{})
				for s.Next() {
				}
				if s.Err() != nil {
					b.Fatal(s.Err())
				}
				_ = s.Close()
			})
		})
	}
}
