// Package bus carries hints between the parts of a cluster: a run waits to be claimed, a run is to be
// cancelled, a run's journal has grown.
//
// A message may be lost, doubled or late, and nobody may rely on it: the database is the truth, and whoever
// listens here also looks there now and then. What the bus buys is time, milliseconds in place of seconds.
package bus

import "sync"

// Kind says what a message is about.
type Kind string

const (
	Wake       Kind = "wake"        // a run is waiting for a worker
	Cancel     Kind = "cancel"      // a run was asked to stop
	CancelTask Kind = "cancel_task" // one sub-agent of a run was asked to stop
	Appended   Kind = "appended"    // a run's journal has grown
)

// Message is a hint.
type Message struct {
	Kind   Kind
	Run    string
	Action string // of a Cancel: how
	Task   string // of a CancelTask: whom
	Last   uint64 // of an Appended: the number of the last event
}

// Bus passes messages to all subscribers, the sender's own included.
type Bus interface {
	Publish(Message)
	// Subscribe calls f for each message until stop is called. f must return quickly.
	Subscribe(f func(Message)) (stop func())
}

// Local is a bus within one process. The zero value is ready.
type Local struct {
	mu   sync.Mutex
	next int
	subs map[int]func(Message)
}

var _ Bus = (*Local)(nil)

// Publish calls the subscribers, in no particular order.
func (b *Local) Publish(m Message) {
	b.mu.Lock()
	subs := make([]func(Message), 0, len(b.subs))
	for _, f := range b.subs {
		subs = append(subs, f)
	}
	b.mu.Unlock()
	for _, f := range subs {
		f(m)
	}
}

// Subscribe adds a subscriber.
func (b *Local) Subscribe(f func(Message)) (stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[int]func(Message){}
	}
	id := b.next
	b.next++
	b.subs[id] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, id)
	}
}
