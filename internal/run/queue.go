package run

import (
	"context"
	"errors"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
)

// claimAtOnce is how many runs one look at the queue takes. Each look that finds something is a transaction on the disk.
const claimAtOnce = 256

func (e *Engine) wake() {
	select {
	case e.kick <- struct{}{}:
	default:
	}
}

// dispatch takes runs from the queue until the engine stops. It belongs to Open and Close.
func (e *Engine) dispatch() {
	defer e.loops.Done()
	timer := time.NewTimer(e.opt.Poll)
	defer timer.Stop()
	for {
		select {
		case <-e.kick:
		case <-timer.C:
		case <-e.stopping:
			return
		}
		before := time.Now()
		timer.Reset(e.untilNext(before, e.claim()))
	}
}

// claim starts whatever is due and there is room for.
func (e *Engine) claim() error {
	if !e.enter() {
		return nil
	}
	defer e.leave()
	for !e.isDraining() { // else what is given back would be claimed again
		room := e.opt.MaxRuns - e.Active()
		if room <= 0 {
			return nil
		}
		n := min(room, claimAtOnce)
		got, err := e.take(n, Between{0, suspectAfter - 1})
		if err != nil {
			return err
		}
		if got < n {
			return e.claimSuspects()
		}
	}
	return nil
}

// take claims runs and launches them.
func (e *Engine) take(n int, crashes Between) (int, error) {
	runs, err := e.opt.Store.Claim(context.Background(), e.worker, e.opt.Lease, n, crashes)
	if err != nil {
		e.opt.Log.Error("claim runs", "err", err)
		return 0, err
	}
	left := 0
	for _, r := range runs {
		if r.LeftBy != "" || r.HandedOver {
			left++
		}
		e.launch(r)
	}
	if left > 0 {
		e.opt.Log.Info("going on with runs that a process before left", "runs", left)
	}
	return len(runs), nil
}

// untilNext is how long the queue can be left alone after a look at it. What was due then and was not taken waits for
// its thread or for room here, and is not worth looking at again before the wake-up that either gives.
func (e *Engine) untilNext(looked time.Time, err error) time.Duration {
	if err != nil {
		return e.opt.Poll
	}
	at, ok, err := e.opt.Store.NextDue(context.Background(), looked)
	if err != nil || !ok {
		return e.opt.Poll
	}
	return min(max(time.Until(at), time.Millisecond), e.opt.Poll)
}

// keepLeases extends our leases, finds out about cancels and lost leases that nobody told us of, and gives back
// what could not be given back before. It belongs to Open and Close, and outlives the runs.
func (e *Engine) keepLeases() {
	defer e.loops.Done()
	tick := time.NewTicker(e.opt.Lease / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.heartbeat()
		case <-e.drained:
			return
		}
	}
}

func (e *Engine) heartbeat() {
	e.mu.Lock()
	mine := make([]*active, 0, len(e.active))
	for _, a := range e.active {
		if a.begun { // others are not stored yet
			mine = append(mine, a)
		}
	}
	e.mu.Unlock()
	ctx := context.Background()
	held, err := e.opt.Store.Heartbeat(ctx, e.worker, e.opt.Lease)
	if err != nil {
		e.opt.Log.Error("heartbeat", "err", err)
		return
	}
	for _, a := range mine { // those, and not who may have taken their place since
		wish, ok := held[a.id]
		switch {
		case !ok:
			// Harmless if it has just ended: nobody listens to the cancel then.
			a.cancel(journal.ErrFenced)
		case wish.Cancel != NoCancel:
			a.cancel(&cancelled{wish.Cancel})
		}
		for _, task := range wish.Tasks {
			e.cancelTask(a, task)
		}
	}
	if err := e.releaseOrphans(ctx); err != nil {
		e.opt.Log.Error("give back runs", "err", err)
	}
}

// giveBack lets another worker, or this one after a restart, take up a run at once.
func (e *Engine) giveBack(r Run) {
	e.mu.Lock()
	e.orphans = append(e.orphans, r)
	e.mu.Unlock()
	if err := e.releaseOrphans(context.Background()); err != nil {
		e.opt.Log.Error("give back run; will try again", "run", r.ID, "err", err)
	}
}

// giveBackLater gives a run back with the next heartbeat, so that one whose journal cannot be read now is not tried
// again and again in between. While the engine drains there is nothing to wait for.
func (e *Engine) giveBackLater(r Run) {
	if e.isDraining() {
		e.giveBack(r)
		return
	}
	e.mu.Lock()
	e.orphans = append(e.orphans, r)
	e.mu.Unlock()
}

func (e *Engine) releaseOrphans(ctx context.Context) error {
	e.mu.Lock()
	orphans := e.orphans
	e.orphans = nil
	e.mu.Unlock()
	var left []Run
	var errs []error
	for _, r := range orphans {
		err := e.opt.Store.Release(ctx, e.worker, r.ID, r.Epoch)
		if err != nil && !errors.Is(err, journal.ErrFenced) {
			left = append(left, r)
			errs = append(errs, err)
		}
	}
	e.mu.Lock()
	e.orphans = append(e.orphans, left...)
	e.mu.Unlock()
	return errors.Join(errs...)
}
