package tributary_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
)

// readme is the program of README.md.
func readme(ctx context.Context) error {
	rt, err := tributary.Open(ctx, tributary.Options{Dir: "data"})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)
	for env, err := range rt.Stream(ctx, tributary.Request{Text: "count to fifteen"}) {
		if err != nil {
			return err
		}
		if d, ok := env.Event.(event.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	return nil
}

// packageComment is the program of doc.go.
func packageComment(ctx context.Context) error {
	rt, err := tributary.Open(ctx, tributary.Options{})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)
	for env, err := range rt.Stream(ctx, tributary.Request{Text: "count to fifteen"}) {
		if err != nil {
			return err
		}
		if d, ok := env.Event.(event.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	return nil
}

// What the documentation shows is what is compiled and run here.
func TestDocumentedProgramsRun(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	here := unindented(read("readme_test.go"))
	_, rest, _ := strings.Cut(read("README.md"), "```go\n")
	shown, _, ok := strings.Cut(rest, "```")
	if !ok || !strings.Contains(here, unindented(shown)) {
		t.Errorf("README.md shows a program that is not run here:\n%s", shown)
	}
	shown = ""
	for line := range strings.Lines(read("doc.go")) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			shown += code
		}
	}
	if shown == "" || !strings.Contains(here, unindented(shown)) {
		t.Errorf("doc.go shows a program that is not run here:\n%s", shown)
	}
	t.Chdir(t.TempDir())
	for name, program := range map[string]func(context.Context) error{"README.md": readme, "doc.go": packageComment} {
		if err := program(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line))
		b.WriteByte('\n')
	}
	return b.String()
}
