package storagetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

func threads(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{"a":1}`)
	got := getThread(t, b, th.ID)
	if got.Status != run.Idle || got.Owner != "alice" || !got.CreatedAt.Equal(th.CreatedAt) || !got.StateAt.IsZero() {
		t.Errorf("thread is %+v", got)
	}
	_, err := b.CreateThread(ctx, alice, run.Thread{ID: th.ID, CreatedAt: now()})
	wantErr(t, "create twice", err, run.ErrExists)

	at := now().Add(time.Hour)
	got, err = b.PatchThread(ctx, alice, th.ID, json.RawMessage(`{"b":{"x":[1,2]},"a":null}`), &at)
	must(t, err)
	wantJSON(t, "metadata", got.Metadata, `{"a":null,"b":{"x":[1,2]}}`)
	if !getThread(t, b, th.ID).ExpiresAt.Equal(at) {
		t.Error("the expiry was not stored")
	}
	_, err = b.PatchThread(ctx, alice, id(), nil, nil)
	wantErr(t, "patch a missing thread", err, run.ErrNotFound)
}

func threadOwners(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	_, err := b.Thread(ctx, bob, th.ID)
	wantErr(t, "read", err, run.ErrNotFound)
	_, err = b.PatchThread(ctx, bob, th.ID, json.RawMessage(`{"x":1}`), nil)
	wantErr(t, "patch", err, run.ErrNotFound)
	_, err = b.DeleteThread(ctx, bob, th.ID)
	wantErr(t, "delete", err, run.ErrNotFound)
	_, err = b.CopyThread(ctx, bob, th.ID, id())
	wantErr(t, "copy", err, run.ErrNotFound)
	_, err = b.ThreadRuns(ctx, bob, th.ID, "", 10, 0)
	wantErr(t, "list runs", err, run.ErrNotFound)
	wantErr(t, "save state", b.SaveState(ctx, bob, th.ID, run.Idle, nil), run.ErrNotFound)
	wantErr(t, "prune", b.PruneThread(ctx, bob, th.ID), run.ErrNotFound)
	_, err = b.CreateRun(ctx, bob, newRun(th.ID, func(n *run.NewRun) { n.Request.CreateThread = true }))
	wantErr(t, "run", err, run.ErrNotFound)
	_, err = b.CreateThread(ctx, bob, run.Thread{ID: th.ID, CreatedAt: now()})
	wantErr(t, "create with a taken id", err, run.ErrExists)
	if list, total, err := b.SearchThreads(ctx, bob, run.ThreadQuery{Limit: 10}); err != nil || len(list) != 0 || total != 0 {
		t.Errorf("search finds %d of %d, %v", len(list), total, err)
	}
	r := startRun(t, b, th.ID)
	_, err = b.Run(ctx, bob, r.ID)
	wantErr(t, "read run", err, run.ErrNotFound)
	_, err = b.RequestCancel(ctx, bob, r.ID, run.StopRun)
	wantErr(t, "cancel run", err, run.ErrNotFound)
	wantErr(t, "delete run", b.DeleteRun(ctx, bob, r.ID), run.ErrNotFound)
}

func threadSearch(t *testing.T, b Backend) {
	ctx := t.Context()
	var ids []string
	for i := range 5 {
		ids = append(ids, newThread(t, b, alice, fmt.Sprintf(`{"n":%d,"even":%v,"deep":{"k":"v"}}`, i, i%2 == 0)).ID)
	}
	find := func(q run.ThreadQuery) (got []string, total int) {
		t.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		list, total, err := b.SearchThreads(ctx, alice, q)
		must(t, err)
		for _, th := range list {
			got = append(got, th.ID)
		}
		return got, total
	}
	want := func(q run.ThreadQuery, total int, want ...string) {
		t.Helper()
		got, n := find(q)
		if fmt.Sprint(got) != fmt.Sprint(want) || n != total {
			t.Errorf("%+v finds %v of %d, want %v of %d", q, got, n, want, total)
		}
	}
	want(run.ThreadQuery{Metadata: json.RawMessage(`{"n":3}`)}, 1, ids[3])
	want(run.ThreadQuery{Metadata: json.RawMessage(`{"n":"3"}`)}, 0)
	want(run.ThreadQuery{Metadata: json.RawMessage(`{"even":true}`), Asc: true}, 3, ids[0], ids[2], ids[4])
	want(run.ThreadQuery{Metadata: json.RawMessage(`{"deep":{"k":"v"},"n":1}`)}, 1, ids[1])
	want(run.ThreadQuery{IDs: []string{ids[1], ids[4], "x"}, Asc: true}, 2, ids[1], ids[4])
	want(run.ThreadQuery{Limit: 2}, 5, ids[4], ids[3])
	want(run.ThreadQuery{Limit: 2, Offset: 4}, 5, ids[0])
	want(run.ThreadQuery{Status: run.Busy}, 0)
	startRun(t, b, ids[2])
	want(run.ThreadQuery{Status: run.Busy}, 1, ids[2])
	want(run.ThreadQuery{SortBy: "updated_at", Limit: 1}, 5, ids[2])
	want(run.ThreadQuery{SortBy: "thread_id", Asc: true, Limit: 1}, 5, ids[0])
}

// Keys and values of filters are data. None of these may match, fail or reach another owner.
func hostileFilters(t *testing.T, b Backend) {
	newThread(t, b, alice, `{"a":1}`)
	newThread(t, b, bob, `{"secret":1}`)
	for _, filter := range []string{
		`{"a' OR '1'='1":1}`, `{"a\") OR 1=1 --":1}`, `{"$.a":1}`, `{"a":"1' OR '1'='1"}`, `{"a":{"$ne":0}}`,
		`{"a.b[0]":1}`, `{"":1}`, `{"%":1}`, `{"secret":1}`, `{"a":[1]}`, `{"a":null}`, `{"a":1.5}`,
	} {
		list, total, err := b.SearchThreads(t.Context(), alice, run.ThreadQuery{Metadata: json.RawMessage(filter), SortBy: "id; DROP TABLE threads", Limit: 10})
		if err != nil || len(list) != 0 || total != 0 {
			t.Errorf("filter %s finds %d, %v", filter, total, err)
		}
	}
}

func copyThread(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{"a":1}`)
	r := startRun(t, b, th.ID)
	c1 := commit(th.ID, "", 0, set("x", 1, `"one"`))
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, set("x", 2, `"two"`))
	write(t, b, group(r, 0, 0, "", c1, c2))
	endRun(t, b, r)
	cp, err := b.CopyThread(ctx, alice, th.ID, id())
	must(t, err)
	// The copy stands by itself.
	must(t, b.DeleteRun(ctx, alice, r.ID))
	if runs, err := b.ThreadRuns(ctx, alice, cp.ID, "", 10, 0); err != nil || len(runs) != 0 {
		t.Errorf("the copy has %d runs, %v", len(runs), err)
	}
	s, err := b.Load(ctx, cp.ID, "", "")
	must(t, err)
	wantJSON(t, "state of the copy", s.Values["x"], `"two"`)
	if list, err := b.List(ctx, cp.ID, "", "", 10); err != nil || len(list) != 2 || list[0].Parent != list[1].ID {
		t.Errorf("history of the copy: %d, %v", len(list), err)
	}
	_, err = b.CopyThread(ctx, alice, id(), id())
	wantErr(t, "copy of a missing thread", err, run.ErrNotFound)
}

func deleteThread(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	r := startRun(t, b, th.ID)
	write(t, b, group(r, 1, 2, "data", commit(th.ID, "", 0, set("x", 1, `1`))))
	_, err := b.DeleteThread(ctx, alice, th.ID)
	wantErr(t, "delete while a run executes", err, run.ErrBusy)
	endRun(t, b, r)
	gone, err := b.DeleteThread(ctx, alice, th.ID)
	if err != nil || len(gone) != 1 || gone[0] != r.ID {
		t.Errorf("deleted runs %v, %v", gone, err)
	}
	_, err = b.Thread(ctx, alice, th.ID)
	wantErr(t, "read a deleted thread", err, run.ErrNotFound)
	_, err = b.Read(ctx, r.ID, 0, 1000)
	wantErr(t, "journal of a deleted thread", err, journal.ErrGone)
	_, err = b.Load(ctx, th.ID, "", "")
	wantErr(t, "state of a deleted thread", err, graph.ErrNoCheckpoint)

	temporary, kept := newThread(t, b, alice, `{}`), newThread(t, b, alice, `{}`)
	endRun(t, b, startRun(t, b, temporary.ID), func(e *run.End) { e.Temporary = true })
	// One that a stateless run made for itself is there, and not found by those who search.
	_, before, err := b.SearchThreads(ctx, alice, run.ThreadQuery{})
	must(t, err)
	own := startRun(t, b, "stateless", func(r *run.NewRun) { r.Request.CreateThread, r.Request.Temporary = true, true })
	getThread(t, b, own.Thread)
	if _, after, err := b.SearchThreads(ctx, alice, run.ThreadQuery{}); err != nil || after != before {
		t.Errorf("%d threads are found with a stateless run's, %v; want %d", after, err, before)
	}
	endRun(t, b, startRun(t, b, kept.ID))
	if runs, err := b.Sweep(ctx, now(), 10); err != nil || len(runs) != 0 {
		t.Errorf("swept %v before its time, %v", runs, err)
	}
	if runs, err := b.Sweep(ctx, now().Add(time.Hour), 10); err != nil || len(runs) != 1 {
		t.Errorf("swept %v, %v", runs, err)
	}
	_, err = b.Thread(ctx, alice, temporary.ID)
	wantErr(t, "the temporary thread", err, run.ErrNotFound)
	getThread(t, b, kept.ID)
}

func pruneThread(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	c1 := commit(th.ID, "", 0, set("list", 1, `[1]`), set("x", 1, `"old"`))
	c2 := commit(th.ID, c1.Checkpoint.ID, 1, appended("list", 2, 1, `[2]`), set("x", 2, `"new"`))
	must(t, b.SaveState(ctx, alice, th.ID, run.Idle, []graph.Save{c1, c2}))
	must(t, b.PruneThread(ctx, alice, th.ID))
	list, err := b.List(ctx, th.ID, "", "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%d checkpoints are left, %v", len(list), err)
	}
	wantJSON(t, "list", list[0].Values["list"], `[1,2]`)
	wantJSON(t, "x", list[0].Values["x"], `"new"`)
}

func saveState(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	c := commit(th.ID, "", 0, set("x", 1, `1`))
	c.Checkpoint.Source = event.FromUpdate
	must(t, b.SaveState(ctx, alice, th.ID, run.ThreadInterrupted, []graph.Save{c}))
	got := getThread(t, b, th.ID)
	if got.Status != run.ThreadInterrupted || got.StateAt.IsZero() {
		t.Errorf("thread is %+v", got)
	}
	r := startRun(t, b, th.ID)
	wantErr(t, "while a run executes", b.SaveState(ctx, alice, th.ID, run.Idle, []graph.Save{commit(th.ID, "", 1)}), run.ErrBusy)
	endRun(t, b, r)
	startRun(t, b, th.ID, func(n *run.NewRun) { n.Worker = "" })
	wantErr(t, "while a run waits", b.SaveState(ctx, alice, th.ID, run.Idle, nil), run.ErrBusy)
}
