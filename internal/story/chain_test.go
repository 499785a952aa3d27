package story

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// With the whole chain, over a summary: the messages that people read stay as they were written, and what a model is shown begins, from one turn
// to the next, with the bytes that it was shown before, so that providers can cache it; but for the turn after a summary.
func TestALongThreadKeepsItsMessagesAndItsPromptsBeginning(t *testing.T) {
	const turns = 16
	m := scripted.New(talker)
	m.Record = true
	w := &World{t: t, dir: t.TempDir()}
	defer w.close()
	speakAtLength(w, m, turns, lead.Options{Summary: middleware.SummaryOptions{Trigger: 150, Keep: 50}})
	snap, err := w.store.Load(t.Context(), thread, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var msgs []item.Message
	if err := json.Unmarshal(snap.Values["messages"], &msgs); err != nil {
		t.Fatal(err)
	}
	if len(msgs) != 2*turns {
		t.Fatalf("the thread has %d messages, want %d", len(msgs), 2*turns)
	}
	for i, msg := range msgs {
		want := "Yes."
		if i%2 == 0 {
			want = fmt.Sprint("Part ", i/2+1, ": ", strings.Repeat("rivers rise ", 4))
		}
		if msg.Text() != want {
			t.Errorf("message %d is %q, want %q", i, msg.Text(), want)
		}
	}
	var sum middleware.Summary
	if err := json.Unmarshal(snap.Values["summary"], &sum); err != nil || sum.Text != "Rivers were spoken of." {
		t.Errorf("the summary is %+v (%v)", sum, err)
	}
	summaries, same := 0, 0
	var before *model.Request
	for _, r := range m.Requests() {
		if strings.HasPrefix(r.System, "You keep the memory") {
			summaries++
			before = nil // the next one begins otherwise
			continue
		}
		if before != nil {
			same++
			old, now := shownBytes(t, *before), shownBytes(t, r)
			if !bytes.HasPrefix(now, bytes.TrimRight(old, "]}")) {
				t.Errorf("a request does not begin as the one before it:\n%s\n%s", old, now)
			}
		}
		before = &r
	}
	if summaries == 0 || summaries > turns/2 || same < turns/2 {
		t.Errorf("%d summaries were made, and %d requests follow another; the story wants some of each", summaries, same)
	}
}

// shownBytes is a request as a provider would be sent it: what stays first.
func shownBytes(t *testing.T, r model.Request) []byte {
	t.Helper()
	raw, err := json.Marshal(struct {
		System   string         `json:"system"`
		Tools    []model.Tool   `json:"tools"`
		Messages []item.Message `json:"messages"`
	}{r.System, r.Tools, r.Messages})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tellBackground has a sub-agent work in the background, in processes of which the first dies just before it writes its n-th event, or before it
// makes a run or finishes a follow-up for the m-th time; 0: it does not. It returns what the thread has at the end, how many events were written, and how many runs did the work.
func tellBackground(t *testing.T, n, m int) (digest string, events, works int) {
	t.Helper()
	w := &World{t: t, dir: t.TempDir(), hasty: true}
	defer w.close()
	may := make(chan struct{})
	close(may)
	serve := func() { w.leads(scripted.New(patient(may)), `{"subagent_enabled":true}`, lead.Options{}) }
	serve()
	if n > 0 {
		w.store.dieAt(func(string) bool { n--; return n == 0 })
	}
	w.store.lives.Store(int32(m))
	w.start(w.saying("What do rivers do?"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		if w.store.alive() != nil {
			serve()
		}
		runs, err := w.store.ThreadRuns(ctx, reader, thread, "", 10, 0)
		if err != nil {
			t.Fatalf("the thread is not woken: %v", err)
		}
		left, err := w.store.FollowUps(ctx, reader, run.FollowUpQuery{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) > 1 && runs[0].Status.Ended() && runs[1].Status.Ended() && len(left) == 0 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the thread is not woken: it has %d runs, and %d things are left to do", len(runs), len(left))
		}
	}
	all, _, err := w.store.SearchRuns(ctx, reader, run.RunQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range all {
		events += len(w.events(r.ID))
		if r.Thread != thread {
			works++
			continue
		}
		fmt.Fprintf(&b, "run %s\n", r.Status)
	}
	snap, err := w.store.Load(ctx, thread, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var tasks []lead.BackgroundTask
	if err := json.Unmarshal(snap.Values["background_tasks"], &tasks); err != nil {
		t.Fatal(err)
	}
	for _, task := range tasks {
		fmt.Fprintf(&b, "task %s %s %s\n", task.ID, task.Status, task.Result)
	}
	return b.String() + w.digest(), events, works
}

// The process is killed at an event, whichever it is and whichever run writes it: the work is done by one run, and wakes the thread once.
func TestABackgroundTaskWakesItsThreadOnceWhereverTheProcessDies(t *testing.T) {
	whole, total, works := tellBackground(t, 0, 0)
	if works != 1 || strings.Count(whole, "run success\n") != 2 || !strings.Contains(whole, "task call_1 success Rivers rise.") || strings.Count(whole, "assistant  They rise.") != 1 {
		t.Fatalf("%d runs did the work; the thread has\n%s", works, whole)
	}
	for m, what := range map[int]string{2: "the work is begun", 3: "the thread is woken", 4: "that is noted"} { // the first is the run that it begins in
		t.Run("before "+what, func(t *testing.T) {
			t.Parallel()
			if got, _, works := tellBackground(t, 0, m); got != whole || works != 1 {
				t.Errorf("%d runs did the work; the thread has\n%s\nwant\n%s", works, got, whole)
			}
		})
	}
	every := 1
	if testing.Short() {
		every = 9
	}
	for n := 1; n <= total; n += every {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			if got, _, works := tellBackground(t, n, 0); got != whole || works != 1 {
				t.Errorf("%d runs did the work; the thread has\n%s\nwant\n%s", works, got, whole)
			}
		})
	}
}
