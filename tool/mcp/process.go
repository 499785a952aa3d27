package mcp

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// process is a server that was started. It and its children end together.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	err  *tail
	done chan struct{} // closed when it has ended
}

// inherited are the variables that a process needs to find programs and its home. Keys and passwords have other names.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "SHELL", "SYSTEMROOT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TEMP"}

// CleanEnv is what every process gets of our environment.
func CleanEnv() []string {
	var env []string
	for _, name := range inherited {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

func start(s *Server) (*process, error) {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Env, cmd.Dir = append(CleanEnv(), s.Env...), s.Dir
	p := &process{cmd: cmd, err: &tail{max: 4 << 10}, done: make(chan struct{})}
	apart(cmd)
	cmd.Stderr = p.err
	// A child that keeps the pipe must not keep us from noticing that its parent has ended.
	cmd.WaitDelay = time.Second
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	// Not StdoutPipe: Wait would close it, and with it lose the last words.
	out, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, p.out = write, out
	err = cmd.Start()
	_ = write.Close() // the process has its own
	if err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("start %s: %w", s.Command, err)
	}
	go func() { // ends with the process
		defer close(p.done)
		_ = cmd.Wait() // how it ended is told by what it said
		killAll(cmd)
	}()
	return p, nil
}

// stop ends the process: it is asked, told and made to.
func (p *process) stop() {
	_ = p.in.Close() // it may have ended
	for _, end := range []func(*exec.Cmd){askToEnd, killAll} {
		timer := time.NewTimer(grace)
		select {
		case <-p.done:
		case <-timer.C:
			end(p.cmd)
		}
		timer.Stop()
	}
	<-p.done
	_ = p.out.Close()
}

const grace = time.Second

// said is the end of what it wrote for people.
func (p *process) said() string { return short(visible(p.err.String()), 500) }

// tail keeps the end of what is written to it.
type tail struct {
	max int
	mu  sync.Mutex
	buf []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-t.max):]...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
