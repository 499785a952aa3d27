package task_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/transcript/transcripttest"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/task"
)

type timeOf struct {
	Item  string `json:"item_id"`
	Task  string `json:"task_id"`
	Began string `json:"began_at"`
	Ended string `json:"ended_at"`
}

func TestTimesAreTheSameInTheStreamAndBesideTheObjectAndChangeNothingElse(t *testing.T) {
	items := 0
	for seed := range uint64(40) {
		journal := transcripttest.Run(seed, transcripttest.Size{Depth: 3, Width: 4, Turns: 3, Budget: 12, Fragment: 4})
		plain, timed := task.New(), task.New()
		timed.Times()
		var times task.Times
		fold := transcript.Fold{}
		began, ended, of := map[string]string{}, map[string]string{}, map[string]string{}
		for i := range journal {
			journal[i].At = time.Date(2026, 1, 1, 0, 0, 0, i*1000, time.UTC)
			if err := fold.Apply(&journal[i]); err != nil {
				t.Fatal(err)
			}
			times.Apply(&journal[i])
			var want, got []wire.Frame
			var err error
			if want, err = plain.Project(nil, &journal[i]); err != nil {
				t.Fatal(err)
			}
			if got, err = timed.Project(nil, &journal[i]); err != nil {
				t.Fatal(err)
			}
			if len(got) != len(want) {
				t.Fatalf("seed %d, event %d: %d frames with times, %d without", seed, i, len(got), len(want))
			}
			for n := range got {
				a, b := object(t, got[n].Data), object(t, want[n].Data)
				at, said := a["at"].(string)
				isItem := b["type"] == "task.output_item.added" || b["type"] == "task.output_item.done"
				if said != isItem {
					t.Fatalf("seed %d: %s says when: %v, want %v", seed, got[n].Data, said, isItem)
				}
				delete(a, "at")
				if !reflect.DeepEqual(a, b) {
					t.Fatalf("seed %d: with times %s, without %s", seed, got[n].Data, want[n].Data)
				}
				if isItem {
					id := b["item"].(map[string]any)["id"].(string)
					of[id] = b["task_id"].(string)
					if b["type"] == "task.output_item.added" {
						began[id] = at
						delete(ended, id)
					} else {
						ended[id] = at
					}
				}
			}
		}
		root, _ := fold.Task("")
		whole := task.Object(fold.Run(), root)
		var with struct{ Times []timeOf }
		data := times.AddTo(append([]byte(nil), whole...), fold.Run())
		if err := json.Unmarshal(data, &with); err != nil {
			t.Fatalf("seed %d: %v in %s", seed, err, data)
		}
		a, b := object(t, data), object(t, whole)
		delete(a, "times")
		if !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: with times the object is %s, without %s", seed, data, whole)
		}
		last := map[string]timeOf{}
		for _, it := range with.Times {
			last[it.Item] = it
		}
		items += len(last)
		for id, at := range began {
			// What was cut off has a frame that says so, and no end of its own.
			if it := last[id]; it.Began != at || it.Task != of[id] || it.Ended != "" && it.Ended != ended[id] {
				t.Errorf("seed %d: item %s of %s was begun at %s and ended at %s; beside the object stands %+v", seed, id, of[id], at, ended[id], it)
			}
		}
	}
	if items < 100 {
		t.Errorf("only %d items were looked at", items)
	}
}

func object(t *testing.T, data []byte) (o map[string]any) {
	t.Helper()
	if err := json.Unmarshal(data, &o); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return o
}
