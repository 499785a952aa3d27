package journal

import "context"

// A run that has much to write at once, such as the end of an answer of megabytes, must not hold up the tokens of others. A store
// that is a [Preparer] gets such a group before the writer does, from the goroutine of whoever appended it: what it can write and
// work out there need not be done in the one transaction for which everybody waits.

// Preparer is a store that can do most of a group's work ahead of its Append.
type Preparer interface {
	// Prepare returns a group that stores the same and is light, or the group as it was where that cannot be done: then Append says why.
	// Nothing of a group can be seen before its Append, and nothing of it is changed meanwhile.
	Prepare(ctx context.Context, g Group) Group
}

// muchBytes is from where on a batch is prepared.
const muchBytes = 64 << 10

// prepare makes a queue light that nobody else can reach, and gives it back to its log.
func (l *Log) prepare(q *queue) {
	g := Group{Owner: l.lease.Owner, Chunk: q.chunk(l), Saves: q.saves}
	// It belongs to the run as the write does, and not to any request.
	g = l.j.preparer.Prepare(context.Background(), g)
	l.mu.Lock()
	q.ready, q.weight = &g, 0
	l.queue, l.preparing = q, false
	l.mu.Unlock()
}

// group is what is written of a queue.
func (q *queue) group(l *Log) Group {
	if q.ready != nil {
		return *q.ready
	}
	return Group{Owner: l.lease.Owner, Chunk: q.chunk(l), Saves: q.saves}
}
