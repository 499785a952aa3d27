package sqlite_test

import (
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// A token's way to disk, in batches of a hundred, as under load, and alone, as when a model speaks.
func TestStoredTokenCostsNoMoreThanItDid(t *testing.T) {
	for _, c := range []struct {
		name string
		size int
		was  cost.Per
	}{
		{"batches of a hundred", 100, cost.Per{Allocs: 0.63, Bytes: 322}},
		{"batches of one", 1, cost.Per{Allocs: 60, Bytes: 2550}},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := open(t, t.TempDir())
			defer db.Close()
			created, err := db.CreateRun(t.Context(), run.Identity{Owner: "x"}, run.NewRun{
				ID: "r", Thread: "t", Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}, At: time.Now(), Worker: "w", Lease: time.Hour,
			})
			if err != nil {
				t.Fatal(err)
			}
			j := journal.Open(db, journal.Options{})
			defer j.Close()
			log := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: created.Run.Epoch}, "t", 0)
			defer log.Close()
			b := journal.Batch{Promise: true} // so that each batch is a write of its own
			for range c.size {
				b.Events = append(b.Events, event.Envelope{Node: "agent", Step: 1, Event: event.TextDelta{Item: "msg_0199f2c4a7", Text: " tallest"}})
			}
			const batches = 30
			cost.Hold(t, c.was, batches*c.size, func() {
				for range batches {
					if err := log.Append(t.Context(), b); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}
