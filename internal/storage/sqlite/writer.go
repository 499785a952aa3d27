package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	driver "modernc.org/sqlite"

	"github.com/tributary-ai/tributary/internal/run"
)

// writer runs all writing operations on one connection, in group commits: while one transaction is being
// committed the next operations gather, and then share the next.
type writer struct {
	db   *sql.DB
	conn *sql.Conn
	tx   *tx

	segments *segments

	commits atomic.Uint64
	gone    atomic.Bool // the file is no longer where it was; what is written to it now would be lost
	long    atomic.Bool // the write-ahead log should begin anew
	sparse  atomic.Bool // the file has more free pages than it should
	disk    bool        // what PRAGMA synchronous says now

	mu      sync.Mutex
	queue   []*op
	closed  bool
	kick    chan struct{}
	stopped chan struct{}
}

// op is one operation. Its do runs in a transaction that it shares; if it fails, what it did is undone and
// the others go on. It may be run a second time then, after all that it did the first time was undone.
type op struct {
	do     func(ctx context.Context, tx *tx) error
	disk   bool
	weight int  // about how many bytes it writes, where they are many
	known  bool // it changes no leases, or forgets those that it changes; see [leases]
	plans  bool // it may change segments; see [plan]
	adds   bool // it may add to segments; one in a transaction does
	err    error
	done   chan struct{}
}

// heavyBytes is from where on an operation takes so long that others would have to wait for it.
const heavyBytes = 256 << 10

var errReadOnly = errors.New("the database is open for reading only")

var errWriterClosed = fmt.Errorf("the database is closed: %w", run.ErrUnavailable)

func startWriter(ctx context.Context, db *sql.DB, segments *segments) (*writer, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{db: db, conn: conn, segments: segments, kick: make(chan struct{}, 1), stopped: make(chan struct{})}
	w.tx = &tx{statements: statements{conn: conn}}
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return nil, err
	}
	go w.loop()
	return w, nil
}

// write runs an operation and returns when it is committed: with disk, when it is on the disk itself.
func (db *DB) write(ctx context.Context, disk bool, do func(ctx context.Context, tx *tx) error) error {
	if db.writer == nil {
		return errReadOnly
	}
	return db.writer.run(&op{do: do, disk: disk})
}

// writeMuch is writeKnown for an operation of so many bytes. Of those that are heavy one at a time is in a transaction, so that
// what is small never waits for two of them.
func (db *DB) writeMuch(weight int, disk bool, do func(ctx context.Context, tx *tx) error) error {
	if db.writer == nil {
		return errReadOnly
	}
	return db.writer.run(&op{do: do, disk: disk, weight: weight, known: true})
}

// writePlanned is write for an operation that may remove runs, and with them what segments have of them.
func (db *DB) writePlanned(disk bool, do func(ctx context.Context, tx *tx) error) error {
	if db.writer == nil {
		return errReadOnly
	}
	return db.writer.run(&op{do: do, disk: disk, plans: true})
}

// writeKnown is write for an operation that changes no leases, or forgets those that it changes.
func (db *DB) writeKnown(disk bool, do func(ctx context.Context, tx *tx) error) error {
	return db.writeMuch(0, disk, do)
}

func (w *writer) run(o *op) error {
	o.done = make(chan struct{})
	w.mu.Lock()
	if w.closed || w.gone.Load() {
		defer w.mu.Unlock()
		if w.closed {
			return errWriterClosed
		}
		return damaged(errMissing, "put the file back, or stop the program and "+restore, "the database file")
	}
	w.queue = append(w.queue, o)
	w.mu.Unlock()
	w.wake()
	// The operation is carried out whatever becomes of ctx: whoever hangs up must not leave others
	// guessing whether it was done.
	<-o.done
	return classify(o.err)
}

// lookFor notes whether the file that is open is the one in its place. One that was deleted or replaced can still be written to,
// and all of that would be lost with the process.
func (w *writer) lookFor(path string, file os.FileInfo) {
	now, err := os.Stat(path)
	w.gone.Store(errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(file, now))
}

// wake makes the loop look what there is to do.
func (w *writer) wake() {
	select {
	case w.kick <- struct{}{}:
	default: // it will look anyway
	}
}

// loop belongs to startWriter and close.
func (w *writer) loop() {
	defer close(w.stopped)
	for range w.kick {
		w.mu.Lock()
		ops := w.takeOps()
		closed := w.closed && len(w.queue) == 0
		w.mu.Unlock()
		if len(ops) > 0 {
			w.commit(ops)
		}
		if w.long.Swap(false) {
			w.beginLogAnew()
		}
		if w.sparse.Swap(false) {
			w.shrink()
		}
		if closed {
			return
		}
	}
}

// takeOps returns the operations of the next transaction: all light ones, the first that is heavy, and the first that adds to
// segments. The loop looks again for what is left.
func (w *writer) takeOps() []*op {
	ops := w.queue
	w.queue = nil
	heavy, adds := false, false
	now := ops[:0]
	for _, o := range ops {
		if o.weight >= heavyBytes && heavy || o.adds && adds {
			w.queue = append(w.queue, o)
			continue
		}
		heavy, adds = heavy || o.weight >= heavyBytes, adds || o.adds
		now = append(now, o)
	}
	if len(w.queue) > 0 {
		w.wake()
	}
	return now
}

// beginLogAnew moves the little of the log that is left to move, so that the next commit is written to its beginning.
// Readers that still need the log are waited for, but not long; whether it worked is seen by the log's length.
func (w *writer) beginLogAnew() {
	for _, stmt := range []string{"PRAGMA busy_timeout = 20", "PRAGMA wal_checkpoint(RESTART)", "PRAGMA busy_timeout = 10000"} {
		_, _ = w.conn.ExecContext(context.Background(), stmt)
	}
}

// shrink gives some free pages back. That counts as a commit: the log has grown by it, and there may be more to give back.
// Whether it worked is seen by how many are left.
func (w *writer) shrink() {
	const pages = 256 // a megabyte, so that nobody waits long
	rows, err := w.conn.QueryContext(context.Background(), fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return
	}
	for rows.Next() { // a row for each page
	}
	if errors.Join(rows.Err(), rows.Close()) == nil {
		w.commits.Add(1)
	}
}

func (w *writer) commit(ops []*op) {
	ctx := context.Background()
	err := w.transact(ctx, ops)
	if err == nil {
		w.commits.Add(1)
	}
	for _, o := range ops {
		if err != nil {
			o.err = err
		}
		close(o.done)
	}
}

// transact runs the operations in one transaction. An error means that none of them happened.
func (w *writer) transact(ctx context.Context, ops []*op) error {
	disk := false
	for _, o := range ops {
		disk = disk || o.disk
	}
	if err := w.setDisk(ctx, disk); err != nil {
		return err
	}
	defer func() { w.tx.plan = nil }()
	if err := w.tx.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := w.runAll(ctx, ops)
	if errors.Is(err, errUndo) && len(ops) == 1 {
		return w.rollback(ctx) // the operation's own error is told by itself
	}
	if errors.Is(err, errUndo) {
		if err = w.startOver(ctx); err == nil {
			err = w.runEach(ctx, ops)
		}
	}
	if err == nil && w.tx.plan != nil {
		err = w.tx.plan.finish(ctx, w.tx)
	}
	if err == nil {
		err = w.tx.exec(ctx, "COMMIT")
	}
	if err != nil {
		return errors.Join(err, w.rollback(ctx))
	}
	if w.tx.plan != nil {
		w.tx.plan.carryOut()
	}
	return nil
}

// errUndo says that an operation failed that had changed something already.
var errUndo = errors.New("an operation is to be undone")

// runAll runs operations without savepoints, each of which would cost SQLite a copy of every page that it changes. That is enough as
// long as none fails behind a change of its own.
func (w *writer) runAll(ctx context.Context, ops []*op) error {
	for _, o := range ops {
		before := w.tx.changes
		if o.err = w.carry(ctx, o); o.err == nil {
			continue
		}
		// After an error of SQLite's own the whole transaction may be gone.
		if w.tx.changes != before || errors.As(o.err, new(*driver.Error)) {
			return errUndo
		}
	}
	return nil
}

// runEach runs operations so that the failure of one leaves no trace of it.
func (w *writer) runEach(ctx context.Context, ops []*op) error {
	for _, o := range ops {
		if err := w.tx.exec(ctx, "SAVEPOINT op"); err != nil {
			return err
		}
		if o.err = w.carry(ctx, o); o.err != nil {
			if err := w.tx.exec(ctx, "ROLLBACK TO op"); err != nil {
				return err
			}
		}
		if err := w.tx.exec(ctx, "RELEASE op"); err != nil {
			return err
		}
	}
	return nil
}

// startOver ends a transaction and begins another.
func (w *writer) startOver(ctx context.Context) error {
	if err := w.rollback(ctx); err != nil {
		return err
	}
	return w.tx.exec(ctx, "BEGIN IMMEDIATE")
}

// carry runs what an operation does. Of one that fails nothing is left in the plan, and nothing that was learned by it.
func (w *writer) carry(ctx context.Context, o *op) error {
	var before *plan
	if o.plans {
		if before = w.tx.plan.copy(); before == nil {
			w.tx.plan = w.segments.plan()
		}
	}
	err := o.do(ctx, w.tx)
	if err != nil && o.plans {
		w.tx.plan = before
	}
	if err != nil || !o.known {
		w.tx.leases.forgetAll()
	}
	return err
}

// rollback ends a transaction that failed. SQLite may have ended it already, which is no error then.
func (w *writer) rollback(ctx context.Context) error {
	w.tx.plan = nil
	w.tx.leases.forgetAll()
	_, _ = w.conn.ExecContext(ctx, "ROLLBACK")
	return nil
}

func (w *writer) setDisk(ctx context.Context, disk bool) error {
	if disk == w.disk {
		return nil
	}
	mode := "PRAGMA synchronous = NORMAL"
	if disk {
		mode = "PRAGMA synchronous = FULL"
	}
	if err := w.tx.exec(ctx, mode); err != nil {
		return err
	}
	w.disk = disk
	return nil
}

func (w *writer) close() error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return nil
	}
	w.closed = true
	w.mu.Unlock()
	w.wake()
	<-w.stopped
	return errors.Join(w.tx.close(), w.conn.Close(), w.db.Close())
}

// tx is the writing transaction, as operations see it.
type tx struct {
	statements
	changes int64 // rows that were changed so far; at least as many as were
	leases  leases
	plan    *plan // of the operations that have one; nil before the first of them
}

// statements runs SQL, preparing each text once. The writer's belongs to its goroutine; the readers' is shared.
type statements struct {
	conn *sql.Conn
	db   *sql.DB
	mu   sync.Mutex
	all  map[string]*sql.Stmt
}

func (s *statements) prepare(ctx context.Context, text string) (*sql.Stmt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if st := s.all[text]; st != nil {
		return st, nil
	}
	var st *sql.Stmt
	var err error
	if s.conn != nil {
		st, err = s.conn.PrepareContext(ctx, text)
	} else {
		st, err = s.db.PrepareContext(ctx, text)
	}
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = map[string]*sql.Stmt{}
	}
	s.all[text] = st
	return st, nil
}

func (t *tx) exec(ctx context.Context, text string, args ...any) error {
	_, err := t.execCount(ctx, text, args...)
	return err
}

// execCount returns the number of rows that changed.
func (t *tx) execCount(ctx context.Context, text string, args ...any) (int64, error) {
	res, err := t.execResult(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// insert returns the number of a new row; 0 if there is none because of a conflict.
func (t *tx) insert(ctx context.Context, text string, args ...any) (no int64, err error) {
	res, err := t.execResult(ctx, text, args...)
	if err != nil {
		return 0, err
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, err
	}
	return res.LastInsertId()
}

func (t *tx) execResult(ctx context.Context, text string, args ...any) (sql.Result, error) {
	st, err := t.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return nil, err
	}
	n, err := res.RowsAffected()
	t.changes += n
	return res, err
}

// change makes a change; see [change].
func (t *tx) change(ctx context.Context, c change, args ...any) error {
	_, err := t.changeCount(ctx, c, args...)
	return err
}

func (t *tx) changeCount(ctx context.Context, c change, args ...any) (int64, error) {
	n, err := t.execCount(ctx, c.sealed, args...)
	if err == nil && n == 0 {
		return t.execCount(ctx, c.plain, args...)
	}
	return n, err
}

func (s *statements) query(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	st, err := s.prepare(ctx, text)
	if err != nil {
		return nil, classify(err)
	}
	rows, err := st.QueryContext(ctx, args...)
	return rows, classify(err)
}

func (s *statements) row(ctx context.Context, text string, args ...any) scanner {
	st, err := s.prepare(ctx, text)
	if err != nil {
		return failedRow{classify(err)}
	}
	return classified{st.QueryRowContext(ctx, args...)}
}

func (s *statements) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, st := range s.all {
		errs = append(errs, st.Close())
	}
	return errors.Join(errs...)
}

// scanner is a row: *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// Commits is the number of transactions that were committed since the database was opened.
func (db *DB) Commits() uint64 { return db.writer.commits.Load() }
