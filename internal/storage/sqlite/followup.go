package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
// follow-ups are made for. It costs what is claimed and the number of lanes, however much waits in them: a receiver who does
// not answer, or an owner whose runs end faster than they can be remembered, holds up nobody.
func (db *DB) ClaimFollowUps(ctx context.Context, c run.FollowUpClaim) (claimed []run.FollowUp, err error) {
	at := now()
	lanes, err := db.dueLanes(ctx, c, at) // looking costs no write
	if err != nil || len(lanes) == 0 {
		return nil, err
	}
	err = db.write(ctx, false, func(ctx context.Context, tx *tx) error {
		claimed = nil
		due, err := tx.dueIn(ctx, lanes, c, at)
		if err != nil {
			return err
		}
		until := at.Add(c.Lease)
		for _, d := range due {
			f, err := scanFollowUp(tx.row(ctx, followUpSelect+" WHERE no = ?", d.no))
			var damage *run.DamageError
			if errors.As(err, &damage) { // what is to be done is not known any more
				if err := tx.exec(ctx, "UPDATE follow_ups SET parked = 1, worker = '', error = ? WHERE no = ?", damage.Error(), d.no); err != nil {
					return err
				}
				continue
			}
			if err != nil {
				return err
			}
			f.Attempts, f.Worker, f.NextAt = f.Attempts+1, c.Worker, until
			if err := tx.exec(ctx, "UPDATE follow_ups SET attempts = ?, worker = ?, next = ? WHERE no = ?", f.Attempts, f.Worker, micros(until), d.no); err != nil {
				return err
			}
			claimed = append(claimed, f)
		}
		return nil
	})
	return claimed, err
}

// dueLanes are the lanes whose first follow-up is due, the longest due first, and no more of them than are claimed. It goes
// from lane to lane.
func (db *DB) dueLanes(ctx context.Context, c run.FollowUpClaim, at time.Time) ([]string, error) {
	rows, err := db.reads.query(ctx, `WITH RECURSIVE chain (lane) AS (
			SELECT min(lane) FROM follow_ups WHERE kind = ?1 AND parked = 0
			UNION ALL
			SELECT (SELECT min(f.lane) FROM follow_ups f WHERE f.kind = ?1 AND f.parked = 0 AND f.lane > chain.lane) FROM chain WHERE chain.lane IS NOT NULL)
		SELECT d.lane FROM chain d JOIN follow_ups f ON f.no = (SELECT x.no FROM follow_ups x WHERE x.kind = ?1 AND x.parked = 0 AND x.lane = d.lane ORDER BY x.next, x.no LIMIT 1)
		WHERE f.next <= ?2 AND d.lane NOT IN (SELECT lane FROM (`+inLanes+`) WHERE busy >= ?3) ORDER BY f.next, f.no LIMIT ?4`, c.Kind, micros(at), c.PerLane, c.Most)
	return collect(rows, err, func(row scanner) (lane string, err error) { return lane, row.Scan(&lane) })
}

// inLanes counts what is being done in each lane.
const inLanes = "SELECT h.lane, count(*) AS busy FROM follow_ups h INDEXED BY follow_ups_held WHERE h.worker <> '' AND h.kind = ?1 AND h.parked = 0 AND h.next > ?2 GROUP BY h.lane"

// dueRow is a follow-up that may be claimed.
type dueRow struct{ no, next int64 }

// dueIn are the follow-ups of some lanes that may be claimed, the longest due first.
func (t *tx) dueIn(ctx context.Context, lanes []string, c run.FollowUpClaim, at time.Time) ([]dueRow, error) {
	busy := map[string]int{}
	rows, err := t.query(ctx, inLanes, c.Kind, micros(at))
	_, err = collect(rows, err, func(row scanner) (lane string, err error) {
		var n int
		err = row.Scan(&lane, &n)
		busy[lane] = n
		return lane, err
	})
	if err != nil {
		return nil, err
	}
	var all []dueRow
	for _, lane := range lanes {
		rows, err := t.query(ctx, "SELECT no, next FROM follow_ups WHERE kind = ? AND lane = ? AND parked = 0 AND next <= ? ORDER BY next, no LIMIT ?",
			c.Kind, lane, micros(at), max(c.PerLane-busy[lane], 0))
		due, err := collect(rows, err, func(row scanner) (d dueRow, err error) { return d, row.Scan(&d.no, &d.next) })
		if err != nil {
			return nil, err
		}
		all = append(all, due...)
	}
	slices.SortFunc(all, func(a, b dueRow) int { return cmp.Or(cmp.Compare(a.next, b.next), cmp.Compare(a.no, b.no)) })
	return all[:min(len(all), c.Most)], nil
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

// HastenFollowUps makes those of a kind due that wait for their time. One that failed keeps its pause.
func (db *DB) HastenFollowUps(ctx context.Context, kind string) error {
	const waits = "kind = ?1 AND parked = 0 AND next > ?2 AND worker = '' AND error = ''"
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
