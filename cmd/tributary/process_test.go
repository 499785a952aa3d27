package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram makes the test's own binary be the program: a process that can be killed, or that runs as somebody else.
const asProgram = "TRIBUTARY_TEST_AS_PROGRAM"

// program is the program as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
	if _, err := os.Stat(cmd.Path); err != nil {
		t.Skip("the system does not say where a process has its program:", err)
	}
	cmd.Env = append(os.Environ(), asProgram+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// nobody makes a program run as a user without rights, which root has to be to do. Anybody else has none anyway.
func nobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534, NoSetGroups: true}
	}
	return cmd
}

// own gives files to the user that nobody runs programs as.
func own(t *testing.T, paths ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for _, path := range paths {
		if err := os.Lchown(path, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
}

// ended runs a program to its end.
func ended(t *testing.T, cmd *exec.Cmd) (code int, stdout, stderr string) {
	t.Helper()
	var out, notes strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &notes
	if err := cmd.Run(); cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), notes.String()
}

// process is a server that can be killed.
type process struct {
	cmd *exec.Cmd
	url string
	log *syncBuilder
}

// startProcess starts a server and returns when it listens.
func startProcess(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	p := &process{cmd: program(t, append([]string{"--data", dir, "serve", "--addr", "127.0.0.1:0"}, args...)...), log: &syncBuilder{}}
	p.cmd.Stderr = p.log
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v, %s", err, p.log)
	}
	p.url = strings.TrimSpace(line[strings.Index(line, "http://"):])
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return p
}

// kill ends the process without a word.
func (p *process) kill() {
	if p.cmd.ProcessState == nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
}

// stop asks the process to end.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("the server ended with %v: %s", err, p.log)
		}
	case <-time.After(time.Minute):
		t.Fatalf("the server does not end: %s", p.log)
	}
}
