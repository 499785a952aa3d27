package agent

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/tributary-ai/tributary/model"
)

// Policy says what is done about a model that fails. The zero value is a good default.
type Policy struct {
	// First bounds the wait for the first part of an answer, Idle that for the next one. Providers have stricter
	// limits of their own; these are a net for models that have none. Zero means ten and five minutes, negative
	// no limit.
	First, Idle time.Duration
	// Tries is how often one model is called before the next one is; zero means 3.
	Tries int
	// Backoff is the longest wait after a model's first failure; it doubles with each further one. Zero means one
	// second. Half of each wait is left to chance, so that runs that failed together do not return together.
	Backoff time.Duration
	// MaxWait bounds every wait; zero means one minute. A provider that asks for more time than this is not
	// waited for: the next model is asked, or the call fails.
	MaxWait time.Duration
	// Limits bound an answer. One that passes them is not tried again.
	Limits model.Limits
}

func (p Policy) withDefaults() Policy {
	fill := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	fill(&p.First, 10*time.Minute)
	fill(&p.Idle, 5*time.Minute)
	fill(&p.Backoff, time.Second)
	fill(&p.MaxWait, time.Minute)
	if p.Tries <= 0 {
		p.Tries = 3
	}
	return p
}

// again says whether a model is tried again after its n-th failure, and after which wait.
func (p Policy) again(n int, err *model.Error) (wait time.Duration, ok bool) {
	if !err.Class.Retryable() || n >= p.Tries || err.After > p.MaxWait {
		return 0, false
	}
	if err.Class == model.Unfit {
		return 0, true // the model is there, and waiting makes it no wiser
	}
	longest := p.MaxWait
	if n < 32 && p.Backoff < p.MaxWait>>(n-1) { // otherwise doubling would pass MaxWait, or overflow
		longest = p.Backoff << (n - 1)
	}
	wait = longest/2 + rand.N(longest/2+1)
	return max(wait, err.After), true
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
