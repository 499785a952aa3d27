package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestAProbeSaysWhyNothingCanBeWritten(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(t.Context(), dir, Options{CheckpointEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	closed := false
	defer func() {
		if !closed {
			_ = db.Close()
		}
	}()
	before := db.Commits()
	if err := db.Probe(t.Context()); err != nil || db.Commits() == before {
		t.Errorf("a folder that is well: %v after %d commits", err, db.Commits()-before)
	}
	if _, err := os.Stat(filepath.Join(dir, "probe")); err == nil {
		t.Error("the probe left a file behind")
	}

	if err := os.Symlink("/dev/full", filepath.Join(dir, "probe")); err != nil {
		t.Fatal(err)
	}
	if err := db.Probe(t.Context()); !errors.Is(err, run.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), dir) {
		t.Errorf("a full disk: %v", err)
	}
	if err := db.Probe(t.Context()); err != nil {
		t.Errorf("room again: %v", err)
	}

	file := filepath.Join(dir, "tributary.db")
	if err := os.Rename(file, file+".away"); err != nil {
		t.Fatal(err)
	}
	for err = nil; err == nil; { // it is looked for beside the writing
		err = db.Probe(t.Context())
	}
	if !strings.Contains(err.Error(), "the database file") {
		t.Errorf("without its file: %v", err)
	}
	if err := os.Rename(file+".away", file); err != nil {
		t.Fatal(err)
	}

	closed = true
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Probe(t.Context()); !errors.Is(err, run.ErrUnavailable) {
		t.Errorf("closed: %v", err)
	}
}
