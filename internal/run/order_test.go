package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// askers is a graph whose node asks before it is done.
func askers(t *testing.T) *graph.Graph {
	t.Helper()
	g := graph.New("g")
	g.Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		_, err := graph.Ask[string](s, "may I?")
		return graph.Command{}, err
	})
	g.Edge(graph.Start, "ask")
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	return g
}

// orders is a world with a graph "g" that asks, its default assistant, and one with settings of its own.
func orders(t *testing.T) (w *world, tuned run.Assistant) {
	t.Helper()
	g := askers(t)
	w = open(t, t.TempDir(), func(_ context.Context, r run.Run) (*graph.Graph, error) {
		switch {
		case r.Request.Graph != "g":
			return nil, fmt.Errorf("graph %q: %w", r.Request.Graph, run.ErrNotFound)
		case strings.Contains(string(r.Request.Config), "unheard-of"):
			return nil, run.Invalidf("config.configurable.model", "there is no such model")
		}
		return g, nil
	})
	t.Cleanup(func() { w.stop(time.Second) })
	ctx := t.Context()
	if err := run.EnsureDefaults(ctx, w.db, []run.Assistant{{Graph: "g", CreatedAt: time.Now()}, {Graph: "gone", CreatedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	tuned, err := w.db.CreateAssistant(ctx, me, run.Assistant{
		ID: newThread(), Graph: "g", Name: "tuned", CreatedAt: time.Now(),
		Config: json.RawMessage(`{"configurable":{"model":"mild","tone":"dry"}}`), Context: json.RawMessage(`{"city":"Bern"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, tuned
}

func order(assistant, thread string) run.Order {
	return run.Order{Thread: thread, Request: run.Request{Assistant: assistant, Input: json.RawMessage(`{}`), CreateThread: true}}
}

func TestAnOrderIsCompletedWithItsAssistantsSettings(t *testing.T) {
	w, tuned := orders(t)
	o := order(tuned.ID, "")
	o.Config = json.RawMessage(`{"configurable":{"model":"bold"}}`)
	d, err := w.e.Prepare(t.Context(), me, o)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(d.Request.Config), `{"configurable":{"model":"bold","tone":"dry"}}`; got != want {
		t.Errorf("config: got %s, want %s", got, want)
	}
	if got, want := string(d.Request.Context), `{"city":"Bern"}`; got != want {
		t.Errorf("context: got %s, want %s", got, want)
	}
	if got := fmt.Sprint(d.Request.Graph, d.Request.Inherited, d.Graph.Name()); got != "g[tone]g" {
		t.Errorf("graph, inherited keys and graph built: got %s, want g[tone]g", got)
	}
	if threads, _, err := w.db.SearchThreads(t.Context(), me, run.ThreadQuery{Limit: 10}); err != nil || len(threads) != 0 {
		t.Errorf("preparing stored %d threads (%v), want none", len(threads), err)
	}
	r, err := d.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r.Thread != d.Thread || w.wait(r.ID).Status != run.Interrupted {
		t.Errorf("the run is on thread %s and %s, want %s and interrupted", r.Thread, w.wait(r.ID).Status, d.Thread)
	}
}

func TestAnOrderThatNamesWhatIsNotThereIsRefused(t *testing.T) {
	w, _ := orders(t)
	there := newThread()
	r, err := w.e.Order(t.Context(), me, order("g", there))
	if err != nil {
		t.Fatal(err)
	}
	w.wait(r.ID)
	for name, c := range map[string]struct {
		order run.Order
		who   run.Identity
		field string
	}{
		"assistant":            {order("nobody", ""), me, "assistant_id"},
		"graph":                {order("gone", ""), me, "graph"},
		"thread":               {func() run.Order { o := order("g", newThread()); o.CreateThread = false; return o }(), me, "thread_id"},
		"checkpoint":           {func() run.Order { o := order("g", there); o.Checkpoint = newThread(); return o }(), me, "checkpoint_id"},
		"thread of another":    {func() run.Order { o := order("g", there); o.Checkpoint = newThread(); return o }(), run.Identity{Owner: "you"}, "thread_id"},
		"questions of another": {run.Order{Thread: there, From: &r, Answers: map[string]json.RawMessage{"q": nil}}, run.Identity{Owner: "you"}, "thread_id"},
	} {
		_, err := w.e.Order(t.Context(), c.who, c.order)
		var gone *run.MissingError
		if !errors.As(err, &gone) || gone.Field != c.field || !errors.Is(err, run.ErrNotFound) {
			t.Errorf("%s: got %v, want that %s is missing", name, err, c.field)
		}
	}
	o := order("g", "")
	o.Config = json.RawMessage(`{"configurable":{"model":"unheard-of"}}`)
	var invalid *run.InvalidError
	if _, err := w.e.Prepare(t.Context(), me, o); !errors.As(err, &invalid) || invalid.Field != "config.configurable.model" {
		t.Errorf("a graph that cannot be built: got %v, want the setting", err)
	}
}

func TestOfTwoAnswersToOneQuestionOneCounts(t *testing.T) {
	w, tuned := orders(t)
	asked, err := w.e.Order(t.Context(), me, order(tuned.ID, newThread()))
	if err != nil {
		t.Fatal(err)
	}
	asked = w.wait(asked.ID)
	open, err := w.e.Asked(t.Context(), me, asked.Thread)
	if err != nil || len(open) != 1 {
		t.Fatalf("asked: got %v (%v), want one question", open, err)
	}
	if err := w.db.DeleteAssistant(t.Context(), me, tuned.ID); err != nil { // a waiting run does not need it
		t.Fatal(err)
	}
	answer := run.Order{Thread: asked.Thread, From: &asked, Answers: map[string]json.RawMessage{open[0].ID: json.RawMessage(`"yes"`)}}
	var counted atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := w.e.Order(context.Background(), me, answer)
			var unasked *run.NotAskedError
			switch {
			case err == nil:
				counted.Add(1)
				w.wait(r.ID)
				if got, want := string(r.Request.Config), string(asked.Request.Config); got != want {
					t.Errorf("it goes on with config %s, want %s", got, want)
				}
			case !errors.Is(err, run.ErrBusy) && !errors.As(err, &unasked):
				t.Errorf("got %v, want busy or not asked", err)
			}
		})
	}
	all.Wait()
	if counted.Load() != 1 {
		t.Errorf("%d answers counted, want 1", counted.Load())
	}
}

// Whoever answers when the question is told, and before its run has ended, is heard.
func TestAnAnswerMayComeBeforeTheRunThatAsksHasEnded(t *testing.T) {
	early := make(chan struct{}) // closed when somebody has looked at the thread and found it busy
	var once sync.Once
	let := func() { once.Do(func() { close(early) }) }
	g := askers(t)
	w := open(t, t.TempDir(), func(context.Context, run.Run) (*graph.Graph, error) { return g, nil }, func(o *run.Options) {
		o.FollowUps = func(run.Run) []run.FollowUp { <-early; return nil } // which is asked for before the end is written
	})
	defer w.stop(time.Second)
	defer let()
	if err := run.EnsureDefaults(t.Context(), w.db, []run.Assistant{{Graph: "g", CreatedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	asked, err := w.e.Order(t.Context(), me, order("g", newThread()))
	if err != nil {
		t.Fatal(err)
	}
	var question string
	for env, err := range w.j.Follow(t.Context(), asked.ID, journal.Position{}) {
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := env.Event.(event.InterruptRaised); ok {
			question = e.ID
			break
		}
	}
	w.faults.looked.Store(&let)
	answer, err := w.e.Order(t.Context(), me, run.Order{Thread: asked.Thread, From: &asked, Answers: map[string]json.RawMessage{question: json.RawMessage(`"yes"`)}})
	if err != nil {
		t.Fatalf("the answer is refused: %v", err)
	}
	if got := w.wait(asked.ID).Status; got != run.Interrupted {
		t.Errorf("the run that asked ended %s, want interrupted", got)
	}
	if got := w.wait(answer.ID).Status; got != run.Success {
		t.Errorf("the run that goes on ended %s, want success", got)
	}
}

func TestContextAndConfigurableAreReadAlike(t *testing.T) {
	for _, c := range []struct{ config, context, configurable, seen string }{
		{``, ``, ``, ``},
		{`{"configurable":{"a":1}}`, ``, `{"a":1}`, `{"a":1}`},
		{``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"configurable":{"a":1,"b":1}}`, `{"b":2,"c":2}`, `{"a":1,"b":1,"c":2}`, `{"a":1,"b":2,"c":2}`},
	} {
		r := run.Request{Config: json.RawMessage(c.config), Context: json.RawMessage(c.context)}
		configurable, seen, err := r.Settings()
		if err != nil || string(configurable) != c.configurable || string(seen) != c.seen {
			t.Errorf("%s beside %s: got %s and %s (%v), want %s and %s", c.config, c.context, configurable, seen, err, c.configurable, c.seen)
		}
	}
}
