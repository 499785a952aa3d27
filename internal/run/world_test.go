package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/transcript"
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // nodes panic on purpose here
	flag.Parse()
	// A check is several processes on real files; the default of 100 would take minutes with the race detector.
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("25")
	}
	goleak.VerifyTestMain(m)
}

var me = run.Identity{Owner: "me"}

// fataler is what a *testing.T and a *rapid.T have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// world is a server's core on a real database: what a process has, so that a test can kill it and start another.
type world struct {
	t      fataler
	dir    string
	db     *sqlite.DB
	faults *faultyStore
	j      *journal.Journal
	e      *run.Engine
	opt    run.Options
}

// open starts a process on a data folder.
func open(t fataler, dir string, build func(context.Context, run.Run) (*graph.Graph, error), change ...func(*run.Options)) *world {
	t.Helper()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		t.Fatalf("open database: %v", err)
	}
	w := &world{t: t, dir: dir, db: db, faults: &faultyStore{DB: db}}
	w.j = journal.Open(w.faults, journal.Options{Poll: 20 * time.Millisecond})
	w.opt = run.Options{
		Store: w.faults, Journal: w.j, Checkpoints: db, Build: build,
		Lease: 600 * time.Millisecond, Poll: 20 * time.Millisecond,
	}
	for _, f := range change {
		f(&w.opt)
	}
	if w.e, err = run.Open(ctx, w.opt); err != nil {
		t.Fatalf("open engine: %v", err)
	}
	return w
}

// stop ends the process in an orderly way; runs that do not finish in time are handed over.
func (w *world) stop(grace time.Duration) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if err := w.e.Close(ctx); err != nil && !w.faults.dead() {
		w.t.Fatalf("close engine: %v", err)
	}
	w.j.Close()
	if err := w.db.Close(); err != nil {
		w.t.Fatalf("close database: %v", err)
	}
}

func tempDir(t fataler) (dir string, remove func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatalf("%v", err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

func newThread() string { return uuid.NewString() }

func request(change ...func(*run.Request)) run.Request {
	r := run.Request{Assistant: "g", Graph: "g", CreateThread: true, Input: json.RawMessage(`{}`)}
	for _, f := range change {
		f(&r)
	}
	return r
}

func (w *world) start(thread string, change ...func(*run.Request)) run.Run {
	w.t.Helper()
	r, err := w.e.Start(context.Background(), me, thread, request(change...))
	if err != nil {
		w.t.Fatalf("start: %v", err)
	}
	return r
}

func (w *world) wait(id string) run.Run {
	w.t.Helper()
	// Only for a run that hangs: with the race detector, on a busy machine, 9 MiB of input have taken longer than half a minute.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	r, err := w.e.Wait(ctx, me, id)
	if err != nil {
		w.t.Fatalf("wait for run %s: %v", id, err)
	}
	return r
}

// events reads a run's journal and holds it to the laws.
func (w *world) events(id string) []event.Envelope {
	w.t.Helper()
	var out []event.Envelope
	for env, err := range w.j.Read(context.Background(), id, 0) {
		if err != nil {
			w.t.Fatalf("read run %s: %v", id, err)
		}
		out = append(out, env)
	}
	if err := transcript.Check(slices.Values(out)); err != nil {
		for _, env := range out {
			b, _ := json.Marshal(env)
			w.t.Logf("%s", b)
		}
		w.t.Fatalf("run %s breaks a law: %v", id, err)
	}
	return out
}

func last(t fataler, events []event.Envelope) event.RunEnded {
	t.Helper()
	if len(events) == 0 {
		t.Fatalf("the journal is empty")
	}
	end, ok := events[len(events)-1].Event.(event.RunEnded)
	if !ok {
		t.Fatalf("the last event is %s, not run_ended", events[len(events)-1].Event.Kind())
	}
	return end
}

func kinds(events []event.Envelope) []string {
	var out []string
	for _, e := range events {
		out = append(out, e.Event.Kind())
	}
	return out
}

// follower reads a run as a client would, and remembers what it saw.
type follower struct {
	mu   sync.Mutex
	seen []event.Envelope
	done chan struct{}
	err  error
}

func (w *world) follow(ctx context.Context, id string) *follower {
	f := &follower{done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for env, err := range w.j.Follow(ctx, id, journal.Position{}) {
			if err != nil {
				f.err = err
				return
			}
			f.mu.Lock()
			f.seen = append(f.seen, env)
			f.mu.Unlock()
		}
	}()
	return f
}

func (f *follower) events() []event.Envelope {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

// mustBePrefix is law 2: what anybody saw is a prefix of what is read afterwards.
func mustBePrefix(t fataler, saw, final []event.Envelope) {
	t.Helper()
	if len(saw) > len(final) {
		t.Fatalf("a reader saw %d events of which %d are left", len(saw), len(final))
	}
	for i := range saw {
		a, _ := json.Marshal(saw[i])
		b, _ := json.Marshal(final[i])
		if string(a) != string(b) {
			t.Fatalf("event %d was seen as\n%s\nand is now\n%s", i+1, a, b)
		}
	}
}

// faultyStore is a real database that can be made to die: after a number of writes every further one fails,
// as for a process that was killed. The write in whose middle it dies may or may not have happened.
type faultyStore struct {
	*sqlite.DB
	left    atomic.Int64 // writes until it dies, if armed
	armed   atomic.Bool
	after   atomic.Bool // the fatal write happens, but nobody hears of it
	stopped atomic.Bool
	writes  atomic.Int64
	looked  atomic.Pointer[func()] // called when somebody has looked at a thread, or at a run
	old     atomic.Uint64          // events up to here are
	reads   atomic.Int64           // of old events
}

var errDead = errors.New("the process died here")

func (s *faultyStore) dieAfter(n int64, happens bool) {
	s.left.Store(n)
	s.after.Store(happens)
	s.armed.Store(true)
}

func (s *faultyStore) dead() bool { return s.stopped.Load() }

// write runs a write, or the process's death in its place.
func (s *faultyStore) write(do func() error) error {
	if s.dead() {
		return errDead
	}
	s.writes.Add(1)
	if s.armed.Load() && s.left.Add(-1) < 0 {
		if !s.stopped.Swap(true) && s.after.Load() {
			_ = do()
		}
		return errDead
	}
	return do()
}

func (s *faultyStore) Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error) {
	th, err := s.DB.Thread(ctx, who, id)
	if looked := s.looked.Load(); looked != nil {
		(*looked)()
	}
	return th, err
}

func (s *faultyStore) Run(ctx context.Context, who run.Identity, id string) (run.Run, error) {
	r, err := s.DB.Run(ctx, who, id)
	if looked := s.looked.Load(); looked != nil {
		(*looked)()
	}
	return r, err
}

func (s *faultyStore) Read(ctx context.Context, id string, after uint64, limit int) ([]journal.Chunk, error) {
	if after < s.old.Load() {
		s.reads.Add(1)
	}
	return s.DB.Read(ctx, id, after, limit)
}

func (s *faultyStore) Append(ctx context.Context, g []journal.Group, sync bool) (refused map[string]error, err error) {
	return refused, s.write(func() (err error) { refused, err = s.DB.Append(ctx, g, sync); return err })
}

func (s *faultyStore) CreateRun(ctx context.Context, who run.Identity, n run.NewRun) (c run.Created, err error) {
	return c, s.write(func() (err error) { c, err = s.DB.CreateRun(ctx, who, n); return err })
}

func (s *faultyStore) RequestCancel(ctx context.Context, who run.Identity, id string, a run.Action) (r run.Run, err error) {
	return r, s.write(func() (err error) { r, err = s.DB.RequestCancel(ctx, who, id, a); return err })
}

func (s *faultyStore) Claim(ctx context.Context, worker string, lease time.Duration, n int, crashes run.Between) (r []run.Run, err error) {
	if s.dead() {
		return nil, errDead
	}
	return s.DB.Claim(ctx, worker, lease, n, crashes)
}

func (s *faultyStore) Heartbeat(ctx context.Context, worker string, lease time.Duration) (map[string]run.Wish, error) {
	if s.dead() {
		return nil, errDead
	}
	return s.DB.Heartbeat(ctx, worker, lease)
}

func (s *faultyStore) Release(ctx context.Context, worker, id string, epoch int) error {
	if s.dead() {
		return errDead
	}
	return s.DB.Release(ctx, worker, id, epoch)
}

func (s *faultyStore) ClaimFollowUps(ctx context.Context, c run.FollowUpClaim) (list []run.FollowUp, err error) {
	return list, s.write(func() (err error) { list, err = s.DB.ClaimFollowUps(ctx, c); return err })
}

func (s *faultyStore) FinishFollowUp(ctx context.Context, f run.FollowUp) error {
	return s.write(func() error { return s.DB.FinishFollowUp(ctx, f) })
}

func (s *faultyStore) PutOffFollowUp(ctx context.Context, f run.FollowUp, interrupted bool) error {
	return s.write(func() error { return s.DB.PutOffFollowUp(ctx, f, interrupted) })
}

// single builds the same graph for every run.
func single(g *graph.Graph) func(context.Context, run.Run) (*graph.Graph, error) {
	return func(context.Context, run.Run) (*graph.Graph, error) { return g, nil }
}

// oneNode is a graph whose only node does f.
func oneNode(f func(ctx context.Context, s *graph.Scope) (graph.Command, error)) *graph.Graph {
	g := graph.New("g", graph.Messages("messages"), graph.List[string]("log"))
	g.Node("work", f)
	g.Edge(graph.Start, "work")
	g.Edge("work", graph.End)
	return g
}

// gate is a node that tells that it has begun and waits to be let go.
type gate struct {
	began chan string
	pass  chan struct{}
}

func newGate() *gate { return &gate{began: make(chan string, 100), pass: make(chan struct{})} }

func (g *gate) node(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	g.began <- s.Config().Run
	select {
	case <-g.pass:
		return graph.Command{}, nil
	case <-ctx.Done():
		return graph.Command{}, context.Cause(ctx)
	}
}

func (g *gate) waitBegan(t *testing.T, id string) {
	t.Helper()
	select {
	case got := <-g.began:
		if got != id {
			t.Fatalf("run %s began, want %s", got, id)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("run %s did not begin", id)
	}
}
