package event_test

import (
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
)

// A token is written once and read as often as somebody comes late.
func TestTokenCostsNoMoreThanItDid(t *testing.T) {
	env := envelope(event.TextDelta{Item: "msg_0199f2c4a7", Text: " tallest"})
	buf := make([]byte, 0, 1024)
	t.Run("encode", func(t *testing.T) {
		cost.Hold(t, cost.Per{}, 1000, func() {
			for range 1000 {
				if _, err := env.AppendJSON(buf); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
	t.Run("decode", func(t *testing.T) {
		data := encode(t, env)
		var got event.Envelope
		cost.Hold(t, cost.Per{Allocs: 6, Bytes: 190}, 1000, func() {
			for range 1000 {
				if err := got.UnmarshalJSON(data); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}
