package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

var (
	leaseRun   = runRows.update("no = ?1", "status", "?2", "worker", "?3", "epoch", "?4", "lease_until", "?5")
	releaseRun = runRows.update("id = ?1 AND worker = ?2 AND epoch = ?3", "status", "'pending'", "worker", "''", "lease_until", "0")
)

// lost is true of runs whose worker let them go and that were not counted for it yet.
const lost = "worker <> '' AND lease_until < ?1 AND status = 'running' AND crash_of <> worker AND worker <> ?2"

// accuse counts, once for each worker that let its runs go, that they crashed with it: anew for those that have saved
// something since their last crash. ?3 is the worker that was lost before.
const accuse = `UPDATE runs SET crashes = CASE crash_place WHEN p.place THEN crashes + 1 ELSE 1 END,
		streak = CASE WHEN crash_place = p.place AND crash_of = ?3 THEN streak + 1 ELSE 1 END, crash_place = p.place, crash_of = worker
	FROM (SELECT no, (SELECT coalesce(hex(max(c.id)), '') FROM checkpoints c WHERE c.thread = r.thread) || ':' ||
			(SELECT count(*) FROM kept k WHERE k.thread = r.thread) AS place
		FROM runs r WHERE ` + lost + `) p
	WHERE runs.no = p.no`

func (t *tx) accuse(ctx context.Context, at time.Time, worker string) error {
	var gone, before string
	err := t.row(ctx, "SELECT worker, coalesce((SELECT value FROM meta WHERE key = 'lost'), '') FROM runs WHERE "+lost+" LIMIT 1", micros(at), worker).Scan(&gone, &before)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := t.exec(ctx, accuse, micros(at), worker, before); err != nil {
		return err
	}
	return t.exec(ctx, "INSERT INTO meta (key, value) VALUES ('lost', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", gone)
}

// Claim leases runs that are due.
func (db *DB) Claim(ctx context.Context, worker string, lease time.Duration, n int, crashes run.Between) (claimed []run.Run, err error) {
	// Looking costs no write: most of the time there is nothing to claim.
	at := now()
	var due bool
	err = db.reads.row(ctx, `SELECT EXISTS (SELECT 1 FROM runs r WHERE status = 'pending' AND not_before <= ?1 AND lease_until < ?1 AND `+crashed+`)
		OR EXISTS (SELECT 1 FROM runs r WHERE worker <> '' AND worker <> ?2 AND status = 'running' AND lease_until < ?1 AND `+crashed+`)`,
		micros(at), worker, crashes.Least, crashes.Most).Scan(&due)
	if err != nil || !due {
		return nil, err
	}
	err = db.writeKnown(true, func(ctx context.Context, tx *tx) error {
		claimed = nil
		at := now()
		if err := tx.accuse(ctx, at, worker); err != nil {
			return err
		}
		// The oldest due run of each thread that has none running, and whatever its worker left behind. What this
		// worker holds is not left behind, however late its heartbeat is: the clock may have jumped, the machine slept.
		// The plus keeps SQLite from walking all runs there ever were in the order of their numbers.
		rows, err := tx.query(ctx, `SELECT no FROM (
				SELECT r.no, r.crashes FROM runs r WHERE r.status = 'pending' AND r.not_before <= ?1 AND r.lease_until < ?1 AND `+crashed+`
					AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.thread = r.thread AND o.status = 'running')
					AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.thread = r.thread AND o.no < r.no AND `+inFlight+`
						AND o.status = 'pending' AND o.not_before <= ?1)
				UNION ALL
				SELECT r.no, r.crashes FROM runs r WHERE r.status = 'running' AND r.worker <> '' AND r.worker <> ?2 AND r.lease_until < ?1 AND `+crashed+`)
			ORDER BY max(crashes, 1), +no LIMIT ?5`, micros(at), worker, crashes.Least, crashes.Most, n)
		nos, err := collect(rows, err, func(row scanner) (no int64, err error) { return no, row.Scan(&no) })
		if err != nil {
			return err
		}
		for _, no := range nos {
			r, err := tx.lease(ctx, no, worker, at.Add(lease), run.Running)
			var damage *run.DamageError
			if errors.As(err, &damage) {
				if err := tx.giveUp(ctx, no, at, damage); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			claimed = append(claimed, r)
		}
		return nil
	})
	return claimed, err
}

// crashed is true of runs that crashed as often as is asked for. Those that are to be stopped are not executed again, so it
// does not matter how often they crashed.
const crashed = "(r.crashes BETWEEN ?3 AND ?4 OR r.cancel <> '' AND ?3 = 0)"

func (t *tx) lease(ctx context.Context, no int64, worker string, until time.Time, status run.Status) (run.Run, error) {
	r, err := scanRun(t.row(ctx, runSelect+" WHERE no = ?", no))
	if err != nil {
		return r, err
	}
	t.leases.forget(r.ID)
	r.LeftBy, r.HandedOver = r.Worker, r.Status == run.Pending && r.Attempt > 0
	r.Status, r.Worker, r.Epoch, r.LeaseUntil = status, worker, r.Epoch+1, until
	return r, t.change(ctx, leaseRun, no, string(status), worker, r.Epoch, micros(until))
}

// giveUp takes a run that is damaged out of the queue, so that its thread is free. Its sum is left as it is: whoever asks for
// the run is told.
func (t *tx) giveUp(ctx context.Context, no int64, at time.Time, damage *run.DamageError) error {
	t.leases.forgetAll()
	err := t.exec(ctx, "UPDATE runs SET status = ?, worker = '', lease_until = 0 WHERE no = ?", string(run.Failed), no)
	if err != nil {
		return err
	}
	var threadNo int64
	err = t.row(ctx, "SELECT t.no FROM runs r JOIN threads t ON t.no = r.thread AND t.id = r.thread_id WHERE r.no = ?", no).Scan(&threadNo)
	if errors.Is(err, sql.ErrNoRows) {
		return nil // which thread it was is damaged too
	}
	if err != nil {
		return err
	}
	failure, err := encode(&event.Error{Code: "run_damaged", Message: damage.Error()}, false)
	if err != nil {
		return err
	}
	return t.settleThread(ctx, threadNo, run.End{Status: run.Failed, At: at}, failure)
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
func (db *DB) Heartbeat(ctx context.Context, worker string, lease time.Duration) (held map[string]run.Wish, err error) {
	err = db.writeKnown(false, func(ctx context.Context, tx *tx) error {
		// That the worker is not '' is said for the index of those that are held.
		err := tx.exec(ctx, "UPDATE runs SET lease_until = ? WHERE worker = ? AND worker <> ''", micros(now().Add(lease)), worker)
		if err != nil {
			return err
		}
		held = map[string]run.Wish{}
		rows, err := tx.query(ctx, "SELECT r.id, r.cancel, coalesce(c.task, '') FROM runs r LEFT JOIN cancelled_tasks c ON c.run = r.no WHERE r.worker = ? AND r.worker <> ''", worker)
		_, err = collect(rows, err, func(row scanner) (struct{}, error) {
			var id, task string
			var wish run.Wish
			err := row.Scan(&id, &wish.Cancel, &task)
			if wish.Tasks = held[id].Tasks; task != "" {
				wish.Tasks = append(wish.Tasks, task)
			}
			held[id] = wish
			return struct{}{}, err
		})
		return err
	})
	return held, err
}

// Abandon expires the leases of dead workers.
func (db *DB) Abandon(ctx context.Context, prefix string) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		err := tx.exec(ctx, "UPDATE runs SET lease_until = 1 WHERE worker <> '' AND substr(worker, 1, length(?1)) = ?1", prefix)
		if err != nil {
			return err
		}
		// All of a worker's runs at once: how many crashed together matters.
		if err := tx.accuse(ctx, now(), ""); err != nil {
			return err
		}
		return tx.exec(ctx, "UPDATE follow_ups SET next = 1, worker = '' WHERE worker <> '' AND substr(worker, 1, length(?1)) = ?1", prefix)
	})
}

// Release gives a run back: it waits again, before all others of its thread.
func (db *DB) Release(ctx context.Context, worker, id string, epoch int) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		n, err := tx.changeCount(ctx, releaseRun, id, worker, epoch)
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
