package sqlite_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/storage/storagetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestSuite(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Backend {
		db := open(t, t.TempDir())
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		return db
	})
}

func TestFolderBelongsToOneProcess(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	_, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if !errors.Is(err, sqlite.ErrLocked) || !strings.Contains(err.Error(), "pid") {
		t.Errorf("opened twice: %v", err)
	}
	reader, err := sqlite.Open(t.Context(), dir, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatalf("looking on: %v", err)
	}
	if _, err := reader.CreateThread(t.Context(), run.Identity{Owner: "x"}, run.Thread{ID: "t"}); err == nil {
		t.Error("a reader wrote")
	}
	for _, d := range []*sqlite.DB{reader, db} {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	again := open(t, dir)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	if _, err := sqlite.Open(t.Context(), dir, sqlite.Options{ReadOnly: true}); err == nil {
		t.Error("read a database that is not there")
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), filepath.Join(file, "sub"), sqlite.Options{}); err == nil {
		t.Error("made a folder below a file")
	}
	if err := os.WriteFile(filepath.Join(dir, "tributary.db"), []byte(strings.Repeat("this is no database ", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), dir, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), "tributary.db") {
		t.Errorf("opened garbage: %v", err)
	}
}

// Many writers at once share commits, and a failing one does not take its neighbours with it.
func TestConcurrentWritersShareCommitsAndFailAlone(t *testing.T) {
	db := open(t, t.TempDir())
	defer db.Close()
	who := run.Identity{Owner: "x"}
	if _, err := db.CreateThread(t.Context(), who, run.Thread{ID: "taken"}); err != nil {
		t.Fatal(err)
	}
	const n = 200
	errs := make(chan error, n)
	for i := range n {
		id := "taken"
		if i%2 == 0 {
			id = "t" + string(rune('a'+i%26)) + strings.Repeat("x", i)
		}
		go func() {
			_, err := db.CreateThread(context.Background(), who, run.Thread{ID: id})
			errs <- err
		}()
	}
	failed := 0
	for range n {
		if err := <-errs; errors.Is(err, run.ErrExists) {
			failed++
		} else if err != nil {
			t.Error(err)
		}
	}
	_, total, err := db.SearchThreads(t.Context(), who, run.ThreadQuery{})
	if err != nil || failed != n/2 || total != n/2+1 {
		t.Errorf("%d failed and %d threads exist, %v", failed, total, err)
	}
	if c := db.Commits(); c >= n {
		t.Errorf("%d writes took %d commits", n, c)
	}
}
