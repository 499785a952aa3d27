package journal

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrFenced answers an Append by a worker that no longer holds the run's lease.
	ErrFenced = errors.New("the run's lease is held by another worker")
	// ErrLost answers a position that lies beyond the end of the log, or in a part of it that was lost
	// and written anew. The reader must start over.
	ErrLost = errors.New("the position is not in this log")
	// ErrGone answers a read of a run that does not exist, or no longer.
	ErrGone = errors.New("the run was deleted")
	// ErrCorrupt is wrapped by errors about stored events that cannot be trusted.
	ErrCorrupt = errors.New("the stored journal is damaged")
	// ErrClosed answers an Append to a closed log or journal.
	ErrClosed = errors.New("the journal is closed")
)

// Position is a place in a run's journal: after the event Seq that was written under the lease Epoch. The zero
// Position is the beginning. An Epoch of 0 with a Seq means that the reader does not know it, which gives up
// the check for a lost future but for the end of the log.
type Position struct {
	Epoch int
	Seq   uint64
}

// Lease is the right to write a run's journal.
type Lease struct {
	Run   string
	Owner string // the worker
	Epoch int    // rises with every claim of the run
}

// Chunk is a stretch of a run's events as it is stored.
type Chunk struct {
	Run    string
	Thread string
	Epoch  int
	First  uint64
	Last   uint64
	Sum    uint32 // checksum of Data, bound to the run and the place; see [Chunk.Seal]
	Data   []byte // the events' JSON forms, a line each, without what the chunk says already
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Intact reports whether the chunk is as it was written.
func (c *Chunk) Intact() bool { return c.sum() == c.Sum }

// Seal gives the chunk its checksum. Whoever joins chunks makes sure first that they are intact.
func (c *Chunk) Seal() { c.Sum = c.sum() }

// sum covers the identity of the chunk beside its data, so that intact bytes in a wrong place are found too. It is made of every token.
func (c *Chunk) sum() uint32 {
	var room [128]byte
	head := append(append(room[:0], c.Run...), ' ')
	head = append(strconv.AppendInt(head, int64(c.Epoch), 10), ' ')
	head = append(strconv.AppendUint(head, c.First, 10), ' ')
	head = append(strconv.AppendUint(head, c.Last, 10), '\n')
	return crc32.Update(crc32.Checksum(head, castagnoli), castagnoli, c.Data)
}

// Group is what one run contributes to a write: a chunk, and what is saved together with it.
type Group struct {
	Owner string // with Chunk.Epoch, the lease under which it is written
	Chunk Chunk
	// Saves is plain data that the store knows how to keep; the journal does not look inside.
	Saves []Save
}

// Save is what a store keeps together with events. Those that there are: the [graph.Save]s, and the beginning and the end of a run.
type Save interface{ Stored() }

// Store keeps chunks. One concrete database implements it together with what else its transaction holds.
type Store interface {
	// Append writes each group as a whole, and together those that can be; with sync, it is on disk when Append
	// returns. A group that cannot be written is left out, and refused says why by the group's run: ErrFenced if
	// its lease is not the current one. No two groups are of the same run. What the chunks' data lie in is the caller's
	// again when it returns.
	Append(ctx context.Context, groups []Group, sync bool) (refused map[string]error, err error)
	// Read returns chunks that hold events after seq, in order without holes, up to about limit bytes; ErrGone if
	// there is no such run.
	Read(ctx context.Context, run string, after uint64, limit int) ([]Chunk, error)
}

// Options are the journal's settings; the zero value is sensible.
type Options struct {
	// Disk makes every event survive the loss of power, not only promises: safer by one fsync per
	// commit, and slower by about a third.
	Disk bool
	// TailBytes is how much of a live run is kept in memory for its readers. Default 1 MiB, or less where many are
	// live; see [allBytes].
	TailBytes int
	// QueueBytes is how much of a run may wait to be written before Append blocks. Default 256 KiB, or less as for TailBytes.
	QueueBytes int
	// Poll is how often a follower looks into the store for a run that nobody in this process writes.
	// Default 2 s.
	Poll time.Duration
	// Appended, if set, is told after each write up to where a run's journal is stored, so that others can tell theirs: see
	// [Journal.Appended]. The writer waits for it.
	Appended func(run string, last uint64)
}

const (
	// allBytes is how much the queues of all runs may hold together, and how much their tails: the more runs are live,
	// the less is each one's share, but not less than leastBytes. In memory events take two to three times as much.
	allBytes   = 16 << 20
	leastBytes = 32 << 10
	// queueBytes is how much of one run may wait, however few there are: others wait while it is written.
	queueBytes = 256 << 10
)

// Journal is the log of all runs of a process. Open one, and Close it.
type Journal struct {
	store    Store
	preparer Preparer // the store, if it is one
	opt      Options
	share    atomic.Int64 // of one run; see allBytes
	buffers
	pace

	kick  chan struct{} // one slot: there is something to write
	stop  chan struct{}
	done  chan struct{}
	round uint64 // of writing; the writer's

	mu     sync.Mutex
	dirty  []*Log // logs with something queued, in the order in which they became so
	tails  map[string]*tail
	closed bool
	over   bool // the writer has gone
}

// Open starts a journal on a store.
func Open(store Store, opt Options) *Journal {
	if opt.Poll <= 0 {
		opt.Poll = 2 * time.Second
	}
	j := &Journal{
		store: store, opt: opt,
		kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
		tails: map[string]*tail{}, pace: newPace(),
	}
	j.preparer, _ = store.(Preparer)
	j.divide()
	go j.write()
	return j
}

// Close writes what is queued and stops. Logs that are still open answer ErrClosed from then on.
func (j *Journal) Close() {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		<-j.done
		return
	}
	j.closed = true
	j.mu.Unlock()
	close(j.stop)
	<-j.done
}

// write is the writer goroutine; it belongs to Open and Close.
func (j *Journal) write() {
	defer close(j.done)
	for {
		select {
		case <-j.kick:
			j.gather(j.stop)
			if j.writeOnce() {
				j.press() // what was left behind has waited for its turn
			}
		case <-j.stop:
			for j.writeOnce() {
			}
			j.failDirty(ErrClosed)
			return
		}
	}
}

func (j *Journal) takeDirty() []*Log {
	j.mu.Lock()
	defer j.mu.Unlock()
	dirty := j.dirty
	j.dirty = nil
	return dirty
}

const (
	// lightBytes is up to where a run's queue is in the next write whatever else is.
	lightBytes = 32 << 10
	// writeBytes is about how much of other queues a write holds, so that nobody's token waits long for what others have to write: a
	// queue more at most.
	writeBytes = 256 << 10
)

// take returns the logs of the next write: all that have little to write, and of the others as many as a write holds. more says
// that some are left, whose turn comes next.
func (j *Journal) take() (logs []*Log, more bool) {
	dirty := j.takeDirty()
	room := writeBytes
	logs = dirty[:0]
	for _, l := range dirty {
		if size := l.size(); size >= lightBytes {
			if room <= 0 {
				more = true
				j.markDirty(l)
				continue
			}
			room -= size
		}
		logs = append(logs, l)
	}
	return logs, more
}

// failDirty ends logs that managed to queue something after the last write; markDirty ends those that come later.
func (j *Journal) failDirty(err error) {
	j.mu.Lock()
	j.over = true
	j.mu.Unlock()
	for _, l := range j.takeDirty() {
		if q := l.take(); q != nil {
			l.settle(q, err)
		}
	}
}

// writeOnce writes what is queued in one transaction and makes it visible. more says that it left much behind.
func (j *Journal) writeOnce() (more bool) {
	logs, more := j.take()
	if len(logs) == 0 {
		return more
	}
	queues := make([]*queue, 0, len(logs))
	groups := make([]Group, 0, len(logs))
	sync := j.opt.Disk
	j.round++
	for _, l := range logs {
		if l.tail.round == j.round {
			// Another worker of the same run is in this write, and the store answers by runs. Its turn is next.
			j.markDirty(l)
			continue
		}
		l.tail.round = j.round
		q := l.take()
		if q == nil {
			continue
		}
		sync = sync || q.disk
		queues = append(queues, q)
		groups = append(groups, q.group(l))
	}
	if len(groups) == 0 {
		return more
	}
	// The writes of a run belong to the run, not to any request, so nothing but their own end ends them.
	refused, err := j.store.Append(context.Background(), groups, sync)
	for _, q := range queues {
		failure := err
		if failure == nil {
			failure = refused[q.log.lease.Run]
		}
		if failure == nil {
			q.log.tail.publish(q.events, len(q.data), j.tailBytes())
			j.tell(q)
		}
		q.log.settle(q, failure)
		j.buffers.put(q.data) // the store has it, or nobody will
		q.data = nil
	}
	return more
}

// tell passes on what was written.
func (j *Journal) tell(q *queue) {
	if n := len(q.events); n > 0 && j.opt.Appended != nil {
		j.opt.Appended(q.log.lease.Run, q.events[n-1].Seq)
	}
}

// Appended says that another journal on the same store has written a run's events up to last. Those who follow the run here look for
// them at once; without it they find them by polling. It may be said late, twice or not at all.
func (j *Journal) Appended(run string, last uint64) {
	j.mu.Lock()
	t := j.tails[run]
	j.mu.Unlock()
	if t != nil { // somebody reads it
		t.hear(last)
	}
}

// acquire returns the tail of a run, making it if it is the first to ask. Every acquire needs a release.
func (j *Journal) acquire(run string) *tail {
	j.mu.Lock()
	defer j.mu.Unlock()
	t := j.tails[run]
	if t == nil {
		t = &tail{}
		j.tails[run] = t
		j.divide()
	}
	t.refs++
	return t
}

// release drops a tail that nobody holds any more: a finished run leaves nothing behind but disk.
func (j *Journal) release(run string, t *tail) {
	j.mu.Lock()
	defer j.mu.Unlock()
	t.refs--
	if t.refs == 0 && j.tails[run] == t {
		delete(j.tails, run)
		j.divide()
	}
}

// divide says how much each run may keep in memory, given how many there are. The lock is held.
func (j *Journal) divide() {
	j.share.Store(int64(max(leastBytes, min(1<<20, allBytes/max(len(j.tails), 1)))))
}

// tailBytes is how much of a run is kept in memory.
func (j *Journal) tailBytes() int { return cmp.Or(max(j.opt.TailBytes, 0), int(j.share.Load())) }

// queueBytes is how much of a run may wait.
func (j *Journal) queueBytes() int {
	return cmp.Or(max(j.opt.QueueBytes, 0), min(queueBytes, int(j.share.Load())))
}

// Drop tells the followers of a run that it was deleted. Those that have not read RunEnded get ErrGone.
func (j *Journal) Drop(run string) {
	j.mu.Lock()
	t := j.tails[run]
	delete(j.tails, run)
	j.divide()
	j.mu.Unlock()
	if t != nil {
		t.drop()
	}
}

// Live counts the runs that are held in memory, by writers or readers.
func (j *Journal) Live() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.tails)
}
