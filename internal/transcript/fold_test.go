package transcript_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/item"
)

func fold(t testing.TB, journal []event.Envelope) *transcript.Fold {
	t.Helper()
	var f transcript.Fold
	for i := range journal {
		if err := f.Apply(&journal[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &f
}

func TestGeneratedRunsAreLawful(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		if err := transcript.Check(slices.Values(journal)); err != nil {
			t.Fatal(err)
		}
	})
}

// said is what each task said, found the slow way: from ends alone, without deltas. It knows nothing of
// what the fold does.
func said(journal []event.Envelope) map[string][]item.Item {
	type start struct{ task, item, turn, call string }
	var starts []start
	ended := map[string]item.Item{}
	forget := func(drop func(start) bool) { starts = slices.DeleteFunc(starts, drop) }
	parent, attempt := map[string]string{}, map[string]int{}
	for _, env := range journal {
		switch e := env.Event.(type) {
		case event.ItemStarted:
			if e.Type == item.TypeToolResult {
				forget(func(s start) bool { return s.task == env.Task && s.call == e.CallID })
				starts = append(starts, start{env.Task, e.Item, "", e.CallID})
			} else {
				starts = append(starts, start{env.Task, e.Item, e.Turn, ""})
			}
		case event.ItemEnded:
			ended[e.Item.ItemID()] = e.Item
		case event.TurnVoided:
			forget(func(s start) bool { return s.turn == e.Turn })
		case event.TaskStarted:
			parent[env.Task] = e.Parent
			if e.Attempt > max(attempt[env.Task], 1) {
				forget(func(s start) bool {
					for at := s.task; at != ""; at = parent[at] {
						if at == env.Task {
							return true
						}
					}
					return false
				})
			}
			attempt[env.Task] = e.Attempt
		}
	}
	out := map[string][]item.Item{}
	for _, s := range starts {
		out[s.task] = append(out[s.task], ended[s.item])
	}
	return out
}

// Law 9: whatever a tree of sub-agents did, the folded tree is what each of them said, and each child's items are
// what its caller's result shows.
func TestFoldedTreeIsWhatEachChildSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		var f transcript.Fold
		for i := range journal {
			if err := f.Apply(&journal[i]); err != nil {
				t.Fatal(err)
			}
		}
		want := said(journal)
		seen := 0
		var visit func(task transcript.Task)
		var walk func(task string, items []transcript.Item, loose []transcript.Task)
		walk = func(task string, items []transcript.Item, loose []transcript.Task) {
			seen++
			for _, c := range loose {
				visit(c)
			}
			if len(items) != len(want[task]) {
				t.Fatalf("task %q has %d items, want %d", task, len(items), len(want[task]))
			}
			for i, it := range items {
				if !reflect.DeepEqual(it.Value, want[task][i]) {
					t.Fatalf("task %q item %d: got %+v, want %+v", task, i, it.Value, want[task][i])
				}
				if it.Task != "" {
					if it.Task != it.CallID || it.Blocks != nil {
						t.Fatalf("container %+v", it)
					}
					child, ok := f.Task(it.Task)
					if !ok || !reflect.DeepEqual(child.Items, it.Items) {
						t.Fatalf("container %q does not show what its child has", it.ID)
					}
					walk(it.Task, it.Items, it.Tasks)
				}
			}
		}
		visit = func(task transcript.Task) { walk(task.ID, task.Items, task.Tasks) }
		root, _ := f.Task("")
		visit(root)
		// Every task is shown, and each in one place.
		if seen != len(f.TaskIDs()) {
			t.Fatalf("the root shows %d tasks of %d", seen, len(f.TaskIDs()))
		}
	})
}

// Deltas alone show the same text as the ends: cut a run before any event, and what is open is a prefix of what
// it will be.
func TestGrowingTextIsAPrefixOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Size{Depth: 1, Width: 3, Turns: 2, Budget: 2, Fragment: 6}).Draw(t, "run")
		whole := map[string]item.Item{}
		for _, env := range journal {
			if e, ok := env.Event.(event.ItemEnded); ok {
				whole[e.Item.ItemID()] = e.Item
			}
		}
		var f transcript.Fold
		for i := range journal {
			if err := f.Apply(&journal[i]); err != nil {
				t.Fatal(err)
			}
			root, _ := f.Task("")
			for _, it := range root.Items {
				m, ok := whole[it.ID].(item.Message)
				if !ok {
					continue
				}
				for at, b := range it.Blocks {
					if full := m.Content[at].Text; len(b.Text) > len(full) || b.Text != full[:len(b.Text)] {
						t.Fatalf("after %d: %q is no prefix of %q", i, b.Text, full)
					}
				}
			}
		}
	})
}

func TestPictureDoesNotChangeAfterItWasTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Size{Depth: 2, Width: 3, Turns: 2, Budget: 3, Fragment: 6}).Draw(t, "run")
		at := rapid.IntRange(1, len(journal)).Draw(t, "at")
		var early, late transcript.Fold
		for i := range journal[:at] {
			_ = early.Apply(&journal[i])
			_ = late.Apply(&journal[i])
		}
		taken, _ := late.Task("")
		for i := at; i < len(journal); i++ {
			_ = late.Apply(&journal[i])
		}
		if again, _ := early.Task(""); !reflect.DeepEqual(taken, again) {
			t.Fatalf("got %+v, want %+v", taken, again)
		}
	})
}

// Law 4, over runs in which turns are voided, tasks start over and processes die.
func TestUsageIsTheSumOverTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(transcripttest.Large).Draw(t, "run")
		var want item.Usage
		var f transcript.Fold
		for i := range journal {
			_ = f.Apply(&journal[i])
			switch e := journal[i].Event.(type) {
			case event.TurnEnded:
				want = want.Plus(e.Usage)
			case event.TurnVoided:
				want = want.Plus(e.Usage)
			}
		}
		if root, _ := f.Task(""); root.Usage != want {
			t.Fatalf("got %+v, want %+v", root.Usage, want)
		}
	})
}

// Joining deltas must not copy what was joined before: the cost of a delta does not grow with the text.
func TestCostOfADeltaDoesNotGrow(t *testing.T) {
	var f transcript.Fold
	env := event.Envelope{Run: "r"}
	apply := func(e event.Event) {
		env.Seq++
		env.Event = e
		if err := f.Apply(&env); err != nil {
			t.Fatal(err)
		}
	}
	apply(event.RunStarted{})
	apply(event.TurnStarted{Turn: "t"})
	apply(event.ItemStarted{Item: "m", Turn: "t", Type: item.TypeMessage})
	apply(event.BlockStarted{Item: "m", Type: item.TextBlock})
	delta := event.Event(event.TextDelta{Item: "m", Text: "word "})
	for range 200_000 {
		apply(delta)
	}
	if n := testing.AllocsPerRun(10_000, func() { apply(delta) }); n > 0.1 {
		t.Errorf("%.2f allocations per delta", n)
	}
	if got := len(f.FinalText("")); got != 5*210_001 {
		t.Errorf("got %d bytes", got)
	}
}

// go test -bench Fold ./internal/transcript
func BenchmarkFold(b *testing.B) {
	var journal []event.Envelope
	for seed := uint64(0); len(journal) < 5000; seed++ {
		journal = transcripttest.Run(seed, transcripttest.Large)
	}
	b.ReportAllocs()
	for b.Loop() {
		var f transcript.Fold
		for i := range journal {
			_ = f.Apply(&journal[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(journal)), "ns/event")
}

// Ids of items are unique in their task, and not in the run.
func TestItemsOfTwoTasksMayHaveOneID(t *testing.T) {
	var f transcript.Fold
	seq := uint64(0)
	apply := func(task string, e event.Event) {
		t.Helper()
		seq++
		if err := f.Apply(&event.Envelope{Seq: seq, Run: "r", Task: task, Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	apply("", event.RunStarted{})
	apply("expert", event.TaskStarted{})
	for _, task := range []string{"", "expert"} {
		apply(task, event.TurnStarted{Turn: "turn of " + task})
		apply(task, event.ItemStarted{Item: "m", Turn: "turn of " + task, Type: item.TypeMessage})
		apply(task, event.BlockStarted{Item: "m", Type: item.TextBlock})
	}
	for range 2 {
		apply("", event.TextDelta{Item: "m", Text: "lead "})
		apply("expert", event.TextDelta{Item: "m", Text: "expert "})
	}
	for task, want := range map[string]string{"": "lead lead ", "expert": "expert expert "} {
		if got := f.FinalText(task); got != want {
			t.Errorf("task %q says %q, want %q", task, got, want)
		}
	}
}
