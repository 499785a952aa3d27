package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// In a folder that others may look into, nobody else can read what was said, or the documents.
func TestFilesAreTheOwnersAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveOn(t, dir) // with its logs, which go when it stops
	if code, _, notes := invoke(t, "--data", dir, "chat", "count to two"); code != 0 {
		t.Fatal(notes)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", f.Name(), info.Mode())
		}
	}
	s.stop()
}

func TestCheckTellsDamage(t *testing.T) {
	dir := t.TempDir()
	if code, _, notes := invoke(t, "--data", dir, "chat", "count to fifteen"); code != 0 {
		t.Fatal(notes)
	}
	if code, out, notes := invoke(t, "--data", dir, "check"); code != 0 || out != "nothing is damaged\n" {
		t.Fatalf("exit %d, %q, %s", code, out, notes)
	}
	// One letter of what was said, wherever it stands.
	path := filepath.Join(dir, "tributary.db")
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(file, []byte("fourteen")) {
		t.Fatal("the file does not hold the answer")
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(file, []byte("fourteen"), []byte("fourteem")), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, notes := invoke(t, "--data", dir, "check")
	if code != 1 || !strings.Contains(out, "is not as it was written") || !strings.Contains(notes, "restore") {
		t.Errorf("exit %d, %q, %s", code, out, notes)
	}
}
