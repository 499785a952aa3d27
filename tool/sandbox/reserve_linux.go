//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"slices"
	"sync"
	"time"
)

// spareFor is how long a launcher waits for an order. Agents that run one command mostly run another soon.
const spareFor = time.Minute

// spares is how many of them wait. Two, because the kernel takes longer to put one into its control group than most commands
// take, and because agents run commands side by side.
const spares = 2

// reserve keeps launchers that wait for the next commands, which then need not wait for them.
type reserve struct {
	filling sync.WaitGroup

	mu     sync.Mutex
	came   *sync.Cond // one that was being made is there, or could not be made
	ready  []spare    // the oldest first
	making int
	closed bool
}

func newReserve() *reserve {
	r := new(reserve)
	r.came = sync.NewCond(&r.mu)
	return r
}

type spare struct {
	cell   *cell
	expiry *time.Timer
}

// take returns a launcher that waits, if there is one of the kind. One that is being made is waited for: it is there sooner than another
// would be.
func (r *reserve) take(foreign bool) *cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.ready) == 0 && r.making > 0 {
		r.came.Wait()
	}
	i := slices.IndexFunc(r.ready, func(s spare) bool { return s.cell.foreign == foreign })
	if i < 0 {
		return nil
	}
	return r.release(i)
}

// release takes a spare out. r.mu is held.
func (r *reserve) release(i int) *cell {
	s := r.ready[i]
	s.expiry.Stop()
	r.ready = slices.Delete(r.ready, i, i+1)
	return s.cell
}

// fill makes what spares are missing, beside all else. One that cannot be made is not missed: the next command says why.
func (r *reserve) fill(start func() (*cell, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.closed && len(r.ready)+r.making < spares {
		r.making++
		r.filling.Go(func() {
			c, err := start()
			r.mu.Lock()
			defer r.mu.Unlock()
			defer r.came.Broadcast()
			r.making--
			if err == nil {
				r.ready = append(r.ready, spare{c, time.AfterFunc(spareFor, func() { r.expire(c) })})
			}
		})
	}
}

// expire lets a spare go that nobody wanted.
func (r *reserve) expire(c *cell) {
	r.mu.Lock()
	i := slices.IndexFunc(r.ready, func(s spare) bool { return s.cell == c })
	if i >= 0 {
		r.release(i)
	}
	r.mu.Unlock()
	if i >= 0 { // and was not taken at the last moment
		_ = c.discard()
	}
}

// close ends the spares and makes no more.
func (r *reserve) close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.filling.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for len(r.ready) > 0 {
		errs = append(errs, r.release(0).discard())
	}
	return errors.Join(errs...)
}
