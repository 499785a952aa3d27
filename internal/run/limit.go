package run

import (
	"context"
	"fmt"
)

// Limits are what one owner may have at once. Zero is the default, which a single person does not meet; negative is no limit.
type Limits struct {
	Runs        int64 `yaml:"runs"`        // in flight, that is running and waiting; default 20,000
	Queued      int64 `yaml:"queued"`      // runs that wait on one thread; default 1,000
	Threads     int64 `yaml:"threads"`     // default 1,000,000
	Crons       int64 `yaml:"crons"`       // default 10,000
	Bytes       int64 `yaml:"bytes"`       // stored, measured once a minute; default none
	Connections int64 `yaml:"connections"` // streams and sockets; default 20,000
}

// Filled is the limits with defaults in place of zeros, and 0 for what has no limit.
func (l Limits) Filled() Limits {
	for _, f := range []struct {
		limit *int64
		usual int64
	}{{&l.Runs, 20_000}, {&l.Queued, 1_000}, {&l.Threads, 1_000_000}, {&l.Crons, 10_000}, {&l.Bytes, 0}, {&l.Connections, 20_000}} {
		switch {
		case *f.limit == 0:
			*f.limit = f.usual
		case *f.limit < 0:
			*f.limit = 0
		}
	}
	return l
}

// LimitError says that an owner has as much of something as one may have.
type LimitError struct {
	What    string // in the plural
	Limit   int64
	Remedy  string // what the owner can do
	Setting string // what the operator can change
}

func (e *LimitError) Unwrap() error { return ErrTooMany }

func (e *LimitError) Error() string {
	return fmt.Sprintf("you have as many %s as one may have, %d; %s, or have limits.%s raised in the server's configuration", e.What, e.Limit, e.Remedy, e.Setting)
}

// Counts is what a store can say of how much an owner has.
type Counts interface {
	CountInFlight(ctx context.Context, who Identity) (int64, error)
	// CountQueued counts the runs that wait on a thread.
	CountQueued(ctx context.Context, who Identity, thread string) (int64, error)
	CountThreads(ctx context.Context, who Identity) (int64, error)
	CountCrons(ctx context.Context, who Identity) (int64, error)
	// StoredBytes is about what all of an owner's threads and items take.
	StoredBytes(ctx context.Context, who Identity) (int64, error)
}
