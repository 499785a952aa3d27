package journal

import (
	"sync"

	"github.com/tributary-ai/tributary/event"
)

// tail is the newest part of a run's journal in memory, for the readers on this node. It exists while the
// run has a writer or a reader here.
type tail struct {
	refs  int    // guarded by Journal.mu
	round uint64 // the writer's: of the last write that had something of this run

	mu      sync.Mutex
	writers int         // logs that are open
	batches []tailBatch // consecutive; events are never changed once published
	bytes   int
	heard   uint64        // up to where others have written, as they said
	bell    chan struct{} // closed when something was published; nil if nobody waits
	gone    bool
}

type tailBatch struct {
	events []event.Envelope
	bytes  int // of their encoded form, as a measure
}

func (b tailBatch) first() uint64 { return b.events[0].Seq }
func (b tailBatch) last() uint64  { return b.events[len(b.events)-1].Seq }

// publish makes durable events visible and trims the tail to about limit bytes.
func (t *tail) publish(events []event.Envelope, bytes, limit int) {
	if len(events) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.batches); n > 0 && t.batches[n-1].last()+1 != events[0].Seq {
		// Another worker wrote in between: what is held here is not the end any more.
		t.batches, t.bytes = nil, 0
	}
	t.batches = append(t.batches, tailBatch{events, bytes})
	t.bytes += bytes
	drop := 0
	for t.bytes > limit && drop < len(t.batches)-1 {
		t.bytes -= t.batches[drop].bytes
		drop++
	}
	if drop > 0 {
		clear(t.batches[:drop])
		t.batches = t.batches[drop:]
	}
	t.ring()
}

func (t *tail) ring() {
	if t.bell != nil {
		close(t.bell)
		t.bell = nil
	}
}

// hear notes that others have written up to a number.
func (t *tail) hear(last uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.batches); n > 0 && t.batches[n-1].last() >= last {
		return // it was us
	}
	if last > t.heard {
		t.heard = last
		t.ring()
	}
}

func (t *tail) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.gone = true
	t.ring()
}

// view is what a tail can say to a reader at some position.
type view struct {
	events []event.Envelope // the next, without a hole, if the tail has them; perhaps not all of them
	bell   <-chan struct{}  // announces more, where there are none
	end    bool             // the reader is at the end of what this process has written
	live   bool             // this process may be writing more
	gone   bool
}

// after tells what there is after seq, one batch at a time: what was published is never changed, so that readers share
// it, and nothing is copied.
func (t *tail) after(seq uint64) view {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := len(t.batches) - 1; i >= 0; i-- {
		b := t.batches[i]
		if b.first() > seq+1 {
			continue
		}
		if b.last() <= seq {
			break
		}
		return view{events: b.events[seq+1-b.first():]}
	}
	if t.bell == nil {
		t.bell = make(chan struct{})
	}
	n := len(t.batches)
	return view{bell: t.bell, end: n > 0 && t.batches[n-1].last() == seq && t.heard <= seq, live: t.writers > 0, gone: t.gone}
}

// write notes that a log was opened (1) or closed (-1).
func (t *tail) write(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writers += n
}

// at returns the event at seq, if the tail has it.
func (t *tail) at(seq uint64) (event.Envelope, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range t.batches {
		if b.first() <= seq && seq <= b.last() {
			return b.events[seq-b.first()], true
		}
	}
	return event.Envelope{}, false
}

// last returns the newest event, if the tail has any.
func (t *tail) last() (event.Envelope, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.batches)
	if n == 0 {
		return event.Envelope{}, false
	}
	events := t.batches[n-1].events
	return events[len(events)-1], true
}
