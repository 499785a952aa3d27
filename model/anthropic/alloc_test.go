package anthropic

import (
	"bytes"
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

func TestChunkCostsNoMoreThanItDid(t *testing.T) {
	raw := fixture(t, "thinking.sse")
	cost.Hold(t, cost.Per{Allocs: 10.2, Bytes: 420}, bytes.Count(raw, []byte("\ndata:")), func() {
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
	})
}
