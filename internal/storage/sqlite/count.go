package sqlite

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/internal/run"
)

var _ run.Counts = (*DB)(nil)

func (db *DB) count(ctx context.Context, text string, args ...any) (n int64, err error) {
	return n, db.reads.row(ctx, text, args...).Scan(&n)
}

// CountInFlight counts an owner's runs that have not ended.
func (db *DB) CountInFlight(ctx context.Context, who run.Identity) (int64, error) {
	return db.count(ctx, "SELECT count(*) FROM runs INDEXED BY runs_in_flight WHERE owner = ? AND "+inFlight, who.Owner)
}

// CountQueued counts the runs that wait on a thread.
func (db *DB) CountQueued(ctx context.Context, who run.Identity, thread string) (int64, error) {
	return db.count(ctx, `SELECT count(*) FROM runs INDEXED BY runs_in_flight
		WHERE thread = (SELECT no FROM threads WHERE id = ? AND owner = ?) AND status = 'pending' AND `+inFlight, thread, who.Owner)
}

// CountThreads counts an owner's threads.
func (db *DB) CountThreads(ctx context.Context, who run.Identity) (int64, error) {
	return db.count(ctx, "SELECT count(*) FROM threads WHERE owner = ?", who.Owner)
}

// CountCrons counts an owner's crons.
func (db *DB) CountCrons(ctx context.Context, who run.Identity) (int64, error) {
	return db.count(ctx, "SELECT count(*) FROM crons WHERE owner = ?", who.Owner)
}

var storedBytes = fmt.Sprintf(`SELECT
	(SELECT coalesce(sum(length(request)), 0) FROM runs WHERE owner = ?1) +
	(SELECT coalesce(sum(length(j.data)), 0) FROM runs r JOIN journal j ON j.key BETWEEN r.no << 32 AND (r.no << 32) | %d WHERE r.owner = ?1) +
	(SELECT coalesce(sum(length(b.data)), 0) FROM threads t JOIN blobs b ON b.thread = t.no WHERE t.owner = ?1) +
	(SELECT coalesce(sum(length(k.outcome)), 0) FROM threads t JOIN kept k ON k.thread = t.no WHERE t.owner = ?1) +
	(SELECT coalesce(sum(length(p.data)), 0) FROM threads t JOIN pieces p ON p.thread = t.no WHERE t.owner = ?1) +
	(SELECT coalesce(sum(length(value)), 0) FROM items WHERE owner = ?1)`, maxSeq)

// StoredBytes adds up what an owner's rows hold, without what SQLite needs around them. What is in segments is counted when it has become rows.
func (db *DB) StoredBytes(ctx context.Context, who run.Identity) (int64, error) {
	return db.count(ctx, storedBytes, who.Owner)
}
