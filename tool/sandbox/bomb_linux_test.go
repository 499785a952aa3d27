//go:build linux && (amd64 || arm64)

package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/tool/sandbox/internal/jail"
)

const (
	mib  = 1 << 20
	soon = 2 * time.Minute // or a limit that does not hold would keep the test waiting
)

func TestBombOfProcessesIsStopped(t *testing.T) {
	t.Parallel()
	kinds(t, Options{Processes: 40, Wall: soon}, func(t *testing.T, s *Sandbox) {
		got, out := s.attackWith(t, thread(t), "fork", "400")
		if got.Why == jail.TooMany(40) { // by the watch
			return
		}
		_, n, _ := strings.Cut(strings.TrimSpace(out), "forked ")
		if n, err := strconv.Atoi(n); err != nil || n > 40+jail.Spare || got.Code != 0 {
			t.Errorf("got %+v, %q; want at most %d processes", got, out, 40+jail.Spare)
		}
	}, asFound, noGroups, ownUser)
}

func TestBombOfMemoryInOneProcessIsStopped(t *testing.T) {
	t.Parallel()
	kinds(t, Options{Memory: 256 * mib, Wall: soon}, func(t *testing.T, s *Sandbox) {
		got, out := s.attackWith(t, thread(t), "hold-and-stay", strconv.Itoa(2048*mib))
		if got.Why != jail.TooMuch(256*mib) || got.Signal != "SIGKILL" {
			t.Errorf("got %+v, %q; want it killed for memory", got, out)
		}
		// A program that asks first is told, and lives on.
		got, out = s.sh(t, thread(t), "dd if=/dev/zero of=/dev/null bs=2G count=1; echo and now $?")
		if !strings.Contains(out, "memory exhausted") || got.Code != 0 {
			t.Errorf("got %+v, %q; want dd to be told that there is no memory", got, out)
		}
	}, asFound, noGroups)
}

func TestBombOfMemoryInEightProcessesIsStopped(t *testing.T) {
	t.Parallel()
	kinds(t, Options{Memory: 256 * mib, Wall: soon}, func(t *testing.T, s *Sandbox) {
		got, out := s.attackWith(t, thread(t), "hold-many", "8", strconv.Itoa(120*mib))
		if got.Why != jail.TooMuch(256*mib) {
			t.Errorf("got %+v, %q; want somebody killed for memory", got, out)
		}
	}, asFound, noGroups)
}

func TestBombOfMemoryThatNobodyHoldsIsStopped(t *testing.T) {
	t.Parallel()
	kinds(t, Options{Memory: 256 * mib, Wall: soon}, func(t *testing.T, s *Sandbox) {
		got, out := s.attackWith(t, thread(t), "share", strconv.Itoa(64*mib))
		if got.Why == jail.TooMuch(256*mib) {
			return
		}
		if !strings.HasPrefix(out, "stopped:") || !strings.HasSuffix(out, "shared 0\n") {
			t.Errorf("got %+v, %q; want it killed, or to have got nothing", got, out)
		}
	}, asFound, noGroups)
}

func TestBombOfProcessorTimeIsStopped(t *testing.T) {
	t.Parallel()
	kinds(t, Options{CPU: time.Second}, func(t *testing.T, s *Sandbox) {
		got, out := s.sh(t, thread(t), "while :; do :; done")
		if got.Signal != "SIGXCPU" && got.Signal != "SIGKILL" {
			t.Errorf("got %+v, %q; want it killed for its processor time", got, out)
		}
		if said := got.said(); got.Signal == "SIGXCPU" && !strings.Contains(said, "processor time") {
			t.Errorf("the model is told %q", said)
		}
	}, asFound)
}

func TestBombOfFilesIsStopped(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script string
		opt    Options
		want   string // in what the model is told
	}{
		"one file":                           {"exec head -c 100000000 /dev/zero > big", Options{Bytes: 4 * mib}, "SIGXFSZ, exit code 153: it wrote a file that is too large"},
		"many files":                         {"i=0; while :; do head -c 500000 /dev/zero > f$i; i=$((i+1)); done", Options{Bytes: 4 * mib}, "the thread's folder is full"},
		"empty files":                        {"i=0; while :; do : > f$i; i=$((i+1)); done", Options{Files: 100}, "the thread's folder is full"},
		"a folder that nobody may look into": {"mkdir d; cd d; chmod 333 .; i=0; while :; do : > f$i; i=$((i+1)); done", Options{Files: 100}, "the thread's folder is full"},
		"folders in folders":                 {"while :; do mkdir d; cd d; done", Options{}, "nested more than"},
		"scratch":                            {"head -c 100000000 /dev/zero > /tmp/big; echo $(stat -c %s /tmp/big)", Options{Scratch: 4 * mib}, "No space left on device"},
		"shared memory":                      {"head -c 100000000 /dev/zero > /dev/shm/big", Options{Scratch: 4 * mib}, "No space left on device"},
		"names in scratch":                   {"i=0; while : > /tmp/$i; do i=$((i+1)); done", Options{Scratch: mib}, "No space left on device"},
		"the root":                           {": > /x; mkdir /y; : > /run/z", Options{}, "Read-only file system"},
	} {
		t.Run(name, func(t *testing.T) {
			kinds(t, tt.opt, func(t *testing.T, s *Sandbox) {
				folder := thread(t)
				got, out := s.sh(t, folder, tt.script)
				if said := out + got.said(); !strings.Contains(said, tt.want) {
					t.Errorf("the model is told %q; want %q", said[max(len(said)-300, 0):], tt.want)
				}
				if name == "one file" {
					if info, err := folder.Stat(workspaceArea + "/big"); err != nil || info.Size() > 4*mib {
						t.Errorf("%v, %v; want at most 4 MiB", info, err)
					}
				}
			}, asFound)
		})
	}
}

func TestCommandThatShrinksAFullFolderCanBeRun(t *testing.T) {
	t.Parallel()
	s := prepare(Options{Bytes: 1000, Files: 3})
	defer s.Close()
	folder := thread(t)
	if err := folder.WriteFile(workspaceArea+"/big", make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, out := s.sh(t, folder, "rm big && echo gone"); got != (outcome{}) || out != "gone\n" {
		t.Errorf("got %+v, %q", got, out)
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	t.Parallel()
	kinds(t, Options{}, func(t *testing.T, s *Sandbox) {
		mark := fmt.Sprintf("mark-%d-%d", os.Getpid(), time.Now().UnixNano())
		got, out := s.attackWith(t, thread(t), "daemon", mark)
		if got != (outcome{}) || out != "left behind: true\n" {
			t.Fatalf("got %+v, %q; want a daemon that was there", got, out)
		}
		if alive := running(t, mark); alive != "" {
			t.Errorf("process %s goes on", alive)
		}
	}, asFound, noGroups)
}

// running finds a process by a word of its command line.
func running(t *testing.T, mark string) string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Fatalf("/proc: %d, %v", len(lines), err)
	}
	for _, path := range lines {
		if line, _ := os.ReadFile(path); strings.Contains(string(line), mark) {
			return path
		}
	}
	return ""
}

func TestCommandThatTakesTooLongIsEnded(t *testing.T) {
	t.Parallel()
	s := prepare(Options{Wall: 300 * time.Millisecond})
	defer s.Close()
	mark := fmt.Sprintf("%d.%d", 1000+os.Getpid(), time.Now().UnixNano())
	got, out := s.sh(t, thread(t), "sleep "+mark+" & while :; do sleep "+mark+"; done")
	if got.Why != "it took too long" || got.Signal == "" {
		t.Errorf("got %+v, %q", got, out)
	}
	if alive := running(t, mark); alive != "" {
		t.Errorf("process %s goes on", alive)
	}
}

func TestCommandEndsWithItsCall(t *testing.T) {
	t.Parallel()
	s := prepare(Options{})
	defer s.Close()
	mark := fmt.Sprintf("%d.%d", 2000+os.Getpid(), time.Now().UnixNano())
	for name, script := range map[string]string{
		"and goes when told":  "trap 'echo bye; exit 5' TERM; echo begun; sleep " + mark + " & wait",
		"and does not listen": "trap '' TERM; echo begun; while :; do sleep " + mark + "; done",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		var out strings.Builder
		got, err := s.run(ctx, command{folder: thread(t), argv: []string{"/bin/sh"}, name: "command", script: script}, func(p []byte) {
			out.Write(p)
			cancel()
		})
		cancel()
		want, code := "begun\n", 137
		if name == "and goes when told" {
			want, code = "begun\nbye\n", 5
		}
		if err != nil || got.Why != "it was told to stop" || out.String() != want || got.Code != code {
			t.Errorf("%s: got %+v, %q, %v; want %q, %d", name, got, out.String(), err, want, code)
		}
		if alive := running(t, mark); alive != "" {
			t.Errorf("%s: process %s goes on", name, alive)
		}
	}
}

func TestCommandEndsWithTheServer(t *testing.T) {
	t.Parallel()
	s := prepare(Options{})
	defer s.Close()
	cell, err := s.open(command{folder: thread(t), argv: []string{"/bin/sh"}, name: "command", script: "echo begun; trap '' TERM; while :; do sleep 1000; done"}, largest)
	if err != nil {
		t.Fatal(err)
	}
	pour(cell.output, func([]byte) {
		cell.order.Close() // as the kernel does when a process dies
	}, func() {})
	if err := cell.cmd.Wait(); err == nil {
		t.Error("the launcher ended well, with nobody to report to")
	}
	cell.report.Close()
	cell.output.Close()
	if err := cell.group.close(); err != nil {
		t.Error(err)
	}
}

func TestCommandThatWritesWithoutEndIsEnded(t *testing.T) {
	t.Parallel()
	s := prepare(Options{})
	defer s.Close()
	var n int
	got, err := s.run(t.Context(), command{folder: thread(t), argv: []string{"/bin/sh"}, name: "command", script: "yes"}, func(p []byte) { n += len(p) })
	if err != nil || !strings.Contains(got.Why, "64 MiB") || n < floodBytes || n > 2*floodBytes {
		t.Errorf("got %+v, %v after %d bytes", got, err, n)
	}
}
