package instructions_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/bench/instructions"
	"github.com/tributary-ai/tributary/internal/bench/instructions/subject" // also makes the go command see that what is measured has changed
)

var update = flag.Bool("update", false, "record what is counted now")

const recorded = "testdata/instructions.txt"

// program builds the subjects as they are shipped: without the race detector, whatever the test has.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "subject")
	cmd := exec.Command("go", "test", "-c", "-trimpath", "-o", path, "./subject")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	return path
}

// count counts one subject. A thread that is frozen while it holds a lock of Go's runtime stops everything; that is rare, and
// another try helps.
func count(t *testing.T, program, name string) int {
	t.Helper()
	for try := 1; ; try++ {
		t.Setenv(subject.NameVariable, name)
		t.Setenv(subject.DirVariable, t.TempDir())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		n, err := instructions.Count(ctx, program, "-test.run=^TestSubject$")
		cancel()
		switch {
		case errors.Is(err, instructions.ErrUnsupported):
			t.Skip(err)
		case err == nil:
			return n
		case try == 3 || !errors.Is(err, context.DeadlineExceeded):
			t.Fatal(err)
		}
		t.Logf("try %d: %v", try, err)
	}
}

// No part of an event's way costs over a fifth more instructions than it did when testdata/instructions.txt was written.
func TestEventsCostNoMoreInstructionsThanTheyDid(t *testing.T) {
	if testing.Short() {
		t.Skip("counting takes half a minute; make nightly does it")
	}
	program := program(t)
	was, err := readRecorded()
	if err != nil {
		t.Fatal(err)
	}
	now := instructions.Baseline{}
	for _, s := range subject.All {
		t.Run(s.Name, func(t *testing.T) {
			// What the runtime does beside now and then only adds, so the least of some counts is the truth.
			for try := 1; try == 1 || try <= 3 && (*update || len(was.Problems(instructions.Baseline{s.Name: now[s.Name]})) > 0); try++ {
				began := time.Now()
				n := count(t, program, s.Name)
				if each := n / s.Events; try == 1 || each < now[s.Name] {
					now[s.Name] = each
				}
				t.Logf("%d instructions for each event (%d steps in %v)", n/s.Events, n, time.Since(began).Round(time.Millisecond))
			}
			if *update {
				was[s.Name] = now[s.Name]
			}
			for _, p := range was.Problems(instructions.Baseline{s.Name: now[s.Name]}) {
				t.Errorf("%s; if it is worth its price, say so in the commit and record it: go test ./internal/bench/instructions -update", p)
			}
		})
	}
	for name := range was {
		if !slices.ContainsFunc(subject.All, func(s subject.Subject) bool { return s.Name == name }) {
			t.Errorf("%s is recorded in %s and no longer counted", name, recorded)
		}
	}
	if *update {
		if err := os.WriteFile(recorded, was.Format(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readRecorded() (instructions.Baseline, error) {
	f, err := os.Open(recorded)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return instructions.ReadBaseline(f)
}

// Counting counts goroutines that take turns, gives the same twice, and sees three tenths more.
func TestCountsAreSteadyAndSeeASlowdown(t *testing.T) {
	if testing.Short() {
		t.Skip("counting takes some seconds; make nightly does it")
	}
	program := program(t)
	first, again, more := count(t, program, "spin/10"), count(t, program, "spin/10"), count(t, program, "spin/13")
	t.Logf("%d, again %d, three tenths more %d", first, again, more)
	if diff := first - again; diff*50 > first || -diff*50 > first {
		t.Errorf("the same work counts %d instructions and then %d", first, again)
	}
	was := instructions.Baseline{"work": first}
	if p := was.Problems(instructions.Baseline{"work": again}); len(p) > 0 {
		t.Errorf("the same work is a problem: %q", p)
	}
	if p := was.Problems(instructions.Baseline{"work": more}); len(p) != 1 {
		t.Errorf("three tenths more work is no problem: %q", p)
	}
}

func TestBaseline(t *testing.T) {
	b, err := instructions.ReadBaseline(strings.NewReader("a/b 100\nc 7\n"))
	if err != nil || b["a/b"] != 100 || b["c"] != 7 || string(b.Format()) != "a/b 100\nc 7\n" {
		t.Fatalf("%v %v", b, err)
	}
	for _, bad := range []string{"a\n", "a x\n", "a 0\n", "\n"} {
		if b, err := instructions.ReadBaseline(strings.NewReader(bad)); err == nil {
			t.Errorf("%q reads as %v", bad, b)
		}
	}
	for _, c := range []struct {
		now  instructions.Baseline
		want string
	}{
		{instructions.Baseline{"a/b": 120, "c": 1}, ""},
		{instructions.Baseline{"c": 8}, ""},
		{instructions.Baseline{"c": 9}, "c: 9 instructions for each event, +28 % of the 7 that were recorded; a fifth more is the limit"},
		{instructions.Baseline{"a/b": 121, "c": 7}, "a/b: 121 instructions for each event, +21 % of the 100 that were recorded; a fifth more is the limit"},
		{instructions.Baseline{"a/b": 1, "c": 7, "d": 1}, "d was never recorded"},
	} {
		if got := strings.Join(b.Problems(c.now), "; "); got != c.want {
			t.Errorf("%v: got %q, want %q", c.now, got, c.want)
		}
	}
}

func TestProgramThatNeverBegins(t *testing.T) {
	if n, err := instructions.Count(t.Context(), "/bin/true"); err == nil || errors.Is(err, instructions.ErrUnsupported) && n != 0 {
		t.Errorf("got %d, %v", n, err)
	}
}
