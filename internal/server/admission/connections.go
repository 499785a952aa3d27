package admission

import (
	"context"
	"sync"
)

// Connections counts what owners keep open: streams and sockets.
type Connections struct {
	limit   int64
	refusal error

	mu   sync.Mutex
	open map[string]int64
}

// NewConnections makes a counter with a limit for each owner, 0 for none, and the error for one too many.
func NewConnections(limit int64, refusal error) *Connections {
	return &Connections{limit: limit, refusal: refusal, open: map[string]int64{}}
}

// Open counts one more, or refuses it. It is closed by the function that it returns, or, where somebody took it over with [Keep], by
// theirs.
func (c *Connections) Open(ctx context.Context, owner string) (context.Context, func(), error) {
	if c == nil || c.limit <= 0 {
		return ctx, func() {}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[owner] >= c.limit {
		return ctx, nil, c.refusal
	}
	c.open[owner]++
	conn := &connection{c: c, owner: owner}
	return context.WithValue(ctx, connKey{}, conn), conn.leave, nil
}

// Keep takes over the connection of a request that goes on after its handler has returned. The function that it returns closes
// it; it is never nil.
func Keep(ctx context.Context) func() {
	conn, ok := ctx.Value(connKey{}).(*connection)
	if !ok {
		return func() {}
	}
	conn.kept = true
	return conn.close
}

type connKey struct{}

// connection is one that is counted. It belongs to the handler of its request, until it is kept.
type connection struct {
	c     *Connections
	owner string
	kept  bool
	once  sync.Once
}

func (c *connection) leave() {
	if !c.kept {
		c.close()
	}
}

func (c *connection) close() {
	c.once.Do(func() {
		c.c.mu.Lock()
		defer c.c.mu.Unlock()
		if c.c.open[c.owner]--; c.c.open[c.owner] == 0 {
			delete(c.c.open, c.owner)
		}
	})
}
