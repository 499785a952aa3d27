package storagetest

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

func newCron(change ...func(*run.Cron)) run.Cron {
	at := now()
	c := run.Cron{
		ID: id(), Schedule: "*/5 * * * *", Timezone: "Europe/Berlin", Next: at.Add(5 * time.Minute), Enabled: true,
		Request: run.Request{Assistant: "a", Input: json.RawMessage(`{"x":1}`)}, CreatedAt: at, UpdatedAt: at,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func createCron(t *testing.T, b Backend, change ...func(*run.Cron)) run.Cron {
	t.Helper()
	c, err := b.CreateCron(t.Context(), alice, newCron(change...))
	must(t, err)
	return c
}

// same compares all that is stored of two crons.
func same(t *testing.T, what string, got, want run.Cron) {
	t.Helper()
	text := func(c run.Cron) string {
		request, err := json.Marshal(c.Request)
		must(t, err)
		return fmt.Sprint(c.ID, c.Owner, c.Thread, c.Schedule, c.Timezone, c.EndTime.UTC(), c.Next.UTC(), c.Enabled, string(request), string(c.Payload),
			string(c.Metadata), c.Keep, c.CreatedAt.UTC())
	}
	if a, b := text(got), text(want); a != b {
		t.Errorf("%s is\n%s\nwant\n%s", what, a, b)
	}
}

func crons(t *testing.T, b Backend) {
	ctx := t.Context()
	th, theirs := newThread(t, b, alice, `{}`), newThread(t, b, bob, `{}`)
	want := newCron(func(c *run.Cron) {
		c.Owner, c.Thread, c.EndTime, c.Keep = alice.Owner, th.ID, now().Add(time.Hour), true
		c.Payload, c.Metadata = json.RawMessage(`{"p":1}`), json.RawMessage(`{"m":1}`)
	})
	_, err := b.CreateCron(ctx, alice, want)
	must(t, err)
	got, err := b.Cron(ctx, alice, want.ID)
	must(t, err)
	same(t, "the cron", got, want)

	_, err = b.CreateCron(ctx, alice, want)
	wantErr(t, "create twice", err, run.ErrExists)
	_, err = b.CreateCron(ctx, alice, newCron(func(c *run.Cron) { c.Thread = theirs.ID }))
	wantErr(t, "on somebody else's thread", err, run.ErrNotFound)
	_, err = b.CreateCron(ctx, alice, newCron(func(c *run.Cron) { c.Thread = "none" }))
	wantErr(t, "on no thread", err, run.ErrNotFound)
	_, err = b.Cron(ctx, bob, want.ID)
	wantErr(t, "somebody else's", err, run.ErrNotFound)
	_, err = b.ReplaceCron(ctx, bob, want)
	wantErr(t, "replace somebody else's", err, run.ErrNotFound)
	wantErr(t, "delete somebody else's", b.DeleteCron(ctx, bob, want.ID), run.ErrNotFound)

	changed := newCron(func(c *run.Cron) {
		c.ID, c.Owner, c.CreatedAt = want.ID, want.Owner, want.CreatedAt
		c.Schedule, c.Timezone, c.Next, c.Enabled, c.Request.Assistant = "0 9 * * *", "", time.Time{}, false, "other"
		c.Payload, c.Metadata = json.RawMessage(`{"p":2}`), json.RawMessage(`{}`)
	})
	_, err = b.ReplaceCron(ctx, alice, changed)
	must(t, err)
	got, err = b.Cron(ctx, alice, want.ID)
	must(t, err)
	same(t, "the changed cron", got, changed)
	if got.UpdatedAt.Before(want.UpdatedAt) {
		t.Errorf("it was changed at %v, before %v", got.UpdatedAt, want.UpdatedAt)
	}
	changed.Thread = theirs.ID
	_, err = b.ReplaceCron(ctx, alice, changed)
	wantErr(t, "move to somebody else's thread", err, run.ErrNotFound)

	must(t, b.DeleteCron(ctx, alice, want.ID))
	_, err = b.Cron(ctx, alice, want.ID)
	wantErr(t, "deleted", err, run.ErrNotFound)
	_, err = b.ReplaceCron(ctx, alice, want)
	wantErr(t, "replace what is deleted", err, run.ErrNotFound)
	wantErr(t, "delete twice", b.DeleteCron(ctx, alice, want.ID), run.ErrNotFound)
}

func cronSearch(t *testing.T, b Backend) {
	ctx := t.Context()
	th := newThread(t, b, alice, `{}`)
	first := createCron(t, b, func(c *run.Cron) { c.Metadata = json.RawMessage(`{"k":"v"}`) })
	second := createCron(t, b, func(c *run.Cron) {
		c.Thread, c.Request.Assistant, c.Next, c.CreatedAt = th.ID, "b", first.Next.Add(-time.Minute), first.CreatedAt.Add(time.Second)
	})
	third := createCron(t, b, func(c *run.Cron) {
		c.Enabled, c.Next, c.CreatedAt = false, time.Time{}, first.CreatedAt.Add(2*time.Second)
	})
	_, err := b.CreateCron(ctx, bob, newCron())
	must(t, err)
	on, off := true, false
	for _, c := range []struct {
		q     run.CronQuery
		total int
		want  []string
	}{
		{run.CronQuery{Limit: 10}, 3, []string{third.ID, second.ID, first.ID}},
		{run.CronQuery{Limit: 10, Asc: true}, 3, []string{first.ID, second.ID, third.ID}},
		{run.CronQuery{Limit: 1, Offset: 1}, 3, []string{second.ID}},
		{run.CronQuery{}, 3, nil},
		{run.CronQuery{Limit: 10, Assistant: "b"}, 1, []string{second.ID}},
		{run.CronQuery{Limit: 10, Thread: th.ID}, 1, []string{second.ID}},
		{run.CronQuery{Limit: 10, Enabled: &off}, 1, []string{third.ID}},
		{run.CronQuery{Limit: 10, Enabled: &on}, 2, []string{second.ID, first.ID}},
		{run.CronQuery{Limit: 10, Metadata: json.RawMessage(`{"k":"v"}`)}, 1, []string{first.ID}},
		{run.CronQuery{Limit: 10, Metadata: json.RawMessage(`{"k":"' OR 1=1 --"}`)}, 0, nil},
		{run.CronQuery{Limit: 10, SortBy: "next_run_date", Enabled: &on, Asc: true}, 2, []string{second.ID, first.ID}},
		{run.CronQuery{Limit: 10, SortBy: "id; DROP TABLE crons"}, 3, []string{third.ID, second.ID, first.ID}},
	} {
		found, total, err := b.SearchCrons(ctx, alice, c.q)
		must(t, err)
		var ids []string
		for _, f := range found {
			ids = append(ids, f.ID)
		}
		if total != c.total || fmt.Sprint(ids) != fmt.Sprint(c.want) {
			t.Errorf("%+v finds %v of %d, want %v of %d", c.q, ids, total, c.want, c.total)
		}
	}
}

func cronFiring(t *testing.T, b Backend) {
	ctx := t.Context()
	if at, ok, err := b.NextCron(ctx); err != nil || ok {
		t.Errorf("without crons the next is at %v, %v", at, err)
	}
	at := now()
	late := createCron(t, b, func(c *run.Cron) { c.Next = at.Add(-time.Minute) })
	later := createCron(t, b, func(c *run.Cron) { c.Next = at.Add(-time.Second) })
	theirs, err := b.CreateCron(ctx, bob, newCron(func(c *run.Cron) { c.Next = at.Add(-time.Hour) }))
	must(t, err)
	future := createCron(t, b, func(c *run.Cron) { c.Next = at.Add(time.Hour) })
	createCron(t, b, func(c *run.Cron) { c.Next, c.Enabled = at.Add(-time.Hour), false })
	createCron(t, b, func(c *run.Cron) { c.Next = time.Time{} })

	due := func(n int) (ids []string) {
		t.Helper()
		list, err := b.DueCrons(ctx, at, n)
		must(t, err)
		for _, c := range list {
			ids = append(ids, c.ID)
		}
		return ids
	}
	if got, want := due(10), []string{theirs.ID, late.ID, later.ID}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("due are %v, want %v", got, want)
	}
	if got := due(1); len(got) != 1 || got[0] != theirs.ID {
		t.Errorf("the first that is due is %v", got)
	}
	if next, ok, err := b.NextCron(ctx); err != nil || !ok || !next.Equal(theirs.Next) {
		t.Errorf("the next is at %v, %v, %v; want %v", next, ok, err, theirs.Next)
	}
	// Of several nodes one fires.
	for i, want := range []bool{true, false} {
		if moved, err := b.AdvanceCron(ctx, theirs.ID, theirs.Next, at.Add(2*time.Hour)); err != nil || moved != want {
			t.Errorf("attempt %d to fire: %v, %v", i+1, moved, err)
		}
	}
	for _, c := range []run.Cron{late, later} {
		if moved, err := b.AdvanceCron(ctx, c.ID, c.Next, time.Time{}); err != nil || !moved { // for the last time
			t.Errorf("fire %s: %v, %v", c.ID, moved, err)
		}
	}
	if got := due(10); len(got) != 0 {
		t.Errorf("still due: %v", got)
	}
	if next, ok, err := b.NextCron(ctx); err != nil || !ok || !next.Equal(future.Next) {
		t.Errorf("the next is at %v, %v, %v; want %v", next, ok, err, future.Next)
	}
	if moved, err := b.AdvanceCron(ctx, "none", at, at); err != nil || moved {
		t.Errorf("a cron that is not there fired: %v, %v", moved, err)
	}
}
