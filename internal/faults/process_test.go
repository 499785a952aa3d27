package faults_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// binaries builds the programs once. They are real builds, without the race detector: what is raced against is a process.
var binaries = sync.OnceValues(func() (string, error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	if err := look(root); err != nil {
		return "", err
	}
	dir := filepath.Join(root, "bin", "faults")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+"/", "./cmd/tributary", "./internal/faults/cmd/mortal", "./internal/faults/cmd/hostile")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return dir, nil
})

// look looks at every folder of the module. The go command remembers a test's result until something changes that the test has looked at,
// and does not know that these tests run programs which they have not imported.
func look(root string) error {
	return filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".git", ".tools", "bin", "node_modules", "testdata"}, d.Name()) {
			return fs.SkipDir
		}
		return err
	})
}

// program is a server that can be started again and again on the same data.
type program struct {
	path string
	args []string
	env  []string
}

// mortal is the server with the tool that has effects.
func mortal(t testing.TB, data, provider string, args ...string) program {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return program{path: filepath.Join(bin, "mortal"), args: append([]string{"-data", data, "-provider", provider}, args...)}
}

// tributary is the real program.
func tributary(t testing.TB, config string, env ...string) program {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	return program{path: filepath.Join(bin, "tributary"), args: []string{"serve", "--config", config}, env: env}
}

// host runs a program, and knows where it listens now.
type host struct {
	program program
	client  *http.Client
	log     syncBuffer // what all its processes wrote
	url     atomic.Pointer[string]

	mu      sync.Mutex
	cmd     *exec.Cmd
	exited  chan struct{}
	exitErr error
	fell    time.Time // when the process was last killed
	downs   []down
}

// down is a time without a server: from the kill to the new process listening. up is how much of it the start took.
type down struct {
	from, to time.Time
	up       time.Duration
}

// newHost makes a host; the test ends its process.
func newHost(t testing.TB, p program) *host {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	h := &host{program: p, client: &http.Client{Transport: transport}}
	t.Cleanup(func() {
		h.kill()
		transport.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the server's log ends with:\n%s", tail(h.log.String(), 3000))
		}
	})
	return h
}

func tail(s string, n int) string {
	if len(s) > n {
		return "…" + s[len(s)-n:]
	}
	return s
}

// start begins a new process and returns when it listens.
func (h *host) start() error {
	cmd := exec.Command(h.program.path, h.program.args...)
	cmd.Env = append(os.Environ(), h.program.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = &h.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	listens := make(chan string, 1)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		r := bufio.NewReader(out)
		for {
			line, err := r.ReadString('\n')
			_, _ = h.log.Write([]byte(line))
			if _, url, ok := strings.Cut(strings.TrimSpace(line), " listens on "); ok {
				listens <- url
			}
			if err != nil {
				break
			}
		}
		err := cmd.Wait()
		h.mu.Lock()
		h.exitErr = err
		h.mu.Unlock()
	}()
	h.mu.Lock()
	h.cmd, h.exited = cmd, exited
	h.mu.Unlock()
	select {
	case url := <-listens:
		h.url.Store(&url)
		h.mu.Lock()
		defer h.mu.Unlock()
		if !h.fell.IsZero() {
			h.downs = append(h.downs, down{h.fell, time.Now(), time.Since(began)})
		}
		return nil
	case <-exited:
		return fmt.Errorf("the server ended at once: %s", tail(h.log.String(), 2000))
	case <-time.After(60 * time.Second):
		return errors.New("the server does not listen after a minute")
	}
}

func (h *host) mustStart(t testing.TB) {
	t.Helper()
	if err := h.start(); err != nil {
		t.Fatal(err)
	}
}

func (h *host) signal(s syscall.Signal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cmd != nil {
		_ = h.cmd.Process.Signal(s) // one that has ended needs no signal
	}
}

// kill ends the process without a word, and returns when it is gone.
func (h *host) kill() {
	h.mu.Lock()
	h.fell = time.Now()
	exited := h.exited
	h.mu.Unlock()
	if exited == nil {
		return
	}
	h.signal(syscall.SIGKILL)
	<-exited
}

// stop asks the process to end, and tells how it did.
func (h *host) stop(limit time.Duration) error {
	h.mu.Lock()
	h.fell = time.Now()
	exited := h.exited
	h.mu.Unlock()
	h.signal(syscall.SIGTERM)
	select {
	case <-exited:
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.exitErr
	case <-time.After(limit):
		return fmt.Errorf("it did not end within %v", limit)
	}
}

func (h *host) alive() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.exited == nil {
		return false
	}
	select {
	case <-h.exited:
		return false
	default:
		return true
	}
}

func (h *host) base() string { return *h.url.Load() }

// call makes a request and returns the status and the body.
func (h *host) call(ctx context.Context, method, path, body string) (int, []byte, http.Header, error) {
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base()+path, in)
	if err != nil {
		return 0, nil, nil, err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := h.client.Do(req)
	if err != nil {
		return 0, nil, nil, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, data, res.Header, err
}

// holding is what a process holds.
type holding struct {
	rss        int // bytes
	files      int
	goroutines int // 0 if the program does not tell
	heap       int
	stacks     int
}

func (u holding) String() string {
	return fmt.Sprintf("RSS %.1f MiB, heap %.1f MiB, stacks %.1f MiB, %d files, %d goroutines",
		float64(u.rss)/(1<<20), float64(u.heap)/(1<<20), float64(u.stacks)/(1<<20), u.files, u.goroutines)
}

func (h *host) holding(ctx context.Context) (holding, error) {
	var u holding
	if code, data, _, err := h.call(ctx, "GET", "/faults/stats", ""); err == nil && code == 200 {
		var s struct{ Goroutines, Heap, Stacks int }
		if err := json.Unmarshal(data, &s); err != nil {
			return u, err
		}
		u.goroutines, u.heap, u.stacks = s.Goroutines, s.Heap, s.Stacks
	}
	h.mu.Lock()
	pid := h.cmd.Process.Pid
	h.mu.Unlock()
	dir := fmt.Sprintf("/proc/%d", pid)
	fds, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return u, err
	}
	u.files = len(fds)
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			u.rss = kb << 10
		}
	}
	return u, nil
}

// syncBuffer is a buffer that two may write to.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
