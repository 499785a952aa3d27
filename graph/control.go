package graph

import (
	"context"
	"sync"

	"github.com/tributary-ai/tributary/event"
)

// ErrTaskCancelled is why a sub-agent stopped that somebody cancelled alone. Its caller goes on without it.
var ErrTaskCancelled error = &event.Error{Code: CodeCancelled, Name: "CancelledError", Message: "it was cancelled"}

// Control reaches the sub-agents of a run while it executes. The zero Control is ready.
type Control struct {
	mu    sync.Mutex
	tasks map[string]context.CancelCauseFunc
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
	c.mu.Unlock()
	return inner, func() {
		c.mu.Lock()
		delete(c.tasks, task)
		c.mu.Unlock()
		cancel(nil)
	}
}
