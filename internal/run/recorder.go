package run

import (
	"context"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
)

// recorder is the way from a running graph into its journal. It keeps the ledger, and stops the run when it
// can no longer be written.
type recorder struct {
	log   *journal.Log
	stop  context.CancelCauseFunc
	saved func() // the graph saved something: the run has got further

	mu     sync.Mutex // orders ledger and log alike
	ledger *ledger
}

var _ graph.Recorder = (*recorder)(nil)

// Record appends a batch.
func (r *recorder) Record(ctx context.Context, b graph.Batch) error {
	saves := make([]any, len(b.Save))
	loose := true
	for i, s := range b.Save {
		saves[i] = s
		_, shown := s.(graph.Shown)
		loose = loose && shown
	}
	err := r.append(ctx, journal.Batch{Events: b.Events, Saves: saves, Loose: loose, Promise: b.Promise})
	if err == nil && !loose {
		r.saved()
	}
	return err
}

func (r *recorder) append(ctx context.Context, b journal.Batch) error {
	ticket, err := r.enqueue(ctx, b)
	return r.await(ctx, b, ticket, err)
}

// await waits for a promise, outside of the lock, so that others may queue behind it.
func (r *recorder) await(ctx context.Context, b journal.Batch, ticket journal.Ticket, err error) error {
	if err == nil && b.Promise {
		err = ticket.Wait(ctx)
	}
	if err != nil && r.log.Err() != nil {
		r.stop(err)
	}
	return err
}

func (r *recorder) enqueue(ctx context.Context, b journal.Batch) (journal.Ticket, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.enqueueLocked(ctx, b)
}

func (r *recorder) enqueueLocked(ctx context.Context, b journal.Batch) (journal.Ticket, error) {
	if r.ledger.ended { // a goroutine that a node left behind
		return journal.Ticket{}, journal.ErrClosed
	}
	ticket, err := r.log.Enqueue(ctx, b)
	if err != nil {
		return ticket, err
	}
	for i := range b.Events {
		r.ledger.apply(b.Events[i])
	}
	return ticket, nil
}

// end closes what is open and writes RunEnded with what follows from it; nothing can be recorded after it.
func (r *recorder) end(ctx context.Context, e End, reason string, followUps func(End) []FollowUp) (End, error) {
	r.mu.Lock()
	events := r.ledger.closing(event.Status(e.Status), causeOf(e), e.Error)
	e.Usage = r.ledger.usage
	e.FollowUps = followUps(e)
	ended := event.RunEnded{Status: event.Status(e.Status), Reason: reason, Error: e.Error, Usage: e.Usage}
	b := journal.Batch{Events: append(events, envelopes(ended)...), Saves: []any{e}, Promise: true}
	// Under the same lock: what a node left running could open something else in between.
	ticket, err := r.enqueueLocked(ctx, b)
	r.mu.Unlock()
	return e, r.await(ctx, b, ticket, err)
}

// envelopes wraps events of the run as a whole.
func envelopes(events ...event.Event) []event.Envelope {
	out := make([]event.Envelope, len(events))
	for i, e := range events {
		out[i].Event = e
	}
	return out
}
