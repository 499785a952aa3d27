package agent

import (
	"context"
	"time"
)

// A model says some hundred kilobytes at most. What comes beyond that comes from a provider that does not stop: it is taken slowly,
// so that the runs beside it do not feel it, until the answer reaches one of its limits.
const (
	swiftBytes = 512 << 10
	slowRate   = 512 << 10 // bytes in a second
)

// shortestWait is the shortest wait that is worth a timer.
const shortestWait = 5 * time.Millisecond

// pace makes an answer wait that is longer than a model's.
type pace struct {
	since time.Time // when it became so
}

// hold returns when an answer may have as many bytes as it has, or with the context.
func (p *pace) hold(ctx context.Context, said int) {
	beyond := said - swiftBytes
	if beyond <= 0 {
		return
	}
	if p.since.IsZero() {
		p.since = time.Now()
	}
	wait := time.Until(p.since.Add(time.Duration(beyond) * time.Second / slowRate))
	if wait < shortestWait {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
