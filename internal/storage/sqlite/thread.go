package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

const threadColumns = "id, owner, status, metadata, config, error, created, updated, state_at, expires"

var (
	threadSelect = "SELECT " + threadColumns + ", " + threadRows.intact("threads") + " FROM threads"
	insertThread = threadRows.insert() + " ON CONFLICT (id) DO NOTHING"
	patchThread  = threadRows.update("id = ?1", "metadata", "?2", "updated", "?3", "expires", "?4")
	// In one statement with the run that makes the thread busy.
	occupyThread = threadRows.update("no = ?1", "status", "'busy'", "updated", "?2", "config", "?3",
		"metadata", "json_set(metadata, '$.graph_id', ?4, '$.assistant_id', ?5)", "runs", "runs + 1")
	settleThread = threadRows.update("no = ?1", "status", "?2", "error", "?3", "updated", "?4")
	expireThread = threadRows.update("no = ?1", "expires", "?2")
	advanceState = threadRows.update("no = ?1", "state_at", "?2")
	advanceHead  = threadRows.update("no = ?1", "state_at", "?2", "head", "max(coalesce(head, x''), ?3)")
	findHead     = "(SELECT max(c.id) FROM checkpoints c WHERE c.thread = ?1 AND c.ns = '')"
	refindHead   = threadRows.update("no = ?1", "head", findHead)
	withoutRun   = threadRows.update("no = ?1", "head", findHead, "runs", "runs - 1")
)

func scanThread(row scanner) (run.Thread, error) {
	var t run.Thread
	var metadata, config string
	var failure sql.NullString
	var created, updated, stateAt, expires int64
	var intact bool
	err := row.Scan(&t.ID, &t.Owner, &t.Status, &metadata, &config, &failure, &created, &updated, &stateAt, &expires, &intact)
	if err != nil {
		return t, err
	}
	if !intact {
		return t, damagedThread(t.ID)
	}
	t.Metadata, t.Config = json.RawMessage(metadata), json.RawMessage(config)
	t.CreatedAt, t.UpdatedAt, t.StateAt, t.ExpiresAt = fromMicros(created), fromMicros(updated), fromMicros(stateAt), fromMicros(expires)
	return t, decodeInto(failure, &t.Error)
}

func damagedThread(id string) error {
	return damaged(errSum, restore+", or delete the thread", "thread %q", id)
}

// CreateThread inserts a thread.
func (db *DB) CreateThread(ctx context.Context, who run.Identity, t run.Thread) (run.Thread, error) {
	err := db.write(ctx, true, func(ctx context.Context, tx *tx) (err error) {
		t, _, err = tx.createThread(ctx, who, t, 0)
		return err
	})
	return t, err
}

// createThread inserts a thread that has so many runs: one, where it is made for a run.
func (t *tx) createThread(ctx context.Context, who run.Identity, th run.Thread, runs int) (_ run.Thread, no int64, err error) {
	th.Owner = who.Owner
	if th.Status == "" {
		th.Status = run.Idle
	}
	th.Metadata, th.Config = json.RawMessage(object(th.Metadata)), json.RawMessage(object(th.Config))
	if th.UpdatedAt.IsZero() {
		th.UpdatedAt = th.CreatedAt
	}
	no, err = t.insert(ctx, insertThread, th.ID, th.Owner, string(th.Status), string(th.Metadata), string(th.Config), nil,
		micros(th.CreatedAt), micros(th.UpdatedAt), 0, nil, runs, micros(th.ExpiresAt))
	if err == nil && no == 0 {
		err = fmt.Errorf("thread %q: %w", th.ID, run.ErrExists)
	}
	return th, no, err
}

// Thread returns a thread.
func (db *DB) Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error) {
	t, err := scanThread(db.reads.row(ctx, threadSelect+" WHERE id = ? AND owner = ?", id, who.Owner))
	return t, found(err, "thread", id)
}

// contains is true of rows whose metadata has every top-level key of the object in the parameter with an
// equal value. Both sides are data: no key can become SQL.
const contains = `NOT EXISTS (SELECT 1 FROM json_each(?) want WHERE NOT EXISTS (
	SELECT 1 FROM json_each(metadata) have WHERE have.key = want.key AND have.type = want.type AND have.value IS want.value))`

// conditions gathers the parts of a WHERE clause; its texts are constants of this package.
type conditions struct {
	texts []string
	args  []any
}

func (c *conditions) add(text string, args ...any) {
	c.texts = append(c.texts, text)
	c.args = append(c.args, args...)
}

func (c *conditions) all() string { return strings.Join(c.texts, " AND ") }

func (c *conditions) where() string { return " WHERE " + c.all() }

// sortOrder picks from a fixed list; ties are broken by id so that pages do not overlap.
func sortOrder(by string, asc bool, columns map[string]string, fallback, tie string) string {
	col, ok := columns[by]
	if !ok {
		col = fallback
	}
	dir := " DESC"
	if asc {
		dir = " ASC"
	}
	return " ORDER BY " + col + dir + ", " + tie + dir
}

var threadSort = map[string]string{"thread_id": "id", "status": "status", "created_at": "created", "updated_at": "updated"}

// SearchThreads returns a page of threads and the number of all that match.
func (db *DB) SearchThreads(ctx context.Context, who run.Identity, q run.ThreadQuery) ([]run.Thread, int, error) {
	var c conditions
	c.add("owner = ?", who.Owner)
	c.add("metadata ->> '$.tributary_temporary' IS NULL") // see madeBy
	if q.Status != "" {
		c.add("status = ?", string(q.Status))
	}
	if len(q.Metadata) > 0 {
		c.add(contains, string(q.Metadata))
	}
	if len(q.IDs) > 0 {
		ids, err := json.Marshal(q.IDs)
		if err != nil {
			return nil, 0, err
		}
		c.add("id IN (SELECT value FROM json_each(?))", string(ids))
	}
	var total int
	if err := db.reads.row(ctx, "SELECT count(*) FROM threads"+c.where(), c.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if q.Limit == 0 {
		return nil, total, nil
	}
	rows, err := db.reads.query(ctx, threadSelect+c.where()+
		sortOrder(q.SortBy, q.Asc, threadSort, "created", "no")+" LIMIT ? OFFSET ?", append(c.args, q.Limit, q.Offset)...)
	list, err := collect(rows, err, scanThread)
	return list, total, err
}

// PatchThread merges metadata and sets the expiry.
func (db *DB) PatchThread(ctx context.Context, who run.Identity, id string, metadata json.RawMessage, expires *time.Time) (th run.Thread, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) (err error) {
		th, err = scanThread(tx.row(ctx, threadSelect+" WHERE id = ? AND owner = ?", id, who.Owner))
		if err != nil {
			return found(err, "thread", id)
		}
		if th.Metadata, err = mergeObjects(th.Metadata, metadata); err != nil {
			return err
		}
		if expires != nil {
			th.ExpiresAt = *expires
		}
		th.UpdatedAt = now()
		return tx.change(ctx, patchThread, id, string(th.Metadata), micros(th.UpdatedAt), micros(th.ExpiresAt))
	})
	return th, err
}

func (t *tx) threadNo(ctx context.Context, who run.Identity, id string) (int64, error) {
	var no int64
	err := t.row(ctx, "SELECT no FROM threads WHERE id = ? AND owner = ?", id, who.Owner).Scan(&no)
	return no, found(err, "thread", id)
}

// isBusy reports whether a thread has a run that has not ended.
func (t *tx) isBusy(ctx context.Context, threadNo int64) (busy bool, err error) {
	err = t.row(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE thread = ? AND "+inFlight+")", threadNo).Scan(&busy)
	return busy, err
}

// executes reports whether a thread has a run that executes.
func (t *tx) executes(ctx context.Context, threadNo int64) (busy bool, err error) {
	err = t.row(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE thread = ? AND status = 'running')", threadNo).Scan(&busy)
	return busy, err
}

// DeleteThread removes a thread and all that belongs to it. Runs that wait are removed with it.
func (db *DB) DeleteThread(ctx context.Context, who run.Identity, id string) (runs []string, err error) {
	var gone run.Thread
	err = db.writePlanned(true, func(ctx context.Context, tx *tx) error {
		no, err := tx.threadNo(ctx, who, id)
		if err != nil {
			return err
		}
		if busy, err := tx.executes(ctx, no); err != nil || busy {
			return busyOr(err, id)
		}
		gone, runs, err = tx.deleteThread(ctx, no)
		return err
	})
	if err == nil && db.gone != nil {
		db.gone([]run.Thread{gone})
	}
	return runs, err
}

func busyOr(err error, thread string) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("thread %q: %w", thread, run.ErrBusy)
}

// deleteThread says which thread it was: whose, its id, and since when.
func (t *tx) deleteThread(ctx context.Context, no int64) (gone run.Thread, runs []string, err error) {
	var created int64
	if err := t.row(ctx, "SELECT owner, id, created FROM threads WHERE no = ?", no).Scan(&gone.Owner, &gone.ID, &created); err != nil {
		return gone, nil, err
	}
	gone.CreatedAt = fromMicros(created)
	rows, err := t.query(ctx, "SELECT no, id FROM runs WHERE thread = ?", no)
	numbers, err := collect(rows, err, func(row scanner) (n int64, err error) {
		runs = append(runs, "")
		return n, row.Scan(&n, &runs[len(runs)-1])
	})
	if err != nil {
		return gone, nil, err
	}
	for _, n := range numbers {
		t.plan.remove(n)
		from, to := runKeys(n)
		if err := t.exec(ctx, "DELETE FROM journal WHERE key BETWEEN ? AND ?", from, to); err != nil {
			return gone, nil, err
		}
	}
	for _, stmt := range []string{
		"DELETE FROM cancelled_tasks WHERE run IN (SELECT no FROM runs WHERE thread = ?)",
		"DELETE FROM runs WHERE thread = ?",
		"DELETE FROM checkpoints WHERE thread = ?",
		"DELETE FROM blobs WHERE thread = ?",
		"DELETE FROM kept WHERE thread = ?",
		"DELETE FROM pieces WHERE thread = ?",
		"DELETE FROM secrets WHERE thread = ?",
		"DELETE FROM gaps WHERE thread = ?",
		"DELETE FROM follow_ups WHERE thread = (SELECT id FROM threads WHERE no = ?)",
		"DELETE FROM threads WHERE no = ?",
	} {
		if err := t.exec(ctx, stmt, no); err != nil {
			return gone, nil, err
		}
	}
	return gone, runs, nil
}

// CopyThread copies a thread's state under a new id.
func (db *DB) CopyThread(ctx context.Context, who run.Identity, id, newID string) (th run.Thread, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		from, err := tx.threadNo(ctx, who, id)
		if err != nil {
			return err
		}
		th, err = scanThread(tx.row(ctx, threadSelect+" WHERE no = ?", from))
		if err != nil {
			return err
		}
		th.ID, th.CreatedAt, th.UpdatedAt = newID, now(), time.Time{}
		if th.Status == run.Busy { // the copy has no runs
			th.Status = run.Idle
		}
		var to int64
		if th, to, err = tx.createThread(ctx, who, th, 0); err != nil {
			return err
		}
		// The copies belong to no run, so that deleting the original's runs does not reach them; which one made
		// them stays in their metadata.
		if err := tx.checkState(ctx, from, id); err != nil {
			return err
		}
		if err := tx.copyLong(ctx, to, from); err != nil {
			return err
		}
		for _, stmt := range []string{
			checkpointRows.copy("checkpoints LEFT JOIN runs r ON r.no = checkpoints.run", map[string]string{
				"metadata": "CASE WHEN r.id IS NULL THEN checkpoints.metadata ELSE json_set(coalesce(checkpoints.metadata, '{}'), '$.run_id', r.id) END"}),
			blobRows.copy("blobs", nil),
			keptRows.copy("kept", nil),
		} {
			if err := tx.exec(ctx, stmt, to, from); err != nil {
				return err
			}
		}
		if err := tx.change(ctx, advanceState, to, micros(th.StateAt)); err != nil {
			return err
		}
		return tx.change(ctx, refindHead, to)
	})
	return th, err
}

// SaveState stores checkpoints that no run made.
func (db *DB) SaveState(ctx context.Context, who run.Identity, thread string, status run.ThreadStatus, saves []graph.Save) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		no, err := tx.threadNo(ctx, who, thread)
		if err != nil {
			return err
		}
		if busy, err := tx.isBusy(ctx, no); err != nil || busy {
			return busyOr(err, thread)
		}
		for _, s := range saves {
			switch s := s.(type) {
			case graph.Commit:
				err = tx.saveCheckpoint(ctx, no, 0, s)
			case graph.Kept:
				err = tx.saveKept(ctx, no, 0, s)
			}
			if err != nil {
				return err
			}
		}
		return tx.change(ctx, settleThread, no, string(status), nil, micros(now()))
	})
}

// PruneThread keeps only the latest checkpoint of each namespace, and the values that it needs.
func (db *DB) PruneThread(ctx context.Context, who run.Identity, id string) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		no, err := tx.threadNo(ctx, who, id)
		if err != nil {
			return err
		}
		if busy, err := tx.isBusy(ctx, no); err != nil || busy {
			return busyOr(err, id)
		}
		if err := tx.checkState(ctx, no, id); err != nil {
			return err
		}
		for _, stmt := range []string{
			`DELETE FROM checkpoints WHERE thread = ?1 AND id < (SELECT max(id) FROM checkpoints c WHERE c.thread = ?1 AND c.ns = checkpoints.ns)`,
			`DELETE FROM kept WHERE thread = ?1 AND checkpoint NOT IN (SELECT id FROM checkpoints c WHERE c.thread = ?1 AND c.ns = kept.ns)`,
			// What finished tasks wrote may be stored in versions that go now.
			forgetDone.sealed,
			cutOff.sealed,
			`DELETE FROM blobs WHERE thread = ?1 AND ` + unused,
		} {
			if err := tx.exec(ctx, stmt, no); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sweep deletes up to n threads and items whose time has come, and returns the runs that went with them.
func (db *DB) Sweep(ctx context.Context, at time.Time, n int) (runs []string, err error) {
	var gone []run.Thread
	err = db.writePlanned(false, func(ctx context.Context, tx *tx) error {
		gone, runs = nil, nil
		rows, err := tx.query(ctx, `SELECT no FROM threads t WHERE expires > 0 AND expires <= ?
			AND NOT EXISTS (SELECT 1 FROM runs WHERE thread = t.no AND `+inFlight+`)
			AND NOT EXISTS (SELECT 1 FROM follow_ups f WHERE f.thread = t.id AND f.parked = 0) LIMIT ?`, micros(at), n)
		due, err := collect(rows, err, func(row scanner) (no int64, err error) { return no, row.Scan(&no) })
		if err != nil {
			return err
		}
		for _, no := range due {
			thread, ended, err := tx.deleteThread(ctx, no)
			if err != nil {
				return err
			}
			gone, runs = append(gone, thread), append(runs, ended...)
		}
		return tx.exec(ctx, "DELETE FROM items WHERE expires > 0 AND expires <= ?", micros(at))
	})
	if err == nil && db.gone != nil && len(gone) > 0 {
		db.gone(gone)
	}
	return runs, err
}
