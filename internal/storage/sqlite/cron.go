package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

var _ run.Crons = (*DB)(nil)

const cronColumns = "id, owner, thread, schedule, timezone, end_time, next, enabled, request, payload, metadata, keep, created, updated"

var (
	cronSelect  = "SELECT " + cronColumns + ", " + cronRows.intact("crons") + " FROM crons"
	insertCron  = cronRows.insert() + " ON CONFLICT DO NOTHING"
	replaceCron = cronRows.update("id = ?1 AND owner = ?2", "schedule", "?3", "timezone", "?4", "end_time", "?5", "next", "?6", "enabled", "?7",
		"request", "?8", "assistant", "?9", "payload", "?10", "metadata", "?11", "keep", "?12", "updated", "?13", "thread", "?14")
	advanceCron = cronRows.update("id = ?1 AND next = ?2 AND enabled", "next", "?3")
)

func scanCron(row scanner) (run.Cron, error) {
	var c run.Cron
	var request, payload, metadata string
	var end, next, created, updated int64
	var intact bool
	err := row.Scan(&c.ID, &c.Owner, &c.Thread, &c.Schedule, &c.Timezone, &end, &next, &c.Enabled, &request, &payload, &metadata, &c.Keep, &created, &updated, &intact)
	if err != nil {
		return c, err
	}
	if !intact {
		return c, damaged(errSum, restore+", or delete the cron and make it again", "cron %q", c.ID)
	}
	c.EndTime, c.Next, c.CreatedAt, c.UpdatedAt = fromMicros(end), fromMicros(next), fromMicros(created), fromMicros(updated)
	c.Payload, c.Metadata = json.RawMessage(payload), json.RawMessage(metadata)
	return c, json.Unmarshal([]byte(request), &c.Request)
}

// CreateCron inserts a cron. One that belongs to a thread needs that thread to be the caller's.
func (db *DB) CreateCron(ctx context.Context, who run.Identity, c run.Cron) (run.Cron, error) {
	c.Owner = who.Owner
	request, err := json.Marshal(c.Request)
	if err != nil {
		return c, err
	}
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		if c.Thread != "" {
			if _, err := tx.threadNo(ctx, who, c.Thread); err != nil {
				return err
			}
		}
		n, err := tx.execCount(ctx, insertCron,
			c.ID, c.Owner, c.Thread, c.Request.Assistant, c.Schedule, c.Timezone, micros(c.EndTime), micros(c.Next), c.Enabled, string(request),
			object(c.Payload), object(c.Metadata), c.Keep, micros(c.CreatedAt), micros(c.UpdatedAt))
		if err == nil && n == 0 {
			err = fmt.Errorf("cron %q: %w", c.ID, run.ErrExists)
		}
		return err
	})
	return c, err
}

// Cron returns a cron.
func (db *DB) Cron(ctx context.Context, who run.Identity, id string) (run.Cron, error) {
	c, err := scanCron(db.reads.row(ctx, cronSelect+" WHERE id = ? AND owner = ?", id, who.Owner))
	return c, found(err, "cron", id)
}

var cronSort = map[string]string{
	"cron_id": "id", "assistant_id": "assistant", "thread_id": "thread", "next_run_date": "next", "end_time": "end_time",
	"created_at": "created", "updated_at": "updated",
}

// SearchCrons returns a page of crons and the number of all that match.
func (db *DB) SearchCrons(ctx context.Context, who run.Identity, q run.CronQuery) ([]run.Cron, int, error) {
	var c conditions
	c.add("owner = ?", who.Owner)
	if q.Assistant != "" {
		c.add("assistant = ?", q.Assistant)
	}
	if q.Thread != "" {
		c.add("thread = ?", q.Thread)
	}
	if q.Enabled != nil {
		c.add("enabled = ?", *q.Enabled)
	}
	if len(q.Metadata) > 0 {
		c.add(contains, string(q.Metadata))
	}
	var total int
	if err := db.reads.row(ctx, "SELECT count(*) FROM crons"+c.where(), c.args...).Scan(&total); err != nil || q.Limit == 0 {
		return nil, total, err
	}
	rows, err := db.reads.query(ctx, cronSelect+c.where()+
		sortOrder(q.SortBy, q.Asc, cronSort, "created", "id")+" LIMIT ? OFFSET ?", append(c.args, q.Limit, q.Offset)...)
	crons, err := collect(rows, err, scanCron)
	return crons, total, err
}

// ReplaceCron stores a changed cron. Its thread, if it has one, must be the caller's.
func (db *DB) ReplaceCron(ctx context.Context, who run.Identity, c run.Cron) (run.Cron, error) {
	request, err := json.Marshal(c.Request)
	if err != nil {
		return c, err
	}
	c.UpdatedAt = now()
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		if c.Thread != "" {
			if _, err := tx.threadNo(ctx, who, c.Thread); err != nil {
				return err
			}
		}
		n, err := tx.execCount(ctx, replaceCron.sealed, c.ID, who.Owner,
			c.Schedule, c.Timezone, micros(c.EndTime), micros(c.Next), c.Enabled, string(request), c.Request.Assistant,
			object(c.Payload), object(c.Metadata), c.Keep, micros(c.UpdatedAt), c.Thread)
		if err == nil && n == 0 { // it is not there, or damaged
			_, err = scanCron(tx.row(ctx, cronSelect+" WHERE id = ? AND owner = ?", c.ID, who.Owner))
			err = found(err, "cron", c.ID)
		}
		return err
	})
	return c, err
}

// DeleteCron removes a cron; the runs that it started stay.
func (db *DB) DeleteCron(ctx context.Context, who run.Identity, id string) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, "DELETE FROM crons WHERE id = ? AND owner = ?", id, who.Owner)
		if err == nil && n == 0 {
			err = fmt.Errorf("cron %q: %w", id, run.ErrNotFound)
		}
		return err
	})
}

// DueCrons lists what is to fire, of all owners. One that is damaged does not fire, and whoever looks at it is told.
func (db *DB) DueCrons(ctx context.Context, by time.Time, n int) ([]run.Cron, error) {
	rows, err := db.reads.query(ctx, cronSelect+" WHERE enabled AND next > 0 AND next <= ? AND "+cronRows.intact("crons")+" ORDER BY next LIMIT ?", micros(by), n)
	return collect(rows, err, scanCron)
}

// AdvanceCron moves a firing on, if it is still where the caller saw it.
func (db *DB) AdvanceCron(ctx context.Context, id string, from, to time.Time) (moved bool, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		n, err := tx.execCount(ctx, advanceCron.sealed, id, micros(from), micros(to))
		moved = n > 0
		return err
	})
	return moved, err
}

// NextCron is when the next one fires.
func (db *DB) NextCron(ctx context.Context) (time.Time, bool, error) {
	var at sql.NullInt64
	err := db.reads.row(ctx, "SELECT min(next) FROM crons WHERE enabled AND next > 0 AND "+cronRows.intact("crons")).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) || !at.Valid {
		return time.Time{}, false, nil
	}
	return fromMicros(at.Int64), err == nil, err
}
