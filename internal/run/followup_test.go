package run_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// receiver is the world outside, which no crash takes back: who was told what, how often.
type receiver struct {
	mu   sync.Mutex
	told map[string]int // by key
	runs map[string]string
}

func (r *receiver) do(_ context.Context, f run.FollowUp) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.told, r.runs = map[string]int{}, map[string]string{}
	}
	r.told[f.Key]++
	r.runs[f.Key] = f.Run
	return nil
}

func (r *receiver) count(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[key]
}

func (r *receiver) keys() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.told)
}

// twoThings follow from every run.
func twoThings(r run.Run) []run.FollowUp {
	return []run.FollowUp{{Kind: "tell", Lane: r.Thread}, {Kind: "name"}}
}

func following(handlers map[string]run.Handler) func(*run.Options) {
	return func(o *run.Options) { o.FollowUps, o.Handlers = twoThings, handlers }
}

func nothing(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil }

func (w *world) left(q run.FollowUpQuery) []run.FollowUp {
	w.t.Helper()
	q.Limit = 1000
	list, err := w.db.FollowUps(context.Background(), me, q)
	if err != nil {
		w.t.Fatalf("list follow-ups: %v", err)
	}
	return list
}

// For every n: the process dies at its n-th write, before or after it happened, another takes over and dies at its n-th, until one
// lives. Then the run has ended, and whoever waits for it was told: once or more, under one key.
func TestFollowUpsAreCarriedOutWhateverWriteTheProcessDiesAt(t *testing.T) {
	for _, happens := range []bool{false, true} {
		for n := int64(1); ; n += nextWrite() {
			if followedOnce(t, n, happens) {
				t.Logf("%d writes, killed at each (write happens: %v)", n, happens)
				break
			}
		}
	}
}

func followedOnce(t *testing.T, n int64, happens bool) (survived bool) {
	t.Helper()
	dir, remove := tempDir(t)
	defer remove()
	var out receiver
	// Whoever is dead tells nobody anything.
	alive := func(o *run.Options) {
		store := o.Store.(*faultyStore)
		h := run.Handler{Do: func(ctx context.Context, f run.FollowUp) error {
			if store.dead() {
				return errDead
			}
			return out.do(ctx, f)
		}}
		o.FollowUps, o.Handlers, o.Lease = twoThings, map[string]run.Handler{"tell": h, "name": h}, time.Hour
	}
	var id string
	starts := 0 // a start whose write happened made a run, whatever its caller heard
	thread := newThread()
	for life := 0; ; life++ {
		w := open(t, dir, single(oneNode(nothing)), alive)
		if life < 3 {
			w.faults.dieAfter(n, happens)
		}
		if id == "" {
			starts++
			r, err := w.e.Start(context.Background(), me, thread, request())
			if err != nil {
				w.stop(0)
				continue
			}
			id = r.ID
		}
		waitFor(t, func() bool {
			return w.faults.dead() || ended(w, id) && len(w.left(run.FollowUpQuery{})) == 0
		})
		if w.faults.dead() {
			w.stop(0)
			continue
		}
		w.stop(time.Second)
		for _, key := range []string{"tell_" + id, "name_" + id} {
			if out.count(key) == 0 || out.runs[key] != id {
				t.Fatalf("killed at write %d (happens: %v): %s was told %d times, for run %q", n, happens, key, out.count(key), out.runs[key])
			}
		}
		if out.keys() > 2*starts {
			t.Fatalf("%d runs were told under %d keys: %v", starts, out.keys(), out.told)
		}
		return life == 0
	}
}

// Eight of twelve were lost when they waited in memory.
func TestAnOrderlyStopLosesNoFollowUp(t *testing.T) {
	const runs = 12
	dir := t.TempDir()
	var out receiver
	asleep := run.Handler{PerLane: 1, AtOnce: 4, Do: func(ctx context.Context, _ run.FollowUp) error { <-ctx.Done(); return ctx.Err() }}
	w := open(t, dir, single(oneNode(nothing)), following(map[string]run.Handler{"tell": asleep, "name": {Do: out.do}}))
	for range runs {
		w.wait(w.start(newThread()).ID)
	}
	w.stop(0)
	if n := len(w2left(t, dir, run.FollowUpQuery{Kind: "tell"})); n != runs {
		t.Errorf("%d of %d are left to the next start", n, runs)
	}
	w = open(t, dir, single(oneNode(nothing)), following(map[string]run.Handler{"tell": {Do: out.do}, "name": {Do: out.do}}))
	defer w.stop(time.Second)
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{})) == 0 })
	if out.keys() != 2*runs {
		t.Errorf("%d of %d were carried out", out.keys(), 2*runs)
	}
}

// w2left looks into a folder that no process has open.
func w2left(t *testing.T, dir string, q run.FollowUpQuery) []run.FollowUp {
	t.Helper()
	w := open(t, dir, single(oneNode(nothing)))
	defer w.stop(0)
	return w.left(q)
}

// A stop does what is due while its time lasts, also that of runs which end meanwhile.
func TestAnOrderlyStopCarriesOutWhatIsDue(t *testing.T) {
	var out receiver
	g := newGate()
	w := open(t, t.TempDir(), single(oneNode(g.node)), following(map[string]run.Handler{"tell": {Do: out.do, AtOnce: 1}, "name": {Do: out.do, AtOnce: 1}}))
	for range 10 {
		g.waitBegan(t, w.start(newThread()).ID)
	}
	close(g.pass)
	w.stop(time.Minute)
	if out.keys() != 20 {
		t.Errorf("%d of 20 were carried out", out.keys())
	}
}

// Receivers that sleep hold up neither the run, nor the next of its thread, nor other receivers, nor other kinds.
func TestSleepingReceiversHoldUpNobody(t *testing.T) {
	var out receiver
	wake := make(chan struct{})
	tell := run.Handler{PerLane: 4, Do: func(ctx context.Context, f run.FollowUp) error {
		if f.Lane == "sleeps" {
			select {
			case <-wake:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return out.do(ctx, f)
	}}
	w := open(t, t.TempDir(), single(oneNode(nothing)), following(map[string]run.Handler{"tell": tell, "name": {Do: out.do}}))
	defer w.stop(time.Second)
	for range 20 { // one after the other, on one thread
		w.wait(w.start("sleeps").ID)
	}
	last := w.start(newThread())
	w.wait(last.ID)
	waitFor(t, func() bool { return out.count("tell_"+last.ID) == 1 && out.keys() == 22 })
	// One that was carried out goes a moment later.
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{Kind: "tell"})) == 20 })
	close(wake)
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{})) == 0 })
}

func TestAFollowUpThatFailsIsTriedAgainThenParked(t *testing.T) {
	var tries atomic.Int32
	bad := run.Handler{Tries: 3, Wait: time.Millisecond, Do: func(_ context.Context, f run.FollowUp) error {
		if n := tries.Add(1); int(n) != f.Attempts {
			t.Errorf("try %d says that it is %d", n, f.Attempts)
		}
		if tries.Load() == 2 {
			panic("badly")
		}
		return errors.New("nobody there")
	}}
	dir := t.TempDir()
	w := open(t, dir, single(oneNode(nothing)), following(map[string]run.Handler{"tell": bad}))
	r := w.wait(w.start(newThread()).ID)
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{Parked: true})) == 1 })
	w.stop(time.Second)
	w = open(t, dir, single(oneNode(nothing)), following(map[string]run.Handler{"tell": bad}))
	defer w.stop(time.Second)
	parked := w.left(run.FollowUpQuery{Parked: true})
	if len(parked) != 1 || parked[0].Run != r.ID || parked[0].Error != "nobody there" || parked[0].Attempts != 3 {
		t.Errorf("parked are %+v", parked)
	}
	if tries.Load() != 3 {
		t.Errorf("it was tried %d times, want 3", tries.Load())
	}
}

// A handler may come after the engine, and finds what has waited for it.
func TestFollowUpsWaitForTheirHandler(t *testing.T) {
	var out receiver
	w := open(t, t.TempDir(), single(oneNode(nothing)), following(nil))
	defer w.stop(time.Second)
	w.wait(w.start(newThread()).ID)
	if n := len(w.left(run.FollowUpQuery{})); n != 2 {
		t.Errorf("%d follow-ups wait, want 2", n)
	}
	w.e.Handle("tell", run.Handler{Do: out.do})
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{})) == 1 })
	if out.keys() != 1 {
		t.Errorf("%d were carried out, want the one that somebody does", out.keys())
	}
}

// Two engines on one store never do the same at the same time.
func TestTwoEnginesDoNotHoldOneFollowUp(t *testing.T) {
	var mu sync.Mutex
	doing, done := map[string]bool{}, map[string]int{}
	h := run.Handler{PerLane: 100, Do: func(_ context.Context, f run.FollowUp) error {
		mu.Lock()
		if doing[f.Key] {
			t.Errorf("%s is done by two", f.Key)
		}
		doing[f.Key] = true
		mu.Unlock()
		time.Sleep(time.Millisecond)
		mu.Lock()
		defer mu.Unlock()
		doing[f.Key] = false
		done[f.Key]++
		return nil
	}}
	handlers := following(map[string]run.Handler{"tell": h, "name": h})
	w := open(t, t.TempDir(), single(oneNode(nothing)), handlers)
	defer w.stop(time.Second)
	opt := w.opt
	opt.Node = "another"
	second, err := run.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close(t.Context())
	var ids []string
	for i := range 40 {
		e := []*run.Engine{w.e, second}[i%2]
		r, err := e.Start(t.Context(), me, newThread(), request())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	for _, id := range ids {
		w.wait(id)
		second.Handle(fmt.Sprint("kind of ", id), h) // wakes the other
	}
	waitFor(t, func() bool { return len(w.left(run.FollowUpQuery{})) == 0 })
	mu.Lock()
	defer mu.Unlock()
	var often []string
	for key, n := range done {
		if n > 1 {
			often = append(often, key)
		}
	}
	if slices.Sort(often); len(done) != 80 || len(often) > 0 {
		t.Errorf("%d of 80 were done, more than once %v", len(done), often)
	}
}
