package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
)

// desk carries out follow-ups. It has one goroutine that claims them and one for each that is being done; a kind has room of
// its own, so that none waits for another. What it has not done when the process ends is found by the next.
type desk struct {
	e      *Engine
	ctx    context.Context // of what is being done
	cancel context.CancelCauseFunc
	kick   chan struct{}
	stop   chan struct{} // no more than what is due now
	gone   chan struct{} // everything is done or given back

	mu       sync.Mutex
	handlers map[string]Handler
	doing    map[string]int // by kind
}

// deskPoll is how often it is looked for what others have left.
const deskPoll = 10 * time.Second

func openDesk(e *Engine) *desk {
	d := &desk{
		e: e, kick: make(chan struct{}, 1), stop: make(chan struct{}), gone: make(chan struct{}),
		handlers: map[string]Handler{}, doing: map[string]int{},
	}
	d.ctx, d.cancel = context.WithCancelCause(context.Background())
	for kind, h := range e.opt.Handlers {
		h.fill()
		d.handlers[kind] = h
	}
	go d.work()
	d.wake()
	return d
}

// Handle has follow-ups of a kind carried out from now on, for those whose handler needs what stands on the engine. Until then
// they wait.
func (e *Engine) Handle(kind string, h Handler) {
	h.fill()
	e.desk.mu.Lock()
	e.desk.handlers[kind] = h
	e.desk.mu.Unlock()
	e.desk.wake()
}

func (d *desk) wake() {
	select {
	case d.kick <- struct{}{}:
	default:
	}
}

// work claims what is due until the desk is closed and nothing is left that can be done now.
func (d *desk) work() {
	defer close(d.gone)
	timer := time.NewTimer(deskPoll)
	defer timer.Stop()
	stop, hastened := d.stop, false
	for {
		select {
		case <-d.kick:
		case <-timer.C:
		case <-stop:
			stop = nil
		}
		looked := time.Now()
		more := false
		if d.ctx.Err() == nil {
			more = d.claim()
		}
		if stop == nil && !more && d.idle() {
			if hastened || d.ctx.Err() != nil {
				return
			}
			hastened = true // only now: whoever was at work may have put his off until its time
			d.hasten()
			d.wake()
		}
		timer.Reset(d.untilNext(looked))
	}
}

func (d *desk) idle() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.doing) == 0
}

// claim begins whatever is due and there is room for. It reports whether there may be more: what was begun, and what there
// was no room for, however soon there is.
func (d *desk) claim() (more bool) {
	d.mu.Lock()
	handlers := maps.Clone(d.handlers)
	d.mu.Unlock()
	for kind, h := range handlers {
		d.mu.Lock()
		room := h.AtOnce - d.doing[kind]
		d.mu.Unlock()
		if room <= 0 {
			more = true
			continue
		}
		// The lease is longer than a try may take, so that it need not be extended.
		c := FollowUpClaim{Worker: d.e.worker, Kind: kind, Lease: h.Timeout + d.e.opt.Lease, Most: room, PerLane: h.PerLane}
		due, err := d.e.opt.Store.ClaimFollowUps(context.Background(), c)
		if err != nil {
			d.e.opt.Log.Error("claim follow-ups of runs", "kind", kind, "err", err)
			continue
		}
		for _, f := range due {
			d.mu.Lock()
			d.doing[kind]++
			d.mu.Unlock()
			go d.do(h, f)
		}
		more = more || len(due) > 0
	}
	return more
}

// untilNext is how long the desk can be left alone. What was due and was not taken waits for room, which whoever leaves
// tells.
func (d *desk) untilNext(looked time.Time) time.Duration {
	d.mu.Lock()
	kinds := slices.Collect(maps.Keys(d.handlers))
	d.mu.Unlock()
	if len(kinds) == 0 {
		return deskPoll
	}
	at, ok, err := d.e.opt.Store.NextFollowUp(context.Background(), kinds, looked)
	if err != nil || !ok {
		return deskPoll
	}
	return min(max(time.Until(at), time.Millisecond), deskPoll)
}

// do makes one try.
func (d *desk) do(h Handler, f FollowUp) {
	defer func() {
		d.mu.Lock()
		if d.doing[f.Kind]--; d.doing[f.Kind] == 0 {
			delete(d.doing, f.Kind)
		}
		d.mu.Unlock()
		d.wake()
	}()
	log := d.e.opt.Log.With("kind", f.Kind, "run", f.Run, "key", f.Key, "try", f.Attempts)
	failed := d.try(h, f)
	store, ctx := d.e.opt.Store, context.Background()
	var err error
	var later NotYet
	switch {
	case failed == nil:
		err = store.FinishFollowUp(ctx, f)
	case errors.As(failed, &later):
		f.NextAt, f.Error = later.Until, ""
		err = store.PutOffFollowUp(ctx, f, true)
	case d.ctx.Err() != nil: // not its fault
		f.NextAt, f.Error = time.Now(), failed.Error()
		err = store.PutOffFollowUp(ctx, f, true)
	default:
		f.NextAt, f.Error, f.Parked = time.Now().Add(h.pause(f.Attempts)), failed.Error(), f.Attempts >= h.Tries
		if f.Parked {
			log.Error("a follow-up of a run failed too often and is not tried again", "err", failed)
		} else if !errors.Is(failed, ErrBusy) { // that passes, and is nobody's fault
			log.Warn("a follow-up of a run failed and will be tried again", "at", f.NextAt, "err", failed)
		}
		err = store.PutOffFollowUp(ctx, f, false)
	}
	if err != nil && !errors.Is(err, journal.ErrFenced) {
		log.Error("note what became of a follow-up; it will be done again", "err", err)
	}
}

func (d *desk) try(h Handler, f FollowUp) (err error) {
	defer func() {
		if p := recover(); p != nil {
			d.e.opt.Log.Error("a follow-up panicked", "kind", f.Kind, "run", f.Run, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(d.ctx, h.Timeout)
	defer cancel()
	return h.Do(ctx, f)
}

// close does what is due while ctx lasts. The rest stays where it is stored.
func (d *desk) close(ctx context.Context) error {
	defer d.cancel(errDrain)
	if ctx.Err() != nil {
		d.cancel(errDrain)
	}
	close(d.stop)
	if ctx.Err() == nil {
		select {
		case <-d.gone:
			return nil
		case <-ctx.Done():
		}
	}
	d.cancel(errDrain)
	d.wake()
	patience := time.NewTimer(handOver)
	defer patience.Stop()
	select {
	case <-d.gone:
		return nil
	case <-patience.C:
		return errors.New("follow-ups of runs do not stop and are left behind; they are done again at the next start")
	}
}

// hasten has what waits for its time done now, of the kinds that want it so.
func (d *desk) hasten() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for kind, h := range d.handlers {
		if !h.Early {
			continue
		}
		if err := d.e.opt.Store.HastenFollowUps(d.ctx, kind); err != nil {
			d.e.opt.Log.Warn("follow-ups that wait are left to the next start", "kind", kind, "err", err)
		}
	}
}
