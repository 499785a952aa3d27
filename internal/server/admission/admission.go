// Package admission bounds how many bytes of large requests are held in memory at once.
//
// # Laws
//
//   - The bytes of all large requests that were let in and have not been let go together are never more than the limit.
//   - A small request (up to [Small] bytes) is never held up, and costs nothing.
//   - Who has to wait is let in in the order of coming, or refused with run.ErrUnavailable after a bounded time.
//   - What was let in is let go once, by the first of [Release] and the function that Enter returned.
package admission

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/tributary-ai/tributary/internal/run"
)

// Small is the size up to which a request is let in at once.
const Small = 64 << 10

// Gate lets requests in.
type Gate struct {
	limit int64
	wait  time.Duration
	held  atomic.Int64
	room  *semaphore.Weighted
}

// New makes a gate for a number of bytes at once. Who comes when there is no room waits for as long as wait says.
func New(limit int64, wait time.Duration) *Gate {
	return &Gate{limit: limit, wait: wait, room: semaphore.NewWeighted(limit)}
}

// Held is how many bytes are held now.
func (g *Gate) Held() int64 { return g.held.Load() }

// Enter lets a request of a size in, when there is room for it. The context that it returns is the request's from then on.
func (g *Gate) Enter(ctx context.Context, size int64) (context.Context, func(), error) {
	if g == nil || size <= Small {
		return ctx, func() {}, nil
	}
	size = min(size, g.limit)
	wait, cancel := context.WithTimeout(ctx, g.wait)
	defer cancel()
	if err := g.room.Acquire(wait, size); err != nil {
		if ctx.Err() != nil {
			return ctx, nil, ctx.Err()
		}
		return ctx, nil, fmt.Errorf("%d bytes of large requests are under way, and no room came free within %v: %w", g.held.Load(), g.wait, run.ErrUnavailable)
	}
	g.held.Add(size)
	t := &ticket{gate: g}
	t.size.Store(size)
	return context.WithValue(ctx, key{}, t), t.release, nil
}

// Release lets the request of a context go before its end: what it brought is stored, and what follows may take long.
func Release(ctx context.Context) {
	if t, ok := ctx.Value(key{}).(*ticket); ok {
		t.release()
	}
}

type key struct{}

// ticket is a request that was let in.
type ticket struct {
	gate *Gate
	size atomic.Int64
}

func (t *ticket) release() {
	if size := t.size.Swap(0); size > 0 {
		t.gate.held.Add(-size)
		t.gate.room.Release(size)
	}
}
