package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFullDiskIsSaid(t *testing.T) {
	w := newTasks(t, allGraphs())
	if err := os.Symlink("/dev/full", filepath.Join(w.dir, "probe")); err != nil {
		t.Fatal(err)
	}
	got := w.must(503, "GET", "/ok", "")
	if !strings.Contains(string(got.body), "no space left on device") || got.header.Get("Retry-After") == "" {
		t.Errorf("got %s", got.body)
	}
	w.must(200, "GET", "/livez", "")
}
