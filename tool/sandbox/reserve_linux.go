//go:build linux && (amd64 || arm64)

package sandbox

import (
	"sync"
	"time"
)

// spareFor is how long a launcher waits for an order. Agents that run one command mostly run another soon.
const spareFor = time.Minute

// reserve keeps one launcher that waits for the next command, which then need not wait for it.
type reserve struct {
	filling sync.WaitGroup

	mu     sync.Mutex
	spare  *cell
	expiry *time.Timer
	full   bool          // there is a spare, or it is being made
	making chan struct{} // closed when one that is being made is there, or could not be made; nil before the first
	closed bool
}

// take returns the launcher that waits, if there is one of the kind. One that is being made is waited for: it is there sooner than another
// would be.
func (r *reserve) take(foreign bool) *cell {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full && r.spare == nil {
		making := r.making
		r.mu.Unlock()
		<-making
		r.mu.Lock()
	}
	if r.spare == nil || r.spare.foreign != foreign {
		return nil
	}
	return r.release()
}

// release takes the spare out. r.mu is held.
func (r *reserve) release() *cell {
	c := r.spare
	r.expiry.Stop()
	r.spare, r.expiry, r.full = nil, nil, false
	return c
}

// fill makes a spare, beside all else. One that cannot be made is not missed: the next command says why.
func (r *reserve) fill(start func() (*cell, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full || r.closed {
		return
	}
	making := make(chan struct{})
	r.full, r.making = true, making
	r.filling.Go(func() {
		c, err := start()
		r.mu.Lock()
		defer r.mu.Unlock()
		defer close(making)
		if err != nil {
			r.full = false
			return
		}
		r.spare, r.expiry = c, time.AfterFunc(spareFor, func() { r.expire(c) })
	})
}

// expire lets a spare go that nobody wanted.
func (r *reserve) expire(c *cell) {
	r.mu.Lock()
	if r.spare != c {
		c = nil // it was taken at the last moment
	} else {
		r.release()
	}
	r.mu.Unlock()
	if c != nil {
		_ = c.discard()
	}
}

// close ends the spare and makes no more.
func (r *reserve) close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.filling.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spare == nil {
		return nil
	}
	return r.release().discard()
}
