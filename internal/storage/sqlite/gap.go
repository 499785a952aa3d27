package sqlite

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/internal/run"
)

var (
	putGap  = gapRows.insert() + " ON CONFLICT DO UPDATE SET count = excluded.count, sum = excluded.sum WHERE excluded.count > count"
	gapsSQL = "SELECT g.at, g.count, " + gapRows.intact("g") + " FROM gaps g JOIN threads t ON t.no = g.thread WHERE t.id = ? AND t.owner = ? ORDER BY g.at"
)

// NoteGap remembers numbers that nothing may get again.
func (db *DB) NoteGap(ctx context.Context, who run.Identity, thread string, g run.Gap) error {
	return db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		no, err := tx.threadNo(ctx, who, thread)
		if err != nil {
			return err
		}
		return tx.exec(ctx, putGap, no, micros(g.At), int64(g.Count))
	})
}

// Gaps lists a thread's, in the order of their times.
func (db *DB) Gaps(ctx context.Context, who run.Identity, thread string) ([]run.Gap, error) {
	rows, err := db.reads.query(ctx, gapsSQL, thread, who.Owner)
	return collect(rows, err, func(row scanner) (g run.Gap, err error) {
		var at, count int64
		var intact bool
		if err := row.Scan(&at, &count, &intact); err != nil {
			return g, err
		}
		if !intact {
			return g, damaged(errSum, restore+", or delete the thread", "a gap in the numbers of thread %q", thread)
		}
		return run.Gap{At: fromMicros(at), Count: uint64(count)}, nil
	})
}

// mostCancelled bounds what is kept of one run.
const mostCancelled = 1000

// RequestTaskCancel notes that a sub-agent is to stop.
func (db *DB) RequestTaskCancel(ctx context.Context, who run.Identity, id, task string) (r run.Run, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		if r, err = scanRun(tx.row(ctx, runSelect+" WHERE id = ? AND owner = ?", id, who.Owner)); err != nil || r.Status.Ended() {
			return found(err, "run", id)
		}
		n, err := tx.execCount(ctx, `INSERT INTO cancelled_tasks (run, task) SELECT no, ?2 FROM runs WHERE id = ?1
			AND (SELECT count(*) FROM cancelled_tasks c WHERE c.run = runs.no) < ?3 ON CONFLICT DO UPDATE SET task = excluded.task`, id, task, mostCancelled)
		if err == nil && n == 0 {
			err = fmt.Errorf("run %q has %d sub-agents that were cancelled: %w", id, mostCancelled, run.ErrTooMany)
		}
		return err
	})
	return r, err
}

// CancelledTasks lists the sub-agents of a run that are to stop.
func (db *DB) CancelledTasks(ctx context.Context, id string) ([]string, error) {
	rows, err := db.reads.query(ctx, "SELECT c.task FROM cancelled_tasks c JOIN runs r ON r.no = c.run WHERE r.id = ? ORDER BY c.task", id)
	return collect(rows, err, func(row scanner) (task string, err error) { return task, row.Scan(&task) })
}
