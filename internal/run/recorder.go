package run

import (
	"context"
	"slices"
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
	asked func() // the input has been read; called at least once, and nil if nobody waits for it

	mu     sync.Mutex // orders ledger and log alike
	ledger *ledger
	sealed bool // only the end may be written now
}

var _ graph.Recorder = (*recorder)(nil)

// Record appends a batch.
func (r *recorder) Record(ctx context.Context, b graph.Batch) error {
	saves := make([]journal.Save, len(b.Save))
	weight, loose := 0, true
	for i, s := range b.Save {
		saves[i] = s
		_, shown := s.(graph.Shown)
		loose = loose && shown
		weight += weigh(s)
	}
	if r.asked != nil && isAsked(b) {
		r.asked()
	}
	err := r.append(ctx, journal.Batch{Events: b.Events, Saves: saves, Weight: weight, Loose: loose, Promise: b.Promise})
	if err == nil && !loose {
		r.saved()
	}
	return err
}

// weigh is about how many bytes a save is.
func weigh(s graph.Save) (n int) {
	switch s := s.(type) {
	case graph.Commit:
		for i := range s.Blobs {
			n += len(s.Blobs[i].Data)
		}
		for i := range s.Done {
			n += weighOutcome(&s.Done[i])
		}
	case graph.Kept:
		n = weighOutcome(&s.Outcome)
	case graph.Shown:
		for i := range s.Pieces {
			n += len(s.Pieces[i].Data)
		}
	}
	return n
}

func weighOutcome(o *graph.Outcome) (n int) {
	for i := range o.Writes {
		n += len(o.Writes[i].Value)
	}
	return n
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
	if r.sealed { // a goroutine that a node left behind
		return journal.Ticket{}, journal.ErrClosed
	}
	b.Events = r.ledger.replacing(b.Events)
	return r.enqueueLocked(ctx, b)
}

func (r *recorder) enqueueLocked(ctx context.Context, b journal.Batch) (journal.Ticket, error) {
	ticket, err := r.log.Enqueue(ctx, b)
	if err != nil {
		return ticket, err
	}
	for i := range b.Events {
		r.ledger.apply(b.Events[i])
	}
	return ticket, nil
}

// seal keeps out whatever nodes have left running. After it, only the end can be written.
func (r *recorder) seal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sealed = true
}

// end writes what was left behind, closes the tasks that are open and writes RunEnded. The recorder must be sealed.
func (r *recorder) end(ctx context.Context, e End, reason string, left journal.Batch, followUps func(End) []FollowUp) (End, error) {
	r.mu.Lock()
	// What turns cost that end only now is not known; the ledger goes on while this is written.
	e.Usage, e.Spent = r.ledger.usage, slices.Clone(r.ledger.spent)
	e.FollowUps = followUps(e)
	events := append(left.Events, r.ledger.closing(event.Status(e.Status), e.Error)...)
	ended := event.RunEnded{Status: event.Status(e.Status), Reason: reason, Error: e.Error, Usage: e.Usage}
	b := journal.Batch{Events: append(events, envelopes(ended)...), Saves: append(left.Saves, e), Weight: left.Weight, Promise: true}
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
