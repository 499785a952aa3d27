package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

func TestRunEndsOnceWhateverTheNodeDoes(t *testing.T) {
	boom := errors.New("boom")
	for name, c := range map[string]struct {
		node   func(ctx context.Context, s *graph.Scope) (graph.Command, error)
		change func(*run.Request)
		status event.Status
		code   string
	}{
		"success": {
			node:   func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil },
			status: event.Success,
		},
		"error": {
			node:   func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, boom },
			status: event.Failed, code: graph.CodeNode,
		},
		"panic": {
			node:   func(context.Context, *graph.Scope) (graph.Command, error) { panic("at the node") },
			status: event.Failed, code: graph.CodePanic,
		},
		"timeout": {
			node: func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
				<-ctx.Done()
				return graph.Command{}, ctx.Err()
			},
			change: func(r *run.Request) { r.Timeout = time.Millisecond },
			status: event.TimedOut, code: graph.CodeTimeout,
		},
		"open turn": {
			node: func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_1"})
				if err != nil {
					return graph.Command{}, err
				}
				return graph.Command{}, errors.Join(w.Text(ctx, 0, "half a sen"), boom)
			},
			status: event.Failed, code: graph.CodeNode,
		},
		"interrupt": {
			node: func(_ context.Context, s *graph.Scope) (graph.Command, error) {
				_, err := graph.Ask[string](s, "may I?")
				return graph.Command{}, err
			},
			status: event.Interrupted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, t.TempDir(), single(oneNode(c.node)))
			defer w.stop(time.Second)
			change := c.change
			if change == nil {
				change = func(*run.Request) {}
			}
			r := w.wait(w.start(newThread(), change).ID)
			end := last(t, w.events(r.ID))
			if end.Status != c.status || string(r.Status) != string(c.status) {
				t.Errorf("journal says %s and the row %s, want %s", end.Status, r.Status, c.status)
			}
			if c.code != "" && (end.Error == nil || end.Error.Code != c.code || r.Error == nil || *r.Error != *end.Error) {
				t.Errorf("error is %+v in the journal and %+v in the row, want code %s", end.Error, r.Error, c.code)
			}
		})
	}
}

func TestBuildThatFailsOrPanicsEndsTheRun(t *testing.T) {
	for name, build := range map[string]func(context.Context, run.Run) (*graph.Graph, error){
		"error": func(context.Context, run.Run) (*graph.Graph, error) { return nil, errors.New("no such graph") },
		"panic": func(context.Context, run.Run) (*graph.Graph, error) { panic("no graph at all") },
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, t.TempDir(), build)
			defer w.stop(time.Second)
			r := w.wait(w.start(newThread()).ID)
			if r.Status != run.Failed {
				t.Errorf("status %s, want error", r.Status)
			}
			w.events(r.ID)
		})
	}
}

func TestMultitaskStrategies(t *testing.T) {
	setup := func(t *testing.T) (*world, *gate, string, run.Run) {
		g := newGate()
		w := open(t, t.TempDir(), single(oneNode(g.node)))
		thread := newThread()
		first := w.start(thread)
		g.waitBegan(t, first.ID)
		return w, g, thread, first
	}
	strategy := func(s run.Strategy) func(*run.Request) { return func(r *run.Request) { r.Multitask = s } }

	t.Run("reject refuses and changes nothing", func(t *testing.T) {
		w, g, thread, first := setup(t)
		defer w.stop(time.Second)
		_, err := w.e.Start(t.Context(), me, thread, request(strategy(run.Reject)))
		if !errors.Is(err, run.ErrBusy) {
			t.Errorf("got %v, want ErrBusy", err)
		}
		runs, err := w.db.ThreadRuns(t.Context(), me, thread, "", 10, 0)
		if err != nil || len(runs) != 1 {
			t.Errorf("the thread has %d runs (%v), want 1", len(runs), err)
		}
		close(g.pass)
		w.wait(first.ID)
	})
	t.Run("enqueue waits its turn", func(t *testing.T) {
		w, g, thread, first := setup(t)
		defer w.stop(time.Second)
		second, third := w.start(thread, strategy(run.Enqueue)), w.start(thread)
		if second.Status != run.Pending {
			t.Errorf("second run is %s, want pending", second.Status)
		}
		close(g.pass)
		a, b, c := w.wait(first.ID), w.wait(second.ID), w.wait(third.ID)
		if a.EndedAt.After(b.StartedAt) || b.EndedAt.After(c.StartedAt) {
			t.Errorf("runs overlap: first ended %v, second %v to %v, third began %v", a.EndedAt, b.StartedAt, b.EndedAt, c.StartedAt)
		}
	})
	t.Run("interrupt stops the first and keeps it", func(t *testing.T) {
		w, g, thread, first := setup(t)
		defer w.stop(time.Second)
		second := w.start(thread, strategy(run.Interrupt))
		g.waitBegan(t, second.ID)
		close(g.pass)
		if r := w.wait(first.ID); r.Status != run.Cancelled {
			t.Errorf("first run is %s, want cancelled", r.Status)
		}
		if end := last(t, w.events(first.ID)); end.Status != event.Cancelled {
			t.Errorf("the first journal ends %s", end.Status)
		}
		if r := w.wait(second.ID); r.Status != run.Success {
			t.Errorf("second run is %s", r.Status)
		}
	})
	t.Run("rollback removes the first with its checkpoints", func(t *testing.T) {
		w, g, thread, first := setup(t)
		defer w.stop(time.Second)
		saw := w.follow(t.Context(), first.ID)
		second := w.start(thread, strategy(run.Rollback))
		g.waitBegan(t, second.ID)
		close(g.pass)
		w.wait(second.ID)
		if _, err := w.db.Run(t.Context(), me, first.ID); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("the first run is still there: %v", err)
		}
		<-saw.done
		if end := last(t, saw.events()); end.Status != event.Cancelled || saw.err != nil {
			t.Errorf("a live reader saw %+v and %v, want the run's end", end, saw.err)
		}
		list, err := w.db.List(t.Context(), thread, "", "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list {
			if s.Run != second.ID {
				t.Errorf("checkpoint %s of run %q is left", s.ID, s.Run)
			}
		}
		if len(list) == 0 || list[len(list)-1].Parent != "" {
			t.Errorf("the second run does not start from an empty thread")
		}
	})
	t.Run("pending runs are stopped too", func(t *testing.T) {
		w, g, thread, first := setup(t)
		defer w.stop(time.Second)
		waiting := w.start(thread)
		second := w.start(thread, strategy(run.Interrupt))
		if r := w.wait(waiting.ID); r.Status != run.Cancelled {
			t.Errorf("the waiting run is %s, want cancelled", r.Status)
		}
		if got := kinds(w.events(waiting.ID)); !slices.Equal(got, []string{"run_queued", "run_started", "run_ended"}) {
			t.Errorf("the waiting run's journal is %v", got)
		}
		w.wait(first.ID)
		g.waitBegan(t, second.ID)
		close(g.pass)
		w.wait(second.ID)
	})
}

func TestCancel(t *testing.T) {
	t.Run("reaches a running node at once, and the first one wins", func(t *testing.T) {
		g := newGate()
		w := open(t, t.TempDir(), single(oneNode(g.node)), func(o *run.Options) { o.Lease = time.Hour })
		defer w.stop(time.Second)
		r := w.start(newThread())
		g.waitBegan(t, r.ID)
		if _, err := w.e.Cancel(t.Context(), me, r.ID, run.StopRun); err != nil {
			t.Fatal(err)
		}
		if _, err := w.e.Cancel(t.Context(), me, r.ID, run.RollbackRun); err != nil {
			t.Fatal(err)
		}
		if r := w.wait(r.ID); r.Status != run.Cancelled || r.Cancel != run.StopRun {
			t.Errorf("run is %s by %q, want cancelled by the first request", r.Status, r.Cancel)
		}
	})
	t.Run("by somebody else finds nothing", func(t *testing.T) {
		g := newGate()
		w := open(t, t.TempDir(), single(oneNode(g.node)))
		defer w.stop(time.Second)
		r := w.start(newThread())
		g.waitBegan(t, r.ID)
		if _, err := w.e.Cancel(t.Context(), run.Identity{Owner: "eve"}, r.ID, run.StopRun); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("got %v, want ErrNotFound", err)
		}
		close(g.pass)
		if r := w.wait(r.ID); r.Status != run.Success {
			t.Errorf("run is %s", r.Status)
		}
	})
	t.Run("of an ended run changes nothing", func(t *testing.T) {
		w := open(t, t.TempDir(), single(oneNode(func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil })))
		defer w.stop(time.Second)
		r := w.wait(w.start(newThread()).ID)
		got, err := w.e.Cancel(t.Context(), me, r.ID, run.StopRun)
		if err != nil || got.Status != run.Success || got.Cancel != run.NoCancel {
			t.Errorf("got %s, cancel %q, %v", got.Status, got.Cancel, err)
		}
	})
	t.Run("found by the heartbeat where no hint arrives", func(t *testing.T) {
		g := newGate()
		w := open(t, t.TempDir(), single(oneNode(g.node)), func(o *run.Options) { o.Lease = 30 * time.Millisecond; o.Bus = deafBus{} })
		defer w.stop(time.Second)
		r := w.start(newThread())
		g.waitBegan(t, r.ID)
		if _, err := w.e.Cancel(t.Context(), me, r.ID, run.StopRun); err != nil {
			t.Fatal(err)
		}
		if r := w.wait(r.ID); r.Status != run.Cancelled {
			t.Errorf("run is %s", r.Status)
		}
	})
}

func TestDelayedRunWaitsForItsTime(t *testing.T) {
	w := open(t, t.TempDir(), single(oneNode(func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil })))
	defer w.stop(time.Second)
	r := w.wait(w.start(newThread(), func(r *run.Request) { r.Delay = 50 * time.Millisecond }).ID)
	if r.StartedAt.Before(r.NotBefore) {
		t.Errorf("started %v, not before %v", r.StartedAt, r.NotBefore)
	}
}

func TestShutdownHandsRunsOverAndTheNextProcessGoesOn(t *testing.T) {
	dir := t.TempDir()
	g := newGate()
	w := open(t, dir, single(oneNode(g.node)))
	r := w.start(newThread())
	g.waitBegan(t, r.ID)
	saw := w.follow(t.Context(), r.ID)
	for len(saw.events()) < 4 { // run started, two checkpoints, node started
		time.Sleep(time.Millisecond)
	}
	w.stop(time.Millisecond)

	close(g.pass)
	w = open(t, dir, single(oneNode(g.node)))
	defer w.stop(time.Second)
	r = w.wait(r.ID)
	if r.Status != run.Success || r.Attempt != 2 {
		t.Errorf("run is %s after %d attempts, want success after 2", r.Status, r.Attempt)
	}
	final := w.events(r.ID)
	mustBePrefix(t, saw.events(), final)
	i := slices.Index(kinds(final), "attempt_started")
	if i < 0 || final[i].Event.(event.AttemptStarted).Cause != "drain" {
		t.Errorf("journal does not say that the run was handed over: %v", kinds(final))
	}
}

// A worker that was paused for longer than its lease must not be able to change anything when it wakes up.
func TestFencedWorkerCanChangeNothing(t *testing.T) {
	g := newGate()
	wrote := make(chan error, 1)
	attempt := 0
	w := open(t, t.TempDir(), single(oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		attempt++
		if attempt > 1 {
			return graph.Command{}, nil
		}
		// The first worker hears of nothing until it is let go, as if it had been stopped.
		g.began <- s.Config().Run
		<-g.pass
		err := s.Promise(ctx, event.ItemStarted{Item: "fco_1", Type: item.TypeToolResult, CallID: "c1"})
		wrote <- err
		return graph.Command{}, err
	})), func(o *run.Options) { o.Lease = time.Hour })
	defer w.stop(time.Second)
	r := w.start(newThread())
	g.waitBegan(t, r.ID)
	// Somebody believes that the worker is dead, and takes the run over.
	if err := w.db.Abandon(t.Context(), run.LocalNode); err != nil {
		t.Fatal(err)
	}
	other, err := run.Open(t.Context(), func() run.Options { o := w.opt; o.Node = "other"; o.Bus = nil; return o }())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(t.Context())
	got, err := other.Wait(t.Context(), me, r.ID)
	if err != nil || got.Status != run.Success || got.Epoch != 2 {
		t.Fatalf("the other worker made it %s, epoch %d, %v", got.Status, got.Epoch, err)
	}
	before := w.events(r.ID)
	close(g.pass)
	if err := <-wrote; !errors.Is(err, journal.ErrFenced) {
		t.Errorf("the old worker's promise answered %v, want ErrFenced", err)
	}
	for w.e.Active() > 0 {
		time.Sleep(time.Millisecond)
	}
	if after := w.events(r.ID); len(after) != len(before) {
		t.Errorf("the old worker appended %v", kinds(after[len(before):]))
	}
}

func TestRunThatKeepsCrashingIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	g := newGate()
	var id string
	for i := range 4 {
		w := open(t, dir, single(oneNode(g.node)), func(o *run.Options) { o.MaxAttempts = 3 })
		if i == 0 {
			id = w.start(newThread()).ID
		}
		if i == 3 {
			r := w.wait(id)
			if r.Status != run.Failed || r.Error == nil || r.Error.Code != "too_many_attempts" {
				t.Errorf("run is %s, %+v", r.Status, r.Error)
			}
			w.events(id)
		} else {
			g.waitBegan(t, id)
			waitFor(t, func() bool { // the attempt is on disk, and how far it has got
				r, err := w.db.Run(t.Context(), me, id)
				th, terr := w.db.Thread(t.Context(), me, r.Thread)
				return err == nil && terr == nil && r.Attempt == i+1 && !th.StateAt.IsZero()
			})
			w.faults.dieAfter(0, false)
		}
		w.stop(time.Millisecond)
	}
}

func TestRunThatIsHandedOverIsNeverGivenUp(t *testing.T) {
	dir := t.TempDir()
	g := newGate()
	var id string
	for i := range 4 {
		w := open(t, dir, single(oneNode(g.node)), func(o *run.Options) { o.MaxAttempts = 2 })
		if i == 0 {
			id = w.start(newThread()).ID
		}
		g.waitBegan(t, id)
		w.stop(time.Millisecond)
	}
	close(g.pass)
	w := open(t, dir, single(oneNode(g.node)), func(o *run.Options) { o.MaxAttempts = 2 })
	defer w.stop(time.Second)
	if r := w.wait(id); r.Status != run.Success {
		t.Errorf("run is %s, %+v", r.Status, r.Error)
	}
}

func TestInvalidRequestsChangeNothing(t *testing.T) {
	w := open(t, t.TempDir(), single(oneNode(nil)))
	defer w.stop(time.Second)
	for field, change := range map[string]func(*run.Request){
		"assistant_id":       func(r *run.Request) { r.Assistant = "" },
		"multitask_strategy": func(r *run.Request) { r.Multitask = "sometimes" },
		"config":             func(r *run.Request) { r.Config = json.RawMessage(`[]`) },
		"metadata":           func(r *run.Request) { r.Metadata = json.RawMessage(`"x"`) },
		"command":            func(r *run.Request) { r.Command = json.RawMessage(`{"goto":7}`) },
		"after_seconds":      func(r *run.Request) { r.Delay = -1 },
	} {
		thread := newThread()
		_, err := w.e.Start(t.Context(), me, thread, request(change))
		var invalid *run.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field {
			t.Errorf("%s: got %v", field, err)
		}
		if _, err := w.db.Thread(t.Context(), me, thread); !errors.Is(err, run.ErrNotFound) {
			t.Errorf("%s: the thread was made all the same", field)
		}
	}
	_, err := w.e.Start(t.Context(), me, newThread(), request(func(r *run.Request) { r.CreateThread = false }))
	if !errors.Is(err, run.ErrNotFound) {
		t.Errorf("a run on a missing thread: %v", err)
	}
}

// A disk that is full for a while stops runs without ending them; they go on when there is room again.
func TestStoreThatFailsForAWhileLosesNoRun(t *testing.T) {
	g := newGate()
	w := open(t, t.TempDir(), single(oneNode(g.node)), func(o *run.Options) { o.Lease = 60 * time.Millisecond })
	defer w.stop(time.Second)
	r := w.start(newThread())
	g.waitBegan(t, r.ID)
	w.faults.dieAfter(0, false)
	close(g.pass)
	if _, err := w.e.Start(t.Context(), me, newThread(), request()); err == nil {
		t.Error("a run was accepted that cannot have been stored")
	}
	for w.e.Active() > 0 {
		time.Sleep(time.Millisecond)
	}
	w.faults.armed.Store(false)
	w.faults.stopped.Store(false)
	if r := w.wait(r.ID); r.Status != run.Success {
		t.Errorf("run is %s", r.Status)
	}
	w.events(r.ID)
}

func TestFinishedRunsLeaveNothingInMemory(t *testing.T) {
	w := open(t, t.TempDir(), single(oneNode(func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil })))
	defer w.stop(time.Second)
	for range 20 {
		w.wait(w.start(newThread()).ID)
	}
	for w.e.Active() > 0 {
		time.Sleep(time.Millisecond)
	}
	if n := w.j.Live(); n != 0 {
		t.Errorf("%d runs are still in memory", n)
	}
}
