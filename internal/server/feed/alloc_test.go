package feed

import (
	"context"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/wire"
)

// ready projects every event onto one frame that it need not make.
type ready struct{ frame wire.Frame }

func (r ready) Project(dst []wire.Frame, _ *event.Envelope) ([]wire.Frame, error) {
	return append(dst, r.frame), nil
}

// silent is a store that keeps nothing.
type silent struct{}

func (silent) Append(context.Context, []journal.Group, bool) (map[string]error, error) {
	return nil, nil
}

func (silent) Read(context.Context, string, uint64, int) ([]journal.Chunk, error) { return nil, nil }

// What a feed itself costs for each frame: from the journal into its buffer, for one reader and for each of a hundred.
// The journal's own share is counted too, since it cannot be told apart.
func TestFrameOfAFeedCostsNoMoreThanItDid(t *testing.T) {
	for _, c := range []struct {
		name    string
		readers int
		was     cost.Per
	}{
		{"one reader", 1, cost.Per{Allocs: 0.11, Bytes: 348}},
		{"each of a hundred readers", 100, cost.Per{Allocs: 0.003, Bytes: 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := journal.Open(silent{}, journal.Options{})
			defer j.Close()
			log := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: 1}, "t", 0)
			defer log.Close()
			fs := New(j)
			frame := wire.Frame{ID: "1-17", Name: "messages", Data: make([]byte, 250)}
			var readers []*Reader
			for range c.readers {
				rd := fs.Reader(Key{Run: "r"}, func() wire.Projector { return ready{frame} }, Start{})
				defer rd.Close()
				readers = append(readers, rd)
			}
			b := journal.Batch{Promise: true}
			for range 100 {
				b.Events = append(b.Events, event.Envelope{Event: event.TextDelta{Item: "msg", Text: " tallest"}})
			}
			const batches = 20
			cost.Hold(t, c.was, batches*len(b.Events)*c.readers, func() {
				for range batches {
					if err := log.Append(t.Context(), b); err != nil {
						t.Fatal(err)
					}
					for _, rd := range readers {
						for {
							_, bell, err := rd.Poll(t.Context())
							if err != nil {
								t.Fatal(err)
							}
							if bell != nil {
								break
							}
						}
					}
				}
			})
		})
	}
}
