package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// world is a provider and a server on a folder of its own.
type world struct {
	t        testing.TB
	seed     uint64
	data     string
	provider *faults.Provider
	host     *host

	drives uint64 // how many loads there were
	begun  atomic.Int64
	ended  atomic.Int64
	// lenient lets the server answer a request to create with any 5xx: its disk is being taken away.
	lenient bool
}

// seedOf draws a seed, or takes the one that is to be repeated.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if s := os.Getenv("FAULTS_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("FAULTS_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("seed %d", seed)
	return seed
}

func startProvider(t testing.TB) *faults.Provider {
	t.Helper()
	p, err := faults.StartProvider()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// newWorld starts the server that has a tool with effects.
func newWorld(t testing.TB, args ...string) *world {
	t.Helper()
	w := &world{t: t, seed: seedOf(t), data: t.TempDir(), provider: startProvider(t)}
	w.host = newHost(t, mortal(t, w.data, w.provider.URL(), args...))
	w.host.mustStart(t)
	return w
}

// model is an entry of the configuration file.
type modelEntry struct{ name, provider, baseURL, more string }

// newReal starts the real program with these models.
func newReal(t testing.TB, p *faults.Provider, models []modelEntry, more string, env ...string) *world {
	t.Helper()
	w := &world{t: t, seed: seedOf(t), data: t.TempDir(), provider: p}
	config := filepath.Join(t.TempDir(), "config.yaml")
	var b strings.Builder
	fmt.Fprintf(&b, "addr: 127.0.0.1:0\ndata: %s\n%smodels:\n", w.data, more)
	for _, m := range models {
		fmt.Fprintf(&b, "  - {name: %s, model: %s, provider: %s, base_url: %q, api_key_env: FAULTS_KEY%s}\n", m.name, m.name, m.provider, m.baseURL, m.more)
	}
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	w.host = newHost(t, tributary(t, config, append([]string{"FAULTS_KEY=not-a-key"}, env...)...))
	w.host.mustStart(t)
	return w
}

// load says what is run.
type load struct {
	runs   int
	spread time.Duration // over which they are created
	order  func(i int, key string) faults.Order
	wires  func(i int) []faults.Dialect
	model  func(i int) string // nil: the first
	leave  float64            // how probable it is that a reader hangs up after a frame
}

// evidence is what one run left.
type evidence struct {
	faults.Case
	thread string
	err    error
}

// drive runs a load to its end and returns the evidence of every run. quiet is closed when nobody disturbs the server any
// more; late readers come after that.
func (w *world) drive(ctx context.Context, l load, quiet <-chan struct{}) []evidence {
	w.t.Helper()
	w.drives++
	salt := w.drives << 32 // so that no two runs of a world share a thread
	all := make([]evidence, l.runs)
	var wg sync.WaitGroup
	for i := range all {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(w.seed, salt+uint64(i)))
			if !wait(ctx, time.Duration(rng.Int64N(int64(l.spread)+1))) {
				return
			}
			all[i] = w.follow(ctx, i, l, rng)
		}()
	}
	wg.Wait()
	select {
	case <-quiet:
	case <-ctx.Done():
	}
	w.readLate(ctx, all, l)
	w.effects(all)
	return all
}

// readLate reads all runs again, a few at a time.
func (w *world) readLate(ctx context.Context, all []evidence, l load) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range next {
				if all[i].err == nil {
					all[i].err = w.late(ctx, &all[i], l.wires(i))
				}
			}
		}()
	}
	for i := range all {
		next <- i
	}
	close(next)
	wg.Wait()
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// follow creates a run and reads it to its end on every wire.
func (w *world) follow(ctx context.Context, i int, l load, rng *rand.Rand) evidence {
	e := w.create(ctx, i, l, rng)
	if e.err != nil {
		return e
	}
	w.begun.Add(1)
	defer w.ended.Add(1)
	var wg sync.WaitGroup
	wires := l.wires(i)
	readings := make([]faults.Reading, len(wires))
	errs := make([]error, len(wires))
	for n, d := range wires {
		rd := &reader{host: w.host, dialect: d, who: fmt.Sprintf("%s reader", d), thread: e.thread, run: e.Run}
		if l.leave > 0 {
			own := rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64()))
			rd.leave = func() bool { return own.Float64() < l.leave }
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			readings[n], errs[n] = rd.read(ctx)
		}()
	}
	wg.Wait()
	e.Readings = readings
	for n, err := range errs {
		if err != nil {
			e.err = fmt.Errorf("%s reader of run %s after %d frames: %w", wires[n], e.Run, len(readings[n].Frames), err)
		}
	}
	return e
}

// create starts a run, over one API or the other. A request that got no answer may have created one, which must end like all
// others; the next request is for another thread and another text.
func (w *world) create(ctx context.Context, i int, l load, rng *rand.Rand) evidence {
	for try := 0; ; try++ {
		e := evidence{thread: uuid(rng)}
		e.Order = l.order(i, fmt.Sprintf("k%dx%d", i, try))
		model := ""
		if l.model != nil {
			model = l.model(i)
		}
		var err error
		if i%2 == 0 {
			e.Run, err = w.createRun(ctx, e.thread, e.Order, model)
		} else {
			e.Run, err = w.createTask(ctx, e.thread, e.Order, model)
		}
		if err == nil {
			return e
		}
		if ctx.Err() != nil {
			e.err = fmt.Errorf("create run %d: %w", i, err)
			return e
		}
		wait(ctx, 20*time.Millisecond)
	}
}

func uuid(rng *rand.Rand) string {
	a, b := rng.Uint64(), rng.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>52, b&0xffffffffffff)
}

func (w *world) createRun(ctx context.Context, thread string, o faults.Order, model string, webhook ...string) (string, error) {
	configurable := map[string]string{}
	if model != "" {
		configurable["model_name"] = model
	}
	request := map[string]any{
		"assistant_id": "agent", "if_not_exists": "create", "stream_mode": []string{"messages-tuple", "values", "custom"},
		"input":  map[string]any{"messages": []any{map[string]string{"role": "user", "content": o.String()}}},
		"config": map[string]any{"configurable": configurable},
	}
	if len(webhook) > 0 {
		request["webhook"] = webhook[0]
	}
	body, _ := json.Marshal(request) // strings always encode
	code, data, _, err := w.host.call(ctx, "POST", "/threads/"+thread+"/runs", string(body))
	if err != nil {
		return "", err
	}
	var run struct {
		ID string `json:"run_id"`
	}
	if code != http.StatusOK || json.Unmarshal(data, &run) != nil || run.ID == "" {
		return "", w.refusal(code, data)
	}
	return run.ID, nil
}

// createTask hangs up as soon as it knows the task's name; the task goes on without.
func (w *world) createTask(ctx context.Context, thread string, o faults.Order, model string) (string, error) {
	ctx, hangUp := context.WithCancel(ctx)
	defer hangUp()
	body, _ := json.Marshal(map[string]any{"input": o.String(), "stream": true, "thread_id": thread, "model": model}) // strings always encode
	req, err := http.NewRequestWithContext(ctx, "POST", w.host.base()+"/tasks", strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := w.host.client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	id, ok := strings.CutPrefix(res.Header.Get("Location"), "/tasks/")
	if res.StatusCode != http.StatusOK || !ok {
		data, _ := io.ReadAll(res.Body)
		return "", w.refusal(res.StatusCode, data)
	}
	return strings.TrimSuffix(id, "/events"), nil
}

// refusal is an answer that is no run. Only "not now" is one that the tests can live with.
func (w *world) refusal(code int, body []byte) error {
	err := fmt.Errorf("create: %d %s", code, body)
	if code != http.StatusServiceUnavailable && !(w.lenient && code >= 500) {
		w.t.Error(err)
	}
	return err
}

// late reads a run that has ended, on each wire that was used, and the folded object.
func (w *world) late(ctx context.Context, e *evidence, wires []faults.Dialect) error {
	for _, d := range wires {
		rd := &reader{host: w.host, dialect: d, who: fmt.Sprintf("late %s reader", d), thread: e.thread, run: e.Run}
		got, err := rd.read(ctx)
		if err != nil {
			return fmt.Errorf("%s of run %s: %w", rd.who, e.Run, err)
		}
		e.Readings = append(e.Readings, got)
	}
	code, data, _, err := w.host.call(ctx, "GET", "/tasks/"+e.Run, "")
	if err != nil || code != http.StatusOK {
		return fmt.Errorf("the object of run %s: %d %v", e.Run, code, err)
	}
	e.Object = data
	return nil
}

// effects reads what the tool did.
func (w *world) effects(all []evidence) {
	raw, err := os.ReadFile(filepath.Join(w.data, "effects"))
	if err != nil {
		return // there were none, which the oracle will say if it is wrong
	}
	by := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		run, call, _ := strings.Cut(strings.TrimSpace(line), " ")
		by[run] = append(by[run], call)
	}
	for i := range all {
		all[i].Effects = by[all[i].Run]
	}
}

// judge applies the oracle to all, and makes sure that nothing that was accepted is still under way.
func (w *world) judge(ctx context.Context, all []evidence) {
	w.t.Helper()
	bad := 0
	for i := range all {
		if all[i].err != nil {
			w.t.Error(all[i].err)
			bad++
		} else {
			for _, v := range faults.Check(all[i].Case) {
				w.t.Error(v)
				bad++
			}
		}
		if bad > 20 {
			w.t.Fatal("and so on")
		}
	}
	w.allEnded(ctx)
}

// allEnded waits for runs that nobody follows: those whose creator got no answer.
func (w *world) allEnded(ctx context.Context) {
	w.t.Helper()
	var page struct {
		Total int
		Tasks []json.RawMessage
	}
	for until := time.Now().Add(15 * time.Second); ; {
		code, data, _, err := w.host.call(ctx, "GET", "/tasks?status=working,queued&limit=1000", "")
		if err != nil || code != http.StatusOK || json.Unmarshal(data, &page) != nil {
			w.t.Fatalf("list: %d %v %s", code, err, data)
		}
		if page.Total == 0 {
			return
		}
		if time.Now().After(until) {
			w.t.Fatalf("%d runs do not end: %s", page.Total, page.Tasks)
		}
		wait(ctx, 50*time.Millisecond)
	}
}

// disturb kills the server n times, at moments that the seed decides, pauses it in between now and then, and always starts it
// again. The returned channel is closed when it is done.
func (w *world) disturb(ctx context.Context, n int, least, spread time.Duration) <-chan struct{} {
	done := make(chan struct{})
	rng := rand.New(rand.NewPCG(w.seed, 1))
	go func() {
		defer close(done)
		for range n {
			w.busy(ctx)
			if !wait(ctx, least+time.Duration(rng.Int64N(int64(spread)))) {
				return
			}
			if rng.IntN(3) == 0 {
				w.host.signal(syscall.SIGSTOP)
				wait(ctx, time.Duration(rng.IntN(300))*time.Millisecond)
				w.host.signal(syscall.SIGCONT)
			}
			w.host.kill()
			if err := w.host.start(); err != nil {
				w.t.Errorf("restart: %v", err)
				return
			}
		}
	}()
	return done
}

// busy waits until the process that runs now has asked for an answer: to kill one that has not begun to work proves little.
func (w *world) busy(ctx context.Context) {
	for had, until := w.provider.Total(), time.Now().Add(5*time.Second); w.provider.Total() == had && time.Now().Before(until); {
		if !wait(ctx, 10*time.Millisecond) {
			return
		}
	}
}
