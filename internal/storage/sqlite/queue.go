package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// Claim leases runs that are due.
func (db *DB) Claim(ctx context.Context, worker string, lease time.Duration, n int) (claimed []run.Run, err error) {
	// Looking costs no write: most of the time there is nothing to claim.
	at := now()
	var due bool
	err = db.reads.row(ctx, `SELECT EXISTS (SELECT 1 FROM runs WHERE status = 'pending' AND not_before <= ?1 AND lease_until < ?1)
		OR EXISTS (SELECT 1 FROM runs WHERE worker <> '' AND worker <> ?2 AND status = 'running' AND lease_until < ?1)`, micros(at), worker).Scan(&due)
	if err != nil || !due {
		return nil, err
	}
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		claimed = nil
		at := now()
		// The oldest due run of each thread that has none running, and whatever its worker left behind. What this
		// worker holds is not left behind, however late its heartbeat is: the clock may have jumped, the machine slept.
		// The plus keeps SQLite from walking all runs there ever were in the order of their numbers.
		rows, err := tx.query(ctx, `SELECT no FROM (
				SELECT r.no FROM runs r WHERE r.status = 'pending' AND r.not_before <= ?1 AND r.lease_until < ?1
					AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.thread = r.thread AND o.status = 'running')
					AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.thread = r.thread AND o.no < r.no AND `+inFlight+`
						AND o.status = 'pending' AND o.not_before <= ?1)
				UNION ALL
				SELECT r.no FROM runs r WHERE r.status = 'running' AND r.worker <> '' AND r.worker <> ?3 AND r.lease_until < ?1)
			ORDER BY +no LIMIT ?2`, micros(at), n, worker)
		nos, err := collect(rows, err, func(row scanner) (no int64, err error) { return no, row.Scan(&no) })
		if err != nil {
			return err
		}
		for _, no := range nos {
			r, err := tx.lease(ctx, no, worker, at.Add(lease), run.Running)
			if err != nil {
				return err
			}
			claimed = append(claimed, r)
		}
		return nil
	})
	return claimed, err
}

func (t *tx) lease(ctx context.Context, no int64, worker string, until time.Time, status run.Status) (run.Run, error) {
	var before run.Status
	var holder string
	if err := t.row(ctx, "SELECT status, worker FROM runs WHERE no = ?", no).Scan(&before, &holder); err != nil {
		return run.Run{}, err
	}
	err := t.exec(ctx, "UPDATE runs SET status = ?, worker = ?, epoch = epoch + 1, lease_until = ? WHERE no = ?", string(status), worker, micros(until), no)
	if err != nil {
		return run.Run{}, err
	}
	r, err := scanRun(t.row(ctx, "SELECT "+runColumns+" FROM runs WHERE no = ?", no))
	r.LeftBy = holder
	r.HandedOver = before == run.Pending && r.Attempt > 0
	return r, err
}

// ClaimPending leases a run that waits, leaving it pending, so that it can be ended.
func (db *DB) ClaimPending(ctx context.Context, worker string, lease time.Duration, id string) (r run.Run, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		at := now()
		var no int64
		err := tx.row(ctx, "SELECT no FROM runs WHERE id = ? AND status = 'pending' AND lease_until < ?", id, micros(at)).Scan(&no)
		if err != nil {
			return found(err, "pending run", id)
		}
		r, err = tx.lease(ctx, no, worker, at.Add(lease), run.Pending)
		return err
	})
	return r, err
}

// Heartbeat extends a worker's leases.
func (db *DB) Heartbeat(ctx context.Context, worker string, lease time.Duration) (held map[string]run.Action, err error) {
	err = db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		// That the worker is not '' is said for the index of those that are held.
		err := tx.exec(ctx, "UPDATE runs SET lease_until = ? WHERE worker = ? AND worker <> ''", micros(now().Add(lease)), worker)
		if err != nil {
			return err
		}
		held = map[string]run.Action{}
		rows, err := tx.query(ctx, "SELECT id, cancel FROM runs WHERE worker = ? AND worker <> ''", worker)
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			var id string
			var action run.Action
			err := row.Scan(&id, &action)
			held[id] = action
			return struct{}{}, err
		})
		return err
	})
	return held, err
}

// Abandon expires the leases of dead workers.
func (db *DB) Abandon(ctx context.Context, prefix string) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		return tx.exec(ctx, "UPDATE runs SET lease_until = 1 WHERE worker <> '' AND substr(worker, 1, length(?1)) = ?1", prefix)
	})
}

// Release gives a run back: it waits again, before all others of its thread.
func (db *DB) Release(ctx context.Context, worker, id string, epoch int) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, "UPDATE runs SET status = 'pending', worker = '', lease_until = 0 WHERE id = ? AND worker = ? AND epoch = ?", id, worker, epoch)
		if err == nil && n == 0 {
			err = fmt.Errorf("release run %s: %w", id, journal.ErrFenced)
		}
		return err
	})
}

// NextDue is when the next waiting run becomes due.
func (db *DB) NextDue(ctx context.Context, after time.Time) (time.Time, bool, error) {
	var at sql.NullInt64
	err := db.reads.row(ctx, "SELECT min(not_before) FROM runs WHERE status = 'pending' AND not_before > ?", micros(after)).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, false, err
	}
	return fromMicros(at.Int64), true, nil
}
