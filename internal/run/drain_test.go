package run_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// waiting makes a data folder in which runs wait to be claimed.
func waiting(t *testing.T, runs int) string {
	t.Helper()
	dir := t.TempDir()
	db, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for i := range runs {
		n := run.NewRun{ID: fmt.Sprintf("run-%d", i), Thread: newThread(), Request: request(), At: time.Now()}
		if _, err := db.CreateRun(t.Context(), me, n); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A server that was stopped while it took up what the one before had left gave runs back and claimed them again, for ever.
func TestNothingIsClaimedOnceDrainingHasBegun(t *testing.T) {
	defer run.HandOver(time.Minute)()
	m := &meddler{}
	var w *world
	draining, closed := false, make(chan error, 1)
	late := 0
	opened := make(chan struct{})
	m.claimed = func(runs []run.Run) []run.Run {
		if len(runs) == 0 {
			return runs
		}
		<-opened
		if !draining { // the stop comes while the first runs are being claimed
			draining = true
			now, cancel := context.WithCancel(context.Background())
			cancel()
			go func() { closed <- w.e.Close(now) }()
			waitFor(t, func() bool {
				_, err := w.e.Start(context.Background(), me, newThread(), request())
				return errors.Is(err, run.ErrUnavailable)
			})
			return runs
		}
		if late++; late > 20 {
			return nil // enough: a broken engine must not run for ever
		}
		return runs
	}
	g := newGate()
	w = openMeddledIn(t, waiting(t, 600), single(oneNode(g.node)), m)
	close(opened)
	if err := <-closed; err != nil {
		t.Errorf("close: %v", err)
	}
	if late > 0 {
		t.Errorf("runs were claimed %d times after draining had begun", late)
	}
	pending, _, err := w.db.SearchRuns(t.Context(), me, run.RunQuery{Statuses: []run.Status{run.Pending}, Limit: 1000})
	if err != nil || len(pending) < 600 {
		t.Errorf("%d of 600 runs are left to the next start, %v", len(pending), err)
	}
	w.j.Close()
	if err := w.db.Close(); err != nil {
		t.Error(err)
	}
}

// A node that does not heed its context cannot hold up the end of the process: the lease ends with it.
func TestCloseEndsWithItsContextWhateverNodesDo(t *testing.T) {
	deaf, began := make(chan struct{}), make(chan struct{})
	w := open(t, t.TempDir(), single(oneNode(func(context.Context, *graph.Scope) (graph.Command, error) {
		close(began)
		<-deaf
		return graph.Command{}, nil
	})), func(o *run.Options) { o.Lease = time.Hour })
	r := w.start(newThread())
	<-began
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- w.e.Close(ctx) }()
	select {
	case err := <-closed:
		if err == nil {
			t.Error("nobody is told that a run does not stop")
		}
	case <-time.After(2 * time.Minute):
		t.Error("close waits for a node that does not heed its context")
	}
	// Nothing that it does from now on counts.
	w.j.Close()
	if err := w.db.Close(); err != nil {
		t.Error(err)
	}
	close(deaf)
	next := open(t, w.dir, single(oneNode(func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil })))
	defer next.stop(time.Second)
	if r := next.wait(r.ID); r.Status != run.Success {
		t.Errorf("the next process ends the run %s", r.Status)
	}
}
