package event_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/event/eventtest"
)

// go test ./event -run '^$' -bench . -benchmem -count 6
//
// A token's way to disk and back. "form=plain" is what nearly every token is, "form=escaped" holds a line end, and
// kind=custom goes through encoding/json, for comparison.
var benchEvents = map[string]event.Event{
	"kind=text_delta/form=plain":   event.TextDelta{Item: "msg_0199f2c4a7", Text: " tallest"},
	"kind=text_delta/form=escaped": event.TextDelta{Item: "msg_0199f2c4a7", Text: ".\n\n\"The"},
	"kind=arguments_delta":         event.ArgumentsDelta{Item: "item_0199f2c4a8", Text: "{\"query\": \"ta"},
	"kind=custom":                  event.Custom{Name: "progress", Data: json.RawMessage(`{"done":3,"of":10}`)},
}

func envelope(e event.Event) event.Envelope {
	return event.Envelope{
		Seq: 1234, Epoch: 1, Run: "0199f2c4-a7b1-7c3e-9d54-0c1f6f6f2b11", Thread: "0199f2c4-1111-7c3e-9d54-0c1f6f6f2b11",
		Node: "agent", Step: 1, At: time.UnixMicro(1794701862466000).UTC(), Event: e,
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	for name, e := range benchEvents {
		b.Run(name, func(b *testing.B) {
			env := envelope(e)
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if buf, err = env.AppendJSON(buf[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkUnmarshalJSON(b *testing.B) {
	for name, e := range benchEvents {
		b.Run(name, func(b *testing.B) {
			data := encode(b, envelope(e))
			var got event.Envelope
			b.ReportAllocs()
			for b.Loop() {
				if err := got.UnmarshalJSON(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestEncodingATokenAllocatesNothing(t *testing.T) {
	env := envelope(event.TextDelta{Item: "msg", Text: " token\n"})
	buf := make([]byte, 0, 1024)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := env.AppendJSON(buf); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations a token, want none", allocs)
	}
}

func BenchmarkEncodeSamples(b *testing.B) {
	samples := eventtest.Samples()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = buf[:0]
		for i := range samples {
			var err error
			if buf, err = samples[i].AppendJSON(buf); err != nil {
				b.Fatal(err)
			}
		}
	}
}
