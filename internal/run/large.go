package run

import (
	"context"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// A large input is decoded, stored, and written into the first request to a model, which takes several times its size for a
// moment. Runs with such inputs begin one after the other, so that twenty of them cost no more than one or two, and no other
// run has to wait for memory or for a processor.

// largeInput is from where on a run waits for its turn to begin.
const largeInput = 256 << 10

// largeInputs is how many bytes of such inputs begin at once. Only a test changes it, before it opens an engine.
var largeInputs int64 = 16 << 20

// enterLarge waits until a run with a large input may begin, and returns what lets the next one in. It can be called more
// than once.
func (e *Engine) enterLarge(ctx context.Context, r Run) (leave func(), err error) {
	size := int64(len(r.Request.Input))
	if size < largeInput {
		return func() {}, nil
	}
	size = min(size, largeInputs)
	if err := e.large.Acquire(ctx, size); err != nil {
		return nil, context.Cause(ctx)
	}
	return sync.OnceFunc(func() { e.large.Release(size) }), nil
}

// isAsked reports that a model has been asked, so that a run's input has been read.
func isAsked(b graph.Batch) bool {
	for i := range b.Events {
		switch b.Events[i].Event.(type) {
		case event.ContextPrepared, event.TextDelta, event.ArgumentsDelta:
			return true
		}
	}
	return false
}
