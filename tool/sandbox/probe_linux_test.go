//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

func TestNoAttackGoesWell(t *testing.T) {
	t.Parallel()
	kinds(t, Options{}, func(t *testing.T, s *Sandbox) {
		found, err := s.probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range jail.Attacks() {
			t.Run(a, func(t *testing.T) {
				if i >= len(found) || found[i].Attack != a {
					t.Fatalf("it was not made; got %d findings, want %d", len(found), len(jail.Attacks()))
				}
				if found[i].Escaped != "" {
					t.Errorf("it went well: %s", found[i].Escaped)
				}
			})
		}
	})
}

// An attack that cannot go well proves nothing: outside of a jail they do.
func TestAttacksGoWellOutsideOfAJail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	o, err := newOutside(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer o.close()
	told, err := json.Marshal(o.facts)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Args, cmd.Env, cmd.Dir = []string{jail.AsAttacker, string(told)}, []string{"SECRET=1"}, dir
	if os.Geteuid() == 0 { // some would go too well
		for _, path := range []string{dir, filepath.Dir(dir)} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	held := []string{ // what an ordinary user cannot do anyway, and what there is nothing of outside
		"look into the first process", "make device nodes", "use system calls that nobody thought about",
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for _, a := range jail.Attacks() {
		var f jail.Finding
		if err := dec.Decode(&f); err != nil || f.Attack != a {
			t.Fatalf("finding %+v, %v; want one of %q", f, err, a)
		}
		if f.Escaped == "" && !slices.Contains(held, f.Attack) {
			t.Errorf("%s: it failed outside of a jail too", f.Attack)
		}
	}
}

func TestSandboxThatDoesNotHoldIsNotOpened(t *testing.T) {
	all := func() (found []jail.Finding) {
		for _, a := range jail.Attacks() {
			found = append(found, jail.Finding{Attack: a})
		}
		return found
	}
	escaped, cut := all(), all()[:3]
	escaped[2].Escaped = "/home is there"
	for want, found := range map[string][]jail.Finding{
		"": all(),
		"does not hold; code in it can: " + jail.Attacks()[2] + " (/home is there)": escaped,
		"3 of":  cut,
		"0 of ": nil,
	} {
		err := judge(found)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

const nobody = 65534

// What holds for root must hold for everybody: the same tests, by another user.
func TestAllOfThisHoldsForAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user; these tests run as an ordinary one already")
	}
	dir, err := os.MkdirTemp("", "sandbox-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.v", "-test.run", "^(TestNoAttackGoesWell|TestAttacksGoWell.*|TestBomb.*|TestNothingIsLeftBehind|TestCommand.*)$")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=" + os.Getenv("PATH"), "GORACE=" + os.Getenv("GORACE")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if bytes.Contains(out, []byte(noJails)) && os.Getenv("CI") != "true" {
		t.Skipf("for user %d, %s: %s", nobody, noJails, out)
	}
	if err != nil {
		t.Fatalf("as user %d: %v\n%s", nobody, err, out)
	}
	for _, a := range jail.Attacks() {
		row := "    --- PASS: TestNoAttackGoesWell/as_found/" + strings.ReplaceAll(a, " ", "_") + " "
		if !strings.Contains(string(out), row) {
			t.Errorf("as user %d: the row %q was not asserted\n%s", nobody, a, out)
		}
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") || strings.Contains(line, "_test.go") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
