package subject

import (
	"context"
	"os"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// forgetful is a store that keeps nothing, so that only the journal is counted.
type forgetful struct{}

func (forgetful) Append(context.Context, []journal.Group, bool) (map[string]error, error) {
	return nil, nil
}

func (forgetful) Read(context.Context, string, uint64, int) ([]journal.Chunk, error) { return nil, nil }

// batch is n tokens that are written together.
func batch(n int) journal.Batch {
	b := journal.Batch{Promise: true} // so that each batch is a write of its own
	for range n {
		b.Events = append(b.Events, event.Envelope{Node: "agent", Step: 1, Event: token})
	}
	return b
}

// follow appends to a journal and reads what was appended.
func follow(size int) (func() error, error) {
	ctx := context.Background()
	j := journal.Open(forgetful{}, journal.Options{})
	l := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: 1}, "t", 0)
	cursor := j.Cursor("r", journal.Position{})
	b := batch(size)
	return func() error {
		if err := l.Append(ctx, b); err != nil {
			return err
		}
		for read := 0; read < size; {
			events, err := cursor.Next(ctx)
			if err != nil {
				return err
			}
			read += len(events)
		}
		return nil
	}, nil
}

// store appends to a journal on disk.
func store(size int) (func() error, error) {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, os.Getenv(DirVariable), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	created, err := db.CreateRun(ctx, run.Identity{Owner: "x"}, run.NewRun{
		ID: "r", Thread: "t", Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}, At: time.Now(), Worker: "w", Lease: time.Hour,
	})
	if err != nil {
		return nil, err
	}
	j := journal.Open(db, journal.Options{})
	l := j.Log(journal.Lease{Run: "r", Owner: "w", Epoch: created.Run.Epoch}, "t", 0)
	b := batch(size)
	return func() error { return l.Append(ctx, b) }, nil
}
