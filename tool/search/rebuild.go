package search

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// aside is what the name of a damaged index ends in. It may have been something else than an index, so it is not deleted.
const aside = ".damaged"

// errTorn is for rows that do not fit together.
var errTorn = errors.New("the tables of the index do not fit together")

// damaged reports whether an error can only mean that the index is not as we wrote it. A constraint that fails, or a table that is
// missing, is damage too: what we ask is always the same, and right.
func damaged(err error) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, errTorn) {
		return true
	}
	var e *driver.Error
	if !errors.As(err, &e) {
		return strings.HasPrefix(err.Error(), "sql: Scan error")
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_CONSTRAINT, lib.SQLITE_ERROR, lib.SQLITE_FORMAT, lib.SQLITE_MISMATCH:
		return true
	}
	return e.Code() == lib.SQLITE_IOERR_SHORT_READ
}

// Examine reads an index and says whether it is damaged. It changes nothing, and whoever has it open may work on.
func Examine(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(10000)")
	if err != nil {
		return err
	}
	defer db.Close()
	var app int
	var sound string
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return err
	}
	if app != applicationID {
		return errors.New("it is no search index of tributary's")
	}
	if err := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound); err != nil {
		return err
	}
	if sound != "ok" {
		return errors.New(sound)
	}
	return nil
}

// renew puts a damaged index out of the way and begins a new one. The caller holds refreshing and fills it.
func (ix *Index) renew(ctx context.Context, cause error) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.db != nil {
		_ = ix.db.Close() // of a file that nobody needs
	}
	path := ix.opts.Path
	if err := os.Rename(path, path+aside); err != nil {
		return err
	}
	for _, part := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if ix.opts.Log != nil {
		ix.opts.Log.Warn("the search index is damaged and is built anew", "index", path, "kept", path+aside, "err", cause)
	}
	db, err := open(ctx, path)
	if err != nil {
		return err
	}
	ix.db = db
	return nil
}

// rebuild mends the index after a search has found it damaged. Of those who find it at the same time one does it.
func (ix *Index) rebuild(ctx context.Context, broken *sql.DB, cause error) error {
	ctx = context.WithoutCancel(ctx) // whoever asked first may leave; the others still want it
	ix.refreshing.Lock()
	defer ix.refreshing.Unlock()
	if ix.db != broken {
		return nil
	}
	if err := ix.renew(ctx, cause); err != nil {
		return errors.Join(cause, err)
	}
	_, err := ix.refresh(ctx, pass{progress: ix.opts.Progress})
	return err
}
