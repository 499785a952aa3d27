package storagetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

func createRun(t *testing.T, b Backend) {
	ctx := t.Context()
	_, err := b.CreateRun(ctx, alice, newRun(id()))
	wantErr(t, "run on a missing thread", err, run.ErrNotFound)

	th := newThread(t, b, alice, `{"k":"v"}`)
	first := startRun(t, b, th.ID)
	if first.Status != run.Running || first.Worker != worker || first.Epoch != 1 {
		t.Errorf("a run that nothing stands in the way of is %+v", first)
	}
	got := getThread(t, b, th.ID)
	if got.Status != run.Busy {
		t.Errorf("thread is %s", got.Status)
	}
	wantJSON(t, "thread's metadata", got.Metadata, `{"k":"v","graph_id":"g","assistant_id":"a"}`)

	strategy := func(s run.Strategy) func(*run.NewRun) { return func(n *run.NewRun) { n.Request.Multitask = s } }
	_, err = b.CreateRun(ctx, alice, newRun(th.ID, strategy(run.Reject)))
	wantErr(t, "reject", err, run.ErrBusy)
	second := startRun(t, b, th.ID, strategy(run.Enqueue))
	if second.Status != run.Pending || second.Worker != "" {
		t.Errorf("an enqueued run is %+v", second)
	}
	c, err := b.CreateRun(ctx, alice, newRun(th.ID, strategy(run.Rollback)))
	must(t, err)
	if len(c.Stopped) != 2 || c.Stopped[0] != first.ID || c.Stopped[1] != second.ID {
		t.Errorf("rollback stops %v", c.Stopped)
	}
	if r, err := b.Run(ctx, alice, first.ID); err != nil || r.Cancel != run.RollbackRun {
		t.Errorf("the first run's cancel is %q, %v", r.Cancel, err)
	}
	if r, err := b.RequestCancel(ctx, alice, first.ID, run.StopRun); err != nil || r.Cancel != run.RollbackRun {
		t.Errorf("a later cancel won: %q, %v", r.Cancel, err)
	}
	// Those that were asked before are not among the stopped: telling them now could be telling them otherwise.
	again, err := b.CreateRun(ctx, alice, newRun(th.ID, strategy(run.Interrupt)))
	must(t, err)
	if len(again.Stopped) != 1 || again.Stopped[0] != c.Run.ID {
		t.Errorf("interrupt after rollback stops %v, want %v", again.Stopped, c.Run.ID)
	}
	wantErr(t, "delete a running run", b.DeleteRun(ctx, alice, first.ID), run.ErrBusy)

	list, err := b.ThreadRuns(ctx, alice, th.ID, "", 10, 0)
	must(t, err)
	if len(list) != 4 || list[3].ID != first.ID || list[0].ID != again.Run.ID {
		t.Errorf("the list has %d runs, newest first", len(list))
	}
	if list, err := b.ThreadRuns(ctx, alice, th.ID, run.Pending, 1, 2); err != nil || len(list) != 1 || list[0].ID != second.ID {
		t.Errorf("the third page of pending runs is %v, %v", list, err)
	}

	made := startRun(t, b, id(), func(n *run.NewRun) { n.Request.CreateThread = true })
	getThread(t, b, made.Thread)
}

func claims(t *testing.T, b Backend) {
	ctx := t.Context()
	waiting := func(n *run.NewRun) { n.Worker = "" }
	one, two := newThread(t, b, alice, `{}`), newThread(t, b, alice, `{}`)
	a1, a2 := startRun(t, b, one.ID, waiting), startRun(t, b, one.ID, waiting)
	b1 := startRun(t, b, two.ID, waiting)
	late := startRun(t, b, newThread(t, b, alice, `{}`).ID, waiting, func(n *run.NewRun) { n.Request.Delay = time.Hour })
	claim := func(worker string, n int) []string {
		t.Helper()
		runs, err := b.Claim(ctx, worker, time.Minute, n, anyCrashes)
		must(t, err)
		var ids []string
		for _, r := range runs {
			if r.Status != run.Running || r.Worker != worker {
				t.Errorf("claimed run is %+v", r)
			}
			ids = append(ids, r.ID)
		}
		return ids
	}
	if got := claim("w", 10); len(got) != 2 || got[0] != a1.ID || got[1] != b1.ID {
		t.Errorf("claimed %v, want the oldest of each thread", got)
	}
	if got := claim("w", 10); len(got) != 0 {
		t.Errorf("claimed %v while their threads are busy", got)
	}
	// What is due and waits for its thread does not count: nothing is to be done about it when its time comes.
	at, ok, err := b.NextDue(ctx, now())
	if err != nil || !ok || !at.Equal(late.NotBefore) {
		t.Errorf("next due is %v, %v, %v, want %v", at, ok, err, late.NotBefore)
	}
	if at, ok, err := b.NextDue(ctx, late.NotBefore); err != nil || ok {
		t.Errorf("after the last one comes %v, %v", at, err)
	}
	r, err := b.Run(ctx, alice, a1.ID)
	must(t, err)
	endRun(t, b, r)
	if got := claim("w", 10); len(got) != 1 || got[0] != a2.ID {
		t.Errorf("claimed %v, want the next of the thread", got)
	}
	if got, err := b.ClaimPending(ctx, "w", time.Minute, late.ID); err != nil || got.Status != run.Pending || got.Epoch != 1 {
		t.Errorf("claimed in order to end: %+v, %v", got, err)
	}
	_, err = b.ClaimPending(ctx, "v", time.Minute, late.ID)
	wantErr(t, "claim twice", err, run.ErrNotFound)
	_, err = b.ClaimPending(ctx, "w", time.Minute, a2.ID)
	wantErr(t, "claim a running run as pending", err, run.ErrNotFound)
}

func leases(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	r := startRun(t, b, th.ID)
	write(t, b, group(r, 1, 1, "x", run.Begin{Run: r.ID, At: now(), Attempt: 1}))
	held, err := b.Heartbeat(ctx, worker, time.Minute)
	if action, ok := held[r.ID]; err != nil || len(held) != 1 || !ok || action.Cancel != run.NoCancel {
		t.Errorf("heartbeat says %v, %v", held, err)
	}
	_, err = b.RequestCancel(ctx, alice, r.ID, run.StopRun)
	must(t, err)
	if held, err := b.Heartbeat(ctx, worker, time.Minute); err != nil || held[r.ID].Cancel != run.StopRun {
		t.Errorf("heartbeat does not tell of the cancel: %v, %v", held, err)
	}
	if held, err := b.Heartbeat(ctx, "other", time.Minute); err != nil || len(held) != 0 {
		t.Errorf("another worker holds %v, %v", held, err)
	}
	must(t, b.Abandon(ctx, "nobody/"))
	if runs, err := b.Claim(ctx, "w2", time.Minute, 10, anyCrashes); err != nil || len(runs) != 0 {
		t.Errorf("claimed %v whose worker lives, %v", runs, err)
	}
	must(t, b.Abandon(ctx, "node/"))
	// After a jump of the clock or a sleep of the machine a worker finds its own leases expired. They are still its own.
	if runs, err := b.Claim(ctx, worker, time.Minute, 10, anyCrashes); err != nil || len(runs) != 0 {
		t.Errorf("a worker claimed its own %v once more, %v", runs, err)
	}
	waits := startRun(t, b, newThread(t, b, alice, `{}`).ID, func(n *run.NewRun) { n.Worker = "" })
	if runs, err := b.Claim(ctx, worker, time.Minute, 10, anyCrashes); err != nil || len(runs) != 1 || runs[0].ID != waits.ID {
		t.Errorf("beside a run that is due, a worker claimed %v, %v", runs, err)
	}
	runs, err := b.Claim(ctx, "w2", time.Minute, 10, anyCrashes)
	must(t, err)
	if len(runs) != 1 || runs[0].Epoch != 2 || runs[0].HandedOver || runs[0].Attempt != 1 {
		t.Fatalf("claimed %+v", runs)
	}
	wantErr(t, "release by the old worker", b.Release(ctx, worker, r.ID, 1), journal.ErrFenced)
	must(t, b.Release(ctx, "w2", r.ID, 2))
	runs, err = b.Claim(ctx, "w3", time.Minute, 10, anyCrashes)
	must(t, err)
	if len(runs) != 1 || runs[0].Epoch != 3 || !runs[0].HandedOver {
		t.Fatalf("claimed %+v, want one that was handed over", runs)
	}
	endRun(t, b, runs[0], func(e *run.End) {
		e.Status, e.Error, e.Usage = run.Failed, &event.Error{Code: "c", Message: "m"}, item.Usage{InputTokens: 3}
	})
	got, err := b.Run(ctx, alice, r.ID)
	must(t, err)
	if got.Status != run.Failed || got.Error == nil || got.Error.Code != "c" || got.Usage.InputTokens != 3 || got.EndedAt.IsZero() || got.StartedAt.IsZero() {
		t.Errorf("the ended run is %+v", got)
	}
	if th := getThread(t, b, th.ID); th.Status != run.ThreadError || th.Error == nil || th.Error.Message != "m" {
		t.Errorf("the thread is %s, %+v", th.Status, th.Error)
	}
	if held, err := b.Heartbeat(ctx, "w3", time.Minute); err != nil || len(held) != 0 {
		t.Errorf("an ended run is held: %v, %v", held, err)
	}
}

func journalChunks(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	r := startRun(t, b, th.ID)
	other := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	write(t, b, group(r, 1, 3, "one to three"), group(other, 1, 1, "other"))
	write(t, b, group(r, 4, 4, "four"))
	write(t, b, group(r, 5, 9, "five to nine"))
	for _, c := range []struct {
		after uint64
		limit int
		first []uint64
	}{
		{0, 1000, []uint64{1, 4, 5}}, {1, 1000, []uint64{1, 4, 5}}, {3, 1000, []uint64{4, 5}}, {4, 1000, []uint64{5}},
		{7, 1000, []uint64{5}}, {9, 1000, nil}, {99, 1000, nil}, {0, 1, []uint64{1}},
	} {
		chunks, err := b.Read(ctx, r.ID, c.after, c.limit)
		must(t, err)
		var got []uint64
		for _, ch := range chunks {
			got = append(got, ch.First)
			if ch.Run != r.ID || ch.Thread != th.ID || ch.Epoch != 1 || ch.Sum != 7 {
				t.Errorf("chunk is %+v", ch)
			}
		}
		if len(got) != len(c.first) || len(got) > 0 && got[0] != c.first[0] {
			t.Errorf("after %d with limit %d: chunks from %v, want %v", c.after, c.limit, got, c.first)
		}
	}
	_, err := b.Read(ctx, id(), 0, 1000)
	wantErr(t, "an unknown run", err, journal.ErrGone)
}

func fenced(t *testing.T, b Backend) {
	ctx := t.Context()
	r := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	good := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	must(t, b.Abandon(ctx, "node/"))
	_, err := b.Claim(ctx, "w2", time.Minute, 10, anyCrashes)
	must(t, err)
	good, err = b.Run(ctx, alice, good.ID)
	must(t, err)
	refused, err := b.Append(ctx, []journal.Group{
		group(r, 1, 1, "late", commit(r.Thread, "", 0, set("x", 1, `1`)), run.End{Run: r.ID, Status: run.Success, At: now()}),
		group(good, 1, 1, "in time"),
	}, false)
	must(t, err)
	wantErr(t, "the old worker", refused[r.ID], journal.ErrFenced)
	if len(refused) != 1 {
		t.Errorf("refused %v", refused)
	}
	// Tokens alone are fenced too, by each part of the lease.
	held, err := b.Run(ctx, alice, r.ID)
	must(t, err)
	for what, change := range map[string]func(*journal.Group){
		"another worker": func(g *journal.Group) { g.Owner = worker },
		"an older epoch": func(g *journal.Group) { g.Chunk.Epoch-- },
		"another thread": func(g *journal.Group) { g.Chunk.Thread = good.Thread },
		"no such run":    func(g *journal.Group) { g.Chunk.Run = "nowhere" },
	} {
		g := group(held, 1, 1, "late")
		change(&g)
		refused, err := b.Append(ctx, []journal.Group{g}, false)
		must(t, err)
		wantErr(t, "tokens of "+what, refused[g.Chunk.Run], journal.ErrFenced)
	}
	if chunks, err := b.Read(ctx, r.ID, 0, 1000); err != nil || len(chunks) != 0 {
		t.Errorf("the old worker wrote %d chunks, %v", len(chunks), err)
	}
	if list, err := b.List(ctx, r.Thread, "", "", 10); err != nil || len(list) != 0 {
		t.Errorf("the old worker saved %d checkpoints, %v", len(list), err)
	}
	if got, err := b.Run(ctx, alice, r.ID); err != nil || got.Status != run.Running {
		t.Errorf("the old worker made the run %s, %v", got.Status, err)
	}
	if chunks, err := b.Read(ctx, good.ID, 0, 1000); err != nil || len(chunks) != 1 {
		t.Errorf("the other run has %d chunks, %v", len(chunks), err)
	}
}

// unknown is a save that no store knows.
type unknown struct{}

func (unknown) Stored() {}

// A worker that has just written is fenced as soon as its lease is gone, however it went: who may write is never remembered for longer than it
// is true.
func fencedAtOnce(t *testing.T, b Backend) {
	ctx := t.Context()
	for name, lose := range map[string]func(r run.Run) error{
		"given back": func(r run.Run) error { return b.Release(ctx, r.Worker, r.ID, r.Epoch) },
		"taken": func(r run.Run) error {
			if err := b.Abandon(ctx, r.Worker); err != nil {
				return err
			}
			_, err := b.Claim(ctx, "another", time.Minute, 10, anyCrashes)
			return err
		},
		"taken when it ran out": func(run.Run) error {
			_, err := b.Claim(ctx, "another", time.Minute, 10, anyCrashes)
			return err
		},
		"taken when it ran out, by one who has written": func(r run.Run) error {
			taken, err := b.Claim(ctx, "another", time.Minute, 10, anyCrashes)
			i := slices.IndexFunc(taken, func(c run.Run) bool { return c.ID == r.ID })
			if err != nil || i < 0 {
				return errors.Join(err, errors.New("a lease that ran out was not claimed"))
			}
			refused, err := b.Append(ctx, []journal.Group{group(taken[i], 2, 2, "new")}, false)
			return errors.Join(err, refused[r.ID])
		},
		"taken by itself": func(r run.Run) error { // a new epoch
			return errors.Join(b.Release(ctx, r.Worker, r.ID, r.Epoch), func() error {
				_, err := b.Claim(ctx, r.Worker, time.Minute, 10, anyCrashes)
				return err
			}())
		},
		"ended": func(r run.Run) error {
			_, err := b.Append(ctx, []journal.Group{group(r, 0, 0, "", run.End{Run: r.ID, Thread: r.Thread, Status: run.Success, At: now(), Attempt: 1})}, true)
			return err
		},
		"rolled back": func(r run.Run) error {
			_, err := b.Append(ctx, []journal.Group{group(r, 0, 0, "", run.End{Run: r.ID, Thread: r.Thread, Status: run.Success, At: now(), Attempt: 1, Rollback: true})}, true)
			return err
		},
		"deleted with its thread": func(r run.Run) error {
			if err := b.Release(ctx, r.Worker, r.ID, r.Epoch); err != nil {
				return err
			}
			_, err := b.DeleteThread(ctx, alice, r.Thread)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRun(t, b, newThread(t, b, alice, `{}`).ID, func(n *run.NewRun) { n.Lease = -time.Hour }) // which nobody has noticed
			good := startRun(t, b, newThread(t, b, alice, `{}`).ID, func(n *run.NewRun) { n.Worker = "neighbour" })
			write(t, b, group(r, 1, 1, "x"), group(good, 1, 1, "x"))
			must(t, lose(r))
			for n := range uint64(2) {
				refused, err := b.Append(ctx, []journal.Group{group(r, 3+n, 3+n, "late"), group(good, 2+n, 2+n, "y")}, false)
				must(t, err)
				wantErr(t, "tokens under a lease that is gone", refused[r.ID], journal.ErrFenced)
				if refused[good.ID] != nil {
					t.Errorf("the other run is refused: %v", refused[good.ID])
				}
			}
			endRun(t, b, good)
		})
	}
}

// A write that fails in the middle leaves nothing behind.
func atomicGroups(t *testing.T, b Backend) {
	ctx := t.Context()
	r := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	_, err := b.Append(ctx, []journal.Group{group(r, 1, 1, "x", commit(r.Thread, "", 0, set("x", 1, `1`)), unknown{})}, false)
	if err == nil {
		t.Fatal("something unknown was saved")
	}
	chunks, err := b.Read(ctx, r.ID, 0, 1000)
	must(t, err)
	list, err := b.List(ctx, r.Thread, "", "", 10)
	must(t, err)
	if len(chunks) != 0 || len(list) != 0 {
		t.Errorf("%d chunks and %d checkpoints are left of a failed write", len(chunks), len(list))
	}
	write(t, b, group(r, 1, 1, "x"))
}

// What is wrong with one run's write is that run's trouble: those that share the commit with it are written.
func failingGroup(t *testing.T, b Backend) {
	ctx := t.Context()
	bad, good := startRun(t, b, newThread(t, b, alice, `{}`).ID), startRun(t, b, newThread(t, b, alice, `{}`).ID)
	write(t, b, group(bad, 1, 1, "x"))
	for name, spoilt := range map[string]journal.Group{
		"an unknown save":        group(bad, 2, 2, "y", unknown{}),
		"a place that is taken":  group(bad, 1, 1, "y"),
		"a number out of bounds": group(bad, 1<<32, 1<<32, "y"),
	} {
		chunks, err := b.Read(ctx, good.ID, 0, 1000)
		must(t, err)
		next := uint64(len(chunks)) + 1
		refused, err := b.Append(ctx, []journal.Group{spoilt, group(good, next, next, "z")}, true)
		if err != nil || refused[bad.ID] == nil || errors.Is(refused[bad.ID], journal.ErrFenced) || refused[good.ID] != nil {
			t.Errorf("%s: refused %v, %v; want the one with a reason of its own, and not the other", name, refused, err)
		}
		if chunks, err := b.Read(ctx, good.ID, next-1, 1000); err != nil || len(chunks) != 1 {
			t.Errorf("%s: the other run has %d new chunks, %v", name, len(chunks), err)
		}
	}
	if chunks, err := b.Read(ctx, bad.ID, 0, 1000); err != nil || len(chunks) != 1 {
		t.Errorf("the run has %d chunks, %v", len(chunks), err)
	}
}

var anyCrashes = run.Between{Most: 1000}
