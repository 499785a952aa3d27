package tributary

import (
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/model"
)

// Retry says what is done about models that fail. A field that is zero means the default that stands beside it.
//
// Only failures that may pass are tried again: a rate limit, a server that is overloaded or failing, a connection that
// breaks, an answer that stops arriving or that cannot be read. A key, a quota, a request or a model that is wrong
// stays wrong. A provider that says how long to wait is waited for, up to MaxWait.
type Retry struct {
	// Tries is how often one model is called before the next one is: 3.
	Tries int `yaml:"tries"`
	// Backoff is the longest wait after a model's first failure: 1s. It doubles with each further one, and half of each
	// wait is left to chance.
	Backoff time.Duration `yaml:"backoff"`
	// MaxWait bounds every wait: 1m. A provider that asks for more is not waited for.
	MaxWait time.Duration `yaml:"max_wait"`

	// FirstTimeout bounds the wait for the first part of an answer: 10m. IdleTimeout bounds the wait for its next part:
	// 5m. Negative means no limit. Models of package model/registry have limits of their own, which see bytes and not
	// only parts and are therefore stricter.
	FirstTimeout time.Duration `yaml:"first_timeout"`
	IdleTimeout  time.Duration `yaml:"idle_timeout"`

	// BreakerFailures is in how many threads calls of a model must fail in a row before it is left alone: 5. Failures
	// within a second count as one, and so do those of one thread. Negative means that no model ever is left alone.
	// BreakerRest is for how long it is: 30s. Then one call finds out whether it is back. Where no other model is at
	// hand, calls wait for that, up to MaxWait.
	BreakerFailures int           `yaml:"breaker_failures"`
	BreakerRest     time.Duration `yaml:"breaker_rest"`
}

// OptionError says which setting is wrong, by the path of its field.
type OptionError struct {
	Field   string // "Retry.Tries"
	Problem string
}

func (e *OptionError) Error() string { return "option " + e.Field + ": " + e.Problem }

// The bounds of what can be meant; beyond them somebody has mistaken the unit.
const (
	maxTries    = 100
	shortest    = time.Millisecond
	longestWait = 24 * time.Hour
)

// Validate returns an [*OptionError] for a value that cannot be meant.
func (r Retry) Validate() error {
	bad := func(field, format string, args ...any) error {
		return &OptionError{Field: "Retry." + field, Problem: fmt.Sprintf(format, args...)}
	}
	if r.Tries < 0 || r.Tries > maxTries {
		return bad("Tries", "must be between 1 and %d, or 0 for the default, not %d", maxTries, r.Tries)
	}
	if r.BreakerFailures > 1_000_000 {
		return bad("BreakerFailures", "must be at most 1000000, not %d", r.BreakerFailures)
	}
	for _, d := range []struct {
		field    string
		value    time.Duration
		negative bool // may be, for no limit
	}{
		{"Backoff", r.Backoff, false}, {"MaxWait", r.MaxWait, false}, {"BreakerRest", r.BreakerRest, false},
		{"FirstTimeout", r.FirstTimeout, true}, {"IdleTimeout", r.IdleTimeout, true},
	} {
		switch {
		case d.value < 0 && !d.negative:
			return bad(d.field, "must not be negative, but is %v", d.value)
		case d.value > 0 && d.value < shortest:
			return bad(d.field, "%v is too short; give a unit, as in 30s", d.value)
		case d.value > longestWait:
			return bad(d.field, "%v is longer than a day", d.value)
		}
	}
	if r.MaxWait > 0 && r.Backoff > r.MaxWait {
		return bad("Backoff", "%v is longer than MaxWait, %v", r.Backoff, r.MaxWait)
	}
	return nil
}

// policy is what an agent is told.
func (r Retry) policy(answers model.Limits) agent.Policy {
	return agent.Policy{First: r.FirstTimeout, Idle: r.IdleTimeout, Tries: r.Tries, Backoff: r.Backoff, MaxWait: r.MaxWait, Limits: answers}
}

// breakers are those of all models of a process; nil for none.
func (r Retry) breakers() *agent.Breakers {
	if r.BreakerFailures < 0 {
		return nil
	}
	return &agent.Breakers{Failures: r.BreakerFailures, Rest: r.BreakerRest}
}
