//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// scope is a call's scope in tests.
type scope struct {
	folder *os.Root

	mu      sync.Mutex
	shown   []string
	told    func()
	updates map[string]any
	locals  map[any]any
}

func (*scope) Ask(tool.Question) (json.RawMessage, error) { panic("nobody asks") }
func (*scope) Emit(context.Context, string, any) error    { return nil }
func (*scope) Secret(string) (string, bool)               { return "", false }
func (*scope) Store() tool.Store                          { return nil }
func (s *scope) Folder() (*os.Root, error)                { return s.folder, nil }
func (*scope) Progress(tool.Progress)                     {}
func (s *scope) Show(_ int, part item.Block) {
	s.mu.Lock()
	s.shown = append(s.shown, part.Text)
	s.mu.Unlock()
	if s.told != nil {
		s.told()
	}
}
func (s *scope) Update(field string, value any) error {
	s.updates = map[string]any{field: value}
	return nil
}
func (s *scope) Local(key any, make func() any) any {
	if s.locals == nil {
		s.locals = map[any]any{}
	}
	if s.locals[key] == nil {
		s.locals[key] = make()
	}
	return s.locals[key]
}

// call calls a tool by name, as an agent does.
func call(t *testing.T, all []tool.Tool, s *scope, name string, args any) item.ToolResult {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := set.Invoke(t.Context(), name, tool.Call{ID: "call_1", Arguments: raw, Scope: s})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func opened(t *testing.T, opt Options) *Sandbox {
	t.Helper()
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestCommandWorksOnTheFilesOfItsThread(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{})
	sc := &scope{folder: thread(t)}
	if err := sc.folder.WriteFile(uploadsArea+"/numbers.txt", []byte("3\n1\n2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := call(t, s.Tools(), sc, "bash", bashArguments{Command: "sort /mnt/user-data/uploads/numbers.txt > sorted; mkdir -p ../outputs/deep; cp sorted ../outputs/deep/a.txt; echo oops >&2; cat sorted; exit 3"})
	want := "oops\n1\n2\n3\n[exit code 3]\n[in outputs, new or changed: /mnt/user-data/outputs/deep/a.txt]"
	if got := item.JoinText(res.Content); got != want || res.Error {
		t.Errorf("got %v %q, want %q", res.Error, got, want)
	}
	if got := strings.Join(sc.shown, ""); got != want {
		t.Errorf("people see %q, want %q", got, want)
	}
	if got := sc.updates[files.Artifacts]; !slices.Equal(got.([]string), []string{"/mnt/user-data/outputs/deep/a.txt"}) {
		t.Errorf("artifacts: %v", got)
	}
	// The files are ours afterwards, whoever the command was.
	info, err := sc.folder.Stat(workspaceArea + "/sorted")
	if err != nil {
		t.Fatal(err)
	}
	if uid := int(info.Sys().(*syscall.Stat_t).Uid); uid != os.Geteuid() {
		t.Errorf("the file belongs to user %d, and not to us, %d", uid, os.Geteuid())
	}
	// What is there already is no artifact of the next command.
	sc.updates = nil
	call(t, s.Tools(), sc, "bash", bashArguments{Command: "ls ../outputs/deep"})
	if sc.updates != nil {
		t.Errorf("a command that left nothing presents %v", sc.updates)
	}
}

func TestCommandOfPythonSeesItsWorkspace(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{})
	if firstOf(s, "python3", "python") == "" {
		t.Skip("there is no python in /usr on this machine: the tool is off")
	}
	sc := &scope{folder: thread(t)}
	if err := sc.folder.WriteFile(workspaceArea+"/helper.py", []byte("def double(n): return 2*n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	res := call(t, s.Tools(), sc, "python", pythonArguments{Code: "import helper, os\nprint(helper.double(21), os.getcwd(), sorted(os.listdir('/')))\nraise SystemExit(7)"})
	want := "42 /mnt/user-data/workspace ['bin', 'dev', 'etc', "
	if got := item.JoinText(res.Content); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "[exit code 7]") {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func TestCommandIsToldAboutWhileItRuns(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{})
	sc := &scope{folder: thread(t)}
	// The command goes on only when its first line was told.
	sc.told = sync.OnceFunc(func() {
		if err := sc.folder.WriteFile(workspaceArea+"/go", nil, 0o600); err != nil {
			t.Error(err)
		}
	})
	res := call(t, s.Tools(), sc, "bash", bashArguments{Command: "echo first; until [ -e go ]; do sleep 0.01; done; echo second"})
	if got := item.JoinText(res.Content); got != "first\nsecond\n[exit code 0]" {
		t.Errorf("got %q", got)
	}
	if sc.shown[0] != "first\n" {
		t.Errorf("first shown: %q", sc.shown[0])
	}
}

// What a command leaves in its folders must not lead those who look at them later astray.
func TestCommandCannotLayTrapsInItsFolders(t *testing.T) {
	t.Parallel()
	kinds(t, Options{Bytes: mib, Files: 100}, func(t *testing.T, s *Sandbox) {
		trap := filepath.Join(t.TempDir(), "secret.txt")
		if err := os.WriteFile(trap, []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		sc := &scope{folder: thread(t)}
		call(t, s.Tools(), sc, "bash", bashArguments{Command: `cd ../outputs
ln -s ` + trap + ` link; ln -s ` + filepath.Dir(trap) + ` folder; ln -s ../../../../../.. up; ln -s . loop; mkfifo pipe
ln /mnt/user-data/workspace/x hard 2>/dev/null; echo fine > fine
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('socket')" 2>/dev/null
chmod 000 /mnt/user-data/workspace; printf x > "$(printf 'a\nb')"; rmdir /mnt/user-data/uploads 2>/dev/null; mv /mnt/user-data/outputs /mnt/user-data/o 2>/dev/null; true`})
		if got := sc.updates[files.Artifacts]; !slices.Equal(got.([]string), []string{"/mnt/user-data/outputs/fine"}) {
			t.Errorf("artifacts: %v", got)
		}
		if u := measure(t.Context(), sc.folder); u.bytes > 100 || u.files > 12 {
			t.Errorf("the folder is measured as %+v: somebody was led out of it", u)
		}
		all := files.Tools(files.Options{})
		for _, name := range []string{"link", "folder/secret.txt", "up" + trap, "pipe"} {
			res := call(t, all, sc, "read_file", map[string]string{"path": "/mnt/user-data/outputs/" + name})
			if got := item.JoinText(res.Content); !res.Error || strings.Contains(got, "secret\n") {
				t.Errorf("%s could be read: %q", name, got)
			}
		}
		if got, out := s.sh(t, sc.folder, "cd /mnt/user-data/workspace && echo again"); out != "again\n" {
			t.Errorf("a locked folder is lost: %+v, %q", got, out)
		}
	}, asFound, ownUser)
}

func TestCommandHasTheNetworkOnlyWhereItIsGiven(t *testing.T) {
	t.Parallel()
	s := opened(t, Options{Network: true}) // all attacks but those over the network fail here too
	o, err := newOutside(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	got, out := s.do(t, t.Context(), command{folder: thread(t), self: []string{"hostile", "connect", o.facts.TCP}})
	if out != "connected\n" {
		t.Errorf("with the network: %+v, %q", got, out)
	}
	if risk := s.Tools()[0].Spec().Risk; !risk.Has(tool.Leaves | tool.Executes) {
		t.Errorf("the risk is %v", risk)
	}
}

func TestPlainIsWithoutAJailAndOtherwiseTheSame(t *testing.T) {
	t.Parallel()
	all, err := Plain(Options{Bytes: mib, Wall: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sc := &scope{folder: thread(t)}
	res := call(t, all, sc, "bash", bashArguments{Command: "pwd; echo hi > /mnt/user-data/outputs/hi; sleep 1000 & exit 4"})
	want := "/mnt/user-data/workspace\n[exit code 4]\n[in outputs, new or changed: /mnt/user-data/outputs/hi]"
	if got := item.JoinText(res.Content); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
