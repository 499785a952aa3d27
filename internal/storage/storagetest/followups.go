package storagetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// endWith ends a new run of a new thread with follow-ups.
func endWith(t *testing.T, b Backend, all ...run.FollowUp) run.Run {
	t.Helper()
	r := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	for i := range all {
		f := &all[i]
		f.Run, f.Thread, f.Owner, f.CreatedAt = r.ID, r.Thread, alice.Owner, now()
		if f.NextAt.IsZero() {
			f.NextAt = f.CreatedAt
		}
	}
	endRun(t, b, r, func(e *run.End) { e.FollowUps = all })
	return r
}

func claimFollowUps(t *testing.T, b Backend, worker, kind string, most int) []run.FollowUp {
	t.Helper()
	list, err := b.ClaimFollowUps(t.Context(), run.FollowUpClaim{Worker: worker, Kind: kind, Lease: time.Minute, Most: most, PerLane: 100})
	must(t, err)
	for _, f := range list {
		if f.Worker != worker || f.Kind != kind || f.NextAt.Before(now()) {
			t.Errorf("claimed %+v", f)
		}
	}
	return list
}

func keys(list []run.FollowUp) (out []string) {
	for _, f := range list {
		out = append(out, f.Key)
	}
	return out
}

func followUps(t *testing.T, b Backend) {
	ctx := t.Context()
	soon := now().Add(time.Hour)
	r := endWith(t, b,
		run.FollowUp{Key: "a", Kind: "tell", Lane: "there", Payload: json.RawMessage(`{"x":1}`)},
		run.FollowUp{Key: "b", Kind: "tell"}, run.FollowUp{Key: "late", Kind: "tell", NextAt: soon}, run.FollowUp{Key: "c", Kind: "name"})
	endWith(t, b, run.FollowUp{Key: "a", Kind: "name"}) // is there already

	first := claimFollowUps(t, b, "w", "tell", 1)
	if len(first) != 1 || first[0].Key != "a" || first[0].Run != r.ID || first[0].Thread != r.Thread || first[0].Owner != alice.Owner ||
		first[0].Attempts != 1 || first[0].Lane != "there" || string(first[0].Payload) != `{"x":1}` {
		t.Fatalf("claimed %+v", first)
	}
	if got := keys(claimFollowUps(t, b, "v", "tell", 10)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("another worker claims %v, want what nobody has", got)
	}
	if got := claimFollowUps(t, b, "v", "tell", 10); len(got) != 0 {
		t.Errorf("claimed twice: %v", keys(got))
	}
	if at, ok, err := b.NextFollowUp(ctx, []string{"tell", "other"}, now()); err != nil || !ok || !at.Equal(first[0].NextAt) {
		t.Errorf("the next is due at %v, %v, %v, want the end of the first lease, %v", at, ok, err, first[0].NextAt)
	}

	// Tried in vain, put off, due again.
	failed := first[0]
	failed.NextAt, failed.Error = now(), "nobody there"
	must(t, b.PutOffFollowUp(ctx, failed, false))
	wantErr(t, "put off what was given back", b.PutOffFollowUp(ctx, failed, false), journal.ErrFenced)
	again := claimFollowUps(t, b, "v", "tell", 10)
	if len(again) != 1 || again[0].Key != "a" || again[0].Attempts != 2 || again[0].Error != "nobody there" {
		t.Fatalf("after a failed try: %+v", again)
	}
	wantErr(t, "finish with a lost lease", b.FinishFollowUp(ctx, failed), journal.ErrFenced)
	again[0].NextAt = now()
	must(t, b.PutOffFollowUp(ctx, again[0], true))
	if list, err := b.FollowUps(ctx, alice, run.FollowUpQuery{Run: r.ID, Kind: "tell", Limit: 1}); err != nil || len(list) != 1 || list[0].Attempts != 1 {
		t.Errorf("an interrupted try counts: %+v, %v", list, err)
	}

	// A worker that died holds nothing.
	must(t, b.Abandon(ctx, "v"))
	got := claimFollowUps(t, b, "w", "tell", 10)
	if want := []string{"a", "b"}; !slices.Equal(keys(got), want) && !slices.Equal(keys(got), []string{"b", "a"}) {
		t.Fatalf("after its worker's death: %v, want %v", keys(got), want)
	}
	for _, f := range got {
		if f.Key == "b" {
			must(t, b.FinishFollowUp(ctx, f))
			wantErr(t, "finish twice", b.FinishFollowUp(ctx, f), journal.ErrFenced)
			continue
		}
		f.Parked, f.Error, f.NextAt = true, "gone", now()
		must(t, b.PutOffFollowUp(ctx, f, false))
	}
	if got := claimFollowUps(t, b, "w", "tell", 10); len(got) != 0 {
		t.Errorf("claimed what is parked or done: %v", keys(got))
	}
	list, err := b.FollowUps(ctx, alice, run.FollowUpQuery{Limit: 10})
	if must(t, err); !slices.Equal(keys(list), []string{"a", "late", "c"}) {
		t.Errorf("left are %v", keys(list))
	}
	list, err = b.FollowUps(ctx, alice, run.FollowUpQuery{Parked: true, Limit: 10})
	if must(t, err); len(list) != 1 || list[0].Key != "a" || list[0].Error != "gone" || !list[0].Parked {
		t.Errorf("parked are %+v", list)
	}
	if list, err := b.FollowUps(ctx, bob, run.FollowUpQuery{Limit: 10}); err != nil || len(list) != 0 {
		t.Errorf("somebody else sees %v, %v", list, err)
	}

	// What waits for its time can be done before it; what failed keeps its pause.
	if list, err := b.FollowUps(ctx, alice, run.FollowUpQuery{Thread: r.Thread, Kind: "tell", Limit: 10}); err != nil || !slices.Equal(keys(list), []string{"a", "late"}) {
		t.Errorf("of the thread are left %v, %v", keys(list), err)
	}
	must(t, b.HastenFollowUps(ctx, "other"))
	if got := claimFollowUps(t, b, "w", "tell", 10); len(got) != 0 {
		t.Errorf("claimed before its time: %v", keys(got))
	}
	must(t, b.HastenFollowUps(ctx, "tell"))
	got = claimFollowUps(t, b, "w", "tell", 10)
	if !slices.Equal(keys(got), []string{"late"}) {
		t.Fatalf("hastened %v, want late", keys(got))
	}
	got[0].NextAt = soon
	must(t, b.PutOffFollowUp(ctx, got[0], false)) // a try that ended with its process counts, and did not fail
	must(t, b.HastenFollowUps(ctx, "tell"))
	if got = claimFollowUps(t, b, "w", "tell", 10); !slices.Equal(keys(got), []string{"late"}) {
		t.Fatalf("hastened after a try that did not fail: %v, want late", keys(got))
	}
	got[0].NextAt, got[0].Error = soon, "down"
	must(t, b.PutOffFollowUp(ctx, got[0], false))
	must(t, b.HastenFollowUps(ctx, "tell"))
	if got := claimFollowUps(t, b, "w", "tell", 10); len(got) != 0 {
		t.Errorf("what failed is tried before its pause is over: %v", keys(got))
	}
}

// Of one lane only a few are claimed at a time, by all workers together, and the others go on.
func followUpLanes(t *testing.T, b Backend) {
	var all []run.FollowUp
	for i := range 10 {
		all = append(all, run.FollowUp{Key: fmt.Sprint("slow", i), Kind: "k", Lane: "slow"})
	}
	endWith(t, b, append(all, run.FollowUp{Key: "fast", Kind: "k", Lane: "fast"})...)
	claim := func(worker string) (list []run.FollowUp) {
		list, err := b.ClaimFollowUps(t.Context(), run.FollowUpClaim{Worker: worker, Kind: "k", Lease: time.Minute, Most: 8, PerLane: 2})
		must(t, err)
		return list
	}
	got := claim("w")
	if want := []string{"slow0", "slow1", "fast"}; !slices.Equal(keys(got), want) {
		t.Errorf("claimed %v, want %v", keys(got), want)
	}
	if more := claim("v"); len(more) != 0 {
		t.Errorf("the lane is full, and %v are claimed", keys(more))
	}
	must(t, b.FinishFollowUp(t.Context(), got[0]))
	if more := claim("v"); !slices.Equal(keys(more), []string{"slow2"}) {
		t.Errorf("there is room for one, and %v are claimed", keys(more))
	}
}

func followUpLives(t *testing.T, b Backend) {
	ctx := t.Context()
	left := func(r run.Run) int {
		t.Helper()
		list, err := b.FollowUps(ctx, alice, run.FollowUpQuery{Run: r.ID, Limit: 10})
		must(t, err)
		return len(list)
	}
	// A run that was rolled back is told of; nothing else is left of it.
	r := startRun(t, b, newThread(t, b, alice, `{}`).ID)
	endRun(t, b, r, func(e *run.End) {
		e.Status, e.Rollback = run.Cancelled, true
		e.FollowUps = []run.FollowUp{{Key: "rolled back", Kind: "k", Run: r.ID, Thread: r.Thread, Owner: alice.Owner, CreatedAt: now(), NextAt: now()}}
	})
	if left(r) != 1 {
		t.Error("a rollback took the follow-up with it")
	}
	// What somebody deletes is deleted with what was to be done about it.
	r = endWith(t, b, run.FollowUp{Key: "of a run", Kind: "k"})
	if must(t, b.DeleteRun(ctx, alice, r.ID)); left(r) != 0 {
		t.Error("a follow-up outlives its run")
	}
	r = endWith(t, b, run.FollowUp{Key: "of a thread", Kind: "k"})
	_, err := b.DeleteThread(ctx, alice, r.Thread)
	if must(t, err); left(r) != 0 {
		t.Error("a follow-up outlives its thread")
	}
	// A thread whose time has come waits for what is still to be done, but not for what was given up.
	past := now().Add(-time.Minute)
	r = endWith(t, b, run.FollowUp{Key: "of an expired thread", Kind: "last"})
	_, err = b.PatchThread(ctx, alice, r.Thread, nil, &past)
	must(t, err)
	_, err = b.Sweep(ctx, now(), 10)
	must(t, err)
	if left(r) != 1 {
		t.Fatal("a thread is swept before its follow-up is done")
	}
	f := claimFollowUps(t, b, "w", "last", 1)[0]
	f.Parked = true
	must(t, b.PutOffFollowUp(ctx, f, false))
	_, err = b.Sweep(ctx, now(), 10)
	must(t, err)
	if left(r) != 0 {
		t.Error("a thread whose follow-up was given up stays for ever")
	}
}
