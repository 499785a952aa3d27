package gemini

import (
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
	cost.Hold(t, cost.Per{Allocs: 3.2, Bytes: 330}, len(many), func() { decodeAll(t, body) })
}
