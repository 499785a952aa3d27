package storagetest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// crashes: a worker that is lost is a crash of all its runs, counted once, and from 1 for those that have saved something since
// their last.
func crashes(t *testing.T, b Backend) {
	ctx := t.Context()
	one, two := startRun(t, b, newThread(t, b, alice, `{}`).ID), startRun(t, b, newThread(t, b, alice, `{}`).ID)
	claim := func(worker string, crashes run.Between, want ...run.Run) []run.Run {
		t.Helper()
		got, err := b.Claim(ctx, worker, time.Minute, 10, crashes)
		must(t, err)
		if len(got) != len(want) {
			t.Fatalf("%s claimed %d runs, want %d", worker, len(got), len(want))
		}
		for i := range got {
			if got[i].ID != want[i].ID {
				t.Errorf("%s claimed run %s in place %d, want %s", worker, got[i].ID, i, want[i].ID)
			}
		}
		return got
	}
	lose := func(worker string) {
		t.Helper()
		for range 2 { // once is what counts
			must(t, b.Abandon(ctx, worker))
		}
	}
	lose(worker)
	claim("x", run.Between{Least: 2, Most: 99})
	got := claim("w2", run.Between{Most: 1}, one, two)
	if got[0].Crashes != 1 || got[1].Crashes != 1 {
		t.Errorf("after one crash: %d and %d", got[0].Crashes, got[1].Crashes)
	}
	// The second gets further, the first does not.
	cp := graph.Checkpoint{ID: uuid.Must(uuid.NewV7()).String(), Thread: two.Thread, Source: event.FromLoop, At: now()}
	write(t, b, group(got[1], 0, 0, "", graph.Commit{Checkpoint: cp}))
	lose("w2")
	claim("w3", run.Between{Most: 1}, two)
	if got := claim("w3", run.Between{Least: 2, Most: 99}, one); got[0].Crashes != 2 {
		t.Errorf("a run that crashed twice at one place says %d", got[0].Crashes)
	}
	lose("w3")
	// Both are suspect now; who crashed less comes first, whatever came first.
	if got := claim("w4", run.Between{Least: 2, Most: 99}, two, one); got[0].Crashes != 2 || got[1].Crashes != 3 {
		t.Errorf("they crashed %d and %d times, want 2 and 3", got[0].Crashes, got[1].Crashes)
	}
	lose("w4")
	claim("w5", run.Between{Least: 3, Most: 3}, two)
	// Whoever is to be stopped is not executed any more, so nobody need be afraid of it.
	_, err := b.RequestCancel(ctx, alice, one.ID, run.StopRun)
	must(t, err)
	last := claim("w5", run.Between{Most: 1}, one)
	// Being given back is no crash.
	must(t, b.Release(ctx, "w5", one.ID, last[0].Epoch))
	if r, err := b.Run(ctx, alice, one.ID); err != nil || r.Crashes != 4 {
		t.Errorf("after being given back it crashed %d times, %v, want 4", r.Crashes, err)
	}
}
