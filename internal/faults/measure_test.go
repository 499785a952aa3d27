package faults_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// silence is the longest time for which a reader got nothing, less the time in which there was no server.
func (h *host) silence(all []evidence) (longest time.Duration, where string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range all {
		for _, r := range e.Readings {
			for i := 1; i < len(r.Frames); i++ {
				from, to := r.Frames[i-1].At, r.Frames[i].At
				gap := to.Sub(from)
				for _, d := range h.downs {
					if a, b := later(from, d.from), earlier(to, d.to); b.After(a) {
						gap -= b.Sub(a)
					}
				}
				if gap > longest {
					longest = gap
					where = fmt.Sprintf("%s of run %s, %s between %s %.60s and %s %.60s, at %s", r.Who, e.Run, e.Order.Key,
						r.Frames[i-1].ID, r.Frames[i-1].Data, r.Frames[i].ID, r.Frames[i].Data, from.Format("05.000"))
				}
			}
		}
	}
	return longest, where
}

// takenUp tells how long after a restart runs went on: the times from the server listening to the first event of the attempt, in
// order.
func (h *host) takenUp(all []evidence) (times []time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range all {
		for _, r := range all[i].Readings[:len(all[i].Readings)/2] { // those that were there
			if r.Dialect != faults.LangGraph {
				continue
			}
			for n, f := range r.Frames {
				if n == 0 || f.Name != "metadata" {
					continue
				}
				for _, d := range slices.Backward(h.downs) {
					if d.to.Before(f.At) {
						times = append(times, f.At.Sub(d.to))
						break
					}
				}
			}
		}
	}
	slices.Sort(times)
	return times
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// slowestStart is how long the slowest of the restarts took.
func (h *host) slowestStart() (longest time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.downs {
		longest = max(longest, d.up)
	}
	return longest
}

// flat makes sure that a server that has nothing to do holds no more than it did before.
func (w *world) flat(ctx context.Context, before holding) {
	w.t.Helper()
	w.host.client.CloseIdleConnections()
	var now holding
	for until := time.Now().Add(10 * time.Second); ; {
		var err error
		if now, err = w.host.holding(ctx); err != nil {
			w.t.Fatal(err)
		}
		if now.goroutines <= before.goroutines+8 && now.files <= before.files+8 && now.heap <= before.heap+48<<20 {
			w.t.Logf("before: %v; after: %v", before, now)
			return
		}
		if time.Now().After(until) {
			w.t.Errorf("the server held %v before, and holds %v with nothing to do", before, now)
			return
		}
		w.host.client.CloseIdleConnections()
		wait(ctx, 100*time.Millisecond)
	}
}

// warm runs a few runs, so that whatever is opened once is open, and tells what the server holds then.
func (w *world) warm(ctx context.Context) holding {
	w.t.Helper()
	quiet := make(chan struct{})
	close(quiet)
	w.judge(ctx, w.drive(ctx, load{
		runs: 16,
		order: func(_ int, key string) faults.Order {
			return faults.Order{Key: "warm" + key, Words: 5, GapMS: 1, Effect: true}
		},
		wires: mixedWires,
	}, quiet))
	w.host.client.CloseIdleConnections()
	return w.mustHold(ctx)
}

// mustHold is what the server holds now.
func (w *world) mustHold(ctx context.Context) holding {
	w.t.Helper()
	u, err := w.host.holding(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	return u
}
