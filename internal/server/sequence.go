package server

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
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

// sequence follows the runs of a thread, one after the other in the order in which they started, for ever. A thread that
// does not exist yet, or is not the caller's, has none.
type sequence struct {
	s      *Server
	who    run.Identity
	thread string

	current string // the run that is read, or was read last
	cursor  *journal.Cursor
	begun   bool      // the current run has started
	after   time.Time // when it did
	removed bool      // it was taken away while it was read
}

func (s *Server) sequence(who run.Identity, thread string) *sequence {
	s.bells.acquire(thread)
	return &sequence{s: s, who: who, thread: thread}
}

func (q *sequence) close() {
	q.leave()
	q.s.bells.release(q.thread)
}

func (q *sequence) leave() {
	if q.cursor != nil {
		q.cursor.Close()
		q.cursor = nil
	}
}

// poll returns events of the current run, or a bell where there are none now. ended says that the run is over.
func (q *sequence) poll(ctx context.Context) (events []event.Envelope, ended bool, bell <-chan struct{}, err error) {
	if q.cursor == nil {
		// Before looking, so that what comes after the look rings it.
		bell := q.s.bells.of(q.thread)
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
	case err == io.EOF, isGone(err):
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

// look lets the next poll ask the store. A run that was waited for, and has not begun, may have been overtaken.
func (q *sequence) look() {
	switch {
	case q.cursor == nil:
	case !q.begun:
		q.leave()
	default:
		q.cursor.Look()
	}
}

// next moves to the run that started next, or that will.
func (q *sequence) next(ctx context.Context) (bool, error) {
	runs, err := q.started(ctx)
	if err != nil || len(runs) == 0 {
		return false, err
	}
	q.enter(runs[0])
	return true, nil
}

func (q *sequence) enter(r run.Run) {
	q.current, q.begun, q.removed = r.ID, !r.StartedAt.IsZero(), false
	if q.begun {
		q.after = r.StartedAt
	}
	q.cursor = q.s.opt.Journal.Cursor(r.ID, journal.Position{})
}

// started lists the runs that come after the current one: those that have started, in that order, and then the oldest that
// is due.
func (q *sequence) started(ctx context.Context) ([]run.Run, error) {
	var out []run.Run
	var due *run.Run
	for offset := 0; ; offset += maxLimit {
		some, err := q.s.opt.Store.ThreadRuns(ctx, q.who, q.thread, "", maxLimit, offset)
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
			case r.StartedAt.After(q.after) && r.ID != q.current:
				out = append(out, r)
			}
		}
		if len(some) < maxLimit {
			break
		}
	}
	slices.SortFunc(out, func(a, b run.Run) int { return a.StartedAt.Compare(b.StartedAt) })
	if len(out) == 0 && due != nil {
		out = append(out, *due)
	}
	return out, nil
}
