package gemini

import (
	"bytes"
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
)

func TestChunkCostsNoMoreThanItDid(t *testing.T) {
	var many [][]byte
	for range 20 {
		all := recordings(t)["text.chunks.jsonl"]
		many = append(many, all[:len(all)-1]...)
	}
	_, body := framings["sse"](many)
	cost.Hold(t, cost.Per{Allocs: 13.1, Bytes: 800}, len(many), func() {
		next := payloads(bytes.NewReader(body))
		var d decoder
		for chunk, err := next(); err == nil; chunk, err = next() {
			if _, err := d.decode(chunk); err != nil {
				t.Fatal(err)
			}
		}
	})
}
