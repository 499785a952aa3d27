package feed

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// bells wake those who wait for a thread's next run.
type bells struct {
	mu   sync.Mutex
	hung map[string]*bell
}

type bell struct {
	refs int
	ch   chan struct{}
}

func (b *bells) acquire(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hung == nil {
		b.hung = map[string]*bell{}
	}
	if b.hung[thread] == nil {
		b.hung[thread] = &bell{ch: make(chan struct{})}
	}
	b.hung[thread].refs++
}

func (b *bells) release(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hung[thread]; h != nil {
		if h.refs--; h.refs == 0 {
			delete(b.hung, thread)
		}
	}
}

// of returns the bell of a thread that was acquired: closed at the next ring.
func (b *bells) of(thread string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.hung[thread].ch
}

func (b *bells) ring(thread string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h := b.hung[thread]; h != nil {
		close(h.ch)
		h.ch = make(chan struct{})
	}
}

// Runs lists the runs of a thread, newest first; see run.Runs.
type Runs interface {
	ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error)
}

// atOnce is how many runs are asked for at a time.
const atOnce = 1000

// Threads lets readers follow threads from run to run.
type Threads struct {
	journal *journal.Journal
	runs    Runs
	bells   bells
}

// NewThreads follows the threads of a journal.
func NewThreads(j *journal.Journal, runs Runs) *Threads { return &Threads{journal: j, runs: runs} }

// Ring wakes those who wait for a thread's next run; whoever creates one calls it.
func (t *Threads) Ring(thread string) { t.bells.ring(thread) }

// Follow begins before the thread's first run. Close it.
func (t *Threads) Follow(who run.Identity, thread string) *Sequence {
	t.bells.acquire(thread)
	return &Sequence{of: t, who: who, thread: thread}
}

// Started lists the runs of a thread: those that have started, in that order, or else the oldest that is due. A thread
// that does not exist, or is not the caller's, has none.
func (t *Threads) Started(ctx context.Context, who run.Identity, thread string) ([]run.Run, error) {
	return t.startedAfter(ctx, who, thread, time.Time{}, "")
}

// Sequence follows the runs of a thread, one after the other in the order in which they started, for ever. A thread that
// does not exist yet, or is not the caller's, has none.
type Sequence struct {
	of     *Threads
	who    run.Identity
	thread string

	current string // the run that is read, or was read last
	cursor  *journal.Cursor
	begun   bool      // the current run has started
	after   time.Time // when it did
	removed bool      // it was taken away while it was read
}

// Close ends the reading.
func (q *Sequence) Close() {
	q.leave()
	q.of.bells.release(q.thread)
}

// Began is when the run started that is read, or was read last.
func (q *Sequence) Began() time.Time { return q.after }

// Removed reports that the run that was read last was taken away meanwhile.
func (q *Sequence) Removed() bool { return q.removed }

// Abandon gives the current run up, because what it speaks of was taken away.
func (q *Sequence) Abandon() {
	q.removed = true
	q.leave()
}

// Skip goes on after a run that is not read.
func (q *Sequence) Skip(r run.Run) { q.after, q.current = r.StartedAt, r.ID }

// Ahead lists the runs that come after the current one: those that have started, in that order, or else the oldest that
// is due.
func (q *Sequence) Ahead(ctx context.Context) ([]run.Run, error) {
	return q.of.startedAfter(ctx, q.who, q.thread, q.after, q.current)
}

func (q *Sequence) leave() {
	if q.cursor != nil {
		q.cursor.Close()
		q.cursor = nil
	}
}

// Poll returns events of the current run, or a bell where there are none now. ended says that the run is over.
func (q *Sequence) Poll(ctx context.Context) (events []event.Envelope, ended bool, bell <-chan struct{}, err error) {
	if q.cursor == nil {
		// Before looking, so that what comes after the look rings it.
		bell := q.of.bells.of(q.thread)
		ok, err := q.next(ctx)
		if err != nil || !ok {
			return nil, false, bell, err
		}
	}
	events, bell, err = q.cursor.Poll(ctx)
	if !q.begun && len(events) > 0 && events[0].Event.Kind() == (event.RunQueued{}).Kind() {
		// Whoever follows a thread hears of a run when it starts; until then it may be overtaken.
		if events = events[1:]; len(events) == 0 {
			events, bell, err = q.cursor.Poll(ctx)
		}
	}
	switch {
	case err == io.EOF, Gone(err):
		q.removed = err != io.EOF
		q.leave()
		return nil, true, nil, nil
	case err != nil:
		return nil, false, nil, err
	case bell != nil:
		return nil, false, bell, nil
	}
	if !q.begun {
		q.begun = true
		q.after = events[0].At
	}
	return events, false, nil, nil
}

// Look lets the next poll ask the store. A run that was waited for, and has not begun, may have been overtaken.
func (q *Sequence) Look() {
	switch {
	case q.cursor == nil:
	case !q.begun:
		q.leave()
	default:
		q.cursor.Look()
	}
}

// next moves to the run that started next, or that will.
func (q *Sequence) next(ctx context.Context) (bool, error) {
	runs, err := q.Ahead(ctx)
	if err != nil || len(runs) == 0 {
		return false, err
	}
	q.enter(runs[0])
	return true, nil
}

func (q *Sequence) enter(r run.Run) {
	q.current, q.begun, q.removed = r.ID, !r.StartedAt.IsZero(), false
	if q.begun {
		q.after = r.StartedAt
	}
	q.cursor = q.of.journal.Cursor(r.ID, journal.Position{})
}

func (t *Threads) startedAfter(ctx context.Context, who run.Identity, thread string, after time.Time, current string) ([]run.Run, error) {
	var out []run.Run
	var due *run.Run
	for offset := 0; ; offset += atOnce {
		some, err := t.runs.ThreadRuns(ctx, who, thread, "", atOnce, offset)
		if errors.Is(err, run.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for i, r := range some {
			switch {
			case r.StartedAt.IsZero():
				if !r.Status.Ended() && !r.NotBefore.After(time.Now()) {
					due = &some[i] // newest first: the last one is the oldest
				}
			case r.StartedAt.After(after) && r.ID != current:
				out = append(out, r)
			}
		}
		if len(some) < atOnce {
			break
		}
	}
	slices.SortFunc(out, func(a, b run.Run) int { return a.StartedAt.Compare(b.StartedAt) })
	if len(out) == 0 && due != nil {
		out = append(out, *due)
	}
	return out, nil
}

// Gone reports that what was read is there no more: a run that was rolled back or deleted, or its state.
func Gone(err error) bool {
	return errors.Is(err, journal.ErrGone) || errors.Is(err, graph.ErrNoCheckpoint)
}
