package anthropic

import (
	"bytes"
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
)

func TestChunkCostsNoMoreThanItDid(t *testing.T) {
	for name, was := range map[string]cost.Per{
		"thinking.sse":             {Allocs: 2.4, Bytes: 101},
		"web-search-citations.sse": {Allocs: 3.6, Bytes: 2700}, // most of it is kept for the next turn
	} {
		raw := fixture(t, name)
		cost.Hold(t, was, bytes.Count(raw, []byte("\ndata:")), func() { decodeAll(t, raw) })
	}
}
