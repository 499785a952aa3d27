package faults_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// spans are durations, in order.
type spans []time.Duration

func (s spans) at(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	return s[int(share*float64(len(s)-1))].Round(time.Millisecond)
}

func (s spans) most() time.Duration { return s.at(1) }

func (s spans) String() string {
	return fmt.Sprintf("%v at the median, %v at most", s.at(0.5), s.most())
}

// revival is how a server came back after it was killed.
type revival struct {
	starts  spans  // from the new process to its listening
	takenUp spans  // from its listening to the first event of a run that it took up
	silence spans  // for each reader the longest time with a server and without an event
	where   string // the longest of all
}

func (r revival) String() string {
	return fmt.Sprintf("back up within %v; runs taken up within %v; silence of a reader while there was a server %v, %v for 99 of 100; the longest: %s",
		r.starts, r.takenUp, r.silence, r.silence.at(0.99), r.where)
}

// revival measures what the evidence tells.
func (h *host) revival(all []evidence) (r revival) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, d := range h.downs {
		r.starts = append(r.starts, d.up)
	}
	r.takenUp = h.takenUp(all)
	var longest time.Duration
	for _, e := range all {
		for _, rd := range e.Readings[:len(e.Readings)/2] { // those that were there, and not those that came late
			quiet := time.Duration(0)
			for i := 1; i < len(rd.Frames); i++ {
				from, to := rd.Frames[i-1].At, rd.Frames[i].At
				gap := h.longestUp(from, to)
				quiet = max(quiet, gap)
				if gap > longest {
					longest = gap
					r.where = fmt.Sprintf("%s of run %s, %s between %s %.60s and %s %.60s, at %s", rd.Who, e.Run, e.Order.Key,
						rd.Frames[i-1].ID, rd.Frames[i-1].Data, rd.Frames[i].ID, rd.Frames[i].Data, from.Format("05.000"))
				}
			}
			r.silence = append(r.silence, quiet)
		}
	}
	slices.Sort(r.starts)
	slices.Sort(r.silence)
	return r
}

// longestUp is the longest stretch in a time for which there was a server. One that is killed again before it has said anything begins a new
// stretch: it could not have said it. The caller holds h.mu.
func (h *host) longestUp(from, to time.Time) (longest time.Duration) {
	for _, d := range h.downs { // in order
		if d.to.Before(from) || d.from.After(to) {
			continue
		}
		longest = max(longest, d.from.Sub(from))
		from = later(from, d.to)
	}
	return max(longest, to.Sub(from))
}

// takenUp tells how long after a restart runs went on: the times from the server listening to the first event of the attempt, in
// order. The caller holds h.mu.
func (h *host) takenUp(all []evidence) (times spans) {
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

// flat makes sure that a server that has nothing to do holds no more than it did before. What it holds outside of Go's heap are the pages that
// SQLite keeps for each connection, which fill up once and are bounded.
func (w *world) flat(ctx context.Context, before holding) {
	w.t.Helper()
	w.host.client.CloseIdleConnections()
	var now holding
	for until := time.Now().Add(10 * time.Second); ; {
		var err error
		if now, err = w.host.holding(ctx); err != nil {
			w.t.Fatal(err)
		}
		if now.goroutines <= before.goroutines+8 && now.files <= before.files+8 && now.heap <= before.heap+48<<20 && now.rss <= before.rss+64<<20 {
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
