package graph

import (
	"context"
	"errors"
	"sync"

	"github.com/tributary-ai/tributary/event"
)

// ErrTaskCancelled is why a sub-agent stopped that somebody cancelled alone. Its caller goes on without it.
var ErrTaskCancelled error = &event.Error{Code: CodeCancelled, Name: "CancelledError", Message: "it was cancelled"}

// Control reaches the sub-agents of a run while it executes. The zero Control is ready.
type Control struct {
	mu    sync.Mutex
	tasks map[string]context.CancelCauseFunc
	next  map[string]bool                                     // those that are stopped as soon as they begin
	hear  func(ctx context.Context, words event.Spoken) error // nil: nobody listens
}

// CancelTask stops a sub-agent, and with it those that it has called. It reports whether that one is working now.
func (c *Control) CancelTask(task string) bool {
	c.mu.Lock()
	cancel := c.tasks[task]
	c.mu.Unlock()
	if cancel == nil {
		return false
	}
	cancel(ErrTaskCancelled)
	return true
}

// CancelNext has a sub-agent stopped as soon as it begins: it was cancelled in an earlier attempt, which did not get to stop it.
func (c *Control) CancelNext(task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = map[string]bool{}
	}
	c.next[task] = true
}

// ErrNobodyListens says that words were said to a run none of whose agents hears what is said to it, or not now.
var ErrNobodyListens = errors.New("nobody of the run listens now")

// Speak says something to the agents of a run while they work. Without an error the words are on disk, and will be read.
func (c *Control) Speak(ctx context.Context, words event.Spoken) error {
	c.mu.Lock()
	hear := c.hear
	c.mu.Unlock()
	if hear == nil {
		return ErrNobodyListens
	}
	return hear(ctx, words)
}

func (c *Control) hush() { c.listen(nil) }

func (c *Control) listen(hear func(context.Context, event.Spoken) error) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hear = hear
}

// Listen has hear called with what people say to the run from now on, until it ends or somebody else listens. hear refuses words
// with an error, or has them recorded: record returns when they are on disk. Words that were heard before it passes by. It is called
// from other goroutines.
func (s *Scope) Listen(hear func(words event.Spoken, record func() error) error) {
	x := s.engine.x
	if x.Recorder == nil {
		return
	}
	x.Control.listen(func(ctx context.Context, words event.Spoken) error {
		return hear(words, func() error {
			// Who said it may leave: what is queued will be on disk, and must be heard then.
			return x.record(context.WithoutCancel(ctx), Batch{Events: []event.Envelope{{Event: words}}, Promise: true})
		})
	})
}

// enter makes a sub-agent reachable until leave is called.
func (c *Control) enter(ctx context.Context, task string) (inner context.Context, leave func()) {
	if c == nil {
		return ctx, func() {}
	}
	inner, cancel := context.WithCancelCause(ctx)
	c.mu.Lock()
	if c.tasks == nil {
		c.tasks = map[string]context.CancelCauseFunc{}
	}
	c.tasks[task] = cancel
	if c.next[task] {
		delete(c.next, task)
		cancel(ErrTaskCancelled)
	}
	c.mu.Unlock()
	return inner, func() {
		c.mu.Lock()
		delete(c.tasks, task)
		c.mu.Unlock()
		cancel(nil)
	}
}
