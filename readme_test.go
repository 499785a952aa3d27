package tributary_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
)

// readme is the program of README.md.
func readme(ctx context.Context) error {
	type place struct {
		City string `json:"city" jsonschema:"name of the city"`
	}
	weather := tool.Func("weather", "Tells the weather in a city.", func(ctx context.Context, in place) (string, error) {
		return "It is sunny in " + in.City + ".", nil
	})
	models, err := registry.New(registry.Options{}) // those whose keys are in the environment, else the offline one
	if err != nil {
		return err
	}
	rt, err := tributary.Open(ctx, tributary.Options{Dir: "data", Models: models, Tools: []tool.Tool{weather}})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)
	for env, err := range rt.Stream(ctx, tributary.Request{Text: "What is the weather in Paris?"}) {
		if err != nil {
			return err
		}
		if d, ok := env.Event.(event.TextDelta); ok && env.Node == agent.NodeModel { // a tool's result is text too
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
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(key, "") // nobody is asked but the offline model
	}
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
