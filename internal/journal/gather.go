package journal

import "time"

// A write costs about as much for one run as for ten. So the writer has a number of writes to spend at once, and gets one back
// every few milliseconds: whoever writes now and then is written at once, and where many write all the time, a write gathers what
// they have for a moment nobody sees. Nothing that somebody waits for is gathered: a promise, or room in a queue that is full. Nor is
// a queue that has become costly: sharing a write saves little of its cost, and the promise that comes behind it would wait for all of it.
const (
	gatherFor = 4 * time.Millisecond
	atOnce    = 16 // writes that need not gather, after a silence
	// costlyBytes is from where on the bytes of a run's queue cost about as much as a write does.
	costlyBytes = 48 << 10
)

// pace says when the next write may begin. It is the writer's alone, but for hurry.
type pace struct {
	next  time.Time     // when the next write is due
	rest  *time.Timer   // until then
	hurry chan struct{} // one slot: somebody waits
}

func newPace() pace {
	p := pace{rest: time.NewTimer(0), hurry: make(chan struct{}, 1)}
	p.rest.Stop()
	return p
}

// press makes the next write begin at once.
func (p *pace) press() {
	select {
	case p.hurry <- struct{}{}:
	default: // it will
	}
}

// gather returns when a write is due, or somebody waits for it, or all is to stop.
func (p *pace) gather(stop <-chan struct{}) {
	now := time.Now()
	if oldest := now.Add(-atOnce * gatherFor); p.next.Before(oldest) {
		p.next = oldest
	}
	if rest := p.next.Sub(now); rest > 0 {
		p.rest.Reset(rest)
		defer p.rest.Stop()
		select {
		case <-p.rest.C:
		case <-p.hurry:
			p.next = now
		case <-stop:
		}
	}
	p.next = p.next.Add(gatherFor)
}
