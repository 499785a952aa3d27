package guard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/internal/run"
)

// world is what owners have, and how often it was asked for.
type world struct {
	threads, runs, queued, bytes int64
	asked                        int
}

func (w *world) CountInFlight(context.Context, run.Identity) (int64, error) {
	w.asked++
	return w.runs, nil
}

func (w *world) CountQueued(context.Context, run.Identity, string) (int64, error) {
	w.asked++
	return w.queued, nil
}

func (w *world) CountThreads(context.Context, run.Identity) (int64, error) {
	w.asked++
	return w.threads, nil
}
func (w *world) CountCrons(context.Context, run.Identity) (int64, error) { return 0, nil }
func (w *world) StoredBytes(context.Context, run.Identity) (int64, error) {
	w.asked++
	return w.bytes, nil
}

var me = run.Identity{Owner: "me"}

// However threads come and go, and whatever of what was let through then fails, there are never more than may be, and one is
// refused only when there are as many.
func TestNobodyHasMoreThanTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 20).Draw(t, "limit")
		w := &world{threads: rapid.Int64Range(0, 25).Draw(t, "threads")}
		start := w.threads
		g := New(Options{Limits: run.Limits{Threads: limit}, Counts: w})
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				w.threads = max(0, w.threads-1)
			case 1:
				_ = g.takeThread(context.Background(), me) // and the store fails
			default:
				err := g.takeThread(context.Background(), me)
				var limited *run.LimitError
				switch {
				case err == nil:
					w.threads++
				case !errors.As(err, &limited) || w.threads < limit:
					t.Fatalf("refused with %d of %d: %v", w.threads, limit, err)
				}
				if w.threads > max(limit, start) {
					t.Fatalf("there are %d, want at most %d", w.threads, limit)
				}
			}
		}
	})
}

func TestWhoIsFarFromALimitIsCountedOnce(t *testing.T) {
	w := &world{}
	g := New(Options{Counts: w})
	for range 1000 {
		if err := g.mayStart(t.Context(), me, "t", &run.Request{CreateThread: true}); err != nil {
			t.Fatal(err)
		}
	}
	if w.asked != 2 { // for threads and for runs
		t.Errorf("the store was asked %d times", w.asked)
	}
}

func TestRunsThatWaitAreLimitedByThread(t *testing.T) {
	w := &world{queued: 2} // from before we started
	g := New(Options{Counts: w, Limits: run.Limits{Queued: 3}})
	if err := g.mayQueue(t.Context(), me, "t"); err != nil {
		t.Fatal(err)
	}
	w.queued++
	g.queued(t.Context(), me, "t")
	err := g.mayQueue(t.Context(), me, "t")
	if err == nil || !strings.Contains(err.Error(), "limits.queued") {
		t.Errorf("three wait, and a fourth: %v", err)
	}
	if err := g.mayQueue(t.Context(), me, "other"); err != nil {
		t.Error(err)
	}
	w.queued = 0
	if err := g.mayQueue(t.Context(), me, "t"); err != nil {
		t.Errorf("none waits: %v", err)
	}
}

func TestBytesAreMeasuredNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{bytes: 5}
		g := New(Options{Counts: w, Limits: run.Limits{Bytes: 10}})
		for range 100 {
			if err := g.room(t.Context(), me); err != nil {
				t.Fatal(err)
			}
		}
		w.bytes = 10
		time.Sleep(measureEvery + time.Second)
		if err := g.room(t.Context(), me); err == nil || !strings.Contains(err.Error(), "limits.bytes") {
			t.Errorf("got %v", err)
		}
		w.bytes = 9 // deleted: seen soon
		time.Sleep(2 * time.Second)
		if err := g.room(t.Context(), me); err != nil || w.asked != 3 {
			t.Errorf("got %v after %d looks", err, w.asked)
		}
	})
}
