package transcript_test

import (
	"runtime"
	"slices"
	"testing"
	"weak"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/item"
)

// told puts a run together from what an outline reports, and from nothing else.
type told struct {
	items map[string][]transcript.Item // of each task
	usage map[string]item.Usage        // of each that ended
}

func (w *told) TaskBegan(t *transcript.Task, fresh bool) {
	if fresh {
		w.items[t.ID] = nil
	}
}

func (w *told) TaskEnded(t *transcript.Task) { w.usage[t.ID] = t.Usage }

func (w *told) ItemVoided(t *transcript.Task, it *transcript.Item, _ int, _ string) {
	w.items[t.ID] = slices.DeleteFunc(w.items[t.ID], func(old transcript.Item) bool { return old.Index == it.Index })
}

func (w *told) ItemCut(t *transcript.Task, it *transcript.Item) { w.put(t, *it) }

func (w *told) BlockClosed(*transcript.Task, *transcript.Item, int, *item.Block) {}

func (w *told) put(t *transcript.Task, it transcript.Item) {
	list := w.items[t.ID]
	if i := slices.IndexFunc(list, func(old transcript.Item) bool { return old.Index == it.Index }); i >= 0 {
		list[i] = it
	} else {
		w.items[t.ID] = append(list, it)
	}
}

// What an outline reports is the picture that the fold has: the same items in the same order, as far as they have come, and the same
// sums. Events that are lost or doubled do not make the two differ.
func TestAnOutlineReportsWhatTheFoldHas(t *testing.T) {
	small := transcripttest.Size{Depth: 2, Width: 4, Turns: 2, Budget: 4, Fragment: 2}
	rapid.Check(t, func(t *rapid.T) {
		journal := transcripttest.Runs(small).Draw(t, "run")
		if rapid.Bool().Draw(t, "broken") {
			journal = slices.DeleteFunc(journal, func(env event.Envelope) bool {
				return env.Seq > 1 && rapid.IntRange(0, 19).Draw(t, "lost") == 0
			})
		}
		w := &told{map[string][]transcript.Item{}, map[string]item.Usage{}}
		o := transcript.NewOutline(w)
		var f transcript.Fold
		for i := range journal {
			_ = f.Apply(&journal[i])
			if !o.Apply(&journal[i]) {
				t.Fatalf("event %d was not taken", i)
			}
			if o.Apply(&journal[i]) {
				t.Fatalf("event %d was taken twice", i)
			}
		}
		// The second Apply of each event forgets what the first one touched, so items are collected on a run of their own.
		w.items, o = map[string][]transcript.Item{}, transcript.NewOutline(w)
		for i := range journal {
			o.Apply(&journal[i])
			if it := o.Item(); it != nil {
				w.put(o.Task(), *it)
			}
		}
		for _, id := range f.TaskIDs() {
			want, _ := f.Task(id)
			if want.Status != "" && w.usage[id] != want.Usage {
				t.Fatalf("task %q ended with usage %+v, the fold has %+v", id, w.usage[id], want.Usage)
			}
			if got, want := briefly(w.items[id]), briefly(want.Items); !slices.Equal(got, want) {
				t.Fatalf("task %q\n got %v\nwant %v", id, got, want)
			}
		}
	})
}

type brief struct {
	index          int
	id, call, name string
	status         item.Status
}

func briefly(items []transcript.Item) []brief {
	out := make([]brief, len(items))
	for i, it := range items {
		out[i] = brief{it.Index, it.ID, it.CallID, it.Name, it.Status}
	}
	return out
}

// An outline that lives as long as a run must not hold the run's texts.
func TestAnOutlineForgetsWhatItHasShown(t *testing.T) {
	o := transcript.NewOutline(&told{map[string][]transcript.Item{}, map[string]item.Usage{}})
	seq := uint64(0)
	apply := func(e event.Event) {
		seq++
		if !o.Apply(&event.Envelope{Seq: seq, Run: "r", Event: e}) {
			t.Fatalf("%s was not taken", e.Kind())
		}
	}
	apply(event.RunStarted{})
	apply(event.TurnStarted{Turn: "t"})
	apply(event.ItemStarted{Item: "m", Turn: "t", Type: item.TypeMessage})
	marks := []item.Annotation{{Quote: "q"}}
	kept := weak.Make(&marks[0])
	apply(event.ItemEnded{Item: item.Message{ID: "m", Content: []item.Block{{Type: item.TextBlock, Text: "x", Annotations: marks}}}, Status: item.Completed})
	if got := o.Whole(); len(got.Blocks) != 1 || got.Blocks[0].Text != "x" {
		t.Fatalf("the item that ended is shown as %+v", got)
	}
	apply(event.TurnEnded{Turn: "t"})
	runtime.GC()
	if kept.Value() != nil {
		t.Error("the content of an item is still held after the event that ended it")
	}
	runtime.KeepAlive(o)
}
