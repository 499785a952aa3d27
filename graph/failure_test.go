package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

var empty = json.RawMessage(`{}`)

func TestFailureKeepsWhatSiblingsFinished(t *testing.T) {
	finished := make(chan struct{})
	runs := &counter{}
	g := graph.New("half", notes)
	g.Node("good", func(context.Context, *graph.Scope) (graph.Command, error) {
		runs.add("good")
		return graph.Update(notes.Add("good")), nil
	})
	g.Node("bad", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		if runs.add("bad") == 1 {
			<-finished
			return graph.Command{}, &customError{}
		}
		return graph.Update(notes.Add("bad after all")), nil
	})
	g.Node("slow", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		if runs.add("slow") == 1 {
			<-ctx.Done()
			return graph.Command{}, ctx.Err()
		}
		return graph.Update(notes.Add("slow")), nil
	})
	g.Edge(graph.Start, "good").Edge(graph.Start, "bad").Edge(graph.Start, "slow")
	s := begin(t, g)
	_, err := s.try(graph.Execution{Input: empty, Recorder: &watcher{Recorder: s.mem, see: func(b graph.Batch) {
		for _, ev := range b.Events {
			if _, ok := ev.Event.(event.NodeEnded); ok && ev.Node == "good" {
				close(finished)
			}
		}
	}}})
	var custom *customError
	if !errors.As(err, &custom) {
		t.Fatalf("got %v", err)
	}
	for _, o := range s.latest().Kept {
		switch o.Node {
		case "good":
			equal(t, "good finished", o.Finished, true)
		case "bad":
			equal(t, "bad's error", *o.Error, event.Error{Code: graph.CodeNode, Name: "CustomError", Message: "Boo!"})
		default:
			t.Errorf("kept %+v", o)
		}
	}
	// Going on runs only what did not finish.
	r := s.run(graph.Execution{})
	equal(t, "notes", strs(t, r.Values["notes"]), []string{"bad after all", "good", "slow"})
	equal(t, "runs", runs.n, map[string]int{"good": 1, "bad": 2, "slow": 2})
}

// watcher sees batches before they are recorded.
type watcher struct {
	graph.Recorder
	see func(graph.Batch)
}

func (w *watcher) Record(ctx context.Context, b graph.Batch) error {
	err := w.Recorder.Record(ctx, b)
	w.see(b)
	return err
}

func TestPanicBecomesAnError(t *testing.T) {
	g := graph.New("panic", notes).Node("a", func(context.Context, *graph.Scope) (graph.Command, error) { panic("oh no") }, graph.Retry{Max: 5}).Edge(graph.Start, "a")
	var logged strings.Builder
	s := begin(t, g)
	_, err := s.try(graph.Execution{Input: empty, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	told := graph.ErrorOf(err)
	if !strings.Contains(logged.String(), "failure_test.go") {
		t.Errorf("the stack is not logged: %s", logged.String())
	}
	if told == nil || told.Code != graph.CodePanic || !strings.Contains(told.Message, "oh no") || strings.Contains(told.Message, "goroutine") {
		t.Errorf("got %+v", told)
	}
	last := s.mem.Events()[len(s.mem.Events())-1].Event.(event.NodeEnded)
	equal(t, "told", last.Error, told)
}

func TestRetryAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := &counter{}
		g := graph.New("flaky", notes)
		g.Node("a", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if runs.add("a") < 3 {
				<-ctx.Done() // too slow, twice
				return graph.Command{}, ctx.Err()
			}
			return graph.Update(notes.Add("done")), nil
		}, graph.Timeout(time.Second), graph.Retry{Max: 3, Backoff: func(n int) time.Duration { return time.Duration(n) * time.Minute }})
		g.Edge(graph.Start, "a")
		start := time.Now()
		r := begin(t, g).input(`{}`)
		equal(t, "notes", strs(t, r.Values["notes"]), []string{"done"})
		equal(t, "time", time.Since(start), 2*time.Second+3*time.Minute)
	})
	synctest.Test(t, func(t *testing.T) {
		g := graph.New("slow", notes).Node("a", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			<-ctx.Done()
			return graph.Command{}, ctx.Err()
		}, graph.Timeout(time.Second), graph.Retry{Max: 2, On: func(error) bool { return false }}).Edge(graph.Start, "a")
		_, err := begin(t, g).try(graph.Execution{Input: empty})
		if told := graph.ErrorOf(err); told == nil || told.Code != graph.CodeTimeout {
			t.Errorf("got %v", err)
		}
	})
}

func TestCancelReturnsTheCauseAndKeepsFinishedSteps(t *testing.T) {
	stop := errors.New("the user went away")
	ctx, cancel := context.WithCancelCause(t.Context())
	g := graph.New("cancel", notes).Node("a", noting("a"))
	g.Node("b", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		cancel(stop)
		<-ctx.Done()
		return graph.Command{}, ctx.Err()
	})
	g.Chain(graph.Start, "a", "b")
	mem := graph.NewMemory()
	_, err := g.Run(ctx, graph.Execution{Thread: "thread", Input: empty, Checkpoints: mem, Recorder: mem})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
	snap, err := mem.Load(t.Context(), "thread", "", "")
	if err != nil || string(snap.Values["notes"]) != `["a"]` || len(snap.Kept) != 0 {
		t.Errorf("state: %+v %v", snap, err)
	}
}

// The checkpoint of a finished step is still to be written when the cancel is noticed.
func TestCancelBetweenStepsKeepsTheStepBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	g := graph.New("cancel", notes).Node("b", noting("b"))
	g.Node("a", func(context.Context, *graph.Scope) (graph.Command, error) {
		cancel()
		return graph.Update(notes.Add("a")), nil
	})
	g.Chain(graph.Start, "a", "b")
	mem := graph.NewMemory()
	_, err := g.Run(ctx, graph.Execution{Thread: "thread", Input: empty, Checkpoints: mem, Recorder: mem})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	snap, err := mem.Load(t.Context(), "thread", "", "")
	if err != nil || string(snap.Values["notes"]) != `["a"]` {
		t.Errorf("state: %+v %v", snap, err)
	}
}

func TestDurabilityExitSavesOnlyTheLastCheckpoint(t *testing.T) {
	s := begin(t, approvalGraph())
	s.run(graph.Execution{Input: json.RawMessage(`{"messages":"hello"}`), Durability: graph.Exit})
	equal(t, "history", s.history(""), []string{"1 loop approve"})
	r := s.run(graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(`{"answer":"yes"}`)}, Durability: graph.Exit})
	equal(t, "decision", string(r.Values["decision"]), `"yes"`)
	equal(t, "history", s.history(""), []string{"1 loop approve", "3 loop"})
	equal(t, "values", string(s.latest().Values["decision"]), `"yes"`)
}

func TestDurabilitySyncPromisesEveryCheckpoint(t *testing.T) {
	s := begin(t, chatGraph())
	s.run(graph.Execution{Input: json.RawMessage(`{"messages":"hello"}`), Durability: graph.Sync, Recorder: &watcher{Recorder: s.mem, see: func(b graph.Batch) {
		if len(b.Save) > 0 && !b.Promise {
			t.Error("a checkpoint was not promised")
		}
	}}})
}

func TestEventsOfARun(t *testing.T) {
	g := graph.New("told", topic, notes)
	g.Node("a", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(topic.Set("x"), notes.Add("n")), s.Custom(ctx, map[string]int{"done": 1})
	}).Edge(graph.Start, "a")
	s := begin(t, g)
	s.input(`{"topic":"rivers"}`)
	var got []string
	for _, ev := range s.mem.Events() {
		data, err := json.Marshal(ev.Event)
		if err != nil {
			t.Fatal(err)
		}
		line := ev.Event.Kind() + " " + ev.Node
		switch e := ev.Event.(type) {
		case event.NodeEnded:
			line += " " + string(e.Update)
		case event.Custom:
			line += " " + string(data)
		case event.CheckpointSaved:
			line += strings.Join(e.Next, ",") + " changed " + strings.Join(e.Changed, ",")
		case event.NodeStarted:
			line += " " + strings.Join(e.Triggers, ",") + " " + strings.Join(e.Path, "/")
		}
		got = append(got, line)
	}
	equal(t, "events", got, []string{
		"checkpoint_saved __start__ changed notes",
		"checkpoint_saved a changed topic",
		"node_started a branch:to:a pull/a",
		`custom a {"data":{"done":1}}`,
		`node_ended a {"topic":"x","notes":["n"]}`,
		"checkpoint_saved  changed topic,notes",
	})
}

func TestGoroutinesOfANodeMayEmitAtTheSameTime(t *testing.T) {
	g := graph.New("chatty", notes).Node("a", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		var wg sync.WaitGroup
		errs := make([]error, 8)
		for i := range errs {
			wg.Go(func() {
				for n := range 20 {
					errs[i] = errors.Join(errs[i], s.Custom(ctx, []int{i, n}))
				}
			})
		}
		wg.Wait()
		return graph.Command{}, errors.Join(append(errs, s.Promise(ctx, event.Custom{Name: "last", Data: json.RawMessage("0")}))...)
	}).Edge(graph.Start, "a")
	s := begin(t, g)
	s.input(`{}`)
	next := make([]int, 8)
	for _, ev := range s.mem.Events() {
		c, ok := ev.Event.(event.Custom)
		if !ok || c.Name == "last" {
			continue
		}
		var at [2]int
		if err := json.Unmarshal(c.Data, &at); err != nil {
			t.Fatal(err)
		}
		if at[1] != next[at[0]] || ev.Node != "a" || ev.Step != 1 {
			t.Fatalf("goroutine %d: event %d came as number %d, from %s at step %d", at[0], at[1], next[at[0]], ev.Node, ev.Step)
		}
		next[at[0]]++
	}
	equal(t, "events of each", next, []int{20, 20, 20, 20, 20, 20, 20, 20})
}

func TestMistakesInBuildingAreAllReported(t *testing.T) {
	g := graph.New("wrong", topic, topic).Node("a:b", noting("")).Node("ok", noting("")).Node("ok", noting("")).Edge("ok", "missing").Edge("ghost", "ok").InterruptBefore("phantom")
	_, err := g.Run(t.Context(), graph.Execution{Input: empty})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"topic" is declared twice`, `"a:b"`, `"ok" is defined twice`, `"missing"`, `"ghost"`, "Start", `"phantom"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not mention %s", err, want)
		}
	}
}
