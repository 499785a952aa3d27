package story

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/wire/task/tasktest"
)

// The stream that the task wire's document shows is that of a story, and folds to the object that it shows.
func TestTheDocumentsStreamIsReplayed(t *testing.T) {
	page, err := os.ReadFile("../../docs/wire/task.md")
	if err != nil {
		t.Fatal(err)
	}
	frames, rest := fenced(t, string(page), "```jsonl\n")
	object, _ := fenced(t, rest, "```json\n")
	story, err := os.ReadFile("../../testdata/runs/tool-streams.txtar")
	if err != nil {
		t.Fatal(err)
	}
	_, told, _ := strings.Cut(string(story), "-- task --\n")
	var fold tasktest.Fold
	for line := range strings.Lines(frames) {
		number, of, _ := strings.Cut(told, "\n")
		if _, frame, _ := strings.Cut(number, " "); frame != strings.TrimSpace(line) {
			t.Fatalf("the document shows\n%sand the story tells\n%s", line, frame)
		}
		told = of
		if err := fold.Apply([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	folded, _ := fold.Task("run-1")
	got, err := tasktest.Canonical(folded)
	if err != nil {
		t.Fatal(err)
	}
	want, err := tasktest.Canonical([]byte(object))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the stream folds to\n%s\nand the document shows\n%s", got, want)
	}
	if !json.Valid([]byte(object)) || !strings.HasPrefix(told, "-- ") {
		t.Errorf("the document leaves out %.200s", told)
	}
}

// fenced returns the next block of a kind, and what follows it.
func fenced(t *testing.T, page, open string) (block, rest string) {
	t.Helper()
	_, block, ok := strings.Cut(page, open)
	if !ok {
		t.Fatalf("the document has no %q", open)
	}
	block, rest, _ = strings.Cut(block, "```")
	return block, rest
}
