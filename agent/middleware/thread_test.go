package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// thread is a conversation of several runs, with a folder. Every run's journal is held to the laws.
type thread struct {
	t    testing.TB
	mem  *graph.Memory
	dir  string
	runs int
	last []event.Envelope // the latest run's journal
	res  graph.Result
}

func newThread(t testing.TB) *thread { return &thread{t: t, mem: graph.NewMemory(), dir: t.TempDir()} }

// put writes a file into the thread's folder.
func (th *thread) put(name, content string) {
	th.t.Helper()
	path := filepath.Join(th.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		th.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		th.t.Fatal(err)
	}
}

// say is one run about a message of the person.
func (th *thread) say(o agent.Options, text string) []item.Message {
	th.t.Helper()
	msgs, err := th.run(o, item.UserText(fmt.Sprint("u", th.runs+1), text))
	if err != nil {
		th.t.Fatal(err)
	}
	return msgs
}

func (th *thread) run(o agent.Options, in ...item.Message) ([]item.Message, error) {
	th.t.Helper()
	input, err := json.Marshal(map[string]any{"messages": in})
	if err != nil {
		th.t.Fatal(err)
	}
	g, err := agent.New(o)
	if err != nil {
		th.t.Fatal(err)
	}
	th.runs++
	before := len(th.mem.Events())
	tell := func(e event.Event) {
		if err := th.mem.Record(context.Background(), graph.Batch{Events: []event.Envelope{{Event: e}}}); err != nil {
			th.t.Fatal(err)
		}
	}
	tell(event.RunStarted{Graph: "test", Attempt: 1})
	res, failed := g.Run(th.t.Context(), graph.Execution{
		Thread: "thread", Run: fmt.Sprint("run", th.runs), Input: input, Checkpoints: th.mem, Recorder: th.mem, Requests: true,
		Folder: func() (*os.Root, error) { return os.OpenRoot(th.dir) },
	})
	var f transcript.Fold
	end := event.RunEnded{Status: res.Status, Error: graph.ErrorOf(failed)}
	if failed != nil {
		end.Status = event.Failed
	}
	for i, env := range th.mem.Events()[before:] {
		env.Seq = uint64(i + 1)
		_ = f.Apply(&env)
	}
	root, _ := f.Task("")
	end.Usage = root.Usage
	tell(end)
	th.last = th.mem.Events()[before:]
	for i := range th.last {
		th.last[i].Seq = uint64(i + 1)
	}
	if err := transcript.Check(slices.Values(th.last)); err != nil {
		th.t.Fatalf("unlawful journal: %v", err)
	}
	if failed != nil {
		return nil, failed
	}
	th.res = res
	return conversation(th.t, res), nil
}

// warnings are the codes of what people were warned of in the latest run.
func (th *thread) warnings() []string {
	var out []string
	for _, env := range th.last {
		if w, ok := env.Event.(event.Warned); ok {
			out = append(out, w.Code)
		}
	}
	return out
}

func value[T any](th *thread, f graph.Field[T]) T {
	th.t.Helper()
	v, err := graph.Decode(th.res, f)
	if err != nil {
		th.t.Fatal(err)
	}
	return v
}

func texts(msgs []item.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, string(m.Role)+": "+m.Text())
	}
	return out
}

// seen is all text that a model was shown in a request.
func seen(req model.Request) string { return strings.Join(texts(req.Messages), "\n") }

// body is a request as bytes, message by message, to see what of it stays the same.
func body(t testing.TB, req model.Request) []string {
	t.Helper()
	head, err := json.Marshal([]any{req.System, req.Tools})
	if err != nil {
		t.Fatal(err)
	}
	out := []string{string(head)}
	for _, m := range req.Messages {
		raw, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// extends fails the test unless a request begins with the bytes of the one before it.
func extends(t testing.TB, before, after model.Request) {
	t.Helper()
	a, b := body(t, before), body(t, after)
	if len(b) < len(a) || !slices.Equal(b[:len(a)], a) {
		t.Errorf("the prompt's beginning changed; got\n%s\nwhich was\n%s", strings.Join(b, "\n"), strings.Join(a, "\n"))
	}
}

type text struct {
	S string `json:"s"`
}

func echo(name string) tool.Tool {
	return tool.Func(name, "Says what it is told.", func(_ context.Context, in text) (string, error) { return name + ": " + in.S, nil })
}

func toolset(t testing.TB, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// described gives a tool what its description has besides.
type described struct {
	tool.Tool
	change func(*tool.Spec)
}

func (d described) Spec() tool.Spec {
	s := d.Tool.Spec()
	d.change(&s)
	return s
}

func chain(list ...agent.Middleware) []agent.Middleware { return list }
