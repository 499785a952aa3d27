package journal

import (
	"context"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
)

// Log is the writing end of one run's journal, held by the worker that has the run's lease. It is safe for
// concurrent use; the order of Append calls is the order of events.
type Log struct {
	j      *Journal
	lease  Lease
	thread string
	tail   *tail

	mu     sync.Mutex
	seq    uint64
	queue  *queue        // gathers while the one before is being written; nil if nothing is queued
	room   chan struct{} // closed and renewed whenever a queue was written; nil if nobody waits
	events int           // in the queue before
	bytes  int           // of those
	failed error
	closed bool

	preparing bool // the queue is with whoever appended much; nothing can be appended behind it
}

// queue is what will be written of a log next.
type queue struct {
	log    *Log
	events []event.Envelope
	data   []byte
	saves  []Save
	weight int    // of saves
	ready  *Group // what was prepared of it; nothing can be added then
	disk   bool
	done   chan struct{} // closed when settled; nil if nobody waits
	err    error         // set before done is closed
}

// Log opens the writing end of a run after its last event, which is at seq. The caller holds the lease, and
// Closes the log.
func (j *Journal) Log(lease Lease, thread string, seq uint64) *Log {
	l := &Log{j: j, lease: lease, thread: thread, seq: seq, tail: j.acquire(lease.Run)}
	l.tail.write(1)
	return l
}

// Batch is a unit of appending: events, what is saved with them in one transaction, and whether Append
// waits until all of it is on disk.
type Batch struct {
	Events  []event.Envelope
	Saves   []Save
	Promise bool
	// Weight is about how many bytes Saves are, where they are many.
	Weight int
	// Loose says that Saves are as tokens are: they survive the death of the process, and the loss of power only where
	// everything does.
	Loose bool
}

// Append queues a batch, and waits for it if it is a promise. It fills Seq, Epoch, Run, Thread, and At where it
// is zero; the rest of each envelope is the caller's. The slice of events is the caller's again when it
// returns.
//
// ctx bounds only the waiting: a batch that was queued is written whatever becomes of ctx.
func (l *Log) Append(ctx context.Context, b Batch) error {
	t, err := l.Enqueue(ctx, b)
	if err != nil || !b.Promise {
		return err
	}
	return t.Wait(ctx)
}

// Ticket is for waiting until a promise is kept.
type Ticket struct{ q *queue }

// Wait returns when the promise is on disk, or cannot be kept.
func (t Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.q.done:
		return t.q.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Enqueue is Append without the wait; the ticket of a batch that is no promise is of no use.
func (l *Log) Enqueue(ctx context.Context, b Batch) (Ticket, error) {
	if err := l.lockWithRoom(ctx); err != nil {
		return Ticket{}, err
	}
	before := 0
	if l.queue != nil {
		before = l.queue.size()
	}
	q, first, err := l.enqueue(b)
	much := err == nil && l.j.preparer != nil && q.size()-before >= muchBytes
	if much {
		l.queue, l.preparing = nil, true
	}
	costly := err == nil && q.size() >= costlyBytes
	l.mu.Unlock()
	if err != nil {
		return Ticket{}, err
	}
	if much {
		l.prepare(q)
	}
	if first || much {
		l.j.markDirty(l)
	}
	if b.Promise || costly {
		l.j.press()
	}
	return Ticket{q}, nil
}

func (l *Log) enqueue(b Batch) (q *queue, first bool, err error) {
	if err := l.usable(); err != nil {
		return nil, false, err
	}
	q = l.queue
	if first = q == nil; first {
		q = l.newQueue()
	}
	if err := q.add(l, b); err != nil {
		return nil, false, err
	}
	l.queue = q
	if b.Promise && q.done == nil {
		q.done = make(chan struct{})
	}
	return q, first, nil
}

// newQueue has room for as much as the last one had to hold: a run keeps its pace for a while, and growing from nothing
// would copy most events more than once.
func (l *Log) newQueue() *queue {
	data := l.j.buffers.grow(nil, l.bytes)
	if data == nil {
		data = make([]byte, 0, l.bytes)
	}
	return &queue{log: l, events: make([]event.Envelope, 0, l.events), data: data}
}

func (l *Log) usable() error {
	if l.failed != nil {
		return l.failed
	}
	if l.closed {
		return ErrClosed
	}
	return nil
}

// lockWithRoom returns with the lock held, when something can be appended or never will.
func (l *Log) lockWithRoom(ctx context.Context) error {
	for {
		l.mu.Lock()
		if l.failed != nil || l.hasRoom() {
			return nil
		}
		if l.room == nil {
			l.room = make(chan struct{})
		}
		room := l.room
		l.mu.Unlock()
		l.j.press()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Log) hasRoom() bool {
	if q := l.queue; q != nil {
		return q.ready == nil && q.size() < l.j.queueBytes()
	}
	return !l.preparing
}

// size is about how many bytes will be written.
func (q *queue) size() int {
	if q.ready != nil {
		return len(q.ready.Chunk.Data)
	}
	return len(q.data) + q.weight
}

// size is that of what a log has queued.
func (l *Log) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.queue == nil {
		return 0
	}
	return l.queue.size()
}

// roomForEvent is what most events take at most.
const roomForEvent = 512

// add encodes the batch into the queue, or changes nothing.
func (q *queue) add(l *Log, b Batch) error {
	mark, n := len(q.data), len(q.events)
	for i := range b.Events {
		env := b.Events[i]
		env.Seq = l.seq + uint64(i) + 1
		if env.At.IsZero() {
			env.At = time.Now()
		}
		env.At = time.UnixMicro(env.At.UnixMicro()).UTC() // what is left of it on disk
		// Run, thread and epoch are the chunk's; they are not repeated on every line.
		env.Run, env.Thread, env.Epoch = "", "", 0
		if l.j != nil {
			q.data = l.j.buffers.grow(q.data, roomForEvent)
		}
		var err error
		if q.data, err = env.AppendJSON(q.data); err != nil {
			q.data, q.events = q.data[:mark], q.events[:n]
			return err
		}
		q.data = append(q.data, '\n')
		env.Run, env.Thread, env.Epoch = l.lease.Run, l.thread, l.lease.Epoch
		q.events = append(q.events, env)
		q.disk = q.disk || env.Event.Promised()
	}
	l.seq += uint64(len(b.Events))
	q.saves = append(q.saves, b.Saves...)
	q.weight += b.Weight
	q.disk = q.disk || b.Promise || len(b.Saves) > 0 && !b.Loose
	return nil
}

// Opening is the beginning of a run's journal as whoever creates the run stores it, together with the run and before
// anybody has a lease. It counts as epoch 1. The events are returned as readers will see them.
func Opening(run, thread string, events ...event.Envelope) (Chunk, []event.Envelope, error) {
	l := &Log{lease: Lease{Run: run, Epoch: 1}, thread: thread}
	q := &queue{}
	if err := q.add(l, Batch{Events: events}); err != nil {
		return Chunk{}, nil, err
	}
	return q.chunk(l), q.events, nil
}

// Opened shows readers an opening that was stored, which saves them a look into the store. The log begins after it, and
// nothing has been appended.
func (l *Log) Opened(events []event.Envelope) {
	l.tail.publish(events, 0, l.j.tailBytes())
}

func (q *queue) chunk(l *Log) Chunk {
	c := Chunk{Run: l.lease.Run, Thread: l.thread, Epoch: l.lease.Epoch, Data: q.data}
	if n := len(q.events); n > 0 {
		c.First, c.Last = q.events[0].Seq, q.events[n-1].Seq
	}
	c.Seal()
	return c
}

func (j *Journal) markDirty(l *Log) {
	j.mu.Lock()
	if j.over {
		j.mu.Unlock()
		if q := l.take(); q != nil {
			l.settle(q, ErrClosed)
		}
		return
	}
	j.dirty = append(j.dirty, l)
	j.mu.Unlock()
	select {
	case j.kick <- struct{}{}:
	default: // a kick is pending; the writer will see this log too
	}
}

// take hands the queue to the writer. What was queued while a write was on its way that has failed since is told so, and not written:
// it stands behind a hole.
func (l *Log) take() *queue {
	l.mu.Lock()
	q, failed := l.queue, l.failed
	l.queue = nil
	if q != nil {
		l.events, l.bytes = len(q.events), min(len(q.data), 1<<largestBuffer)
	}
	l.mu.Unlock()
	if q != nil && failed != nil {
		l.settle(q, failed)
		return nil
	}
	return q
}

// settle tells whoever waits how the write of a queue went. After a failure the log is of no more use: what
// was queued is lost, so what would come after it must not be written either.
func (l *Log) settle(q *queue, err error) {
	l.mu.Lock()
	if err != nil && l.failed == nil {
		l.failed = err
	}
	room := l.room
	l.room = nil
	done := q.done
	q.err = err
	l.mu.Unlock()
	if room != nil {
		close(room)
	}
	if done != nil {
		close(done)
	}
}

// Err returns why the log failed, or nil.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Close gives the log back. What was appended is still written.
func (l *Log) Close() {
	l.mu.Lock()
	closed := l.closed
	l.closed = true
	l.mu.Unlock()
	if !closed {
		l.tail.write(-1)
		l.j.release(l.lease.Run, l.tail)
	}
}
