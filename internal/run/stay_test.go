package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// shown is what a reader saw of a turn. It is put together here from the pieces alone, as a page does, and not by the
// code that is tested.
type shown struct {
	ns, execution string
	blocks        map[int]string
	finish        item.Finish // empty while it is open
	attempt       int
	void          bool
}

func (s *shown) text() string {
	var b strings.Builder
	for _, at := range slices.Sorted(maps.Keys(s.blocks)) {
		b.WriteString(s.blocks[at])
	}
	return b.String()
}

// mustStay is law 11: text that was shown, and that no later try replaced, is in the thread when the run has ended, marked
// incomplete where it is; and what is void was replaced by what comes next.
func mustStay(t fataler, w *world, thread string, events []event.Envelope) {
	t.Helper()
	turns, of := map[string]*shown{}, map[string]*shown{}
	again := map[string]int{} // the last attempt that ran an execution
	attempt := 1
	for i, env := range events {
		switch e := env.Event.(type) {
		case event.AttemptStarted:
			attempt = e.Attempt
		case event.NodeStarted:
			again[e.Execution] = attempt
		case event.TurnStarted:
			turns[e.Turn] = &shown{ns: env.NS, execution: e.Execution, blocks: map[int]string{}, attempt: attempt}
		case event.ItemStarted:
			if e.Type == item.TypeMessage {
				of[e.Item] = turns[e.Turn]
			}
		case event.TextDelta:
			if s := of[e.Item]; s != nil {
				s.blocks[e.Block] += e.Text
			}
		case event.TurnEnded:
			turns[e.Turn].finish = e.Finish
		case event.TurnVoided:
			turns[e.Turn].void = true
			if turns[e.Turn].text() != "" && !replaced(events[i+1:]) {
				t.Fatalf("turn %s, which said %q, is void, and what comes next is %s", e.Turn, turns[e.Turn].text(), events[i+1].Event.Kind())
			}
		}
	}
	held := map[string]map[string]item.Message{} // by namespace
	for id, s := range turns {
		if s.void || s.text() == "" {
			continue
		}
		if s.finish == "" {
			t.Fatalf("turn %s is open although the run has ended", id)
		}
		if s.finish != item.FinishIncomplete && again[s.execution] > s.attempt {
			continue // these nodes do not ask what was said before a crash, and say it again
		}
		if held[s.ns] == nil {
			held[s.ns] = messagesOf(t, w, thread, s.ns)
		}
		m, ok := held[s.ns][id]
		if !ok || m.Text() != s.text() || m.Finish != s.finish {
			t.Fatalf("turn %s was shown as %q (%s); the thread has %v: %q (%s)", id, s.text(), s.finish, ok, m.Text(), m.Finish)
		}
	}
}

// replaced reports whether what comes next takes the place of something.
func replaced(next []event.Envelope) bool {
	for _, env := range next {
		switch e := env.Event.(type) {
		case event.TurnVoided:
			continue
		case event.TurnStarted, event.ItemStarted:
			return true
		case event.NodeEnded:
			return e.Error == nil
		case event.TaskStarted:
			return e.Attempt > 1
		}
		return false
	}
	return false
}

func messagesOf(t fataler, w *world, thread, ns string) map[string]item.Message {
	t.Helper()
	snap, err := w.db.Load(context.Background(), thread, ns, "")
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return nil
	}
	if err != nil {
		t.Fatalf("state of %q: %v", ns, err)
	}
	var list []item.Message
	if err := json.Unmarshal(snap.Values["messages"], &list); err != nil {
		t.Fatalf("messages of %q: %v", ns, err)
	}
	out := map[string]item.Message{}
	for _, m := range list {
		if _, twice := out[m.ID]; twice {
			t.Fatalf("message %s is in the thread twice", m.ID)
		}
		out[m.ID] = m
	}
	return out
}

// For every n: the process dies at its n-th write, a person stops the run before another process goes on with it, and what
// anybody was shown is in the thread all the same.
func TestWhatWasShownStaysWithACrashAtEveryWriteAndThenACancel(t *testing.T) {
	say := func(n int) deed { return deed{kind: "say", text: "ab", n: n} }
	tool := deed{kind: "tool", text: "done"}
	retry := deed{kind: "retry", text: "xy", n: 2}
	p := program{{{say(2), tool}}, {{tool, retry}, {say(3)}}, {{say(3), say(1)}}}
	for _, happens := range []bool{false, true} {
		for n := int64(1); crashAndCancel(t, p, n, happens); n += nextWrite() {
		}
	}
}

func TestWhatWasShownStaysOverRandomRunsWithACrashAndThenACancel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := programs(false).Draw(rt, "program")
		crashAndCancel(rt, p, rapid.Int64Range(1, 40).Draw(rt, "dies at write"), rapid.Bool().Draw(rt, "the write happens"))
	})
}

// crashAndCancel reports whether the process died before the run had ended.
func crashAndCancel(t fataler, p program, n int64, happens bool) bool {
	t.Helper()
	dir, remove := tempDir(t)
	defer remove()
	var f effects
	thread := newThread()
	w := open(t, dir, single(p.graph(&f)), func(o *run.Options) { o.Lease = time.Hour })
	w.faults.dieAfter(n, happens)
	r, err := w.e.Start(context.Background(), me, thread, request())
	if err != nil {
		w.stop(0)
		return true
	}
	waitFor(t, func() bool { return w.e.Active() == 0 && (w.faults.dead() || ended(w, r.ID)) })
	died := w.faults.dead()
	w.stop(0)

	db, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	_, err = db.RequestCancel(context.Background(), me, r.ID, run.StopRun)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	w = open(t, dir, single(p.graph(&f)))
	defer w.stop(time.Second)
	r = w.wait(r.ID)
	if died && r.Status != run.Cancelled && r.Status != run.Success {
		t.Fatalf("the run ended %s", r.Status)
	}
	mustStay(t, w, thread, w.events(r.ID))
	return died
}

// What a run has said stays where nobody can go on with it: after too many crashes, and when its graph cannot be made any more.
func TestWhatWasShownStaysWhenARunIsGivenUp(t *testing.T) {
	for name, second := range map[string]func(*run.Options){
		"too many attempts": func(o *run.Options) { o.MaxAttempts = 1 },
		"no such graph": func(o *run.Options) {
			o.Build = func(context.Context, run.Run) (*graph.Graph, error) { return nil, errors.New("the key is gone") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			said := make(chan struct{})
			g := oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg-1", Execution: s.Execution()})
				if err = errors.Join(err, w.Text(ctx, 0, "half a sen"), s.Promise(ctx)); err != nil {
					return graph.Command{}, err
				}
				close(said)
				<-ctx.Done()
				return graph.Command{}, context.Cause(ctx)
			})
			thread := newThread()
			w := open(t, dir, single(g), func(o *run.Options) { o.Lease = time.Hour })
			r := w.start(thread)
			<-said
			w.faults.dieAfter(0, false)
			w.stop(0)
			w = open(t, dir, single(g), second)
			defer w.stop(time.Second)
			if r = w.wait(r.ID); r.Status != run.Failed {
				t.Fatalf("the run ended %s, want error", r.Status)
			}
			mustStay(t, w, thread, w.events(r.ID))
			if m := messagesOf(t, w, thread, "")["msg-1"]; m.Text() != "half a sen" || m.Finish != item.FinishIncomplete {
				t.Errorf("the thread has %q (%s), want what was said", m.Text(), m.Finish)
			}
		})
	}
}
