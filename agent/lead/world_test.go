package lead_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a thread on which lead agents run, one after the other.
type world struct {
	t       testing.TB
	mem     *graph.Memory
	factory *lead.Factory
	base    lead.Base
	run     lead.Run
	control *graph.Control
	folder  string
	runs    int
	res     graph.Result
}

// one is a model for every wish.
type one struct{ model.Model }

func (o one) Choose(context.Context, model.Wish) (model.Choice, error) {
	return model.Choice{Model: o.Model}, nil
}

func newWorld(t testing.TB, m model.Model, settings string, opt lead.Options, tools ...tool.Tool) *world {
	t.Helper()
	f, err := lead.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		t: t, mem: graph.NewMemory(), factory: f, base: lead.Base{Options: agent.Options{Name: "agent", Tools: set}, Models: one{m}},
		control: new(graph.Control), run: lead.Run{ID: "run", Configurable: json.RawMessage(settings)},
	}
}

// go runs the agent once more, with an input or with answers.
func (w *world) execute(x graph.Execution) {
	w.t.Helper()
	g, err := w.factory.Graph(w.t.Context(), w.run, w.base)
	if err != nil {
		w.t.Fatal(err)
	}
	w.runs++
	x.Thread, x.Run, x.Checkpoints, x.Recorder, x.Control = "thread", "run", w.mem, w.mem, w.control
	x.Run += string(rune('0' + w.runs))
	if w.folder != "" {
		x.Folder = func() (*os.Root, error) { return os.OpenRoot(w.folder) }
	}
	if w.res, err = g.Run(w.t.Context(), x); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) say(text string) {
	w.t.Helper()
	raw, err := json.Marshal(map[string]any{"messages": []item.Message{item.UserText("", text)}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.execute(graph.Execution{Input: raw})
}

func (w *world) answer(value string) {
	w.t.Helper()
	w.execute(graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(value)}})
}

// question is what the thread asks, as JSON.
func (w *world) question() string {
	w.t.Helper()
	if len(w.res.Interrupts) != 1 {
		w.t.Fatalf("the thread asks %d questions, want 1", len(w.res.Interrupts))
	}
	return string(w.res.Interrupts[0].Value)
}

func get[T any](w *world, f graph.Field[T]) T {
	w.t.Helper()
	v, err := graph.Decode(w.res, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w *world) messages() []item.Message { return get(w, graph.Messages("messages").Field) }

// result is what the model was told of a call.
func (w *world) result(call string) string {
	for _, m := range w.messages() {
		if m.Role == item.Tool && m.CallID == call {
			return m.Text()
		}
	}
	return ""
}

func eventsOf[E event.Event](w *world) (out []E) {
	for _, env := range w.mem.Events() {
		if e, ok := env.Event.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// text is the argument of the tools below.
type text struct {
	S string `json:"s"`
}

// risky is a tool that says what it was called with, and counts.
type risky struct {
	name  string
	risk  tool.Risk
	group string
	calls *int
}

func (r risky) Spec() tool.Spec {
	return tool.Spec{Name: r.name, Description: "Does things.", Schema: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"}},"required":["s"]}`), Risk: r.risk, Group: r.group}
}

func (r risky) Call(_ context.Context, c tool.Call) (item.ToolResult, error) {
	var in text
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return item.ToolResult{}, err
	}
	if r.calls != nil {
		*r.calls++
	}
	if in.S == "fail" {
		return item.ToolResult{}, errors.New("it failed")
	}
	return tool.Text(r.name + " did " + in.S), nil
}
