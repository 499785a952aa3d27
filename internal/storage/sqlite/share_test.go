package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// step is something that an operation of the test does.
type step int

const (
	glance step = iota // reads
	put                // writes a row
	refuse             // fails with an error of the operation's own
	clash              // fails with an error of SQLite's
)

var errRefused = errors.New("refused")

// Operations share a transaction, and each of them happens as a whole or not at all, whatever becomes of the others.
func TestOperationsOfATransactionFailAlone(t *testing.T) {
	db := openPlain(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		steps := rapid.SampledFrom([]step{glance, put, put, put, refuse, clash})
		plans := rapid.SliceOfN(rapid.SliceOfN(steps, 1, 4), 1, 6).Draw(t, "plans")
		var ops []*op
		var want []string
		for i, plan := range plans {
			ops = append(ops, &op{done: make(chan struct{}), do: carryOut(plan, round, i)})
			if at := slices.IndexFunc(plan, func(s step) bool { return s >= refuse }); at >= 0 {
				continue
			}
			for k, s := range plan {
				if s == put {
					want = append(want, putName(round, i, k))
				}
			}
		}
		before := db.Commits()
		db.writer.mu.Lock()
		db.writer.queue = append(db.writer.queue, ops...)
		db.writer.mu.Unlock()
		db.writer.wake()
		for i, o := range ops {
			<-o.done
			first := slices.IndexFunc(plans[i], func(s step) bool { return s >= refuse })
			switch {
			case first < 0 && o.err != nil:
				t.Fatalf("operation %d of %v failed: %v", i, plans, o.err)
			case first >= 0 && o.err == nil:
				t.Fatalf("operation %d of %v did not fail", i, plans)
			case first >= 0 && (plans[i][first] == refuse) != errors.Is(o.err, errRefused):
				t.Fatalf("operation %d of %v failed with %v", i, plans, o.err)
			}
		}
		if n := db.Commits() - before; n != 1 {
			t.Fatalf("%v took %d transactions, want one", plans, n)
		}
		rows, err := db.reads.query(context.Background(), "SELECT key FROM meta WHERE key GLOB ? ORDER BY key", fmt.Sprintf("row %06d *", round))
		got, err := collect(rows, err, func(row scanner) (key string, err error) { return key, row.Scan(&key) })
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("after %v there are %q, want %q; %v", plans, got, want, err)
		}
	})
}

func putName(round, op, step int) string { return fmt.Sprintf("row %06d %d %d", round, op, step) }

// carryOut is an operation that does what a plan says.
func carryOut(plan []step, round, i int) func(context.Context, *tx) error {
	return func(ctx context.Context, tx *tx) error {
		for k, s := range plan {
			var err error
			switch s {
			case glance:
				var n int
				err = tx.row(ctx, "SELECT count(*) FROM meta").Scan(&n)
			case put:
				err = tx.exec(ctx, "INSERT INTO meta (key, value) VALUES (?, '')", putName(round, i, k))
			case refuse:
				err = errRefused
			case clash: // every database has a name
				err = tx.exec(ctx, "INSERT INTO meta (key, value) VALUES ('node', '')")
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}
