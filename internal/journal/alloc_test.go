package journal_test

import (
	"context"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/journal"
)

// forgetful is a store that keeps nothing, so that only the journal is counted.
type forgetful struct{}

func (forgetful) Append(context.Context, []journal.Group, bool) (map[string]error, error) {
	return nil, nil
}

func (forgetful) Read(context.Context, string, uint64, int) ([]journal.Chunk, error) { return nil, nil }

// A token's way through the journal: queued, written with its batch, published, and read by a follower. Batches are of
// a hundred, as under load, and of one, as when a model speaks.
func TestAppendAndFollowCostNoMoreThanTheyDid(t *testing.T) {
	token := event.TextDelta{Item: "msg_0199f2c4a7", Text: " tallest"}
	for _, c := range []struct {
		name string
		size int
		was  cost.Per
	}{
		{"batches of a hundred", 100, cost.Per{Allocs: 0.1, Bytes: 200}},
		{"batches of one", 1, cost.Per{Allocs: 8, Bytes: 700}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := journal.Open(forgetful{}, journal.Options{})
			defer j.Close()
			l := j.Log(lease("r", 1), "t", 0)
			defer l.Close()
			cursor := j.Cursor("r", journal.Position{})
			defer cursor.Close()
			b := journal.Batch{Promise: true}
			for range c.size {
				b.Events = append(b.Events, event.Envelope{Node: "agent", Step: 1, Event: token})
			}
			const batches = 50
			cost.Hold(t, c.was, batches*c.size, func() {
				for range batches {
					must(t, l.Append(t.Context(), b))
					for read := 0; read < c.size; {
						events, err := cursor.Next(t.Context())
						must(t, err)
						read += len(events)
					}
				}
			})
		})
	}
}
