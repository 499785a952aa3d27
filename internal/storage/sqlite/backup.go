package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/folder"
	"github.com/tributary-ai/tributary/internal/run"
)

// Backup describes a copy of a database in one file. The file is a database too, with a few rows more that say what it is.
type Backup struct {
	At      time.Time         `json:"at"`      // zero for a plain copy of a database
	Program string            `json:"program"` // the version that made it
	Files   map[string]string `json:"files"`   // small files of the data folder, by name; whoever restores decides which names it knows
	Folders []string          `json:"folders"` // folders of the data folder whose files are in it, by name; likewise

	Threads  int      `json:"-"`
	Runs     int      `json:"-"`
	Bytes    int64    `json:"-"`
	Findings []string `json:"-"` // damage, as Check tells it
}

// ErrDamaged says that a copy is not made, or not used, because something in it is damaged.
var ErrDamaged = errors.New("something in it is damaged")

// backupKey is the row of a backup that describes it.
const backupKey = "backup"

// Backup copies the database into a new file, as it is at one moment, while whoever has it open works on. The copy is read
// back and checked as a whole before it gets its name. With damaged it is also kept if it holds damage; an existing file is never replaced.
//
// The write-ahead log cannot begin anew while it is copied, and grows by what is written meanwhile.
func (db *DB) Backup(ctx context.Context, path string, about Backup, damaged bool) (Backup, error) {
	if _, err := os.Lstat(path); err == nil {
		return about, &fs.PathError{Op: "backup to", Path: path, Err: fs.ErrExist}
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+folder.Draft) // for its owner alone
	if err != nil {
		return about, err
	}
	draft := f.Name()
	defer os.Remove(draft) //nolint:errcheck // it is gone if all went well
	if err := f.Close(); err != nil {
		return about, err
	}
	if _, err := db.read.ExecContext(ctx, "VACUUM INTO ?", draft); err != nil {
		return about, classify(err)
	}
	about.At = time.Now().UTC().Truncate(time.Second)
	if err := describe(ctx, draft, about); err != nil {
		return about, err
	}
	if err := packFolders(ctx, draft, filepath.Dir(db.path), about.Folders); err != nil {
		return about, err
	}
	if about, err = ReadBackup(ctx, draft); err != nil {
		return about, err
	}
	if len(about.Findings) > 0 && !damaged {
		return about, ErrDamaged
	}
	if err := syncFile(draft); err != nil {
		return about, err
	}
	return about, folder.Publish(draft, path)
}

func describe(ctx context.Context, path string, about Backup) error {
	text, err := json.Marshal(about)
	if err != nil {
		return err
	}
	db, err := connect(path, 1, "")
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", backupKey, text)
	return errors.Join(err, db.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// ReadBackup reads a backup, or a plain copy of a database, as a whole, and says what is in it and what is damaged.
func ReadBackup(ctx context.Context, path string) (about Backup, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return about, err
	}
	if !info.Mode().IsRegular() {
		return about, fmt.Errorf("%s is not a file", path)
	}
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return about, fmt.Errorf("%s has a write-ahead log beside it, so it is a database that is worked on and no backup: make one of it with tributary backup", path)
	}
	read, err := connect(path, 1, "mode=ro&immutable=1") // nobody else changes it, and nothing is put beside it
	if err != nil {
		return about, err
	}
	db := &DB{path: path, read: read, reads: statements{db: read}, stop: make(chan struct{})}
	defer db.Close()
	var version int
	if err := db.read.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return about, classify(err)
	}
	if version > schemaVersion {
		return about, fmt.Errorf("%s has schema version %d and this program knows only %d: use a newer tributary", path, version, schemaVersion)
	}
	var text string
	err = db.read.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM threads), (SELECT count(*) FROM runs), coalesce((SELECT value FROM meta WHERE key = ?), '{}')", backupKey).
		Scan(&about.Threads, &about.Runs, &text)
	if version < 1 || err != nil {
		var lost *run.DamageError
		if errors.As(classify(err), &lost) {
			return about, lost
		}
		return about, fmt.Errorf("%s is no backup of tributary's", path)
	}
	if err := json.Unmarshal([]byte(text), &about); err != nil {
		about.Findings = append(about.Findings, "the description of the backup cannot be read: "+err.Error())
	}
	about.Bytes = info.Size()
	if version < schemaVersion { // what is checked is of this version; an older file has its own structure checked
		found, err := db.findings(ctx, "SELECT 'file: ' || integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'")
		about.Findings = append(about.Findings, found...)
		return about, err
	}
	found, err := db.Check(ctx)
	about.Findings = append(about.Findings, found...)
	return about, err
}

// restoring is a file that says that a restore was begun, and where it puts what it replaces. A folder that has it is not opened.
const restoring = "restoring"

// Restored says what a restore did.
type Restored struct {
	Backup
	Aside string // where the folder's earlier database is now; empty if there was none
}

// Restore puts a backup into a data folder that nobody has open. The backup is checked before anything is touched; a database that is
// there is moved into a folder beside, with its write-ahead log. Of the backup's small files and folders those in names are put in place, too, and what
// the data folder has under their names is moved away likewise. If it is cut off, the folder cannot be opened until it was run again.
//
// Runs that had not ended go on from there when the folder is opened. What they wrote after the backup was made is unknown here, so they
// go on under new epochs: nobody is given other events under ids that he has seen.
func Restore(ctx context.Context, path, dir string, damaged bool, names ...string) (done Restored, err error) {
	if done.Backup, err = ReadBackup(ctx, path); err != nil {
		return done, err
	}
	if len(done.Findings) > 0 && !damaged {
		return done, ErrDamaged
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return done, fmt.Errorf("data folder: %w", err)
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return done, err
	}
	defer lock.Close()
	draft := filepath.Join(dir, fileName+".restored"+folder.Draft)
	if err := errors.Join(removeFiles(draft), copyFile(path, draft), revive(ctx, draft)); err != nil {
		return done, errors.Join(fmt.Errorf("copy the backup into the data folder: %w", err), removeFiles(draft))
	}
	var files, folders []string
	for _, name := range names {
		if done.Files[name] != "" {
			files = append(files, name)
		}
		if slices.Contains(done.Folders, name) {
			folders = append(folders, name)
		}
	}
	if err := unpackFolders(ctx, path, dir, folders); err != nil {
		return done, errors.Join(fmt.Errorf("copy the files of the backup into the data folder: %w", err), removeFiles(draft))
	}
	if done.Aside, err = putAside(dir, append(files, folders...)); err != nil {
		return done, err
	}
	if err := os.Rename(draft, filepath.Join(dir, fileName)); err != nil {
		return done, err
	}
	for _, name := range folders {
		if err := os.Rename(filepath.Join(dir, name+restoredSuffix), filepath.Join(dir, name)); err != nil {
			return done, err
		}
	}
	for _, name := range files {
		if err := folder.Write(filepath.Join(dir, name), []byte(done.Files[name])); err != nil {
			return done, err
		}
	}
	if err := errors.Join(folder.Sync(dir), os.Remove(filepath.Join(dir, restoring))); err != nil {
		return done, err
	}
	return done, folder.Sync(dir)
}

func removeFiles(path string) error {
	for _, part := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// revive makes a database of a backup.
func revive(ctx context.Context, path string) error {
	db, err := connect(path, 1, "_txlock=immediate")
	if err != nil {
		return err
	}
	const epochs = 1000 // more than a run will have had since
	steps := []struct {
		text string
		args []any
	}{
		{"DELETE FROM meta WHERE key = ?", []any{backupKey}},
		{"DROP TABLE IF EXISTS " + packedTable, nil},
		{"VACUUM", nil},
		{"UPDATE runs SET epoch = epoch + ? WHERE status IN ('pending', 'running')", []any{epochs}},
		// As if the machine had gone down: the name of a worker says after its node in what time of the machine it worked. Nobody has them now,
		// whatever the node is called from here on.
		{"UPDATE runs SET lease_until = 1, worker = substr(worker, 1, instr(worker, '/')) || 'restored/' || substr(worker, instr(worker, '/') + 1) WHERE worker <> ''", nil},
		{"PRAGMA journal_mode = WAL", nil},
	}
	for _, s := range steps {
		if _, err := db.ExecContext(ctx, s.text, s.args...); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	var sound string
	err = db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&sound)
	if err == nil && sound != "ok" {
		err = fmt.Errorf("the copy is not sound: %s", sound)
	}
	if err := errors.Join(err, db.Close()); err != nil { // closing moves the log into the file and syncs it
		return err
	}
	return syncFile(path)
}

// putAside moves the database of a folder, and the files that will be replaced, into a folder of their own. The database goes before its
// log: alone, the log keeps anybody from starting anew with nothing.
func putAside(dir string, files []string) (string, error) {
	mark := filepath.Join(dir, restoring)
	text, err := os.ReadFile(mark)
	name := filepath.Base(strings.TrimSpace(string(text))) // of a restore that was cut off
	if err != nil || !strings.HasPrefix(name, "before-restore-") {
		name = "before-restore-" + time.Now().UTC().Format("20060102T150405.000Z")
		if err := folder.Write(mark, []byte(name+"\n")); err != nil {
			return "", err
		}
	}
	aside := filepath.Join(dir, name)
	if err := os.Mkdir(aside, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	moved := false
	for _, name := range append([]string{fileName, fileName + "-wal", fileName + "-shm"}, files...) {
		from, to := filepath.Join(dir, name), filepath.Join(aside, name)
		if _, err := os.Lstat(to); err == nil { // by the restore that was cut off: what is here is its own
			moved = true
			if err := os.RemoveAll(from); err != nil {
				return aside, err
			}
			continue
		}
		err := os.Rename(from, to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return aside, err
		}
		moved = moved || err == nil
	}
	if err := errors.Join(folder.Sync(aside), folder.Sync(dir)); err != nil {
		return aside, err
	}
	if !moved {
		return "", os.Remove(aside)
	}
	return aside, nil
}

// Unfinished says that a restore was cut off in a folder, which is not opened then.
func Unfinished(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, restoring)); err == nil {
		return fmt.Errorf("a restore into %s was cut off; run tributary restore again with the same file", dir)
	}
	return nil
}

// copyOld copies a database before it is brought to another version, so that the program that wrote it can be used again. There is
// one copy of each version, the latest.
func copyOld(ctx context.Context, db *sql.DB, path string, version int, log *slog.Logger) error {
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return err
	}
	if info, err := os.Stat(path + "-wal"); err == nil && info.Size() > 0 {
		return errors.New("copy the file before it is changed: somebody reads it; stop tributary events and check, and start again")
	}
	to := fmt.Sprintf("%s.version%d", path, version)
	if err := copyFile(path, to); err != nil {
		return fmt.Errorf("copy the file before it is changed: %w; see that the disk has space for it", err)
	}
	log.Info("the database is brought to a newer version; a copy as it was is kept, and can be removed when all is well",
		"copy", to, "from", version, "to", schemaVersion)
	return nil
}
