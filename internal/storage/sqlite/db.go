// Package sqlite keeps everything in one SQLite file: journals, checkpoints, threads, runs, assistants,
// long-term memory.
//
// # How it writes
//
// One goroutine owns the one connection that writes. Operations queue up for it; it takes all that are waiting,
// runs them in one transaction, commits, and answers each. Under load a commit is thus shared by many
// operations, and without load none waits for another (see [writer]). A transaction is flushed to the disk
// itself if any operation in it asks for that; the others survive the death of the process. A second
// connection moves the write-ahead log into the file, so that no commit ever pays for it. When much was deleted, the file
// becomes shorter again, a megabyte at a time between commits.
//
// # How it keeps tokens
//
// The events of a commit that come with nothing to save, of all runs, are one row of a table that is only appended to, a segment. They become rows of their
// runs' journals when the run saves something, ends, or has gathered enough of them; nobody outside of this package sees a difference, also
// after a crash (see segments.go). Who may write a run is remembered, so that a token need not ask (see lease.go).
//
// # How it reads
//
// Readers have a few connections of their own and see committed transactions only.
//
// # How it keeps long texts
//
// What is long and comes several times, such as a page that a tool fetched, is kept once for its thread, in pieces, and given back
// to the byte; nobody outside of this package sees a difference (see long.go).
//
// # What it does about damage
//
// Rows that hold something of a user's carry a checksum, which is checked whenever they are read or changed; events have
// one of their own, see package journal. Rows that must be there are known by others that name them. What is lost is
// told by a [run.DamageError]; nothing else is served in its place. A damaged write-ahead log is copied and told when the
// database is opened, before SQLite leaves out a part of it; package wal says what can be found and what not.
//
// # One process
//
// A data folder belongs to one process at a time: [Open] takes a lock on it, and answers [ErrLocked] if somebody
// else has it. [Options.ReadOnly] needs no lock and may look on while another process works.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// ErrLocked says that another process has the data folder open.
var ErrLocked = errors.New("the data folder is in use by another process")

// fileName is the database's, in its folder.
const fileName = "tributary.db"

// Options are the settings of a database; the zero value is sensible.
type Options struct {
	// ReadOnly opens an existing file for looking at it.
	ReadOnly bool
	// Readers is the number of reading connections. Default 4.
	Readers int
	// CheckpointEvery is how often the write-ahead log is moved into the file. Default 250 ms.
	CheckpointEvery time.Duration
	// Log is told what was found to be damaged, and what was done about it. Default: nobody.
	Log *slog.Logger
	// LogBytes is how long the write-ahead log may become before the writer is held up, for some milliseconds, so that
	// it can begin anew. Default 64 MiB.
	LogBytes int
	// Gone is told of threads that were deleted or have expired, once that is stored; nil: nobody is. What it does is done
	// before the deletion is answered.
	Gone func([]run.Thread)
}

// DB is an open database.
type DB struct {
	path   string
	badLog []string // what was found in the log of a database that is only looked at
	lock   *os.File
	read   *sql.DB
	reads  statements
	writer *writer
	gone   func([]run.Thread)

	stop chan struct{}
	wg   sync.WaitGroup
}

var (
	_ journal.Store      = (*DB)(nil)
	_ graph.Checkpointer = (*DB)(nil)
	_ graph.HeadReader   = (*DB)(nil)
	_ run.Store          = (*DB)(nil)
	_ run.Assistants     = (*DB)(nil)
	_ run.Items          = (*DB)(nil)
)

// Open opens the database in a folder, making both if they are missing.
func Open(ctx context.Context, dir string, opt Options) (*DB, error) {
	if opt.Readers <= 0 {
		opt.Readers = 4
	}
	if opt.CheckpointEvery <= 0 {
		opt.CheckpointEvery = 250 * time.Millisecond
	}
	if opt.LogBytes <= 0 {
		opt.LogBytes = 64 << 20
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	path := filepath.Join(dir, fileName)
	if opt.ReadOnly {
		return openReadOnly(ctx, path, opt)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	db := &DB{path: path, lock: lock, gone: opt.Gone, stop: make(chan struct{})}
	if err := db.open(ctx, path, opt); err != nil {
		db.closeFiles()
		return nil, startError(path, err)
	}
	return db, nil
}

func openReadOnly(ctx context.Context, path string, opt Options) (*DB, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("no database to read: %w; tributary serve or chat makes one at its first start", err)
	}
	db := &DB{path: path, stop: make(chan struct{})}
	db.lookAtLog(opt.Log)
	err := db.look(ctx, opt.Readers, "mode=ro")
	if err != nil && settled(path) {
		// On a disk that is read-only SQLite cannot make what it shares with others; there are none, and there is no log.
		err = db.look(ctx, opt.Readers, "mode=ro&immutable=1")
	}
	if err != nil {
		db.closeFiles()
		return nil, startError(path, err)
	}
	return db, nil
}

// look opens the connections of a database that is only looked at.
func (db *DB) look(ctx context.Context, readers int, mode string) error {
	read, err := connect(db.path, readers, mode)
	if err != nil {
		return err
	}
	if err := read.PingContext(ctx); err != nil {
		return errors.Join(err, read.Close())
	}
	db.read, db.reads.db = read, read
	return nil
}

// settled reports whether all of a database is in its file, and nobody works on it.
func settled(path string) bool {
	log, err := os.Stat(path + "-wal")
	_, held := Holder(filepath.Dir(path))
	return !held && (errors.Is(err, fs.ErrNotExist) || err == nil && log.Size() == 0)
}

// lockFolder takes the lock that the operating system lets go of when the process dies, however it dies.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(path)
		_ = f.Close()
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			return nil, fmt.Errorf("%s: %w (pid %s)", dir, ErrLocked, pid)
		}
		return nil, fmt.Errorf("%s: %w", dir, ErrLocked)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0) // only a hint for the message above
	}
	return f, nil
}

// Holder says which process has a folder open, if one has; pid may be empty. It does not make a lock where none is.
func Holder(dir string) (pid string, held bool) {
	path := filepath.Join(dir, "lock")
	f, err := os.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", false
	}
	holder, _ := os.ReadFile(path)
	return strings.TrimSpace(string(holder)), true
}

func (db *DB) open(ctx context.Context, path string, opt Options) error {
	if err := Unfinished(filepath.Dir(path)); err != nil {
		return err
	}
	if err := mendLog(path, opt.Log); err != nil {
		return err
	}
	if err := prepareFile(ctx, path); err != nil {
		return err
	}
	write, err := connect(path, 1, "_txlock=immediate")
	if err != nil {
		return err
	}
	if err := migrate(ctx, write, path, opt.Log); err != nil {
		return errors.Join(err, write.Close())
	}
	left, err := foldAll(ctx, write, opt.Log)
	if err != nil {
		return errors.Join(err, write.Close())
	}
	if db.writer, err = startWriter(ctx, write, left); err != nil {
		return errors.Join(err, write.Close())
	}
	if db.read, err = connect(path, opt.Readers, "_pragma=query_only(1)"); err != nil {
		return err
	}
	db.reads = statements{db: db.read}
	mover, err := connect(path, 1, "")
	if err != nil {
		return err
	}
	file, err := os.Stat(path)
	if err != nil {
		return errors.Join(err, mover.Close())
	}
	db.wg.Add(1)
	go db.moveLog(mover, opt, func() { db.writer.lookFor(path, file) })
	return nil
}

func connect(path string, conns int, extra string) (*sql.DB, error) {
	q := "_pragma=busy_timeout(10000)&_pragma=cache_size(-4096)&_pragma=wal_autocheckpoint(0)&_pragma=foreign_keys(0)"
	if extra != "" {
		q += "&" + extra
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q}).String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	return db, nil
}

// moveLog moves the write-ahead log into the file from time to time, beside the writer and not in its way.
// It also looks whether the file is still there. It belongs to Open and Close.
func (db *DB) moveLog(conn *sql.DB, opt Options, look func()) {
	defer db.wg.Done()
	defer conn.Close()
	tick := time.NewTicker(opt.CheckpointEvery)
	defer tick.Stop()
	var seen uint64
	for {
		select {
		case <-tick.C:
			look()
			if n := db.writer.commits.Load(); n != seen {
				seen = n
				db.moveOnce(conn, opt.LogBytes/pageBytes)
			}
		case <-db.stop:
			_, _ = conn.ExecContext(context.Background(), "PRAGMA wal_checkpoint(TRUNCATE)")
			return
		}
	}
}

// pageBytes is the size of a page, SQLite's default.
const pageBytes = 4096

// moveOnce moves what there is. Under load more is written meanwhile, so that the log is never moved as a whole, which
// it must be to begin anew: when it has more than a number of pages, what came meanwhile is moved too, and the rest is left to the writer.
// Busy is no error: the next tick tries again.
func (db *DB) moveOnce(conn *sql.DB, max int) {
	const move = "PRAGMA wal_checkpoint(PASSIVE)"
	ctx := context.Background()
	var busy, pages, moved int
	err := conn.QueryRowContext(ctx, move).Scan(&busy, &pages, &moved)
	if err == nil && pages > max {
		_, _ = conn.ExecContext(ctx, move)
		db.writer.long.Store(true)
	}
	var free, all int
	err = conn.QueryRowContext(ctx, "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count").Scan(&free, &all)
	if err == nil && free > freePages && free > all/4 {
		db.writer.sparse.Store(true)
		db.writer.wake()
	}
}

// freePages is how many pages of what was deleted are kept for what will be written. Of a large file it is a quarter; what is
// more than both is given back to the file system.
const freePages = 1024

// Close finishes the operations that are queued and closes the file.
func (db *DB) Close() error {
	var err error
	if db.writer != nil {
		err = db.writer.close()
	}
	close(db.stop)
	db.wg.Wait()
	db.closeFiles()
	return err
}

func (db *DB) closeFiles() {
	if db.read != nil {
		_ = db.reads.close()
		_ = db.read.Close()
	}
	if db.lock != nil {
		_ = db.lock.Close() // lets go of the lock
	}
}
