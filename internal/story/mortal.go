package story

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// mortal is a database whose process can die: from then on nothing is written any more, and nobody is told why.
type mortal struct {
	*sqlite.DB
	dead chan struct{} // closed when it died
	once sync.Once
	// last, if set, tells the event that the process does not live to write.
	last atomic.Pointer[func(event string) bool]
	// lives is how many runs are made and follow-ups are finished before it dies; 0: it does not.
	lives atomic.Int32
}

// act is asked before a run is made and before a follow-up is finished, which no event tells of.
func (m *mortal) act() error {
	if m.lives.Load() > 0 && m.lives.Add(-1) == 0 {
		m.die()
	}
	return m.alive()
}

var errDead = errors.New("the process died here")

// die ends the process at once.
func (m *mortal) die() { m.once.Do(func() { close(m.dead) }) }

// dieAt ends the process just before it writes an event of which the function says so, by its JSON form.
func (m *mortal) dieAt(fatal func(event string) bool) { m.last.Store(&fatal) }

func (m *mortal) alive() error {
	select {
	case <-m.dead:
		return errDead
	default:
		return nil
	}
}

func (m *mortal) Append(ctx context.Context, groups []journal.Group, sync bool) (map[string]error, error) {
	if fatal := m.last.Load(); fatal != nil {
		for _, g := range groups {
			for line := range strings.Lines(string(g.Chunk.Data)) {
				if (*fatal)(line) {
					m.die()
				}
			}
		}
	}
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.DB.Append(ctx, groups, sync)
}

func (m *mortal) Claim(ctx context.Context, worker string, lease time.Duration, n int, crashes run.Between) ([]run.Run, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.DB.Claim(ctx, worker, lease, n, crashes)
}

func (m *mortal) Heartbeat(ctx context.Context, worker string, lease time.Duration) (map[string]run.Wish, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.DB.Heartbeat(ctx, worker, lease)
}

func (m *mortal) Release(ctx context.Context, worker, id string, epoch int) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.DB.Release(ctx, worker, id, epoch)
}

func (m *mortal) CreateRun(ctx context.Context, who run.Identity, r run.NewRun) (run.Created, error) {
	if err := m.act(); err != nil {
		return run.Created{}, err
	}
	return m.DB.CreateRun(ctx, who, r)
}

func (m *mortal) ClaimFollowUps(ctx context.Context, c run.FollowUpClaim) ([]run.FollowUp, error) {
	if err := m.alive(); err != nil {
		return nil, err
	}
	return m.DB.ClaimFollowUps(ctx, c)
}

func (m *mortal) FinishFollowUp(ctx context.Context, f run.FollowUp) error {
	if err := m.act(); err != nil {
		return err
	}
	return m.DB.FinishFollowUp(ctx, f)
}

func (m *mortal) PutOffFollowUp(ctx context.Context, f run.FollowUp, interrupted bool) error {
	if err := m.alive(); err != nil {
		return err
	}
	return m.DB.PutOffFollowUp(ctx, f, interrupted)
}
