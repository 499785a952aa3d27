package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

var _ run.FollowUps = (*DB)(nil)

var (
	followUpSelect = "SELECT key, kind, lane, run, thread, owner, payload, created, next, attempts, worker, error, parked, " +
		followUpRows.intact("f") + " FROM follow_ups f"
	insertFollowUp = followUpRows.insert("next") + " ON CONFLICT (key) DO NOTHING"
)

func scanFollowUp(row scanner) (run.FollowUp, error) {
	var f run.FollowUp
	var payload string
	var created, next int64
	var intact bool
	err := row.Scan(&f.Key, &f.Kind, &f.Lane, &f.Run, &f.Thread, &f.Owner, &payload, &created, &next, &f.Attempts, &f.Worker, &f.Error, &f.Parked, &intact)
	if err != nil {
		return f, err
	}
	if !intact {
		return f, damaged(errSum, restore+", or delete the thread", "follow-up %q", f.Key)
	}
	if payload != "" {
		f.Payload = json.RawMessage(payload)
	}
	f.CreatedAt, f.NextAt = fromMicros(created), fromMicros(next)
	return f, nil
}

// addFollowUps writes what is to be done, with the end of its run.
func (t *tx) addFollowUps(ctx context.Context, all []run.FollowUp) error {
	for i := range all {
		f := &all[i]
		err := t.exec(ctx, insertFollowUp, f.Key, f.Kind, f.Lane, f.Run, f.Thread, f.Owner, string(f.Payload), micros(f.CreatedAt), micros(f.NextAt))
		if err != nil {
			return fmt.Errorf("follow-up %q: %w", f.Key, err)
		}
	}
	return nil
}

// ClaimFollowUps leases what is due. That is not flushed to the disk: whoever loses power does it again, which is what
// follow-ups are made for.
func (db *DB) ClaimFollowUps(ctx context.Context, c run.FollowUpClaim) (claimed []run.FollowUp, err error) {
	const isDue = "kind = ?1 AND parked = 0 AND next <= ?2"
	var due bool // looking costs no write
	at := now()
	err = db.reads.row(ctx, "SELECT EXISTS (SELECT 1 FROM follow_ups WHERE "+isDue+")", c.Kind, micros(at)).Scan(&due)
	if err != nil || !due {
		return nil, err
	}
	err = db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		claimed = nil
		rows, err := tx.query(ctx, `SELECT no FROM (
				SELECT no, next, lane, row_number() OVER (PARTITION BY lane ORDER BY next, no) AS place FROM follow_ups WHERE `+isDue+`) d
			WHERE place <= ?3 - (SELECT count(*) FROM follow_ups h WHERE h.kind = ?1 AND h.parked = 0 AND h.next > ?2 AND h.worker <> '' AND h.lane = d.lane)
			ORDER BY next, no LIMIT ?4`, c.Kind, micros(at), c.PerLane, c.Most)
		nos, err := collect(rows, err, func(row scanner) (no int64, err error) { return no, row.Scan(&no) })
		if err != nil {
			return err
		}
		until := at.Add(c.Lease)
		for _, no := range nos {
			f, err := scanFollowUp(tx.row(ctx, followUpSelect+" WHERE no = ?", no))
			var damage *run.DamageError
			if errors.As(err, &damage) { // what is to be done is not known any more
				if err := tx.exec(ctx, "UPDATE follow_ups SET parked = 1, worker = '', error = ? WHERE no = ?", damage.Error(), no); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			f.Attempts, f.Worker, f.NextAt = f.Attempts+1, c.Worker, until
			if err := tx.exec(ctx, "UPDATE follow_ups SET attempts = ?, worker = ?, next = ? WHERE no = ?", f.Attempts, f.Worker, micros(until), no); err != nil {
				return err
			}
			claimed = append(claimed, f)
		}
		return nil
	})
	return claimed, err
}

// held is true of a follow-up whose lease is still the one of that try.
const held = "key = ? AND worker = ? AND attempts = ?"

// FinishFollowUp removes one that was carried out.
func (db *DB) FinishFollowUp(ctx context.Context, f run.FollowUp) error {
	return db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, "DELETE FROM follow_ups WHERE "+held, f.Key, f.Worker, f.Attempts)
		return fencedUnless(n, err, f)
	})
}

// PutOffFollowUp gives one back.
func (db *DB) PutOffFollowUp(ctx context.Context, f run.FollowUp, interrupted bool) error {
	return db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, "UPDATE follow_ups SET worker = '', next = ?, error = ?, parked = ?, attempts = attempts - ? WHERE "+held,
			micros(f.NextAt), f.Error, f.Parked, interrupted, f.Key, f.Worker, f.Attempts)
		return fencedUnless(n, err, f)
	})
}

func fencedUnless(n int64, err error, f run.FollowUp) error {
	if err == nil && n == 0 {
		err = fmt.Errorf("follow-up %s, worker %s, try %d: %w", f.Key, f.Worker, f.Attempts, journal.ErrFenced)
	}
	return err
}

// HastenFollowUps makes those of a kind due that were never tried.
func (db *DB) HastenFollowUps(ctx context.Context, kind string) error {
	const waits = "kind = ?1 AND parked = 0 AND next > ?2 AND worker = '' AND attempts = 0"
	var any bool // looking costs no write
	err := db.reads.row(ctx, "SELECT EXISTS (SELECT 1 FROM follow_ups WHERE "+waits+")", kind, micros(now())).Scan(&any)
	if err != nil || !any {
		return err
	}
	return db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		return tx.exec(ctx, "UPDATE follow_ups SET next = ?2 WHERE "+waits, kind, micros(now()))
	})
}

// FollowUps lists an owner's, oldest first.
func (db *DB) FollowUps(ctx context.Context, who run.Identity, q run.FollowUpQuery) ([]run.FollowUp, error) {
	var c conditions
	c.add("owner = ?", who.Owner)
	if q.Run != "" {
		c.add("run = ?", q.Run)
	}
	if q.Thread != "" {
		c.add("thread = ?", q.Thread)
	}
	if q.Kind != "" {
		c.add("kind = ?", q.Kind)
	}
	if q.Parked {
		c.add("parked = ?", true)
	}
	rows, err := db.reads.query(ctx, followUpSelect+c.where()+" ORDER BY no LIMIT ?", append(c.args, q.Limit)...)
	return collect(rows, err, scanFollowUp)
}

// NextFollowUp is when the next of some kinds becomes due.
func (db *DB) NextFollowUp(ctx context.Context, kinds []string, after time.Time) (time.Time, bool, error) {
	list, err := json.Marshal(kinds)
	if err != nil {
		return time.Time{}, false, err
	}
	var at sql.NullInt64
	err = db.reads.row(ctx, "SELECT min((SELECT min(next) FROM follow_ups WHERE kind = k.value AND parked = 0 AND next > ?1)) FROM json_each(?2) k",
		micros(after), string(list)).Scan(&at)
	if err != nil || !at.Valid {
		return time.Time{}, false, err
	}
	return fromMicros(at.Int64), true, nil
}
