package sse_test

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

func TestFrameCostsNoMoreThanItDid(t *testing.T) {
	buf := make([]byte, 0, 1024)
	data := []byte(`{"type":"task.text.delta","delta":" tallest"}`)
	cost.Hold(t, cost.Per{}, 1000, func() {
		for range 1000 {
			buf = sse.Append(buf[:0], "messages", data, "1-17")
		}
	})
}
