package journal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a store that keeps chunks in a map. It can hold a write up, fail, and say what it was asked.
type memory struct {
	mu     sync.Mutex
	chunks map[string][]journal.Chunk
	lease  map[string]journal.Lease
	writes []write
	saved  []journal.Save
	fail   error
	hold   chan struct{} // a write waits for this
	gone   map[string]bool
}

type write struct {
	groups int
	events int
	sync   bool
}

// saved is what the journal does not look into.
type saved string

func (saved) Stored() {}

func newMemory() *memory {
	return &memory{chunks: map[string][]journal.Chunk{}, lease: map[string]journal.Lease{}}
}

func (m *memory) Append(_ context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		<-hold
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return nil, m.fail
	}
	w := write{groups: len(groups), sync: sync}
	var refused map[string]error
	for _, g := range groups {
		if l, ok := m.lease[g.Chunk.Run]; ok && (l.Epoch != g.Chunk.Epoch || l.Owner != g.Owner) {
			refused = map[string]error{g.Chunk.Run: journal.ErrFenced}
			continue
		}
		if g.Chunk.First > 0 {
			w.events += int(g.Chunk.Last - g.Chunk.First + 1)
			g.Chunk.Data = bytes.Clone(g.Chunk.Data)
			m.chunks[g.Chunk.Run] = append(m.chunks[g.Chunk.Run], g.Chunk)
		}
		m.saved = append(m.saved, g.Saves...)
	}
	m.writes = append(m.writes, w)
	return refused, nil
}

func (m *memory) Read(_ context.Context, run string, after uint64, limit int) ([]journal.Chunk, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone[run] {
		return nil, journal.ErrGone
	}
	var out []journal.Chunk
	size := 0
	for _, c := range m.chunks[run] {
		if c.Last > after && size < limit {
			out = append(out, c)
			size += len(c.Data)
		}
	}
	return out, nil
}

func lease(run string, epoch int) journal.Lease {
	return journal.Lease{Run: run, Owner: "w", Epoch: epoch}
}

func delta(text string) event.Envelope {
	return event.Envelope{Event: event.TextDelta{Item: "msg_1", Text: text}}
}

func batch(events ...event.Event) journal.Batch {
	b := journal.Batch{}
	for _, e := range events {
		b.Events = append(b.Events, event.Envelope{Event: e})
	}
	return b
}

func ended() journal.Batch {
	b := batch(event.RunEnded{Status: event.Success})
	b.Promise = true
	return b
}

func must(t interface {
	Helper()
	Fatalf(string, ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

func collect(t *testing.T, j *journal.Journal, run string, after journal.Position) []event.Envelope {
	t.Helper()
	var out []event.Envelope
	for env, err := range j.Follow(t.Context(), run, after) {
		must(t, err)
		out = append(out, env)
	}
	return out
}

func TestWhileAWriteIsInFlightTheNextOneGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold = make(chan struct{})
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		var logs []*journal.Log
		for i := range 3 {
			l := j.Log(lease(fmt.Sprint("r", i), 1), "t", 0)
			defer l.Close()
			logs = append(logs, l)
		}
		must(t, logs[0].Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("a")}}))
		synctest.Wait() // the first write is in flight now
		for _, l := range logs {
			for range 5 {
				must(t, l.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("b")}}))
			}
		}
		synctest.Wait()
		close(m.hold)
		synctest.Wait()
		want := []write{{groups: 1, events: 1}, {groups: 3, events: 15}}
		if !slices.Equal(m.writes, want) {
			t.Errorf("writes are %+v, want %+v", m.writes, want)
		}
	})
}

func TestAnEventIsVisibleOnlyAfterItIsDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold = make(chan struct{})
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		l := j.Log(lease("r", 1), "t", 0)
		defer l.Close()
		must(t, l.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("a")}}))
		c := j.Cursor("r", journal.Position{})
		defer c.Close()
		synctest.Wait()
		if events, bell, err := c.Poll(t.Context()); len(events) > 0 || bell == nil || err != nil {
			t.Fatalf("saw %d events, %v, before the write returned", len(events), err)
		}
		close(m.hold)
		synctest.Wait()
		if events, _, err := c.Poll(t.Context()); len(events) != 1 || err != nil {
			t.Fatalf("saw %d events, %v, after the write returned", len(events), err)
		}
	})
}

func TestPromisesGoToDiskAndTokensDoNot(t *testing.T) {
	for name, c := range map[string]struct {
		batch journal.Batch
		disk  bool
	}{
		"token":         {batch(event.TextDelta{Item: "m", Text: "x"}), false},
		"message ended": {batch(event.TurnEnded{Turn: "m"}), false},
		"run started":   {batch(event.RunStarted{}), true},
		"attempt":       {batch(event.AttemptStarted{}), true},
		"checkpoint":    {batch(event.CheckpointSaved{}), true},
		"interrupt":     {batch(event.InterruptRaised{}), true},
		"tool intent":   {batch(event.ItemStarted{Type: "tool_result"}), true},
		"asked for":     {journal.Batch{Events: []event.Envelope{delta("x")}, Promise: true}, true},
		"with a save":   {journal.Batch{Events: []event.Envelope{delta("x")}, Saves: []journal.Save{saved("state")}}, true},
		"run ended":     {ended(), true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			j := journal.Open(m, journal.Options{})
			l := j.Log(lease("r", 1), "t", 0)
			must(t, l.Append(t.Context(), c.batch))
			l.Close()
			j.Close()
			if len(m.writes) != 1 || m.writes[0].sync != c.disk {
				t.Errorf("writes are %+v, want one with sync %v", m.writes, c.disk)
			}
		})
	}
	t.Run("everything, where that is the setting", func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{Disk: true})
		l := j.Log(lease("r", 1), "t", 0)
		must(t, l.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("x")}}))
		l.Close()
		j.Close()
		if !m.writes[0].sync {
			t.Error("a token was not written to disk")
		}
	})
}

func TestSavesAreWrittenWithTheirEvents(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	l := j.Log(lease("r", 1), "t", 0)
	defer l.Close()
	b := batch(event.CheckpointSaved{ID: "c1"})
	b.Saves, b.Promise = []journal.Save{saved("state of c1")}, true
	must(t, l.Append(t.Context(), b))
	if len(m.saved) != 1 || len(m.chunks["r"]) != 1 {
		t.Errorf("saved %v beside %d chunks", m.saved, len(m.chunks["r"]))
	}
}

func TestFencedLogCanAppendNothingMore(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	old := j.Log(lease("r", 1), "t", 0)
	defer old.Close()
	b := batch(event.RunStarted{})
	b.Promise = true
	must(t, old.Append(t.Context(), b))
	m.mu.Lock()
	m.lease["r"] = lease("r", 2) // another worker has it now
	m.mu.Unlock()
	if err := old.Append(t.Context(), ended()); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("promise answered %v, want ErrFenced", err)
	}
	if err := old.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("x")}}); !errors.Is(err, journal.ErrFenced) {
		t.Errorf("token answered %v, want ErrFenced", err)
	}
	next := j.Log(lease("r", 2), "t", 1)
	defer next.Close()
	must(t, next.Append(t.Context(), ended()))
	got := collect(t, j, "r", journal.Position{})
	if len(got) != 2 || got[0].Epoch != 1 || got[1].Epoch != 2 {
		t.Errorf("journal is %+v", got)
	}
}

func TestFailedWriteIsToldAndNothingAfterItIsWritten(t *testing.T) {
	m := newMemory()
	m.fail = errors.New("disk full")
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	l := j.Log(lease("r", 1), "t", 0)
	defer l.Close()
	if err := l.Append(t.Context(), ended()); err == nil {
		t.Fatal("a promise was given that was not kept")
	}
	m.mu.Lock()
	m.fail = nil
	m.mu.Unlock()
	if err := l.Append(t.Context(), ended()); err == nil {
		t.Error("the log went on behind a hole")
	}
	if n := len(m.chunks["r"]); n != 0 {
		t.Errorf("%d chunks were written", n)
	}
}

// What is queued while a write is on its way stands behind it: if that fails, it must not be written either.
func TestWhatIsQueuedBehindAWriteThatFailsIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold, m.fail = make(chan struct{}), errors.New("disk full for a moment")
		j := journal.Open(m, journal.Options{})
		l := j.Log(lease("r", 1), "t", 0)
		must(t, l.Append(t.Context(), batch(event.RunStarted{})))
		synctest.Wait() // the writer is in the store
		promise := make(chan error)
		go func() { promise <- l.Append(context.Background(), ended()) }()
		synctest.Wait()
		m.hold <- struct{}{} // and fails
		synctest.Wait()
		m.mu.Lock()
		m.fail = nil
		m.mu.Unlock()
		close(m.hold)
		if err := <-promise; err == nil {
			t.Error("a promise was given that was not kept")
		}
		l.Close()
		j.Close()
		if n := len(m.chunks["r"]); n != 0 {
			t.Errorf("%d chunks were written behind a hole", n)
		}
	})
}

func TestPositionsThatTheLogCannotHonour(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	first := j.Log(lease("r", 1), "t", 0)
	b := batch(event.RunStarted{}, event.TextDelta{Item: "m", Text: "lost with the power?"})
	b.Promise = true
	must(t, first.Append(t.Context(), b))
	first.Close()
	second := j.Log(lease("r", 2), "t", 2)
	must(t, second.Append(t.Context(), ended()))
	second.Close()

	for _, c := range []struct {
		pos  journal.Position
		want error
		n    int
	}{
		{journal.Position{}, nil, 3},
		{journal.Position{Epoch: 1, Seq: 2}, nil, 1},
		{journal.Position{Seq: 2}, nil, 1},
		{journal.Position{Epoch: 2, Seq: 3}, nil, 0},             // at the end: over at once
		{journal.Position{Epoch: 2, Seq: 2}, journal.ErrLost, 0}, // a future that never was
		{journal.Position{Epoch: 1, Seq: 3}, journal.ErrLost, 0},
		{journal.Position{Epoch: 1, Seq: 4}, journal.ErrLost, 0},
		{journal.Position{Seq: 4}, journal.ErrLost, 0},
	} {
		n, err := 0, error(nil)
		for _, e := range j.Follow(t.Context(), "r", c.pos) {
			if err = e; err != nil {
				break
			}
			n++
		}
		if n != c.n || !errors.Is(err, c.want) {
			t.Errorf("after %+v: %d events and %v, want %d and %v", c.pos, n, err, c.n, c.want)
		}
	}
}

func TestDamageIsSaidAndNeverReadOver(t *testing.T) {
	for name, spoil := range map[string]func([]journal.Chunk) []journal.Chunk{
		"flipped bit":    func(c []journal.Chunk) []journal.Chunk { c[1].Data[20] ^= 1; return c },
		"truncated":      func(c []journal.Chunk) []journal.Chunk { c[1].Data = c[1].Data[:30]; return c },
		"missing chunk":  func(c []journal.Chunk) []journal.Chunk { return slices.Delete(c, 1, 2) },
		"wrong place":    func(c []journal.Chunk) []journal.Chunk { c[1].First++; c[1].Last++; return c },
		"other run":      func(c []journal.Chunk) []journal.Chunk { c[1].Run = "s"; return c },
		"other epoch":    func(c []journal.Chunk) []journal.Chunk { c[1].Epoch = 7; return c },
		"swapped chunks": func(c []journal.Chunk) []journal.Chunk { c[1].Data, c[2].Data = c[2].Data, c[1].Data; return c },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			j := journal.Open(m, journal.Options{})
			defer j.Close()
			l := j.Log(lease("r", 1), "t", 0)
			for i := range 3 {
				b := batch(event.TextDelta{Item: "msg_1", Text: fmt.Sprint("piece ", i)})
				b.Promise = true
				must(t, l.Append(t.Context(), b))
			}
			l.Close()
			m.chunks["r"] = spoil(m.chunks["r"])
			var got []string
			var err error
			for env, e := range j.Read(t.Context(), "r", 0) {
				if err = e; err != nil {
					break
				}
				got = append(got, env.Event.(event.TextDelta).Text)
			}
			if !errors.Is(err, journal.ErrCorrupt) || !strings.Contains(err.Error(), "run ") {
				t.Errorf("read %q and %v, want ErrCorrupt that names the run", got, err)
			}
		})
	}
}

func TestAppendWaitsForRoomAndGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold = make(chan struct{})
		j := journal.Open(m, journal.Options{QueueBytes: 1000})
		defer j.Close()
		l := j.Log(lease("r", 1), "t", 0)
		defer l.Close()
		long := journal.Batch{Events: []event.Envelope{delta(strings.Repeat("x", 2000))}}
		must(t, l.Append(t.Context(), long)) // in flight
		synctest.Wait()
		must(t, l.Append(t.Context(), long)) // queued
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Append(ctx, long); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("append to a full queue answered %v", err)
		}
		blocked := make(chan error, 1)
		go func() { blocked <- l.Append(t.Context(), long) }()
		synctest.Wait()
		close(m.hold)
		must(t, <-blocked)
	})
}

func TestDroppedRunEndsItsFollowers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		got := make(chan error, 1)
		go func() {
			for _, err := range j.Follow(t.Context(), "r", journal.Position{}) {
				got <- err
			}
		}()
		synctest.Wait()
		j.Drop("r")
		if err := <-got; !errors.Is(err, journal.ErrGone) {
			t.Errorf("follower got %v, want ErrGone", err)
		}
	})
}

// Whoever comes after a run was deleted finds no tail that could tell; the store does.
func TestFollowerOfARunThatIsGoneDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.gone = map[string]bool{"r": true}
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		for _, after := range []journal.Position{{}, {Seq: 3}} {
			for _, err := range j.Follow(t.Context(), "r", after) {
				if !errors.Is(err, journal.ErrGone) {
					t.Errorf("after %d: got %v, want ErrGone", after.Seq, err)
				}
			}
		}
	})
}

// A run that is rolled back goes from the store in the very write that ends it. A follower that looks there before the
// end has been published must wait for it: it is on its way.
func TestFollowerOfARunThatRollsBackSeesItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		l := j.Log(lease("r", 1), "t", 0)
		b := batch(event.RunStarted{})
		b.Promise = true
		must(t, l.Append(t.Context(), b))
		got := make(chan error, 1)
		c := j.Cursor("r", journal.Position{})
		defer c.Close()
		if _, err := c.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := c.Next(t.Context())
			got <- err
		}()
		m.mu.Lock()
		m.hold, m.gone = make(chan struct{}), map[string]bool{"r": true}
		m.mu.Unlock()
		done := make(chan error, 1)
		go func() { done <- l.Append(t.Context(), ended()) }()
		time.Sleep(time.Minute) // the follower looks into the store now and then
		select {
		case err := <-got:
			t.Fatalf("the follower gave up: %v", err)
		default:
		}
		close(m.hold)
		must(t, <-done)
		if err := <-got; err != nil {
			t.Errorf("the follower got %v, want the end", err)
		}
		j.Drop("r")
		l.Close()
	})
}

func TestClosedJournalTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.Open(newMemory(), journal.Options{})
		l := j.Log(lease("r", 1), "t", 0)
		defer l.Close()
		j.Close()
		for range 2 {
			if err := l.Append(t.Context(), ended()); !errors.Is(err, journal.ErrClosed) {
				t.Errorf("a promise answered %v, want ErrClosed", err)
			}
		}
	})
}

// A worker that was taken for dead may still write while its successor in the same process does. What is refused of one
// lease says nothing about the other.
func TestSuccessorIsNotRefusedWithItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold = make(chan struct{})
		m.lease["r"] = lease("r", 2)
		j := journal.Open(m, journal.Options{})
		defer j.Close()
		busy := j.Log(lease("other", 1), "t", 0)
		defer busy.Close()
		must(t, busy.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("x")}}))
		synctest.Wait() // a write is in flight, so that the next two share one
		old, next := j.Log(lease("r", 1), "t", 0), j.Log(lease("r", 2), "t", 0)
		defer old.Close()
		defer next.Close()
		var answers [2]chan error
		for i, l := range []*journal.Log{old, next} {
			answers[i] = make(chan error, 1)
			go func() { answers[i] <- l.Append(t.Context(), ended()) }()
			synctest.Wait()
		}
		close(m.hold)
		if err := <-answers[0]; !errors.Is(err, journal.ErrFenced) {
			t.Errorf("the old worker: %v, want ErrFenced", err)
		}
		if err := <-answers[1]; err != nil {
			t.Errorf("the new worker: %v", err)
		}
	})
}

// A run that another process writes rings no bell here; its followers look for themselves.
func TestFollowerFindsWhatAnotherProcessWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		here, there := journal.Open(m, journal.Options{}), journal.Open(m, journal.Options{})
		defer here.Close()
		defer there.Close()
		first := here.Log(lease("r", 1), "t", 0)
		b := batch(event.RunStarted{})
		b.Promise = true
		must(t, first.Append(t.Context(), b))
		c := here.Cursor("r", journal.Position{})
		defer c.Close()
		if events, err := c.Next(t.Context()); len(events) != 1 || err != nil {
			t.Fatalf("%v, %v", events, err)
		}
		second := there.Log(lease("r", 2), "t", 1)
		must(t, second.Append(t.Context(), ended()))
		second.Close()
		events, err := c.Next(t.Context())
		if len(events) != 1 || err != nil || events[0].Seq != 2 {
			t.Fatalf("%v, %v", events, err)
		}
		if _, err := c.Next(t.Context()); err != io.EOF {
			t.Errorf("after the end: %v, want EOF", err)
		}
		first.Close()
	})
}

func TestFinishedRunsLeaveNothingBehind(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	for i := range 10 {
		l := j.Log(lease(fmt.Sprint("r", i), 1), "t", 0)
		must(t, l.Append(t.Context(), ended()))
		l.Close()
		collect(t, j, fmt.Sprint("r", i), journal.Position{})
	}
	if n := j.Live(); n != 0 {
		t.Errorf("%d runs are in memory", n)
	}
}

// Laws 1 and 8: many writers, small tails and queues, readers that begin anywhere and stop anywhere and resume.
func TestFollowersSeeEveryEventOnceWhereverTheyBegin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		j := journal.Open(m, journal.Options{
			TailBytes:  rapid.IntRange(1, 3000).Draw(t, "tail"),
			QueueBytes: rapid.IntRange(100, 3000).Draw(t, "queue"),
			Poll:       time.Millisecond,
		})
		defer j.Close()
		runs := rapid.IntRange(1, 3).Draw(t, "runs")
		sizes := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 15).Draw(t, "batches")
		cuts := rapid.SliceOfN(rapid.IntRange(1, 20), 3, 3).Draw(t, "cuts")
		total := 1
		for _, n := range sizes {
			total += n
		}
		var wg sync.WaitGroup
		ctx := context.Background()
		errs := make(chan error, 100)
		for r := range runs {
			name := fmt.Sprint("r", r)
			wg.Add(1)
			go func() {
				defer wg.Done()
				l := j.Log(lease(name, 1), "t", 0)
				defer l.Close()
				seq := 0
				for _, n := range sizes {
					var b journal.Batch
					for range n {
						seq++
						b.Events = append(b.Events, delta(fmt.Sprint(seq)))
					}
					if err := l.Append(ctx, b); err != nil {
						errs <- err
					}
				}
				if err := l.Append(ctx, ended()); err != nil {
					errs <- err
				}
			}()
			for _, cut := range cuts {
				wg.Add(1)
				go func() {
					defer wg.Done()
					if err := readInPieces(ctx, j, name, cut, total); err != nil {
						errs <- err
					}
				}()
			}
		}
		wg.Wait()
		close(errs)
		for err := range errs {
			t.Fatalf("%v", err)
		}
	})
}

// readInPieces reads a run, leaving after every few events and coming back with the last position.
func readInPieces(ctx context.Context, j *journal.Journal, run string, cut, total int) error {
	var pos journal.Position
	for {
		n := 0
		for env, err := range j.Follow(ctx, run, pos) {
			if err != nil {
				return err
			}
			if env.Seq != pos.Seq+1 {
				return fmt.Errorf("after %d came %d", pos.Seq, env.Seq)
			}
			if d, ok := env.Event.(event.TextDelta); ok && d.Text != fmt.Sprint(env.Seq) {
				return fmt.Errorf("event %d says %q", env.Seq, d.Text)
			}
			pos = journal.Position{Epoch: env.Epoch, Seq: env.Seq}
			if n++; n == cut {
				break
			}
		}
		if n < cut {
			if int(pos.Seq) != total {
				return fmt.Errorf("the run ended at %d of %d", pos.Seq, total)
			}
			return nil
		}
	}
}

// Of runs that have much to write one is in a write at a time, and whoever has little is in every write.
func TestTokensWaitForOneLargeWriteAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		m.hold = make(chan struct{})
		j := journal.Open(m, journal.Options{})
		var logs []*journal.Log
		for i := range 5 {
			l := j.Log(lease(fmt.Sprint("r", i), 1), "t", 0)
			defer l.Close()
			logs = append(logs, l)
		}
		must(t, logs[0].Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "a"})))
		synctest.Wait() // the first write is in flight now
		for i, l := range logs {
			b := batch(event.TextDelta{Item: "msg_1", Text: "b"})
			if i%2 == 1 { // two of five
				b.Saves, b.Weight = []journal.Save{saved(fmt.Sprint(i))}, 10<<20
			}
			must(t, l.Append(t.Context(), b))
		}
		m.hold <- struct{}{}
		synctest.Wait()
		m.hold <- struct{}{}
		synctest.Wait()
		if want := (write{groups: 4, events: 4, sync: true}); m.writes[1] != want {
			t.Errorf("the second write is %+v, want %+v", m.writes[1], want)
		}
		for _, l := range logs[:1] {
			must(t, l.Append(t.Context(), batch(event.TextDelta{Item: "msg_1", Text: "c"})))
		}
		close(m.hold)
		j.Close() // writes what is left
		got := 0
		for _, w := range m.writes {
			got += w.events
		}
		if got != 7 || len(m.saved) != 2 {
			t.Errorf("%d events and %d saves are written, want 7 and 2: %+v", got, len(m.saved), m.writes)
		}
	})
}
