package protocol2

import (
	"context"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// gaps are the numbers that runs had which were removed since. Clients drop events whose numbers they have seen, so no
// other run may get them. They are remembered as long as the process lives, which is as long as the connections
// through which somebody may have seen them.
type gaps struct {
	mu sync.Mutex
	of map[string][]gap // by thread
}

type gap struct {
	at time.Time
	n  uint64
}

const maxGaps = 100_000

func (g *gaps) add(thread string, at time.Time, n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.of == nil || len(g.of) > maxGaps {
		g.of = map[string][]gap{}
	}
	for i := range g.of[thread] {
		if known := &g.of[thread][i]; known.at.Equal(at) {
			known.n = max(known.n, n)
			return
		}
	}
	g.of[thread] = append(g.of[thread], gap{at, n})
}

// between sums the numbers of removed runs that started after one time and before another.
func (g *gaps) between(thread string, after, before time.Time) (n uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, gap := range g.of[thread] {
		if gap.at.After(after) && gap.at.Before(before) {
			n += gap.n
		}
	}
	return n
}

// Numbers knows which numbers the events of threads have.
type Numbers struct {
	journal *journal.Journal
	states  *state.Reader
	runs    RunFinder
	threads *feed.Threads
	gaps    gaps
	counts  counts
}

// RunFinder finds a run by its id.
type RunFinder interface {
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// NewNumbers counts the events of a journal.
func NewNumbers(j *journal.Journal, states *state.Reader, runs RunFinder, threads *feed.Threads) *Numbers {
	return &Numbers{journal: j, states: states, runs: runs, threads: threads}
}

// Removing is called before a run is deleted, and what it returns after: who follows the thread has seen its numbers,
// which nothing else must get.
func (n *Numbers) Removing(ctx context.Context, who run.Identity, r run.Run) (removed func(), err error) {
	had, err := n.of(ctx, who, r)
	if err != nil && !feed.Gone(err) {
		return nil, err
	}
	return func() { n.gaps.add(r.Thread, r.StartedAt, had) }, nil
}

// counts remembers how many frames ended runs gave, which never changes.
type counts struct {
	mu sync.Mutex
	by map[string]uint64
}

// of counts the events of a run.
func (n *Numbers) of(ctx context.Context, who run.Identity, r run.Run) (uint64, error) {
	if had, ok := n.counts.known(r.ID); ok {
		return had, nil
	}
	p := protocol2.New(protocol2.Options{States: newThreadStates(n.states, n.runs, who, r.Thread), Only: &protocol2.Filter{}})
	for env, err := range n.journal.Read(ctx, r.ID, 0) {
		if err != nil {
			return 0, err
		}
		if _, err := p.Events(nil, &env); err != nil {
			return 0, err
		}
	}
	n.counts.remember(r.ID, p.Seq())
	return p.Seq(), nil
}

func (k *counts) known(run string) (n uint64, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	n, ok = k.by[run]
	return n, ok
}

func (k *counts) remember(run string, n uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.by == nil || len(k.by) > maxGaps {
		k.by = map[string]uint64{}
	}
	k.by[run] = n
}

// through is the number of the thread's last event.
func (n *Numbers) through(ctx context.Context, who run.Identity, thread string) (uint64, error) {
	runs, err := n.threads.Started(ctx, who, thread)
	if err != nil {
		return 0, err
	}
	var sum uint64
	var ran time.Time
	for _, r := range runs {
		if !r.Status.Ended() {
			break
		}
		had, err := n.of(ctx, who, r)
		if err != nil {
			return 0, err
		}
		sum += had + n.gaps.between(thread, ran, r.StartedAt)
		ran = r.StartedAt
	}
	return sum, nil
}
