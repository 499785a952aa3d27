package sqlite

import (
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/piece"
)

func (c *collection) pieces(t *testing.T) (n int64) {
	t.Helper()
	n, err := c.count(t.Context(), "SELECT count(*) FROM pieces")
	c.ok(t, err)
	return n
}

// longAnswer is what ends a run whose answer has so many bytes: the text is in an event, in the state and in what led to it.
func (c *collection) longAnswer(t *testing.T, size int) journal.Group {
	t.Helper()
	r, err := c.CreateRun(t.Context(), c.who, newRunOn(c.thread))
	c.ok(t, err)
	text := string(noise(uint64(size), size))
	chunk, _, err := journal.Opening(r.Run.ID, c.thread, event.Envelope{Event: event.TextDelta{Item: "m", Text: text}}, event.Envelope{Event: event.TextDelta{Item: "n", Text: text}})
	c.ok(t, err)
	value := json.RawMessage(`["` + text + `"]`)
	wrote := graph.Outcome{Task: "t", Finished: true, Writes: []graph.FieldWrite{{Field: "x", Value: value}}}
	return journal.Group{Owner: "w", Chunk: chunk, Saves: []journal.Save{
		graph.Commit{
			Checkpoint: graph.Checkpoint{ID: uuid.Must(uuid.NewV7()).String(), Parent: c.latest, Thread: c.thread, Source: event.FromLoop, At: now(), Versions: map[string]int64{"messages": 3}},
			Blobs:      []graph.Blob{{Field: "messages", Version: 3, Data: value}},
			Done:       []graph.Outcome{wrote},
		},
		graph.Kept{Thread: c.thread, Checkpoint: c.latest, Outcome: wrote},
		graph.Shown{Thread: c.thread, Pieces: piece.Split(value)},
	}}
}

// rowBytes is how much of a group is left for the transaction that writes it.
func rowBytes(t *testing.T, g journal.Group) (n int) {
	t.Helper()
	n = len(g.Chunk.Data)
	for _, s := range g.Saves {
		switch s := s.(type) {
		case checkpointRow:
			if done, ok := s.done.(string); ok {
				n += len(done)
			}
			for _, b := range s.blobs {
				n += len(b.Data)
			}
		case keptRow:
			n += len(s.outcome)
		default:
			t.Errorf("a %T is left to be encoded", s)
		}
	}
	return n
}

// However long an answer is, the transaction that ends its run writes a few rows that are short, and what was written ahead was
// written a little at a time.
func TestWhatIsLongIsWrittenAheadALittleAtATime(t *testing.T) {
	for _, size := range []int{100_000, 900_000, 3 << 20} {
		c := newCollection(t)
		g := c.longAnswer(t, size)
		before := c.Commits()
		light := c.Prepare(t.Context(), g)
		if got, most := rowBytes(t, light), 2000; got > most {
			t.Errorf("of %d bytes %d are left to be written at once, want at most %d", size, got, most)
		}
		if got, least := c.Commits()-before, uint64(size/(aheadBytes+128<<10)); got < least {
			t.Errorf("%d bytes were written ahead in %d transactions, want at least %d", size, got, least)
		}
		refused, err := c.Append(t.Context(), []journal.Group{light}, true)
		if err != nil || len(refused) > 0 {
			t.Fatal(err, refused)
		}
		chunks, err := c.Read(t.Context(), g.Chunk.Run, 0, 1<<20)
		if err != nil || len(chunks) != 1 || !chunks[0].Intact() || string(chunks[0].Data) != string(g.Chunk.Data) {
			t.Errorf("%d chunks are read, or not what was written: %v", len(chunks), err)
		}
		if found, err := c.Check(t.Context()); err != nil || len(found) > 0 {
			t.Errorf("the check finds %v, %v", found, err)
		}
		kept, err := c.count(t.Context(), "SELECT sum(length(data)) FROM pieces")
		if most := int64(size + size/2 + 100_000); err != nil || kept > most {
			t.Errorf("%d bytes are kept in %d, want at most %d: %v", size, kept, most, err)
		}
	}
}

// What was written ahead of a group that never came keeps nothing from being right, and is used by whoever has the same text.
func TestWhatWasWrittenAheadForNothingIsUsedLater(t *testing.T) {
	c := newCollection(t)
	g := c.longAnswer(t, 200_000)
	c.Prepare(t.Context(), g)
	if found, err := c.Check(t.Context()); err != nil || len(found) > 0 {
		t.Fatalf("the check finds %v, %v", found, err)
	}
	there := c.pieces(t)
	if there == 0 {
		t.Fatal("nothing was written ahead")
	}
	refused, err := c.Append(t.Context(), []journal.Group{c.Prepare(t.Context(), g)}, true)
	if err != nil || len(refused) > 0 {
		t.Fatal(err, refused)
	}
	if now := c.pieces(t); now != there {
		t.Errorf("there are %d pieces, %d before", now, there)
	}
}

// A thread that is deleted while somebody writes ahead for it leaves nothing behind.
func TestNothingIsWrittenAheadForAThreadThatIsGone(t *testing.T) {
	c := newCollection(t)
	g := c.longAnswer(t, 200_000)
	a := &ahead{db: c.DB, g: &g}
	var err error
	a.l, err = fence(t.Context(), &c.reads, g.Chunk.Run, g.Chunk.Thread, g.Owner, g.Chunk.Epoch)
	c.ok(t, err)
	c.exec(t, "UPDATE runs SET status = 'success', worker = ''")
	if _, err := c.DeleteThread(t.Context(), c.who, c.thread); err != nil {
		t.Fatal(err)
	}
	if err := a.write(t.Context(), piece.Split(noise(1, 100_000))); err == nil {
		t.Error("it was written")
	}
	if n := c.pieces(t); n > 0 {
		t.Errorf("%d pieces are left of a thread that is gone", n)
	}
}
