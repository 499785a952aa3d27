package storagetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/piece"
	"github.com/tributary-ai/tributary/internal/run"
)

// commit makes a checkpoint whose fields are just those of its blobs; see carrying for the others.
func commit(thread, parent string, step int, blobs ...graph.Blob) graph.Commit {
	c := graph.Commit{
		Checkpoint: graph.Checkpoint{
			ID: id(), Parent: parent, Thread: thread, Step: step, Source: event.FromLoop, At: now(), Versions: map[string]int64{},
		},
		Blobs: blobs,
	}
	for _, b := range blobs {
		c.Checkpoint.Versions[b.Field] = b.Version
	}
	return c
}

func set(field string, version int64, data string) graph.Blob {
	return graph.Blob{Field: field, Version: version, Data: json.RawMessage(data)}
}

func appended(field string, version, base int64, data string) graph.Blob {
	return graph.Blob{Field: field, Version: version, Base: base, Data: json.RawMessage(data)}
}

// What models were shown is kept by thread, once, until the thread is gone.
func pieces(t *testing.T, b Backend) {
	ctx := t.Context()
	th, other := newThread(t, b, alice, `{}`), newThread(t, b, alice, `{}`)
	r := startRun(t, b, th.ID)
	text := bytes.Repeat([]byte("what the model was shown "), 1000)
	split := piece.Split(text)
	root := split[len(split)-1].Hash
	write(t, b, group(r, 1, 1, "x", graph.Shown{Thread: th.ID, Pieces: split}))
	write(t, b, group(r, 2, 2, "y", graph.Shown{Thread: th.ID, Pieces: split})) // once more, as after a crash
	join := func(thread string) ([]byte, error) {
		return piece.Join(root, func(h piece.Hash) ([]byte, error) { return b.Piece(ctx, thread, h) })
	}
	if got, err := join(th.ID); err != nil || !bytes.Equal(got, text) {
		t.Errorf("got %d bytes of %d, %v", len(got), len(text), err)
	}
	for _, thread := range []string{other.ID, id()} {
		_, err := join(thread)
		wantErr(t, "another thread", err, graph.ErrNoPiece)
	}
	write(t, b, group(r, 3, 3, "z", run.End{Run: r.ID, Thread: th.ID, Status: run.Success, At: now()}))
	if _, err := b.DeleteThread(ctx, alice, th.ID); err != nil {
		t.Fatal(err)
	}
	_, err := join(th.ID)
	wantErr(t, "a thread that was deleted", err, graph.ErrNoPiece)
}

func checkpoints(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	_, err := b.Load(ctx, th.ID, "", "")
	wantErr(t, "an empty thread", err, graph.ErrNoCheckpoint)
	_, err = b.Load(ctx, id(), "", "")
	wantErr(t, "a missing thread", err, graph.ErrNoCheckpoint)
	if list, err := b.List(ctx, id(), "", "", 10); err != nil || len(list) != 0 {
		t.Errorf("a missing thread has %d checkpoints, %v", len(list), err)
	}

	r := startRun(t, b, th.ID)
	c1 := commit(th.ID, "", -1, set("x", 10, `{"a":1}`))
	c1.Checkpoint.Source = event.FromInput
	c1.Checkpoint.Next = []graph.Task{{ID: "t1", Node: "n", Path: []string{"pull", "n"}, Triggers: []string{"start"}, Input: json.RawMessage(`[1]`)}}
	c1.Checkpoint.Joins = map[string][]string{"c": {"a"}}
	c1.Checkpoint.Metadata = json.RawMessage(`{"m":1}`)
	c2 := commit(th.ID, c1.Checkpoint.ID, 0, set("y", 20, `null`))
	c2.Checkpoint.Versions["x"] = 10 // unchanged, so not written again
	c2.Done = []graph.Outcome{{Task: "t1", Node: "n", Finished: true, Stored: map[string]int64{"y": 20}}}
	fork := commit(th.ID, c1.Checkpoint.ID, 0, set("x", 30, `"fork"`))
	sub := commit(th.ID, "", 0, set("x", 10, `"below"`))
	sub.Checkpoint.NS = "n:t1"
	write(t, b, group(r, 0, 0, "", c1, c2, fork, sub))

	got, err := b.Load(ctx, th.ID, "", c1.Checkpoint.ID)
	must(t, err)
	if got.Step != -1 || got.Source != event.FromInput || got.Run != r.ID || got.Parent != "" || !got.At.Equal(c1.Checkpoint.At) ||
		len(got.Next) != 1 || got.Next[0].ID != "t1" || got.Next[0].Path[1] != "n" || string(got.Next[0].Input) != "[1]" ||
		fmt.Sprint(got.Joins) != "map[c:[a]]" || string(got.Metadata) != `{"m":1}` {
		t.Errorf("the first checkpoint is %+v", got)
	}
	got, err = b.Load(ctx, th.ID, "", c2.Checkpoint.ID)
	must(t, err)
	wantJSON(t, "x", got.Values["x"], `{"a":1}`)
	wantJSON(t, "y", got.Values["y"], `null`)
	if len(got.Done) != 1 || len(got.Done[0].Writes) != 1 || got.Done[0].Writes[0].Field != "y" || string(got.Done[0].Writes[0].Value) != "null" {
		t.Errorf("what led to the second checkpoint is %+v", got.Done)
	}
	if got, err := b.Load(ctx, th.ID, "", ""); err != nil || got.ID != fork.Checkpoint.ID {
		t.Errorf("the latest is %s, %v", got.ID, err)
	}
	if got, err := b.Load(ctx, th.ID, "n:t1", ""); err != nil || string(got.Values["x"]) != `"below"` {
		t.Errorf("the namespace below is %+v, %v", got, err)
	}
	list, err := b.List(ctx, th.ID, "", "", 2)
	if err != nil || len(list) != 2 || list[0].ID != fork.Checkpoint.ID || list[1].ID != c2.Checkpoint.ID {
		t.Errorf("the newest two: %d, %v", len(list), err)
	}
	list, err = b.List(ctx, th.ID, "", c2.Checkpoint.ID, 10)
	if err != nil || len(list) != 1 || list[0].ID != c1.Checkpoint.ID {
		t.Errorf("before the second: %d, %v", len(list), err)
	}
	for _, bad := range []string{id(), "x", "../..", "' OR 1=1"} {
		_, err := b.Load(ctx, th.ID, "", bad)
		wantErr(t, "checkpoint "+bad, err, graph.ErrNoCheckpoint)
	}
}

func appendedLists(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	var saves []graph.Save
	parent := ""
	want := ""
	for i := int64(1); i <= 50; i++ {
		blob := appended("list", i, i-1, fmt.Sprintf(`[%d, "x"]`, i))
		if i == 30 {
			blob, want = set("list", i, ` [ ] `), "" // replaced as a whole
		} else {
			want += fmt.Sprintf(`,%d,"x"`, i)
		}
		c := commit(th.ID, parent, int(i), blob)
		parent = c.Checkpoint.ID
		saves = append(saves, c)
	}
	must(t, b.SaveState(ctx, alice, th.ID, run.Idle, saves))
	got, err := b.Load(ctx, th.ID, "", "")
	must(t, err)
	wantJSON(t, "list", got.Values["list"], "["+want[1:]+"]")
	list, err := b.List(ctx, th.ID, "", "", 100)
	must(t, err)
	wantJSON(t, "an older list", list[len(list)-2].Values["list"], `[1,"x",2,"x"]`)
}

func grownObjects(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	long := strings.Repeat("a long text, which is kept in pieces; ", 1000)
	c1 := commit(th.ID, "", 0, set("map", 1, ` { } `))
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, appended("map", 2, 1, `{"b":{"x":[1]}}`))
	c3 := commit(th.ID, c2.Checkpoint.ID, 2, appended("map", 3, 2, `{"a":"`+long+`","d":null}`))
	c4 := commit(th.ID, c3.Checkpoint.ID, 3, appended("map", 4, 3, ` {"c" : "}"} `))
	must(t, b.SaveState(ctx, alice, th.ID, run.Idle, []graph.Save{c1, c2, c3, c4}))
	for i, want := range []string{`{}`, `{"b":{"x":[1]}}`, `{"b":{"x":[1]},"a":"` + long + `","d":null}`, `{"b":{"x":[1]},"a":"` + long + `","d":null,"c":"}"}`} {
		got, err := b.Load(ctx, th.ID, "", []graph.Commit{c1, c2, c3, c4}[i].Checkpoint.ID)
		must(t, err)
		wantJSON(t, fmt.Sprintf("the map after %d additions", i), got.Values["map"], want)
	}
}

func keptOutcomes(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	r := startRun(t, b, th.ID)
	c := commit(th.ID, "", 0)
	keep := func(o graph.Outcome) graph.Kept {
		return graph.Kept{Thread: th.ID, Checkpoint: c.Checkpoint.ID, Outcome: o}
	}
	write(t, b, group(r, 0, 0, "", c,
		keep(graph.Outcome{Task: "a", Finished: true, Writes: []graph.FieldWrite{{Field: "x", Value: json.RawMessage(`1`)}}, Goto: []graph.Target{{Node: "n", Send: true}}}),
		keep(graph.Outcome{Task: "b", Interrupts: []graph.Interrupt{{ID: "i", Value: json.RawMessage(`"?"`)}}})))
	write(t, b, group(r, 0, 0, "", keep(graph.Outcome{Task: "b", Resumes: []json.RawMessage{json.RawMessage(`"!"`)}})))
	got, err := b.Load(ctx, th.ID, "", "")
	must(t, err)
	if len(got.Kept) != 2 || !got.Kept[0].Finished || string(got.Kept[0].Writes[0].Value) != "1" || !got.Kept[0].Goto[0].Send ||
		len(got.Kept[1].Interrupts) != 0 || string(got.Kept[1].Resumes[0]) != `"!"` {
		t.Errorf("kept: %+v", got.Kept)
	}
}

func rollback(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	first := startRun(t, b, th.ID)
	c1 := commit(th.ID, "", 0, set("list", 1, `[1]`))
	c1.Checkpoint.Next = []graph.Task{{ID: "t", Node: "n"}}
	write(t, b, group(first, 1, 1, "x", c1))
	endRun(t, b, first, func(e *run.End) { e.Status, e.Waiting = run.Interrupted, true })
	if th := getThread(t, b, th.ID); th.Status != run.ThreadInterrupted {
		t.Errorf("thread is %s", th.Status)
	}
	second := startRun(t, b, th.ID)
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, appended("list", 2, 1, `[2]`))
	write(t, b, group(second, 1, 1, "y", c2, graph.Kept{Thread: th.ID, Checkpoint: c2.Checkpoint.ID, Outcome: graph.Outcome{Task: "t"}}))
	endRun(t, b, second, func(e *run.End) { e.Status, e.Rollback = run.Cancelled, true })
	_, err := b.Run(ctx, alice, second.ID)
	wantErr(t, "the rolled back run", err, run.ErrNotFound)
	got, err := b.Load(ctx, th.ID, "", "")
	must(t, err)
	wantJSON(t, "state", got.Values["list"], `[1]`)
	_, err = b.Read(ctx, second.ID, 0, 1000)
	wantErr(t, "its journal", err, journal.ErrGone)
	if th := getThread(t, b, th.ID); th.Status != run.ThreadInterrupted {
		t.Errorf("after the rollback the thread is %s, want what it was before", th.Status)
	}
	// The thread goes on from there.
	third := startRun(t, b, th.ID)
	write(t, b, group(third, 1, 1, "z", commit(th.ID, c1.Checkpoint.ID, 1, appended("list", 3, 1, `[3]`))))
	got, err = b.Load(ctx, th.ID, "", "")
	must(t, err)
	wantJSON(t, "state", got.Values["list"], `[1,3]`)
}

// Later runs build on what earlier ones wrote: lists on what they were appended to, checkpoints on fields that they did
// not change. Deleting an earlier run leaves them whole.
func deleteRun(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	first := startRun(t, b, th.ID)
	c1 := commit(th.ID, "", 0, set("list", 1, `[1]`), set("kept", 1, `"a"`), set("gone", 1, `"old"`))
	write(t, b, group(first, 1, 1, "x", c1))
	endRun(t, b, first)
	second := startRun(t, b, th.ID)
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, appended("list", 2, 1, `[2]`), set("gone", 2, `"new"`))
	c2.Checkpoint.Versions["kept"] = 1
	write(t, b, group(second, 1, 1, "y", c2))
	endRun(t, b, second)
	must(t, b.DeleteRun(ctx, alice, first.ID))
	_, err := b.Run(ctx, alice, first.ID)
	wantErr(t, "the deleted run", err, run.ErrNotFound)
	list, err := b.List(ctx, th.ID, "", "", 10)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%d checkpoints are left", len(list))
	}
	for field, want := range map[string]string{"list": `[1,2]`, "kept": `"a"`, "gone": `"new"`} {
		wantJSON(t, field, list[0].Values[field], want)
	}
	must(t, b.DeleteRun(ctx, alice, second.ID))
	_, err = b.Load(ctx, th.ID, "", "")
	wantErr(t, "the state without any run", err, graph.ErrNoCheckpoint)
}
