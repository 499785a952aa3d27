package run_test

import (
	"context"
	"sync"
	"testing"
	"time"
)

// A key stands for a run: whoever asks for it again, at the same time, later or after a restart, is answered with the one that there is.
func TestRequestsWithOneKeyAreOneRun(t *testing.T) {
	dir, thread := t.TempDir(), newThread()
	w := open(t, dir, single(oneNode(nothing)))
	req := request()
	req.Key = "once"
	ids := make([]string, 20)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			r, err := w.e.Start(context.Background(), me, thread, req)
			if err != nil {
				t.Error(err)
			}
			ids[i] = r.ID
		})
	}
	wg.Wait()
	w.wait(ids[0])
	w.stop(time.Second)
	w = open(t, dir, single(oneNode(nothing)))
	defer w.stop(time.Second)
	last, err := w.e.Start(context.Background(), me, thread, req)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range append(ids, last.ID) {
		if id != ids[0] {
			t.Errorf("one key has two runs: %s and %s", ids[0], id)
		}
	}
	runs, err := w.db.ThreadRuns(context.Background(), me, thread, "", 100, 0)
	if err != nil || len(runs) != 1 {
		t.Errorf("the thread has %d runs (%v), want 1", len(runs), err)
	}
	req.Key = "twice"
	if r, err := w.e.Start(context.Background(), me, thread, req); err != nil || r.ID == ids[0] {
		t.Errorf("another key has run %s (%v)", r.ID, err)
	}
}
