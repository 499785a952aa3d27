//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// Plain makes the tools without any jail: what a model writes runs as this user, and can do all that this user can. It is
// for machines that are a jail themselves, and for people who say so.
//
// Environment variables are not passed on. The limits of processor time, memory and processes do not hold.
func Plain(opt Options) ([]tool.Tool, error) {
	opt = opt.withDefaults()
	opt.Network = true // nobody keeps it away
	return tools(plain{opt}, opt), nil
}

type plain struct{ opt Options }

func (p plain) run(ctx context.Context, c command, out func([]byte)) (outcome, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.opt.Wall, errLate)
	defer cancel()
	w, err := newWarden(c.folder, p.opt)
	if err != nil {
		return outcome{}, err
	}
	dir, err := filepath.Abs(c.folder.Name())
	if err != nil {
		return outcome{}, err
	}
	for _, area := range areas {
		f, err := openArea(c.folder, area)
		if err != nil {
			return outcome{}, err
		}
		f.Close()
	}
	script, err := os.CreateTemp("", "tributary-*-"+c.name)
	if err != nil {
		return outcome{}, err
	}
	defer os.Remove(script.Name())
	_, err = script.WriteString(strings.ReplaceAll(c.script, files.Top, dir))
	if err = errors.Join(err, script.Close()); err != nil {
		return outcome{}, err
	}
	r, pipe, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer r.Close()
	cmd := exec.Command(c.argv[0], append(c.argv[1:], script.Name())...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(dir, workspaceArea), pipe, pipe
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LANG=C.UTF-8", "PYTHONPATH=" + cmd.Dir, "PYTHONUNBUFFERED=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Start()
	pipe.Close()
	if err != nil {
		return outcome{}, fmt.Errorf("start %s: %w", c.argv[0], err)
	}
	signal := func(s syscall.Signal) { _ = syscall.Kill(-cmd.Process.Pid, s) }
	kill := func() { signal(syscall.SIGKILL); r.Close() } // what left the group keeps the pipe, and is not waited for
	ended := make(chan error, 1)
	go func() { // what it left behind must not hold us
		ended <- cmd.Wait()
		signal(syscall.SIGKILL)
		_ = r.SetReadDeadline(time.Now().Add(time.Second))
	}()
	why := w.guard(ctx, func() *time.Timer {
		signal(syscall.SIGTERM)
		return time.AfterFunc(Grace, kill)
	}, func() string {
		return pour(r, func(p []byte) { out([]byte(strings.ReplaceAll(string(p), dir, files.Top))) }, kill)
	})
	got := outcome{Why: why}
	err = <-ended
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		status := exit.Sys().(syscall.WaitStatus)
		if got.Code = status.ExitStatus(); status.Signaled() {
			got.Code, got.Signal = 128+int(status.Signal()), status.Signal().String()
		}
	case err != nil:
		return outcome{}, err
	}
	return got, nil
}

func (plain) where(interpreter string) string {
	path, err := exec.LookPath(interpreter)
	if err != nil {
		return ""
	}
	return path
}
