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

// Numbers knows which numbers the events of threads have.
type Numbers struct {
	journal *journal.Journal
	states  *state.Reader
	runs    Gapped
	threads *feed.Threads
	counts  counts
}

// RunFinder finds a run by its id.
type RunFinder interface {
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// Gapped is where numbers are kept that belonged to runs which were removed.
type Gapped interface {
	RunFinder
	NoteGap(ctx context.Context, who run.Identity, thread string, g run.Gap) error
	Gaps(ctx context.Context, who run.Identity, thread string) ([]run.Gap, error)
}

// between sums the numbers of removed runs that started after one time and before another. A run that is still there began at one of
// these times, so that what is noted before it is removed does not count yet.
func between(gaps []run.Gap, after, before time.Time) (n uint64) {
	for _, gap := range gaps {
		if gap.At.After(after) && gap.At.Before(before) {
			n += gap.Count
		}
	}
	return n
}

// NewNumbers counts the events of a journal.
func NewNumbers(j *journal.Journal, states *state.Reader, runs Gapped, threads *feed.Threads) *Numbers {
	return &Numbers{journal: j, states: states, runs: runs, threads: threads}
}

// Removing is called before a run is deleted: who follows the thread has seen its numbers, which nothing else must get.
func (n *Numbers) Removing(ctx context.Context, who run.Identity, r run.Run) error {
	had, err := n.of(ctx, who, r)
	if err != nil && !feed.Gone(err) {
		return err
	}
	if had == 0 {
		return nil
	}
	return n.runs.NoteGap(ctx, who, r.Thread, run.Gap{At: r.StartedAt, Count: had})
}

// mostCounts is how many runs are remembered.
const mostCounts = 100_000

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
	if k.by == nil || len(k.by) > mostCounts {
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
	gaps, err := n.runs.Gaps(ctx, who, thread)
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
		sum += had + between(gaps, ran, r.StartedAt)
		ran = r.StartedAt
	}
	return sum, nil
}
