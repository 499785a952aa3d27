// Package guard stands between the routes and what they change. It refuses what would be more than an owner may have, and
// writes down who did what.
//
// # Laws
//
//   - An owner never has more runs in flight, threads or crons than the limits say, as long as all are made through one guard. Runs that
//     wait on a thread may be more by as many as are being created at the same moment, and bytes by what is stored within
//     a minute.
//   - Whoever is far from a limit pays for it with an addition: the store is asked only when what was made since it was asked
//     last could have reached the limit.
//   - Every refusal is a run.LimitError, which says which setting to change.
//   - Each change that succeeded is one line: who, what, on which thing. No line holds anything of what was said.
package guard

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/admission"
)

// Options are a guard's parts and settings.
type Options struct {
	Limits run.Limits
	// Counts says how much an owner has; nil for no limits.
	Counts run.Counts
	// Audit is told who did what; nil for nobody.
	Audit *slog.Logger
}

// Guard is what the wrappers share.
type Guard struct {
	opt    Options
	limits run.Limits

	mu     sync.Mutex
	owners map[string]*owner
	queues map[string]int64 // runs that wait, by thread: never less than there are
}

// owner is what is known of one.
type owner struct {
	mu                   sync.Mutex
	runs, threads, crons bound
	bytes                int64
	bytesAt              time.Time
}

// bound is a number that something does not exceed.
type bound struct {
	known bool
	most  int64
}

// New makes a guard.
func New(opt Options) *Guard {
	g := &Guard{opt: opt, limits: opt.Limits.Filled(), owners: map[string]*owner{}, queues: map[string]int64{}}
	if opt.Counts == nil {
		g.limits = run.Limits{}
	}
	return g
}

func (g *Guard) owner(who run.Identity) *owner {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.owners[who.Owner]
	if o == nil {
		o = &owner{}
		g.owners[who.Owner] = o
	}
	return o
}

// take makes room for one more, or refuses it. The caller holds the owner's lock.
func (b *bound) take(ctx context.Context, who run.Identity, count func(context.Context, run.Identity) (int64, error), refusal run.LimitError) error {
	if refusal.Limit <= 0 {
		return nil
	}
	if !b.known || b.most >= refusal.Limit {
		n, err := count(ctx, who)
		if err != nil {
			return err
		}
		b.known, b.most = true, n
	}
	if b.most >= refusal.Limit {
		return &refusal
	}
	b.most++
	return nil
}

func (g *Guard) takeThread(ctx context.Context, who run.Identity) error {
	o := g.owner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.threads.take(ctx, who, g.opt.countThreads, run.LimitError{What: "threads", Limit: g.limits.Threads, Remedy: "delete some", Setting: "threads"})
}

func (g *Guard) takeCron(ctx context.Context, who run.Identity) error {
	o := g.owner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.crons.take(ctx, who, g.opt.countCrons, run.LimitError{What: "crons", Limit: g.limits.Crons, Remedy: "delete some", Setting: "crons"})
}

func (g *Guard) takeRun(ctx context.Context, who run.Identity) error {
	o := g.owner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs.take(ctx, who, g.opt.countRuns, run.LimitError{What: "runs in flight", Limit: g.limits.Runs, Remedy: "wait for some to end, or cancel them", Setting: "runs"})
}

// The store may be missing where there are no limits, so its methods are looked up when they are called.
func (o *Options) countThreads(ctx context.Context, who run.Identity) (int64, error) {
	return o.Counts.CountThreads(ctx, who)
}

func (o *Options) countCrons(ctx context.Context, who run.Identity) (int64, error) {
	return o.Counts.CountCrons(ctx, who)
}

func (o *Options) countRuns(ctx context.Context, who run.Identity) (int64, error) {
	return o.Counts.CountInFlight(ctx, who)
}

// measureEvery is how old the number of an owner's bytes may be: adding them up takes a while.
const measureEvery = time.Minute

// room refuses to store more for an owner who has too much.
func (g *Guard) room(ctx context.Context, who run.Identity) error {
	if g.limits.Bytes <= 0 {
		return nil
	}
	o := g.owner(who)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytesAt.IsZero() || time.Since(o.bytesAt) > measureEvery || o.bytes >= g.limits.Bytes && time.Since(o.bytesAt) > time.Second {
		n, err := g.opt.Counts.StoredBytes(ctx, who)
		if err != nil {
			return err
		}
		o.bytes, o.bytesAt = n, time.Now()
	}
	if o.bytes >= g.limits.Bytes {
		return &run.LimitError{What: "stored bytes", Limit: g.limits.Bytes, Remedy: "delete threads", Setting: "bytes"}
	}
	return nil
}

// mayQueue refuses to let one more run wait on a thread where too many do.
func (g *Guard) mayQueue(ctx context.Context, who run.Identity, thread string) error {
	if g.limits.Queued <= 0 {
		return nil
	}
	g.mu.Lock()
	most := g.queues[thread]
	g.mu.Unlock()
	if most < g.limits.Queued {
		return nil
	}
	n, err := g.countQueue(ctx, who, thread)
	if err == nil && n >= g.limits.Queued {
		err = &run.LimitError{What: "runs waiting on this thread", Limit: g.limits.Queued, Remedy: "wait for some to end, or cancel them", Setting: "queued"}
	}
	return err
}

// queued notes that a run waits on a thread. The first time the store is asked, which knows those from before we started.
func (g *Guard) queued(ctx context.Context, who run.Identity, thread string) {
	if g.limits.Queued <= 0 {
		return
	}
	g.mu.Lock()
	most, known := g.queues[thread]
	if known {
		g.queues[thread] = most + 1
	}
	g.mu.Unlock()
	if !known {
		_, _ = g.countQueue(ctx, who, thread) // asked again at the next
	}
}

// manyQueues is when threads are forgotten, to be counted again when the next run waits on them.
const manyQueues = 10_000

func (g *Guard) countQueue(ctx context.Context, who run.Identity, thread string) (int64, error) {
	n, err := g.opt.Counts.CountQueued(ctx, who, thread)
	if err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queues) >= manyQueues {
		clear(g.queues)
	}
	if g.queues[thread] = n; n == 0 {
		delete(g.queues, thread)
	}
	return n, nil
}

// did writes down that somebody did something.
func (g *Guard) did(ctx context.Context, who run.Identity, action, kind, id string, more ...any) {
	if g.opt.Audit != nil {
		g.opt.Audit.InfoContext(ctx, "audit", append([]any{"owner", who.Owner, "action", action, "kind", kind, "id", id}, more...)...)
	}
}

// Did is for routes that change what the guard does not stand before.
func (g *Guard) Did(ctx context.Context, who run.Identity, action, kind, id string) {
	g.did(ctx, who, action, kind, id)
}

// Connections counts streams and sockets of owners, for the routes.
func (g *Guard) Connections() *admission.Connections {
	limit := g.opt.Limits.Filled().Connections
	return admission.NewConnections(limit, &run.LimitError{What: "streams and sockets open", Limit: limit, Remedy: "close some", Setting: "connections"})
}
