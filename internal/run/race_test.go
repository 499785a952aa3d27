package run_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bus"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// meddler is a store in which a test can act at the very moment at which a call returns.
type meddler struct {
	*faultyStore
	created   func(run.Run)
	claimed   func([]run.Run) []run.Run
	released  func()
	heartbeat func(held map[string]run.Wish)
	fail      atomic.Bool // the next write of the journal
}

func (m *meddler) CreateRun(ctx context.Context, who run.Identity, n run.NewRun) (run.Created, error) {
	c, err := m.faultyStore.CreateRun(ctx, who, n)
	if m.created != nil {
		m.created(c.Run)
	}
	return c, err
}

func (m *meddler) Claim(ctx context.Context, worker string, lease time.Duration, n int, crashes run.Between) ([]run.Run, error) {
	runs, err := m.faultyStore.Claim(ctx, worker, lease, n, crashes)
	if m.claimed != nil {
		runs = m.claimed(runs)
	}
	return runs, err
}

func (m *meddler) Release(ctx context.Context, worker, id string, epoch int) error {
	err := m.faultyStore.Release(ctx, worker, id, epoch)
	if m.released != nil {
		m.released()
	}
	return err
}

func (m *meddler) Heartbeat(ctx context.Context, worker string, lease time.Duration) (map[string]run.Wish, error) {
	held, err := m.faultyStore.Heartbeat(ctx, worker, lease)
	if m.heartbeat != nil {
		m.heartbeat(held)
	}
	return held, err
}

func (m *meddler) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	if m.fail.Swap(false) {
		return nil, errors.New("the disk is full for a moment")
	}
	return m.faultyStore.Append(ctx, groups, sync)
}

// openMeddled is open with a meddler between the engine and the database.
func openMeddled(t *testing.T, g *graph.Graph, m *meddler, change ...func(*run.Options)) *world {
	t.Helper()
	return openMeddledIn(t, t.TempDir(), single(g), m, change...)
}

func openMeddledIn(t *testing.T, dir string, build func(context.Context, run.Run) (*graph.Graph, error), m *meddler, change ...func(*run.Options)) *world {
	t.Helper()
	w := &world{}
	var j *journal.Journal
	change = append(change, func(o *run.Options) {
		m.faultyStore = o.Store.(*faultyStore)
		j = journal.Open(m, journal.Options{Poll: 20 * time.Millisecond})
		o.Store, o.Journal = m, j
	})
	*w = *open(t, dir, build, change...)
	w.j.Close() // the one that nobody uses
	w.j = j
	return w
}

// wakes is a bus that tells when a run has left.
type wakes struct {
	bus.Local
	heard chan struct{}
}

func (b *wakes) Publish(m bus.Message) {
	b.Local.Publish(m)
	if m.Kind == bus.Wake {
		select {
		case b.heard <- struct{}{}:
		default:
		}
	}
}

// A run can be cancelled from the moment at which it is in the database, which is before it is in memory.
func TestCancelBetweenCreationAndStartIsNotLost(t *testing.T) {
	m := &meddler{}
	g := newGate()
	w := openMeddled(t, oneNode(g.node), m, func(o *run.Options) { o.Lease = time.Hour })
	defer w.stop(time.Millisecond)
	m.created = func(r run.Run) {
		if _, err := w.e.Cancel(context.Background(), me, r.ID, run.StopRun); err != nil {
			t.Error(err)
		}
	}
	r := w.start(newThread())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := w.e.Wait(ctx, me, r.ID); err != nil || r.Status != run.Cancelled {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

// The first event is on disk with the run itself: nobody waits for a second write to hear that it began, and a process that dies
// in between leaves a run that has begun.
func TestRunIsStoredWithItsBeginning(t *testing.T) {
	m := &meddler{}
	g := newGate()
	w := openMeddled(t, oneNode(g.node), m)
	defer w.stop(time.Millisecond)
	var stored []string
	m.created = func(r run.Run) {
		if r.Attempt != 1 || r.StartedAt.IsZero() {
			t.Errorf("attempt %d, started at %v", r.Attempt, r.StartedAt)
		}
		for env, err := range w.j.Read(t.Context(), r.ID, 0) {
			if err != nil {
				t.Error(err)
				return
			}
			stored = append(stored, env.Event.Kind())
		}
	}
	r := w.start(newThread())
	if !slices.Equal(stored, []string{"run_started"}) {
		t.Errorf("stored with the run: %v", stored)
	}
	close(g.pass)
	began := 0
	for env, err := range w.j.Follow(t.Context(), r.ID, journal.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := env.Event.(type) {
		case event.RunStarted:
			began++
			if env.Seq != 1 || e.Attempt != 1 {
				t.Errorf("began at %d with attempt %d", env.Seq, e.Attempt)
			}
		case event.AttemptStarted:
			t.Error("a first attempt is told as another")
		}
	}
	if began != 1 {
		t.Errorf("the run began %d times", began)
	}
}

// twice is a graph whose first attempt fails to write when it is let go, and whose second waits at a gate.
func twice(m *meddler, first, second *gate) *graph.Graph {
	var attempts atomic.Int32
	return oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		if attempts.Add(1) > 1 {
			return second.node(ctx, s)
		}
		if _, err := first.node(ctx, s); err != nil {
			return graph.Command{}, err
		}
		m.fail.Store(true)
		return graph.Command{}, s.Promise(ctx, event.Custom{Data: []byte(`1`)})
	})
}

// A run that is given back may be taken up again before the one who gave it back has left.
func TestRunThatIsTakenUpAgainAtOnceCanBeCancelled(t *testing.T) {
	m, first, second := &meddler{}, newGate(), newGate()
	b := &wakes{heard: make(chan struct{}, 1)}
	w := openMeddled(t, twice(m, first, second), m, func(o *run.Options) { o.Lease, o.Bus = time.Hour, b })
	defer w.stop(time.Millisecond)
	began := make(chan struct{})
	var once sync.Once
	m.released = func() {
		once.Do(func() {
			<-second.began
			select { // forget wake-ups of before
			case <-b.heard:
			default:
			}
			close(began)
		})
	}
	r := w.start(newThread())
	first.waitBegan(t, r.ID)
	close(first.pass)
	<-began
	<-b.heard // the first attempt has left
	if n := w.e.Active(); n != 1 {
		t.Errorf("%d runs are active, want the second attempt", n)
	}
	if _, err := w.e.Cancel(t.Context(), me, r.ID, run.StopRun); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := w.e.Wait(ctx, me, r.ID); err != nil || r.Status != run.Cancelled {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

// A heartbeat that did not find a lease because it was just given back says nothing about the one taken since.
func TestHeartbeatDoesNotStopTheNextAttempt(t *testing.T) {
	m, first, second := &meddler{}, newGate(), newGate()
	w := openMeddled(t, twice(m, first, second), m, func(o *run.Options) { o.Lease = 300 * time.Millisecond })
	defer w.stop(time.Millisecond)
	var once sync.Once
	armed := make(chan string, 1)
	resumed := make(chan struct{})
	m.heartbeat = func(held map[string]run.Wish) {
		select {
		case id := <-armed:
			once.Do(func() {
				close(first.pass)
				<-second.began
				delete(held, id) // as it was between the two
				close(resumed)
			})
		default:
		}
	}
	r := w.start(newThread())
	first.waitBegan(t, r.ID)
	armed <- r.ID
	<-resumed
	close(second.pass)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := w.e.Wait(ctx, me, r.ID); err != nil || r.Status != run.Success {
		t.Errorf("the run is %s, %v", r.Status, err)
	}
}

// A flipped bit in one run's journal ends that run, and no other.
func TestRunWithADamagedJournalIsEndedAndHurtsNobody(t *testing.T) {
	dir := t.TempDir()
	g := newGate()
	w := open(t, dir, single(oneNode(g.node)))
	broken, whole := w.start(newThread()), w.start(newThread())
	<-g.began
	<-g.began
	for _, r := range []run.Run{broken, whole} {
		saw := w.follow(t.Context(), r.ID)
		waitFor(t, func() bool { return len(saw.events()) >= 4 }) // run started, two checkpoints, node started
	}
	w.stop(time.Millisecond)
	damage(t, dir, broken.ID)

	close(g.pass)
	w = open(t, dir, single(oneNode(g.node)))
	defer w.stop(time.Second)
	waitFor(t, func() bool { return ended(w, broken.ID) && ended(w, whole.ID) })
	if r, err := w.db.Run(t.Context(), me, broken.ID); err != nil || r.Status != run.Failed || r.Error == nil || r.Error.Code != "journal_damaged" {
		t.Errorf("the damaged run is %s, %+v, %v", r.Status, r.Error, err)
	}
	for _, err := range w.j.Follow(t.Context(), broken.ID, journal.Position{}) {
		if err != nil && !errors.Is(err, journal.ErrCorrupt) {
			t.Errorf("its reader is told %v", err)
		}
	}
	if r, err := w.db.Run(t.Context(), me, whole.ID); err != nil || r.Status != run.Success || r.Attempt != 2 {
		t.Errorf("the other run is %s after %d attempts, %v", r.Status, r.Attempt, err)
	}
}

// damage flips a bit in the middle of the first chunk of a run.
func damage(t *testing.T, dir, id string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "tributary.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var key int64
	var data []byte
	err = db.QueryRow("SELECT key, data FROM journal WHERE key >> 32 = (SELECT no FROM runs WHERE id = ?) ORDER BY key LIMIT 1", id).Scan(&key, &data)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if _, err := db.Exec("UPDATE journal SET data = ? WHERE key = ?", data, key); err != nil {
		t.Fatal(err)
	}
}

// Goroutines that a node leaves behind may write until the run has ended, and what they open is closed with it.
func TestWhatANodeLeavesRunningCannotBreakTheEnd(t *testing.T) {
	w := open(t, t.TempDir(), single(oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		for range 4 {
			go func() {
				ctx := context.WithoutCancel(ctx)
				for s.Emit(ctx, event.TurnStarted{Turn: unique("msg")}) == nil {
				}
			}()
		}
		return graph.Command{}, nil
	})))
	defer w.stop(time.Second)
	for range 20 {
		w.events(w.wait(w.start(newThread()).ID).ID)
	}
}
