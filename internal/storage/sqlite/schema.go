package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/tributary-ai/tributary/internal/run"
)

//go:embed schema.sql
var schema string

// schemaVersion is what PRAGMA user_version says of a file with the schema above.
const schemaVersion = 7

// steps lead from each version to the next: the first from version 1 to version 2. A step that was released is never
// changed; what comes later is a step of its own.
var steps = []func(ctx context.Context, tx *sql.Tx) error{
	toVersion2,
	func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, version3); return err },
	func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, version4); return err },
	func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, version5); return err },
	func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, version6); return err },
	func(ctx context.Context, tx *sql.Tx) error { _, err := tx.ExecContext(ctx, version7); return err },
}

// prepareFile makes the database if it is missing. It is made beside its place and put there as a whole, so that a file in
// that place has always held a database: one that is empty or cut short has lost what it held, and is not started on.
func prepareFile(ctx context.Context, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if to, err := os.Readlink(path); err == nil {
			return fmt.Errorf("it is a link to %s, which is not there: mount the disk that has it, or remove the link to start anew with nothing", to)
		}
		if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
			return &run.DamageError{Lost: path, Err: errors.New("the file is missing and its write-ahead log is not"),
				Remedy: "put the file back, or " + restore + ", or remove the log to start anew"}
		}
		return makeFile(ctx, path)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return checkLength(f)
}

func makeFile(ctx context.Context, path string) error {
	draft := path + ".new"
	for _, left := range []string{draft, draft + "-wal", draft + "-shm"} { // by a process that died here
		if err := os.Remove(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// What people say is theirs, whoever may look into the folder. SQLite gives the log the rights of the file.
	private, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := private.Close(); err != nil {
		return err
	}
	db, err := connect(draft, 1, "_txlock=immediate")
	if err != nil {
		return err
	}
	if err := errors.Join(create(ctx, db), db.Close()); err != nil { // closing moves the log into the file and syncs it
		return err
	}
	if err := os.Rename(draft, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// checkLength refuses a file that is shorter than its own header says. While there is a write-ahead log the header may be
// ahead of the file, and SQLite mends that.
func checkLength(f *os.File) error {
	lost := func(what string) error {
		return &run.DamageError{Lost: f.Name(), Err: errors.New(what),
			Remedy: restore + ", or move the file away to start anew with nothing"}
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errors.New("it is not a file: move it away, or use another data folder")
	}
	if info.Size() == 0 {
		return lost("the file is empty")
	}
	if log, err := os.Stat(f.Name() + "-wal"); err == nil && log.Size() > 0 {
		return nil
	}
	var head [100]byte
	if _, err := io.ReadFull(f, head[:]); err != nil {
		return lost("the file is cut short")
	}
	if !bytes.HasPrefix(head[:], []byte("SQLite format 3\x00")) {
		return nil // SQLite says it better
	}
	size, pages := int64(binary.BigEndian.Uint16(head[16:])), int64(binary.BigEndian.Uint32(head[28:]))
	if size == 1 {
		size = 1 << 16
	}
	if want := size * pages; info.Size() < want {
		return lost(fmt.Sprintf("the file has %d bytes and had %d", info.Size(), want))
	}
	return nil
}

// create makes a new database.
func create(ctx context.Context, db *sql.DB) error {
	for _, stmt := range []string{"PRAGMA auto_vacuum = INCREMENTAL", "PRAGMA journal_mode = WAL"} {
		if _, err := db.ExecContext(ctx, stmt); err != nil {
			return err
		}
	}
	return transact(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, schema); err != nil {
			return err
		}
		return setVersion(ctx, tx, schemaVersion)
	})
}

// migrate brings a file to the current version, each step in a transaction of its own, after it has made a copy.
func migrate(ctx context.Context, db *sql.DB, path string, log *slog.Logger) error {
	var version, tables int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch {
	case version > schemaVersion:
		return fmt.Errorf("the file has schema version %d and this program knows only %d: use a newer tributary, or another data folder", version, schemaVersion)
	case version < 0:
		return fmt.Errorf("the file has the unknown schema version %d: it was not written by tributary; give another data folder, or restore a backup", version)
	case version == 0:
		if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return errors.New("the file is a database of some other program: give another data folder")
		}
		return create(ctx, db) // by a program of version 1 that died at its first start
	}
	if version < schemaVersion {
		if err := copyOld(ctx, db, path, version, log); err != nil {
			return err
		}
	}
	for ; version < schemaVersion; version++ {
		err := transact(ctx, db, func(tx *sql.Tx) error {
			return errors.Join(steps[version-1](ctx, tx), setVersion(ctx, tx, version+1))
		})
		if err != nil {
			return fmt.Errorf("from schema version %d to %d: %w", version, version+1, err)
		}
	}
	return nil
}

func transact(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func setVersion(ctx context.Context, tx *sql.Tx, version int) error {
	_, err := tx.ExecContext(ctx, fmt.Sprint("PRAGMA user_version = ", version))
	return err
}

// toVersion2 seals rows and notes each thread's latest checkpoint. Version 1 also had forms without some of the tables and
// indexes, and said of all of them that they are version 1.
func toVersion2(ctx context.Context, tx *sql.Tx) error {
	var ttl bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pragma_table_info('items') WHERE name = 'ttl')").Scan(&ttl); err != nil {
		return err
	}
	texts := []string{version2}
	if !ttl {
		texts = append([]string{"ALTER TABLE items ADD COLUMN ttl INTEGER NOT NULL DEFAULT 0"}, texts...)
	}
	for _, text := range texts {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

//go:embed version2.sql
var version2 string

// version3 adds what is to be done after runs, how often a run was cut off where it stands, and what models were shown.
//
//go:embed version3.sql
var version3 string

// version4 adds what requests brought in confidence.
//
//go:embed version4.sql
var version4 string

// version5 packs pieces more closely, and long texts are kept in them from here on.
//
//go:embed version5.sql
var version5 string

//go:embed version6.sql
var version6 string

// version7 adds segments.
//
//go:embed version7.sql
var version7 string
