package event_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/item"
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
	t.Run("decode in a journal", func(t *testing.T) {
		env := env
		env.Run, env.Thread, env.Epoch = "", "", 0 // the chunk's
		data := encode(t, env)
		var lines event.Decoder
		var got event.Envelope
		cost.Hold(t, cost.Per{Allocs: 2, Bytes: 56}, 1000, func() { // the text, and the event as one of many kinds
			for range 1000 {
				if err := lines.Decode(data, &got); err != nil {
					t.Fatal(err)
				}
			}
		})
	})
}

// What a run says at its end repeats all that it said. It is written into the journal's buffer, and nowhere before that.
func TestWholeTextCostsNoMoreThanItDid(t *testing.T) {
	text := strings.Repeat("The quick brown fox\n", 1000)
	message := item.AssistantText("msg_0199f2c4a7", text)
	update, err := json.Marshal(map[string]any{"messages": []item.Message{message}})
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 0, 64<<10)
	for name, c := range map[string]struct {
		e   event.Event
		was cost.Per
	}{
		"block": {event.BlockEnded{Item: "msg", Value: item.Text(text)[0]}, cost.Per{}},
		"node":  {event.NodeEnded{Execution: "x", Update: update}, cost.Per{}},
	} {
		t.Run(name, func(t *testing.T) {
			env := envelope(c.e)
			cost.Hold(t, c.was, 100, func() {
				for range 100 {
					if _, err := env.AppendJSON(buf); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
