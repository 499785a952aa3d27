package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

var owner = run.Identity{Owner: "x"}

func addThread(ctx context.Context, db *DB, n int) error {
	_, err := db.CreateThread(ctx, owner, run.Thread{ID: fmt.Sprint("thread-", n), CreatedAt: now()})
	return err
}

func countThreads(t *testing.T, dir string) int {
	t.Helper()
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if found, err := db.Check(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("the check finds %v, %v", found, err)
	}
	_, n, err := db.SearchThreads(t.Context(), owner, run.ThreadQuery{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// withThreads is a folder with so many threads, and a backup of it.
func withThreads(t *testing.T, n int) (dir, file string) {
	t.Helper()
	dir, file = t.TempDir(), filepath.Join(t.TempDir(), "backup")
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range n {
		if err := addThread(t.Context(), db, i); err != nil {
			t.Fatal(err)
		}
	}
	about, err := db.backup(t, file)
	if err != nil || about.Threads != n || about.Files["secret"] != "of the folder" {
		t.Fatalf("%+v, %v", about, err)
	}
	return dir, file
}

// backup makes a backup as another process would, that only looks on.
func (db *DB) backup(t *testing.T, file string) (Backup, error) {
	t.Helper()
	looker, err := Open(t.Context(), filepath.Dir(db.path), Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	return looker.Backup(t.Context(), file, Backup{Program: "test", Files: map[string]string{"secret": "of the folder"}}, false)
}

// All that was acknowledged before the backup began is in it, however much is written meanwhile.
func TestBackupOfADatabaseThatIsWorkedOn(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: 5 * time.Millisecond, LogBytes: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, stop := context.WithCancel(t.Context())
	var acknowledged atomic.Int64
	done := make(chan error, 1)
	go func() {
		for n := 0; ctx.Err() == nil; n++ {
			if err := addThread(context.Background(), db, n); err != nil {
				done <- err
				return
			}
			acknowledged.Store(int64(n + 1))
		}
		done <- nil
	}()
	for range 5 {
		for before := acknowledged.Load(); acknowledged.Load() < before+20; {
			time.Sleep(time.Millisecond)
		}
		least := int(acknowledged.Load())
		file := filepath.Join(t.TempDir(), "backup")
		about, err := db.backup(t, file)
		most := int(acknowledged.Load()) + 1
		if err != nil || about.Threads < least || about.Threads > most {
			t.Fatalf("%d threads, %v; want %d to %d", about.Threads, err, least, most)
		}
		restored := filepath.Join(t.TempDir(), "new")
		if _, err := Restore(t.Context(), file, restored, false); err != nil {
			t.Fatal(err)
		}
		if n := countThreads(t, restored); n != about.Threads {
			t.Errorf("restored are %d threads of %d", n, about.Threads)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBackupReplacesNothingAndIsItsOwners(t *testing.T) {
	dir, file := withThreads(t, 3)
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.backup(t, file); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("a second backup: %v", err)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the first backup was changed, %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	looker, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	if _, err := looker.Backup(ctx, file+"2", Backup{}, false); err == nil {
		t.Error("a backup that was stopped says that it was made")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*"))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the backup there are %v, %v", left, err)
	}
}

// A backup of what is damaged is no backup, unless somebody wants even that; and one that was damaged later is not restored.
func TestDamagedBackupIsRefused(t *testing.T) {
	dir, file := withThreads(t, 3)
	db, err := sql.Open("sqlite", filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "UPDATE threads SET metadata = '{\"a\":1}' WHERE id = 'thread-1'"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	looker, err := Open(t.Context(), dir, Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer looker.Close()
	bad := file + "-damaged"
	about, err := looker.Backup(t.Context(), bad, Backup{}, false)
	if !errors.Is(err, ErrDamaged) || len(about.Findings) != 1 {
		t.Errorf("%v, %v", about.Findings, err)
	}
	if _, err := os.Lstat(bad); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if about, err := looker.Backup(t.Context(), bad, Backup{}, true); err != nil || len(about.Findings) != 1 || about.Threads != 3 {
		t.Errorf("with damage: %+v, %v", about, err)
	}
	fresh := filepath.Join(t.TempDir(), "new")
	if _, err := Restore(t.Context(), bad, fresh, false); !errors.Is(err, ErrDamaged) {
		t.Errorf("restored: %v", err)
	}
	if _, err := os.Lstat(fresh); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was touched: %v", err)
	}
	if _, err := Restore(t.Context(), bad, fresh, true); err != nil {
		t.Errorf("with damage: %v", err)
	}
}

func TestFilesThatAreNotRestored(t *testing.T) {
	dir, file := withThreads(t, 3)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", other)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE theirs (a); PRAGMA user_version = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	foreign, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Clone(whole)
	newer[63] = 99 // the last byte of the version
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty": {nil, "no backup"}, "text": {bytes.Repeat([]byte("words "), 1000), "is damaged"},
		"cut": {whole[:len(whole)/2], ""}, "another program's": {foreign, "no backup"}, "a newer version": {newer, "newer tributary"},
	} {
		path := filepath.Join(t.TempDir(), "b")
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), path, dir, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		}
	}
	if _, err := Restore(t.Context(), filepath.Join(t.TempDir(), "nowhere"), dir, false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if _, err := Restore(t.Context(), t.TempDir(), dir, false); err == nil {
		t.Error("a folder was restored")
	}
	if n := countThreads(t, dir); n != 3 {
		t.Errorf("the folder has %d threads; want 3", n)
	}
}

func TestRestoreKeepsWhatItReplaces(t *testing.T) {
	_, file := withThreads(t, 3)
	dir, _ := withThreads(t, 5)
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("old secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), file, dir, false); !errors.Is(err, ErrLocked) {
		t.Errorf("into a folder in use: %v", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	done, err := Restore(t.Context(), file, dir, false, "secret")
	if err != nil || done.Threads != 3 || filepath.Dir(done.Aside) != dir {
		t.Fatalf("%+v, %v", done, err)
	}
	for where, want := range map[string]string{dir: "of the folder", done.Aside: "old secret"} {
		if got, err := os.ReadFile(filepath.Join(where, "secret")); err != nil || string(got) != want {
			t.Errorf("the secret in %s is %q, %v; want %q", where, got, err, want)
		}
	}
	if n := countThreads(t, dir); n != 3 {
		t.Errorf("restored are %d threads; want 3", n)
	}
	if n := countThreads(t, done.Aside); n != 5 {
		t.Errorf("kept are %d threads; want 5", n)
	}
}

// Wherever a restore is cut off, the folder is not opened as if nothing were; and the next one finishes it and keeps what there was.
func TestRestoreThatWasCutOff(t *testing.T) {
	_, file := withThreads(t, 3)
	image := killed(t, 5, 0) // with a log that must stay with its file
	const aside = "before-restore-1"
	steps := []func(dir string) error{
		func(dir string) error { return os.WriteFile(filepath.Join(dir, restoring), []byte(aside+"\n"), 0o600) },
		func(dir string) error { return os.Mkdir(filepath.Join(dir, aside), 0o700) },
	}
	for _, name := range []string{fileName, fileName + "-wal", fileName + "-shm"} {
		steps = append(steps, func(dir string) error { return os.Rename(filepath.Join(dir, name), filepath.Join(dir, aside, name)) })
	}
	steps = append(steps, func(dir string) error { return copyFile(file, filepath.Join(dir, fileName)) })
	for n := range len(steps) + 1 {
		dir := lay(t, image)
		for _, step := range steps[:n] {
			if err := step(dir); err != nil {
				t.Fatal(err)
			}
		}
		if n > 0 {
			if db, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "tributary restore again") {
				t.Errorf("after %d steps it opens: %v, %v", n, db, err)
			}
		}
		done, err := Restore(t.Context(), file, dir, false)
		if err != nil || done.Aside == "" {
			t.Fatalf("after %d steps: %+v, %v", n, done, err)
		}
		if got, kept := countThreads(t, dir), countThreads(t, done.Aside); got != 3 || kept != 5 {
			t.Errorf("after %d steps: restored are %d threads and kept %d; want 3 and 5", n, got, kept)
		}
	}
}

// Runs that had not ended go on under new epochs, as after a power failure.
func TestRestoredRunsGoOnUnderNewEpochs(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "backup")
	db, err := Open(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for n, worker := range []string{"node/boot-1/process", ""} {
		_, err := db.CreateRun(t.Context(), owner, run.NewRun{ID: fmt.Sprint("run-", n), Thread: fmt.Sprint("thread-", n), At: now(),
			Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true}, Worker: worker, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.backup(t, file); err != nil {
		t.Fatal(err)
	}
	restored := t.TempDir()
	if _, err := Restore(t.Context(), file, restored, false); err != nil {
		t.Fatal(err)
	}
	copied, err := Open(t.Context(), restored, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	for n := range 2 {
		was, err1 := db.Run(t.Context(), owner, fmt.Sprint("run-", n))
		is, err2 := copied.Run(t.Context(), owner, fmt.Sprint("run-", n))
		if err1 != nil || err2 != nil || is.Status != was.Status || is.Epoch < was.Epoch+1000 {
			t.Errorf("run %d was %s, epoch %d, and is %s, epoch %d: %v %v", n, was.Status, was.Epoch, is.Status, is.Epoch, err1, err2)
		}
	}
	var worker string
	if err := copied.read.QueryRowContext(t.Context(), "SELECT worker FROM runs WHERE id = 'run-0'").Scan(&worker); err != nil || worker != "node/restored/boot-1/process" {
		t.Errorf("the worker is %q, %v", worker, err)
	}
}

// Before a file is brought to another version it is copied, and the copy can be restored.
func TestOldFileIsCopiedBeforeItIsChanged(t *testing.T) {
	dir := version1(t, "version1-first.sql")
	before, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	db, err := Open(t.Context(), dir, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, fileName+".version1")
	if after, err := os.ReadFile(copied); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the copy is not as the file was, %v", err)
	}
	if !strings.Contains(log.String(), copied) {
		t.Errorf("nobody is told where the copy is: %s", log.String())
	}
	restored := t.TempDir()
	if _, err := Restore(t.Context(), copied, restored, false); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), restored, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	findAll(t.Context(), t, again)
}

// Without a copy the file is not changed.
func TestOldFileThatCannotBeCopiedIsNotChanged(t *testing.T) {
	dir := version1(t, "version1-first.sql")
	path := filepath.Join(dir, fileName)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+".version1.new", 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), "see that the disk has space") {
		t.Errorf("opened: %v", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file was changed, %v", err)
	}
}
