package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/tributary-ai/tributary/internal/run"
)

var errSum = errors.New("it is not as it was written")

var errMissing = errors.New("it is missing")

// damaged says that something is lost, and what to do about it.
func damaged(cause error, remedy, format string, args ...any) error {
	return &run.DamageError{Lost: fmt.Sprintf(format, args...), Remedy: remedy, Err: cause}
}

const restore = "restore a backup with tributary restore"

// classify marks errors of the database by what follows from them for whoever asked: those that mean "not now", such as
// a full disk, and those that mean that the file is damaged.
func classify(err error) error {
	if errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("%w: %w", run.ErrUnavailable, err)
	}
	if err != nil && strings.HasPrefix(err.Error(), "sql: Scan error") { // of another type than we ever wrote
		return damaged(err, restore, "a stored value")
	}
	var e *driver.Error
	if !errors.As(err, &e) || errors.Is(err, run.ErrUnavailable) {
		return err
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM, lib.SQLITE_PERM,
		lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL, lib.SQLITE_NOLFS:
		return fmt.Errorf("%w: %w", run.ErrUnavailable, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB:
		return damaged(err, restore, "a part of the database file")
	case lib.SQLITE_ERROR:
		if strings.Contains(e.Error(), "malformed JSON") { // what we store is checked before
			return damaged(err, restore, "a stored value")
		}
	}
	return err
}

// startError says what to do about an error that keeps a database from being opened, where the error does not say so itself.
func startError(path string, err error) error {
	err = classify(err)
	if errors.As(err, new(*run.DamageError)) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("open %s: %w", path, err)
	}
	do := ""
	var e *driver.Error
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		do = "the disk is full: free some space, or use a data folder on another disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		do = "make the folder and its files readable and writable for the user that runs tributary"
	case errors.As(err, &e):
		switch e.Code() & 0xff {
		case lib.SQLITE_FULL, lib.SQLITE_IOERR:
			do = "see whether the disk is full or failing: free some space, or use a data folder on another disk"
		case lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_PERM:
			do = "make the folder and its files readable and writable for the user that runs tributary, or use another data folder"
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			do = "another program has the file open: close it"
		}
	}
	if do == "" {
		return fmt.Errorf("open %s: %w", path, err)
	}
	return fmt.Errorf("open %s: %w; %s", path, err, do)
}

// classified is a row whose errors are marked.
type classified struct{ row scanner }

func (c classified) Scan(dest ...any) error { return classify(c.row.Scan(dest...)) }

// lost says that a part of the thread's state is damaged.
func (s *states) lost(cause error, format string, args ...any) error {
	return damaged(cause, restore+", or go on from another checkpoint of the thread, or delete it",
		"thread %q, namespace %q: "+format, append([]any{s.thread, s.ns}, args...)...)
}

// checkLatest finds out that a thread's latest checkpoint is missing, so that none before it is taken for it.
func (s *states) checkLatest(latest stored, err error) error {
	if s.ns != "" || err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	id := ""
	if err == nil {
		id = latest.ID
	}
	if want := checkpointText(s.head); id != want {
		return s.lost(errMissing, "checkpoint %s, the latest", want)
	}
	return nil
}

// checkList finds out that checkpoints are missing from a list that begins with the latest, or anywhere.
func (s *states) checkList(ctx context.Context, list []stored, latest bool) error {
	if latest {
		var first stored
		err := sql.ErrNoRows
		if len(list) > 0 {
			first, err = list[0], nil
		}
		if lost := s.checkLatest(first, err); lost != nil {
			return lost
		}
	}
	there := make(map[string]bool, len(list))
	for _, c := range list {
		there[c.ID] = true
	}
	for _, c := range list {
		if c.cut || c.Parent == "" || there[c.Parent] {
			continue
		}
		id, err := checkpointID(c.Parent)
		if err != nil {
			return err
		}
		var exists bool
		if err := s.row(ctx, stateExists, s.threadNo, s.ns, id).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			return s.lost(errMissing, "checkpoint %s", c.Parent)
		}
	}
	return nil
}

// stateDamage counts the damaged rows of a thread's state.
var stateDamage = func() string {
	var counts []string
	for _, rows := range []sealed{checkpointRows, blobRows, keptRows} {
		counts = append(counts, "(SELECT count(*) FROM "+rows.table+" WHERE thread = ?1 AND NOT ("+rows.intact(rows.table)+"))")
	}
	return "SELECT " + strings.Join(counts, " + ")
}()

// checkState refuses to work on a thread's state as a whole if a part of it is damaged: what is copied would be sealed anew,
// and what is thought to be unused might be needed.
func (t *tx) checkState(ctx context.Context, threadNo int64, thread string) error {
	var n int
	if err := t.row(ctx, stateDamage, threadNo).Scan(&n); err != nil || n == 0 {
		return err
	}
	return damaged(errSum, restore+", or delete the thread", "a part of the state of thread %q", thread)
}
