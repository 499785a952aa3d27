package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// process is a server in a process of its own, so that what it costs can be told from what its readers cost.
type process struct {
	cmd  *exec.Cmd
	in   io.Closer
	addr string
}

// start starts this program again as a server of some kind.
func (b *bench) start(kind string) (*process, error) {
	return b.startIn(kind, filepath.Join(b.dir, uuid.NewString()))
}

// startIn does so with a folder that there may be already.
func (b *bench) startIn(kind, dir string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return launch(exec.Command(self, "-serve", kind, "-data", dir, "-profile", b.profiles), func(line string) string { return line })
}

// launch starts a server that says where it listens on the first line of its output.
func launch(cmd *exec.Cmd, address func(line string) string) (*process, error) {
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the server said nothing: %w", err), in.Close(), cmd.Wait())
	}
	return &process{cmd: cmd, in: in, addr: address(strings.TrimSpace(line))}, nil
}

func (p *process) stop() error { return errors.Join(p.in.Close(), p.cmd.Wait()) }

// cpu is the processor time that the process has used, to a hundredth of a second.
func (p *process) cpu() time.Duration {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // the name may hold spaces
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	if err != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (p *process) rss() int64 { return rssOf(p.cmd.Process.Pid) }

// watch notes the largest memory of a process until the returned function is called.
func (p *process) watch() (peak func() int64) {
	stop := make(chan struct{})
	var most int64
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, p.rss())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return func() int64 {
		close(stop)
		wg.Wait()
		return most
	}
}

// profiled runs a measurement and, if profiles are wanted, keeps what the server did meanwhile under that name.
func (b *bench) profiled(ctx context.Context, p *process, name string, measure func() error) error {
	if b.profiles == "" {
		return measure()
	}
	if _, _, err := ask(ctx, http.DefaultClient, p.addr, request{method: http.MethodPost, path: "/profile/start"}); err != nil {
		return err
	}
	failed := measure()
	for route, kind := range map[string]string{"POST /profile/stop": "cpu", "GET /profile/allocs": "allocs"} {
		method, path, _ := strings.Cut(route, " ")
		_, raw, err := ask(ctx, http.DefaultClient, p.addr, request{method: method, path: path})
		if err == nil {
			err = os.WriteFile(filepath.Join(b.profiles, name+"."+kind+".pprof"), raw, 0o644)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}
