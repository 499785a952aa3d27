package gemini

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/model/internal/providertest"
)

// measured are a usual answer, the end of which carries a signature of a kilobyte, and one whose end carries what a
// search found.
var measured = []string{"text.chunks.jsonl", "web-search-grounding.sse"}

// chunksOf are those of an answer as long as answers are: the usual chunks of a recording, which are a few, twenty times,
// and then its last.
func chunksOf(t testing.TB, name string) [][]byte {
	all := recordings(t)[name]
	var chunks [][]byte
	for range 20 {
		chunks = append(chunks, all[:len(all)-1]...)
	}
	return append(chunks, all[len(all)-1])
}

// BenchmarkChunk is the cost of one chunk from bytes in memory to parts, so that only decoders are compared.
func BenchmarkChunk(b *testing.B) {
	for _, name := range measured {
		chunks := chunksOf(b, name)
		_, body := framings["sse"](chunks)
		b.Run("recording="+name+"/reader=ours", func(b *testing.B) {
			cost.Chunks(b, len(chunks), len(body), func() { decodeAll(b, body) })
		})
		b.Run("recording="+name+"/reader=sdk", func(b *testing.B) {
			c, err := genai.NewClient(context.Background(), &genai.ClientConfig{APIKey: "k", HTTPClient: &http.Client{Transport: memory(body)}})
			if err != nil {
				b.Fatal(err)
			}
			cost.Chunks(b, len(chunks), len(body), func() { bySDK(b, c) })
		})
	}
}

func decodeAll(t testing.TB, body []byte) {
	next := payloads(bytes.NewReader(body), 0)
	var d decoder
	for chunk, err := next(); err == nil; chunk, err = next() {
		if _, err := d.decode(chunk); err != nil {
			t.Fatal(err)
		}
	}
}

func bySDK(b *testing.B, c *genai.Client) {
	for _, err := range c.Models.GenerateContentStream(context.Background(), "m", genai.Text("x"), nil) {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// memory answers every request with the same body.
type memory []byte

func (m memory) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: nopCloser{bytes.NewReader(m)}}, nil
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// BenchmarkSocket is the same from a socket to the caller's loop, with the request and all else that a call costs. The
// server is another process and writes chunk by chunk.
func BenchmarkSocket(b *testing.B) {
	for _, name := range measured {
		chunks := chunksOf(b, name)
		kind, body := framings["sse"](chunks)
		url := providertest.Elsewhere(b, kind, body)
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		b.Run("recording="+name+"/reader=ours", func(b *testing.B) {
			m := subject.Open(b, providertest.At{URL: url, Client: client})
			cost.Chunks(b, len(chunks), len(body), func() {
				for _, err := range m.Stream(context.Background(), providertest.Hello) {
					if err != nil {
						b.Fatal(err)
					}
				}
			})
		})
		b.Run("recording="+name+"/reader=sdk", func(b *testing.B) {
			c, err := genai.NewClient(context.Background(), &genai.ClientConfig{
				APIKey: "k", HTTPClient: client, HTTPOptions: genai.HTTPOptions{BaseURL: url},
			})
			if err != nil {
				b.Fatal(err)
			}
			cost.Chunks(b, len(chunks), len(body), func() { bySDK(b, c) })
		})
	}
}
