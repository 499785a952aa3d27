package story

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// What arrives whole is sent once: a result of 1 MiB is about 1 MiB in the task's stream.
func TestAResultThatArrivesWholeIsSentOnce(t *testing.T) {
	const size = 1 << 20
	w := &World{t: t, dir: t.TempDir(), hasty: true}
	defer w.close()
	heap := tool.Repeatable(tool.Func("heap", "Returns very much.", func(context.Context, struct{}) (string, error) {
		return strings.Repeat("x", size), nil
	}))
	w.agent(agent.Options{Tools: tools(heap), Model: slow(scripted.Call("c1", "heap", `{}`), scripted.Words("That was much."))})
	w.ask("How much?", run.Success)
	rec := w.record()
	frames, err := Dialects()[0].Project(rec, rec.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, f := range slices.Concat(frames...) {
		total += len(f.Data)
	}
	if total < size || total > size+size/10 {
		t.Errorf("the stream has %d bytes, want about the %d of the result", total, size)
	}
}
