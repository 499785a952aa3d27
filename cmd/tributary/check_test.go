package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
