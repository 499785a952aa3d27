package storagetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bus"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// process is what a process has beside the store that it shares with others.
type process struct {
	log    *journal.Journal
	engine *run.Engine
}

// never is longer than any test takes: what is found only by looking now and then is not found.
const never = 24 * time.Hour

// deaf is a bus that loses every message, as a bus may.
type deaf struct{}

func (deaf) Publish(bus.Message)                {}
func (deaf) Subscribe(func(bus.Message)) func() { return func() {} }

// twoProcesses opens two engines, "a" and "b", each with a journal of its own, on one store.
func twoProcesses(t *testing.T, b Backend, line bus.Bus, lease time.Duration, g *graph.Graph) (one, two process) {
	t.Helper()
	return aProcess(t, b, "a", line, lease, g), aProcess(t, b, "b", line, lease, g)
}

func aProcess(t *testing.T, b Backend, node string, line bus.Bus, lease time.Duration, g *graph.Graph) process {
	t.Helper()
	must(t, run.EnsureDefaults(t.Context(), b, []run.Assistant{{Graph: "g", CreatedAt: now()}}))
	p := process{log: journal.Open(b, journal.Options{Poll: never, Appended: func(id string, last uint64) {
		line.Publish(bus.Message{Kind: bus.Appended, Run: id, Last: last})
	}})}
	engine, err := run.Open(t.Context(), run.Options{
		Store: b, Journal: p.log, Checkpoints: b, Bus: line, Node: node, Lease: lease,
		Build: func(context.Context, run.Run) (*graph.Graph, error) { return g, nil },
	})
	must(t, err)
	p.engine = engine
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		must(t, p.engine.Close(ctx))
		p.log.Close()
	})
	return p
}

// hesitant is a store to whose callers something comes in between before they create a run.
type hesitant struct {
	Backend
	first func()
}

func (h *hesitant) CreateRun(ctx context.Context, who run.Identity, n run.NewRun) (run.Created, error) {
	if h.first != nil {
		h.first()
	}
	return h.Backend.CreateRun(ctx, who, n)
}

func order(thread string) run.Order {
	return run.Order{Thread: thread, Request: run.Request{Assistant: "g", CreateThread: true, Input: json.RawMessage(`{}`)}}
}

// Of the answers that two processes are given to one question, at the same time, one counts.
func answersOfTwo(t *testing.T, b Backend) {
	var mu sync.Mutex
	var heard []string
	g := graph.New("g").Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		answer, err := graph.Ask[string](s, "Which one?")
		if err == nil {
			mu.Lock()
			heard = append(heard, answer)
			mu.Unlock()
		}
		return graph.Command{}, err
	}).Chain(graph.Start, "ask", graph.End)
	one, two := twoProcesses(t, b, &bus.Local{}, time.Minute, g)
	for round := range 5 {
		heard = nil
		thread := id()
		asks, err := one.engine.Order(t.Context(), alice, order(thread))
		must(t, err)
		_, err = one.engine.Wait(t.Context(), alice, asks.ID)
		must(t, err)
		open, err := two.engine.Asked(t.Context(), alice, thread)
		must(t, err)
		const askers = 8
		var wg sync.WaitGroup
		taken := make(chan run.Run, askers)
		for i := range askers {
			wg.Go(func() {
				o := run.Order{Thread: thread, From: &asks, Answers: map[string]json.RawMessage{open[0].ID: json.RawMessage(fmt.Sprintf("%q", fmt.Sprint(i)))}}
				r, err := []process{one, two}[i%2].engine.Order(t.Context(), alice, o)
				var late *run.NotAskedError
				switch {
				case err == nil:
					taken <- r
				case !errors.Is(err, run.ErrBusy) && !errors.As(err, &late):
					t.Errorf("an answer that came too late was refused with: %v", err)
				}
			})
		}
		wg.Wait()
		close(taken)
		if len(taken) != 1 {
			t.Fatalf("round %d: %d answers were taken, want 1", round, len(taken))
		}
		r, err := two.engine.Wait(t.Context(), alice, (<-taken).ID)
		must(t, err)
		if len(heard) != 1 || r.Status != run.Success {
			t.Fatalf("round %d: the question heard %q and its run ended with %s", round, heard, r.Status)
		}
	}
}

// A process has seen that a question is open, and before it answers, another has answered and has come to an end.
func answerInBetween(t *testing.T, b Backend) {
	g := graph.New("g").Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		_, err := graph.Ask[string](s, "Which one?")
		return graph.Command{}, err
	}).Chain(graph.Start, "ask", graph.End)
	slow := &hesitant{Backend: b}
	one, two := aProcess(t, b, "a", &bus.Local{}, time.Minute, g), aProcess(t, slow, "b", &bus.Local{}, time.Minute, g)
	asks, err := one.engine.Order(t.Context(), alice, order(id()))
	must(t, err)
	_, err = one.engine.Wait(t.Context(), alice, asks.ID)
	must(t, err)
	open, err := one.engine.Asked(t.Context(), alice, asks.Thread)
	must(t, err)
	answer := run.Order{Thread: asks.Thread, From: &asks, Answers: map[string]json.RawMessage{open[0].ID: json.RawMessage(`"this"`)}}
	slow.first = func() {
		slow.first = nil
		r, err := one.engine.Order(t.Context(), alice, answer)
		must(t, err)
		_, err = one.engine.Wait(t.Context(), alice, r.ID)
		must(t, err)
	}
	_, err = two.engine.Order(t.Context(), alice, answer)
	var late *run.NotAskedError
	if !errors.As(err, &late) {
		t.Errorf("the answer that came too late got %v", err)
	}
}

// One key is one run, whichever process it is sent to, and whatever the strategy says about others.
func keysOfTwo(t *testing.T, b Backend) {
	g := graph.New("g").Node("work", func(context.Context, *graph.Scope) (graph.Command, error) { return graph.Command{}, nil }).Chain(graph.Start, "work", graph.End)
	one, two := twoProcesses(t, b, &bus.Local{}, time.Minute, g)
	for _, strategy := range []run.Strategy{run.Enqueue, run.Reject, run.Rollback} {
		o := order(id())
		o.Key, o.Multitask = "once", strategy
		ids := make([]string, 16)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				r, err := []process{one, two}[i%2].engine.Order(t.Context(), alice, o)
				if err != nil {
					t.Errorf("%s: %v", strategy, err)
				}
				ids[i] = r.ID
			})
		}
		wg.Wait()
		for _, got := range ids {
			if got != ids[0] {
				t.Fatalf("%s: one key is the runs %v", strategy, ids)
			}
		}
		r, err := one.engine.Wait(t.Context(), alice, ids[0])
		must(t, err)
		if r.Status != run.Success {
			t.Errorf("%s: the run ended with %s", strategy, r.Status)
		}
	}
}

// Who follows a run in another process is told when there is more, and need not look for it.
func followersElsewhere(t *testing.T, b Backend) {
	words := make(chan string)
	g := graph.New("g").Node("talk", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		for w := range words {
			if err := s.Custom(ctx, w); err != nil {
				return graph.Command{}, err
			}
		}
		return graph.Command{}, nil
	}).Chain(graph.Start, "talk", graph.End)
	one, two := twoProcesses(t, b, &bus.Local{}, time.Minute, g)
	r, err := one.engine.Order(t.Context(), alice, order(id()))
	must(t, err)
	c := two.log.Cursor(r.ID, journal.Position{})
	defer c.Close()
	until := func(is func(event.Envelope) bool) {
		t.Helper()
		for {
			events, err := c.Next(t.Context())
			must(t, err)
			for _, env := range events {
				if is(env) {
					return
				}
			}
		}
	}
	for i := range 20 {
		word := fmt.Sprintf("%q", fmt.Sprint("word ", i))
		words <- fmt.Sprint("word ", i) // the follower has read all that was said before
		until(func(env event.Envelope) bool { e, ok := env.Event.(event.Custom); return ok && string(e.Data) == word })
	}
	close(words)
	until(func(env event.Envelope) bool { _, ok := env.Event.(event.RunEnded); return ok })
	if last, err := two.engine.Wait(t.Context(), alice, r.ID); err != nil || last.Status != run.Success {
		t.Errorf("the run ended with %s, %v", last.Status, err)
	}
}

// A sub-agent that is cancelled in another process stops, also where no message arrives.
func cancelledElsewhere(t *testing.T, b Backend) {
	working := make(chan struct{})
	child := graph.New("child").Node("work", func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		close(working)
		<-ctx.Done()
		return graph.Command{}, context.Cause(ctx)
	}).Chain(graph.Start, "work", graph.End)
	g := graph.New("g").Node("call", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		if _, err := s.Run(ctx, child, graph.Child{Task: "helper", Uncalled: true}); !errors.Is(err, graph.ErrTaskCancelled) {
			return graph.Command{}, fmt.Errorf("the sub-agent ended with %w", err)
		}
		return graph.Command{}, nil
	}).Chain(graph.Start, "call", graph.End)
	one, two := twoProcesses(t, b, deaf{}, 300*time.Millisecond, g)
	r, err := one.engine.Order(t.Context(), alice, order(id()))
	must(t, err)
	<-working
	if _, err := two.engine.CancelTask(t.Context(), bob, r.ID, "helper"); !errors.Is(err, run.ErrNotFound) {
		t.Errorf("somebody else cancelled a sub-agent: %v", err)
	}
	_, err = two.engine.CancelTask(t.Context(), alice, r.ID, "helper")
	must(t, err)
	if r, err = one.engine.Wait(t.Context(), alice, r.ID); err != nil || r.Status != run.Success {
		t.Errorf("the run ended with %s, %v, %v", r.Status, r.Error, err)
	}
	if left, err := b.CancelledTasks(t.Context(), r.ID); err != nil || len(left) != 0 {
		t.Errorf("of the run that has ended %v is left, %v", left, err)
	}
	if _, err := two.engine.CancelTask(t.Context(), alice, r.ID, "helper"); err != nil {
		t.Errorf("cancelling what has ended: %v", err)
	}
	if left, _ := b.CancelledTasks(t.Context(), r.ID); len(left) != 0 {
		t.Errorf("of the run that has ended %v is kept", left)
	}
}

// Numbers of runs that are gone stay with the thread, and go with it.
func gaps(t *testing.T, b Backend) {
	ctx, at := t.Context(), now()
	th := newThread(t, b, alice, `{}`)
	for _, g := range []run.Gap{{At: at, Count: 5}, {At: at, Count: 3}, {At: at.Add(time.Second), Count: 7}} {
		must(t, b.NoteGap(ctx, alice, th.ID, g))
	}
	got, err := b.Gaps(ctx, alice, th.ID)
	must(t, err)
	if len(got) != 2 || got[0].Count != 5 || !got[0].At.Equal(at) || got[1].Count != 7 {
		t.Errorf("the gaps are %v", got)
	}
	wantErr(t, "somebody else's gap", b.NoteGap(ctx, bob, th.ID, run.Gap{At: at, Count: 100}), run.ErrNotFound)
	if got, err := b.Gaps(ctx, bob, th.ID); err != nil || len(got) != 0 {
		t.Errorf("somebody else sees %v, %v", got, err)
	}
	_, err = b.DeleteThread(ctx, alice, th.ID)
	must(t, err)
	if got, err := b.Gaps(ctx, alice, th.ID); err != nil || len(got) != 0 {
		t.Errorf("of the thread that is gone %v is left, %v", got, err)
	}
}
