package sqlite

import (
	"os"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// A promise about what was written before is a write of its own: without one SQLite syncs nothing.
func TestAnEmptyPromiseIsWritten(t *testing.T) {
	db := openPlain(t)
	c, err := db.CreateRun(t.Context(), owner, run.NewRun{ID: "r", Thread: "t", At: now(), Worker: "w", Lease: time.Hour,
		Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}})
	if err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(db.path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for i := range 3 {
		before := size()
		refused, err := db.Append(t.Context(), []journal.Group{{Owner: "w", Chunk: journal.Chunk{Run: "r", Thread: "t", Epoch: c.Run.Epoch}}}, true)
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		if size() == before {
			t.Errorf("promise %d wrote nothing", i)
		}
	}
}
