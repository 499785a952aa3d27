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
	killed(t, 200, 5)
}

func killed(t *testing.T, runs, kills int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w := newWorld(t)
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
	quietest, where := w.host.silence(all)
	t.Logf("%d runs, %d kills, %d attempts, %d frames, %d reconnects in %v; slowest start %v, longest silence beside down time %v: %s",
		runs, kills, attempts, frames, cuts, took.Round(time.Millisecond), w.host.slowestStart().Round(time.Millisecond), quietest.Round(time.Millisecond), where)
	if up := w.host.takenUp(all); len(up) > 0 {
		t.Logf("runs went on after a restart within %v at the median, %v at most", up[len(up)/2].Round(time.Millisecond), up[len(up)-1].Round(time.Millisecond))
	}
	if up := w.host.slowestStart(); up > 5*time.Second {
		t.Errorf("the server took %v to start", up)
	}
	w.flat(ctx, before)
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
	quietest, where := w.host.silence(all)
	t.Logf("%d reconnects; longest silence %v: %s", cuts, quietest.Round(time.Millisecond), where)
	w.flat(ctx, before)
}
