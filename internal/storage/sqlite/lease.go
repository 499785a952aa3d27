package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/internal/journal"
)

// leased is a run as the holder of its lease sees it.
type leased struct {
	no       int64
	threadNo int64
}

// fence returns the run if the lease is the current one.
func fence(ctx context.Context, db asking, runID, thread, worker string, epoch int) (leased, error) {
	l, err := askLease(ctx, db, runID, thread)
	if err == nil && !l.isOf(thread, worker, epoch) {
		err = notHeld(runID, worker, epoch)
	}
	return l.leased, err
}

func notHeld(runID, worker string, epoch int) error {
	return fmt.Errorf("run %s, worker %s, epoch %d: %w", runID, worker, epoch, journal.ErrFenced)
}

// lease is who may write a run, and after which event.
type lease struct {
	leased
	thread, worker string
	epoch          int
	last           uint64 // the number of the last event in the table of journals
}

func (l *lease) isOf(thread, worker string, epoch int) bool {
	return l.no > 0 && l.thread == thread && l.worker == worker && l.epoch == epoch
}

var selectLease = fmt.Sprintf(`SELECT no, thread, worker, epoch,
	coalesce((SELECT last FROM journal WHERE key BETWEEN no << 32 AND (no << 32) | %d ORDER BY key DESC LIMIT 1), 0)
	FROM runs WHERE id = ? AND thread_id = ?`, maxSeq)

// askLease returns nothing for a run that is not there. The thread is asked for too, since an index that is damaged may lead to
// another run.
func askLease(ctx context.Context, db asking, runID, thread string) (lease, error) {
	l := lease{thread: thread}
	var last int64
	err := db.row(ctx, selectLease, runID, thread).Scan(&l.no, &l.threadNo, &l.worker, &l.epoch, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return lease{}, nil
	}
	l.last = uint64(last)
	return l, err
}

// leases remembers who may write which run, so that a token need not ask. It belongs to the writer, through whom every change of a lease
// goes, since a folder belongs to one process. What it does not know it asks for. So that it never knows what is no longer true, all
// of it is forgotten after every operation that is not marked as [op.known], and after everything that was undone; an operation that
// is marked forgets by itself the runs whose leases it changes.
type leases struct {
	by map[string]*lease // by the id of the run
}

// mostLeases bounds what is remembered; there are never so many runs at once.
const mostLeases = 100_000

func (s *leases) forget(runID string) { delete(s.by, runID) }

func (s *leases) forgetAll() { clear(s.by) }

// holding returns the lease of a group, if it is the current one.
func (t *tx) holding(ctx context.Context, g *journal.Group) (*lease, error) {
	c := &g.Chunk
	l := t.leases.by[c.Run]
	if l == nil || !l.isOf(c.Thread, g.Owner, c.Epoch) {
		asked, err := askLease(ctx, t, c.Run, c.Thread)
		if err != nil {
			return nil, err
		}
		if !asked.isOf(c.Thread, g.Owner, c.Epoch) {
			return nil, notHeld(c.Run, g.Owner, c.Epoch)
		}
		if l = &asked; len(t.leases.by) >= mostLeases {
			t.leases.forgetAll()
		}
		if t.leases.by == nil {
			t.leases.by = map[string]*lease{}
		}
		l.last = max(l.last, t.plan.lastOf(l.no))
		t.leases.by[c.Run] = l
	}
	return l, nil
}
