package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/export"
)

// album is a desk whose threads have one picture.
type album struct{ desk }

func (album) file(_ context.Context, _, name string) ([]byte, error) {
	if name != "/mnt/user-data/outputs/lengths.png" {
		return nil, errors.New("there is no such file")
	}
	return []byte("\x89PNG picture"), nil
}

func TestPicturesGoWithTheReport(t *testing.T) {
	const text = "# Rivers\n\n![Lengths](/mnt/user-data/outputs/lengths.png)\n\n![Gone](/mnt/user-data/outputs/gone.png)\n\n[elsewhere](/mnt/user-data/uploads/x.png)\n"
	var notes strings.Builder
	e := &env{ctx: t.Context(), stdout: io.Discard, stderr: &notes}
	s := &sitting{env: e, desk: album{}, view: newView(e, reportFlags{})}
	dir := t.TempDir()

	got := s.pictures("run", text, filepath.Join(dir, "my report.md"))
	raw, err := os.ReadFile(filepath.Join(dir, "my report_files", "lengths.png"))
	if err != nil || string(raw) != "\x89PNG picture" || !strings.Contains(got, "![Lengths](my%20report_files/lengths.png)") {
		t.Errorf("%v, %q: %s", err, raw, got)
	}
	if !strings.Contains(got, "![Gone](/mnt/user-data/outputs/gone.png)") || !strings.Contains(notes.String(), "gone.png is not written: there is no such file") || !strings.Contains(got, "uploads/x.png") {
		t.Errorf("what cannot be had: %s\n%s", got, notes.String())
	}
	page, err := export.HTML(s.pictures("run", text, filepath.Join(dir, "report.html")), export.Options{Locale: "en-US"})
	if err != nil || !strings.Contains(string(page), `<img src="data:image/png;base64,`) {
		t.Errorf("%v: %s", err, page)
	}
	if _, err := os.Stat(filepath.Join(dir, "report_files")); !os.IsNotExist(err) {
		t.Errorf("a page needs no folder beside it: %v", err)
	}
}
