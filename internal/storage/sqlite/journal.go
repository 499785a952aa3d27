package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// What fits into a chunk's key.
const (
	maxSeq  = 1<<32 - 1
	maxRuns = 1<<31 - 1
)

// journalKey places a chunk: all chunks of a run side by side, in order.
func journalKey(runNo int64, first uint64) int64 { return runNo<<32 | int64(first) }

// runKeys is the range of a run's keys.
func runKeys(runNo int64) (from, to int64) { return runNo << 32, (runNo+1)<<32 - 1 }

// Append writes the groups of the journal's group commit. If one of them cannot be written, each is tried by itself, so
// that it is the only one to fail.
func (db *DB) Append(ctx context.Context, groups []journal.Group, sync bool) (refused map[string]error, err error) {
	refused, err = db.append(ctx, groups, sync)
	var damage *run.DamageError // of what one of them needs; what else is not available is so for all
	if err == nil || len(groups) < 2 || errors.Is(err, run.ErrUnavailable) && !errors.As(err, &damage) {
		return refused, err
	}
	refused = map[string]error{}
	for i := range groups {
		alone, err := db.append(ctx, groups[i:i+1], sync)
		if err == nil {
			err = alone[groups[i].Chunk.Run]
		}
		if err != nil {
			refused[groups[i].Chunk.Run] = err
		}
	}
	return refused, nil
}

func (db *DB) append(ctx context.Context, groups []journal.Group, sync bool) (refused map[string]error, err error) {
	if db.writer == nil {
		return nil, errReadOnly
	}
	// Never counted as heavy: others' tokens are in it, and the journal sees to it that it does not hold much.
	err = db.writer.run(&op{disk: sync, known: true, plans: true, adds: true, do: func(ctx context.Context, tx *tx) error {
		refused = nil
		wrote := false
		for i := range groups {
			g := &groups[i]
			l, err := tx.holding(ctx, g)
			if errors.Is(err, journal.ErrFenced) {
				if refused == nil {
					refused = map[string]error{}
				}
				refused[g.Chunk.Run] = err
				continue
			}
			if err != nil {
				return err
			}
			if err := tx.appendGroup(ctx, l, g); err != nil {
				return fmt.Errorf("append to run %s: %w", g.Chunk.Run, err)
			}
			wrote = wrote || g.Chunk.First > 0 || len(g.Saves) > 0
		}
		if sync && !wrote {
			// A promise about what was written before: without a write of its own SQLite would not sync, and a row that stays as it is is none.
			return tx.exec(ctx, "INSERT INTO meta (key, value) VALUES ('promises', 1) ON CONFLICT DO UPDATE SET value = value + 1")
		}
		return nil
	}})
	return refused, err
}

// openJournal writes the beginning of a journal with its run.
func (t *tx) openJournal(ctx context.Context, l leased, c *journal.Chunk) error {
	if c.Last > maxSeq || l.no > maxRuns {
		return fmt.Errorf("there is no place for the first events of run %s", c.Run)
	}
	data, err := c.Data, error(nil)
	if hasLong(data) {
		if data, err = shortenLines(ctx, t, l.threadNo, data); err != nil {
			return err
		}
	}
	return t.insertChunk(ctx, l.no, c, data)
}

const insertRow = "INSERT INTO journal (key, last, epoch, sum, data) VALUES (?, ?, ?, ?, ?)"

// insertChunk writes a row of the journal, with the data as it is stored.
func (t *tx) insertChunk(ctx context.Context, runNo int64, c *journal.Chunk, data []byte) error {
	return t.exec(ctx, insertRow, journalKey(runNo, c.First), int64(c.Last), c.Epoch, int64(c.Sum), data)
}

// appendChunk writes a chunk and all that was gathered of its run: into the journal, if there is something to save with it.
func (t *tx) appendChunk(ctx context.Context, l *lease, c *journal.Chunk, saves bool) error {
	if c.Last > maxSeq || l.no > maxRuns {
		return fmt.Errorf("there is no place for event %d of the run with number %d", c.Last, l.no)
	}
	if c.First <= l.last {
		return fmt.Errorf("there is an event %d already", c.First)
	}
	l.last = c.Last
	small := len(c.Data) <= t.plan.partBytes && !hasReference(c.Data)
	if !saves && small && t.plan.fits(l.no, c) {
		t.plan.add(l.no, c)
		return nil
	}
	if small && t.plan.waiting(l.no) != nil {
		return t.fold(ctx, l.no, *c)
	}
	if err := t.fold(ctx, l.no); err != nil {
		return err
	}
	data := c.Data
	if hasLong(data) {
		var err error
		if data, err = shortenLines(ctx, t, l.threadNo, data); err != nil {
			return err
		}
	}
	return t.insertChunk(ctx, l.no, c, data)
}

func (t *tx) appendGroup(ctx context.Context, held *lease, g *journal.Group) error {
	l := held.leased
	if c := &g.Chunk; c.Last >= c.First && c.First > 0 {
		if err := t.appendChunk(ctx, held, c, len(g.Saves) > 0); err != nil {
			return err
		}
	} else if len(g.Saves) > 0 {
		if err := t.fold(ctx, l.no); err != nil {
			return err
		}
	}
	var to advance
	for _, s := range g.Saves {
		var err error
		switch s := s.(type) {
		case graph.Commit:
			var row checkpointRow
			if row, err = encodeCheckpoint(ctx, t, l.threadNo, s); err == nil {
				to.by(row)
				err = t.insertCheckpoint(ctx, l.threadNo, l.no, row)
			}
		case graph.Kept:
			err = t.saveKept(ctx, l.threadNo, l.no, s)
		case graph.Shown:
			err = t.savePieces(ctx, l.threadNo, s.Pieces)
		case checkpointRow:
			to.by(s)
			err = t.insertCheckpoint(ctx, l.threadNo, l.no, s)
		case keptRow:
			err = t.insertKept(ctx, l.threadNo, l.no, s)
		case run.Begin:
			err = t.beginRun(ctx, l, s)
		case run.End: // which may take back how far the state was
			t.leases.forget(g.Chunk.Run)
			if err = t.advance(ctx, l.threadNo, to); err == nil {
				to, err = advance{}, t.endRun(ctx, l, s)
			}
		default:
			err = fmt.Errorf("the store does not know how to save a %T", s)
		}
		if err != nil {
			return err
		}
	}
	return t.advance(ctx, l.threadNo, to)
}

// readChunks begins with the chunk that holds the event with key ?2: that is the last that begins at or before it.
const readChunks = `SELECT key, last, epoch, sum, data FROM journal
	WHERE key BETWEEN coalesce((SELECT max(key) FROM journal WHERE key BETWEEN ?1 AND ?2), ?1) AND ?3 ORDER BY key`

var runIsIntact = "SELECT " + runRows.intact("runs") + " FROM runs WHERE id = ?"

// Read returns a stretch of a run's chunks.
func (db *DB) Read(ctx context.Context, runID string, after uint64, limit int) ([]journal.Chunk, error) {
	var no, threadNo int64
	var thread string
	err := db.reads.row(ctx, "SELECT no, thread, thread_id FROM runs WHERE id = ?", runID).Scan(&no, &threadNo, &thread)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, journal.ErrGone
	}
	if err != nil || after >= maxSeq {
		return nil, err
	}
	// Parts become rows, and never the other way round: whoever looks for parts first finds everything in one place or the other.
	parts, err := db.partsOf(ctx, no)
	if err != nil {
		return nil, err
	}
	out, size, err := db.readChunks(ctx, no, after, limit)
	if err != nil {
		return nil, err
	}
	last := after
	if len(out) > 0 {
		last = out[len(out)-1].Last
	}
	for i := 0; i < len(parts) && size < limit; i++ {
		if c := parts[i]; c.Last > last {
			out, size = append(out, c), size+len(c.Data)
		}
	}
	for i := range out {
		c := &out[i]
		c.Run, c.Thread = runID, thread
		whole, err := lengthenLines(ctx, &db.reads, threadNo, c.Data)
		switch {
		case err == nil:
			c.Data = whole
		case !isLost(err):
			return nil, err
		default: // with the run, or by damage, which the chunk's sum tells
			if _, err := db.count(ctx, "SELECT no FROM runs WHERE id = ?", runID); errors.Is(err, sql.ErrNoRows) {
				return nil, journal.ErrGone
			}
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	var intact bool
	switch err := db.reads.row(ctx, runIsIntact, runID).Scan(&intact); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, journal.ErrGone
	case err == nil && !intact:
		return nil, damagedRun(runID) // whether there is more to come is not known
	default:
		return nil, err
	}
}

// partsOf returns what is in segments of a run; it may be in the journal too.
func (db *DB) partsOf(ctx context.Context, runNo int64) ([]journal.Chunk, error) {
	if db.writer != nil {
		return db.writer.segments.of(runNo), nil
	}
	by, _, err := db.storedParts(ctx)
	return by[runNo], err
}

// readChunks returns a stretch of chunks as they are stored, and how many bytes they have; less than the limit says that there are no more.
func (db *DB) readChunks(ctx context.Context, runNo int64, after uint64, limit int) (out []journal.Chunk, size int, err error) {
	from, to := runKeys(runNo)
	rows, err := db.reads.query(ctx, readChunks, from, journalKey(runNo, after+1), to)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for size < limit && rows.Next() {
		var c journal.Chunk
		var key, last, sum int64
		if err := rows.Scan(&key, &last, &c.Epoch, &sum, &c.Data); err != nil {
			return nil, 0, classify(err)
		}
		c.First, c.Last, c.Sum = uint64(key&maxSeq), uint64(last), uint32(sum)
		if c.Last <= after {
			continue
		}
		size += wholeSize(c.Data)
		out = append(out, c)
	}
	return out, size, classify(rows.Err())
}
