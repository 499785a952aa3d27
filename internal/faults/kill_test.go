package faults_test

import (
	"context"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// TestKilledServer kills the server five times with SIGKILL in the middle of 200 runs, each of which has an effect and streams
// an answer to readers on two or three wires that reconnect. It pauses it, too.
func TestKilledServer(t *testing.T) {
	killed(t, newWorld(t), 200, 5)
}

// Bars for a machine that has nothing else to do; soak tests hold the server to them, others only say how it was.
const (
	upWithin    = time.Second     // of the restart
	quietAtMost = 2 * time.Second // beside the time without a server
)

// killed runs a load on a server that is killed, and returns how that was.
func killed(t *testing.T, w *world, runs, kills int) revival {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	before := w.warm(ctx)
	l := load{
		runs: runs, spread: 2 * time.Second,
		order: func(_ int, key string) faults.Order {
			return faults.Order{Key: key, Words: 40, GapMS: 40, Effect: true}
		},
		wires: mixedWires,
	}
	began := time.Now()
	quiet := w.disturb(ctx, kills, 300*time.Millisecond, 900*time.Millisecond)
	all := w.drive(ctx, l, quiet)
	took := time.Since(began)
	w.judge(ctx, all)

	attempts, frames, cuts := 0, 0, 0
	for i := range all {
		attempts += attemptsOf(&all[i])
		for _, r := range all[i].Readings {
			frames += len(r.Frames)
			cuts += len(r.Cuts)
		}
	}
	if attempts <= runs {
		t.Errorf("no run was taken up again: the test is too kind")
	}
	r := w.host.revival(all)
	t.Logf("%d runs, %d kills, %d attempts, %d frames, %d reconnects in %v; %v", runs, kills, attempts, frames, cuts, took.Round(time.Millisecond), r)
	w.flat(ctx, before)
	return r
}

// mixedWires lets everybody be read over SSE of both APIs, and every fourth over a WebSocket too.
func mixedWires(i int) []faults.Dialect {
	if i%4 == 0 {
		return []faults.Dialect{faults.TaskSSE, faults.LangGraph, faults.TaskSocket}
	}
	return []faults.Dialect{faults.TaskSSE, faults.LangGraph}
}

// attemptsOf counts how often a run was begun.
func attemptsOf(e *evidence) (n int) {
	for _, r := range e.Readings {
		if r.Dialect != faults.LangGraph {
			continue
		}
		n = 0
		for _, f := range r.Frames {
			if f.Name == "metadata" {
				n++
			}
		}
	}
	return n
}

// TestReadersThatLeave hangs up after one frame in twenty, on every wire, and comes back with the id of that frame.
func TestReadersThatLeave(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	w := newWorld(t)
	before := w.warm(ctx)
	l := load{
		runs: 60, spread: time.Second, leave: 0.05,
		order: func(_ int, key string) faults.Order {
			return faults.Order{Key: key, Words: 60, GapMS: 25, Effect: true}
		},
		wires: func(i int) []faults.Dialect {
			return []faults.Dialect{faults.TaskSSE, faults.LangGraph, faults.TaskSocket}
		},
	}
	quiet := make(chan struct{})
	close(quiet)
	all := w.drive(ctx, l, quiet)
	w.judge(ctx, all)
	cuts := 0
	for i := range all {
		for _, r := range all[i].Readings {
			cuts += len(r.Cuts)
		}
	}
	if cuts < 200 {
		t.Errorf("readers reconnected only %d times: the test is too kind", cuts)
	}
	t.Logf("%d reconnects; %v", cuts, w.host.revival(all))
	w.flat(ctx, before)
}
