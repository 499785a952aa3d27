package files

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// world is a thread's folder with something outside of it that nobody may read or change.
type world struct {
	t     testing.TB
	outer string // the folder with the trap, which has the thread's folder in it
	root  *os.Root
	tools *tool.Set
	scope *scope
}

const trapText = "THE-TRAP-WAS-READ"

func newWorld(t testing.TB, opt Options) *world {
	t.Helper()
	w := &world{t: t, outer: t.TempDir()}
	dir := filepath.Join(w.outer, "thread")
	for _, a := range areas {
		if err := os.MkdirAll(filepath.Join(dir, a), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	// One beside the thread's folder, one in it but in none of the three.
	for _, name := range []string{"trap.txt", "thread/trap.txt"} {
		if err := os.WriteFile(filepath.Join(w.outer, name), []byte(trapText), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.root, err = os.OpenRoot(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.root.Close() })
	if w.tools, err = tool.NewSet(Tools(opt)...); err != nil {
		t.Fatal(err)
	}
	w.scope = &scope{root: w.root}
	return w
}

type arguments map[string]any

// call makes a call as the agent of a task would.
func (w *world) call(task, name string, args arguments) item.ToolResult {
	raw, err := json.Marshal(args)
	if err != nil {
		w.t.Error(err)
	}
	res, err := w.tools.Invoke(context.Background(), name, tool.Call{ID: "c", Arguments: raw, Task: task, Scope: w.scope})
	if err != nil {
		w.t.Errorf("%s: %v", name, err)
	}
	return res
}

// ok is a call that must succeed; it returns what the model reads.
func (w *world) ok(name string, args arguments) string {
	w.t.Helper()
	res := w.call("", name, args)
	if res.Error {
		w.t.Fatalf("%s %v failed: %s", name, args, item.JoinText(res.Content))
	}
	return item.JoinText(res.Content)
}

// fails is a call that must fail with a sentence that has a word in it.
func (w *world) fails(name string, args arguments, want string) {
	w.t.Helper()
	res := w.call("", name, args)
	if got := item.JoinText(res.Content); !res.Error || !strings.Contains(got, want) {
		w.t.Errorf("%s %v: got %q (failed: %t), want a failure with %q", name, args, got, res.Error, want)
	}
}

// put writes a file as somebody else would: a person, a program in the sandbox.
func (w *world) put(name, content string) {
	w.t.Helper()
	whole := filepath.Join(w.outer, "thread", name)
	if err := os.MkdirAll(filepath.Dir(whole), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(whole, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) link(target, name string) {
	w.t.Helper()
	if err := os.Symlink(target, filepath.Join(w.outer, "thread", name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) content(name string) string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.outer, "thread", name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// intact checks that nothing was changed where nothing may be, and that a result tells nothing of it.
func (w *world) intact(what string, results ...item.ToolResult) {
	w.t.Helper()
	for _, res := range results {
		text := item.JoinText(res.Content) + item.JoinText(res.Blocks)
		// Where the call itself said it, the place is no secret.
		if strings.Contains(text, trapText) || strings.Contains(text, w.outer) && !strings.Contains(what, w.outer) {
			w.t.Fatalf("%s: the result tells of what is outside: %q", what, text)
		}
	}
	var found []string
	err := filepath.WalkDir(w.outer, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(w.outer, p)
		if name == "thread/workspace" || name == "thread/outputs" {
			return fs.SkipDir
		}
		found = append(found, name)
		if d.Type().IsRegular() && d.Name() == "trap.txt" {
			if b, err := os.ReadFile(p); err != nil || string(b) != trapText {
				w.t.Fatalf("%s: the trap %s was written: %q, %v", what, name, b, err)
			}
		}
		return nil
	})
	if got, want := strings.Join(found, " "), ". thread thread/trap.txt thread/uploads trap.txt"; err != nil || got != want {
		w.t.Fatalf("%s: outside there is %q (%v), want %q", what, got, err, want)
	}
}

// scope is a run's, as far as the tools use it.
type scope struct {
	tool.Scope
	root *os.Root

	mu     sync.Mutex
	locals map[any]any
	writes map[string]any
}

func (s *scope) Folder() (*os.Root, error) { return s.root, nil }

func (s *scope) Local(key any, make func() any) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locals == nil {
		s.locals = map[any]any{}
	}
	if s.locals[key] == nil {
		s.locals[key] = make()
	}
	return s.locals[key]
}

func (s *scope) Update(field string, value any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writes == nil {
		s.writes = map[string]any{}
	}
	s.writes[field] = value
	return nil
}
