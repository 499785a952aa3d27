package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/graph"
)

// What a run saves is encoded first, which needs no transaction and may be done ahead of it (see ahead.go), and then written.

var (
	insertCheckpoint = checkpointRows.insert()
	insertBlob       = blobRows.insert()
	putKept          = keptRows.insert() + " ON CONFLICT DO UPDATE SET outcome = excluded.outcome, run = excluded.run, sum = excluded.sum"
	forgetDone       = checkpointRows.update("thread = ?1", "done", "NULL")
	// cutOff marks checkpoints whose parent was deleted on purpose: it is not missing.
	cutOff = checkpointRows.update(`thread = ?1 AND parent IS NOT NULL AND NOT EXISTS (
		SELECT 1 FROM checkpoints p WHERE p.thread = ?1 AND p.ns = checkpoints.ns AND p.id = checkpoints.parent)`, "cut", "1")
)

// runNumber is what the run column of state rows holds: nothing for an update from outside of runs.
func runNumber(no int64) any {
	if no == 0 {
		return nil
	}
	return no
}

// shortener keeps long texts in pieces: at once in a transaction, or ahead of it.
type shortener interface {
	// shorten keeps a long text and returns what is stored in its place; a short one is returned as it is.
	shorten(ctx context.Context, threadNo int64, text []byte) ([]byte, error)
}

// checkpointRow is a checkpoint as it is stored, with the fields that changed.
type checkpointRow struct {
	cp                          *graph.Checkpoint
	id, parent                  []byte
	versions                    string
	next, joins, metadata, done any
	blobs                       []graph.Blob
}

// Stored says that a journal may hand it back to us.
func (checkpointRow) Stored() {}

func encodeCheckpoint(ctx context.Context, s shortener, threadNo int64, c graph.Commit) (row checkpointRow, err error) {
	cp := &c.Checkpoint
	row.cp = cp
	if row.id, err = checkpointID(cp.ID); err != nil {
		return row, err
	}
	if row.parent, err = checkpointID(cp.Parent); err != nil {
		return row, err
	}
	versions, err := json.Marshal(cp.Versions)
	if err != nil {
		return row, err
	}
	row.versions = string(versions)
	if row.next, err = encode(cp.Next, len(cp.Next) == 0); err != nil {
		return row, err
	}
	if row.joins, err = encode(cp.Joins, len(cp.Joins) == 0); err != nil {
		return row, err
	}
	if row.metadata, err = encode(cp.Metadata, len(cp.Metadata) == 0); err != nil {
		return row, err
	}
	if row.done, err = encode(c.Done, len(c.Done) == 0); err != nil {
		return row, err
	}
	if row.done, err = shortenText(ctx, s, threadNo, row.done); err != nil {
		return row, err
	}
	row.blobs = make([]graph.Blob, len(c.Blobs))
	for i, b := range c.Blobs {
		if b.Data, err = s.shorten(ctx, threadNo, b.Data); err != nil {
			return row, fmt.Errorf("field %s version %d: %w", b.Field, b.Version, err)
		}
		row.blobs[i] = b
	}
	return row, nil
}

func (t *tx) saveCheckpoint(ctx context.Context, threadNo, runNo int64, c graph.Commit) error {
	row, err := encodeCheckpoint(ctx, t, threadNo, c)
	if err != nil {
		return err
	}
	if err := t.insertCheckpoint(ctx, threadNo, runNo, row); err != nil {
		return err
	}
	var a advance
	a.by(row)
	return t.advance(ctx, threadNo, a)
}

func (t *tx) insertCheckpoint(ctx context.Context, threadNo, runNo int64, row checkpointRow) error {
	cp := row.cp
	err := t.exec(ctx, insertCheckpoint, threadNo, cp.NS, row.id, row.parent, false, runNumber(runNo), cp.Step, string(cp.Source), micros(cp.At),
		row.versions, row.next, row.joins, row.metadata, row.done)
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", cp.ID, err)
	}
	for _, b := range row.blobs {
		if err := t.exec(ctx, insertBlob, threadNo, cp.NS, b.Field, b.Version, b.Base, runNumber(runNo), []byte(b.Data)); err != nil {
			return fmt.Errorf("field %s version %d: %w", b.Field, b.Version, err)
		}
	}
	return nil
}

// advance is how far checkpoints that are written together take the state of their thread: its row is changed once for all of them.
type advance struct {
	at   time.Time // of the last; zero if there is none
	head []byte    // the latest of the root graph
}

func (a *advance) by(row checkpointRow) {
	a.at = row.cp.At
	if row.cp.NS == "" && bytes.Compare(row.id, a.head) > 0 {
		a.head = row.id
	}
}

func (t *tx) advance(ctx context.Context, threadNo int64, a advance) error {
	switch {
	case a.at.IsZero():
		return nil
	case a.head == nil:
		return t.change(ctx, advanceState, threadNo, micros(a.at))
	}
	return t.change(ctx, advanceHead, threadNo, micros(a.at), a.head)
}

// keptRow is a kept outcome as it is stored.
type keptRow struct {
	ns, task string
	id       []byte
	outcome  string
}

// Stored says that a journal may hand it back to us.
func (keptRow) Stored() {}

func encodeKept(ctx context.Context, s shortener, threadNo int64, k graph.Kept) (row keptRow, err error) {
	row.ns, row.task = k.NS, k.Outcome.Task
	if row.id, err = checkpointID(k.Checkpoint); err != nil {
		return row, err
	}
	outcome, err := json.Marshal(k.Outcome)
	if err != nil {
		return row, err
	}
	outcome, err = s.shorten(ctx, threadNo, outcome)
	row.outcome = string(outcome)
	return row, err
}

func (t *tx) saveKept(ctx context.Context, threadNo, runNo int64, k graph.Kept) error {
	row, err := encodeKept(ctx, t, threadNo, k)
	if err != nil {
		return err
	}
	return t.insertKept(ctx, threadNo, runNo, row)
}

func (t *tx) insertKept(ctx context.Context, threadNo, runNo int64, row keptRow) error {
	return t.exec(ctx, putKept, threadNo, row.ns, row.id, row.task, runNumber(runNo), row.outcome)
}
