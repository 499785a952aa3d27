package storagetest

import (
	"testing"

	"github.com/tributary-ai/tributary/internal/run"
)

// secrets are kept for as long as a run needs them: until its end, or, if it asks something, until its thread goes on.
func secrets(t *testing.T, b Backend) {
	ctx := t.Context()
	sealed := func(text string) func(*run.NewRun) {
		return func(n *run.NewRun) { n.Secrets, n.Request.Sealed, n.Request.CreateThread = []byte(text), true, true }
	}
	want := func(when string, r run.Run, text string) {
		t.Helper()
		got, err := b.Secrets(ctx, r.ID)
		if text == "" {
			wantErr(t, when, err, run.ErrNotFound)
		} else if string(got) != text || err != nil {
			t.Errorf("%s: got %q, %v, want %q", when, got, err, text)
		}
	}
	end := func(r run.Run, status run.Status) {
		t.Helper()
		write(t, b, group(r, 1, 1, "x", run.End{Run: r.ID, Thread: r.Thread, Status: status, Sealed: true, At: now(), Attempt: 1}))
	}
	plain := startRun(t, b, id(), func(n *run.NewRun) { n.Request.CreateThread = true })
	want("of a run that brought nothing", plain, "")

	for _, status := range []run.Status{run.Success, run.Failed, run.Cancelled, run.TimedOut} {
		r := startRun(t, b, id(), sealed("one"))
		want("while it runs", r, "one")
		if got, err := b.Run(ctx, alice, r.ID); err != nil || !got.Request.Sealed {
			t.Errorf("the run does not say that it has secrets: %+v, %v", got.Request, err)
		}
		end(r, status)
		want("after it ended with "+string(status), r, "")
	}

	asks := startRun(t, b, id(), sealed("two"))
	waits := startRun(t, b, asks.Thread, sealed("three"))
	end(asks, run.Interrupted)
	want("of a run that asks something", asks, "two")
	next := startRun(t, b, asks.Thread)
	want("when the thread has gone on", asks, "")
	want("of another run of the thread that has not ended", waits, "three")
	want("of the one that went on", next, "")

	gone := startRun(t, b, id(), sealed("four"))
	end(gone, run.Interrupted)
	must(t, b.DeleteRun(ctx, alice, gone.ID))
	want("of a deleted run", gone, "")

	gone = startRun(t, b, id(), sealed("five"))
	end(gone, run.Interrupted)
	if _, err := b.DeleteThread(ctx, alice, gone.Thread); err != nil {
		t.Fatal(err)
	}
	want("of a deleted thread", gone, "")
}
