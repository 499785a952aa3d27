package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// What an earlier process left in segments becomes rows of the journal before anybody reads or writes. A process may die in between: what
// is a row already is found to be one, and segments are deleted last.

// foldBytes is about how much is folded in one transaction, and foldSegments how many segments are deleted in one.
const (
	foldBytes    = 1 << 20
	foldSegments = 256
)

// folding is what foldAll knows.
type folding struct {
	db    *sql.DB
	log   *slog.Logger
	parts map[int64][]journal.Chunk // by the run's number
	lost  bool                      // something could not be read or folded
}

// foldAll folds all segments. Damage of the file keeps nobody from starting: what can be folded is, it is told what cannot, and the
// segments are set aside, as they are.
func foldAll(ctx context.Context, db *sql.DB, log *slog.Logger) (*segments, error) {
	f := &folding{db: db, log: log, parts: map[int64][]journal.Chunk{}}
	var last int64
	broken, err := scanSegments(ctx, db, func(no int64, parts []part) {
		last = no
		for _, p := range parts {
			f.parts[p.no] = append(f.parts[p.no], p.Chunk)
		}
	})
	if err := f.tell(err, "of which runs cannot be known"); err != nil {
		return nil, err
	}
	for _, no := range broken {
		f.lost = true
		log.Error("a segment of the journals is damaged: runs that had not ended may have lost their newest events", "segment", no)
	}
	if err := f.foldRuns(ctx); err != nil {
		return nil, err
	}
	if f.lost {
		// Where not even that can be done, whoever writes is told.
		return newSegments(last + 1), f.tell(f.setAside(ctx), "they cannot be set aside")
	}
	return newSegments(last + 1), deleteSegments(ctx, db, last)
}

// tell notes an error that says that something is damaged; another is returned.
func (f *folding) tell(err error, of string) error {
	var damage *run.DamageError
	if err = classify(err); !errors.As(err, &damage) {
		return err
	}
	f.lost = true
	f.log.Error("the newest events of runs that had not ended cannot be read", "of", of, "error", err)
	return nil
}

// foldRuns folds some runs at a time; where that fails because of damage, one at a time.
func (f *folding) foldRuns(ctx context.Context) error {
	runs := slices.Sorted(maps.Keys(f.parts))
	for len(runs) > 0 {
		n := 0
		for size := 0; n < len(runs) && size < foldBytes; n++ {
			for _, c := range f.parts[runs[n]] {
				size += len(c.Data)
			}
		}
		err := f.fold(ctx, runs[:n]...)
		if errors.As(classify(err), new(*run.DamageError)) {
			for _, no := range runs[:n] {
				if err = f.tell(f.fold(ctx, no), fmt.Sprint("the run with number ", no)); err != nil {
					break
				}
			}
		}
		if err != nil {
			return err
		}
		runs = runs[n:]
	}
	return nil
}

func (f *folding) fold(ctx context.Context, runs ...int64) error {
	return transact(ctx, f.db, func(tx *sql.Tx) error {
		for _, no := range runs {
			if err := foldRun(ctx, tx, no, f.parts[no]); err != nil {
				return fmt.Errorf("fold the run with number %d: %w", no, err)
			}
		}
		return nil
	})
}

// asidePrefix is how the names of tables begin that have segments which could not be folded. Nobody reads them.
const asidePrefix = "lost_segments_"

func (f *folding) setAside(ctx context.Context) error {
	return transact(ctx, f.db, func(tx *sql.Tx) error {
		var n int
		if err := tx.QueryRowContext(ctx, asideCount).Scan(&n); err != nil {
			return err
		}
		name := fmt.Sprint(asidePrefix, n+1)
		f.log.Error("the segments were set aside, as they are", "table", name)
		_, err := tx.ExecContext(ctx, "ALTER TABLE segments RENAME TO "+name+";"+version7)
		return err
	})
}

const asideCount = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name LIKE '" + asidePrefix + "%'"

// foldRun makes rows of the parts of a run that are not rows yet. Of a run that is not there, nothing is made.
func foldRun(ctx context.Context, tx *sql.Tx, no int64, parts []journal.Chunk) error {
	from, to := runKeys(no)
	var id string
	var last uint64
	err := tx.QueryRowContext(ctx, `SELECT id, coalesce((SELECT last FROM journal WHERE key BETWEEN ? AND ? ORDER BY key DESC LIMIT 1), 0)
		FROM runs WHERE no = ?`, from, to, no).Scan(&id, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, c := range joined(outstanding(id, last, parts)) {
		if c.Last > maxSeq || no > maxRuns {
			return fmt.Errorf("there is no place for event %d", c.Last)
		}
		_, err := tx.ExecContext(ctx, insertRow, journalKey(no, c.First), int64(c.Last), c.Epoch, int64(c.Sum), c.Data)
		if err != nil {
			return err
		}
	}
	return nil
}

// outstanding are the parts of a run that count, given the last event in its rows.
func outstanding(runID string, last uint64, parts []journal.Chunk) []journal.Chunk {
	var out []journal.Chunk
	for _, c := range parts {
		if c.Last > last {
			c.Run, last = runID, c.Last
			out = append(out, c)
		}
	}
	return out
}

func deleteSegments(ctx context.Context, db *sql.DB, last int64) error {
	for {
		res, err := db.ExecContext(ctx, "DELETE FROM segments WHERE no IN (SELECT no FROM segments WHERE no <= ? ORDER BY no LIMIT ?)", last, foldSegments)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n < foldSegments {
			return err
		}
	}
}

// scanSegments calls f with the parts of each segment, in order, and returns the numbers of those whose parts cannot be known.
func scanSegments(ctx context.Context, db *sql.DB, f func(no int64, parts []part)) (broken []int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT no, data FROM segments ORDER BY no")
	_, err = collect(rows, classify(err), func(row scanner) (struct{}, error) {
		var no int64
		var data []byte
		if err := row.Scan(&no, &data); err != nil {
			return struct{}{}, err
		}
		parts, err := decodeSegment(no, data)
		if err != nil {
			broken = append(broken, no)
		} else {
			f(no, parts)
		}
		return struct{}{}, nil
	})
	return broken, err
}

// storedParts reads what is in segments, by the runs' numbers, for those who look at a file that another process may write. A file of an older
// version has none.
func (db *DB) storedParts(ctx context.Context) (by map[int64][]journal.Chunk, broken []int64, err error) {
	n, err := db.count(ctx, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'segments'")
	if err != nil || n == 0 {
		return nil, nil, err
	}
	by = map[int64][]journal.Chunk{}
	broken, err = scanSegments(ctx, db.read, func(_ int64, parts []part) {
		for _, p := range parts {
			by[p.no] = append(by[p.no], p.Chunk)
		}
	})
	return by, broken, err
}
