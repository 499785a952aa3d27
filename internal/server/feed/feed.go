package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// LookEvery is how often a silent reader asks the store whether another process has taken the run over.
const LookEvery = 2 * time.Second

const (
	// feedBytes is how much of a run's frames is kept for those who follow it now.
	feedBytes = 4 << 20
	// allFeedBytes is how much is kept of all runs together: the more are followed, the less is kept of each, but not
	// less than leastFeedBytes.
	allFeedBytes   = 16 << 20
	leastFeedBytes = 64 << 10
	// soloBytes is how much is kept where there is one reader, who has taken what there is: little, so that a long history
	// passes through memory and is not gathered in it. Whoever joins from before that projects for itself.
	soloBytes = 128 << 10
	// writeAtOnce is about how much is projected before it is written: a run that says much at once would otherwise be in
	// memory several times over.
	writeAtOnce = 64 << 10
)

// Feeds are the projections that have readers now.
type Feeds struct {
	journal *journal.Journal
	keep    int          // bytes of frames of each, at most
	share   atomic.Int64 // what each keeps now; see allFeedBytes
	mu      sync.Mutex
	open    map[Key]*feed
}

// Key names a projection: the dialect's word for itself and its options beside the run.
type Key struct {
	Run     string
	Dialect string
	// Lines makes each frame one line of JSON in place of a server-sent event, for WebSockets.
	Lines bool
}

func (k Key) encode(dst []byte, f *wire.Frame) []byte {
	if k.Lines {
		return append(append(dst, f.Data...), '\n')
	}
	return sse.Append(dst, f.Name, f.Data, f.ID)
}

// New has none open.
func New(j *journal.Journal) *Feeds {
	return &Feeds{journal: j, keep: feedBytes, open: map[Key]*feed{}}
}

// divide says how much each feed keeps, given how many there are. The lock is held.
func (fs *Feeds) divide() {
	fs.share.Store(int64(min(fs.keep, max(leastFeedBytes, allFeedBytes/max(len(fs.open), 1)))))
}

// feed is one projection of one run, shared by all who read it: each event is projected and encoded once,
// however many readers there are. Nobody owns a goroutine for it; whichever reader wakes up first does the
// work for all.
//
// Frames lie side by side in one buffer, so that a reader that is behind writes all it missed at once. The
// buffer is bounded; a reader that wants frames from before its beginning projects for itself until it has
// caught up (see [Reader]).
type feed struct {
	key   Key
	share *atomic.Int64
	refs  atomic.Int32 // changed under Feeds.mu

	mu     sync.Mutex
	source *source
	first  int // number of the first frame in the buffer
	ends   []int
	ids    []string
	buf    []byte
	err    error // why there will be no more: io.EOF after the run's end
	looked time.Time
}

// source turns a journal into frames from its beginning.
type source struct {
	cursor *journal.Cursor
	proj   wire.Projector
	events []event.Envelope // read and not yet projected
	frames []wire.Frame
}

// poll gives the next frames to take, one by one and not for keeps, or returns a bell. It stops after the event with
// which take had enough. Events may have no frames.
func (s *source) poll(ctx context.Context, take func(*wire.Frame) (enough bool)) (bell <-chan struct{}, err error) {
	if len(s.events) == 0 {
		if s.events, bell, err = s.cursor.Poll(ctx); err != nil || bell != nil {
			return bell, err
		}
	}
	for enough := false; len(s.events) > 0 && !enough; s.events = s.events[1:] {
		env := &s.events[0]
		if s.frames, err = s.proj.Project(s.frames[:0], env); err != nil {
			return nil, fmt.Errorf("project event %d of run %s: %w", env.Seq, env.Run, err)
		}
		for i := range s.frames {
			enough = take(&s.frames[i]) || enough
		}
	}
	clear(s.frames) // so that their data can go
	return nil, nil
}

// acquire joins the feed of a projection, or opens it.
func (fs *Feeds) acquire(key Key, project func() wire.Projector) *feed {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f := fs.open[key]
	if f == nil {
		f = &feed{key: key, share: &fs.share, source: fs.source(key.Run, project)}
		fs.open[key] = f
		fs.divide()
	}
	f.refs.Add(1)
	return f
}

func (fs *Feeds) source(run string, project func() wire.Projector) *source {
	p := project()
	if r, ok := p.(wire.Reuser); ok {
		r.Reuse() // poll's frames are not for keeps
	}
	return &source{cursor: fs.journal.Cursor(run, journal.Position{}), proj: p}
}

func (fs *Feeds) release(f *feed) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.refs.Add(-1) == 0 {
		delete(fs.open, f.key)
		fs.divide()
		f.source.cursor.Close()
	}
}

// after returns the encoded frames from number n on, and the number to ask for next. Where there are none it
// returns a bell. early says that n lies before what is kept. If wants is not nil, frames are passed over until the first
// that it wants.
func (f *feed) after(ctx context.Context, n int, wants func(id string) bool) (data []byte, next int, bell <-chan struct{}, early bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n < f.first {
		return nil, n, nil, true, nil
	}
	n = f.pass(n, wants)
	// More than once for a reader that is ahead of the feed: it caught up for itself, or was ahead when it came.
	for n >= f.end() && f.err == nil && bell == nil {
		if bell, err = f.pump(ctx); err != nil {
			return nil, n, nil, false, err
		}
		n = f.pass(n, wants)
	}
	if n < f.end() {
		return f.buf[f.start(n):], f.end(), nil, false, nil
	}
	return nil, n, bell, false, f.err
}

// pass is the number of the first frame from n on that is wanted.
func (f *feed) pass(n int, wants func(id string) bool) int {
	for ; wants != nil && n >= f.first && n < f.end() && !wants(f.ids[n-f.first]); n++ {
	}
	return n
}

func (f *feed) end() int { return f.first + len(f.ends) }

func (f *feed) start(n int) int {
	if n == f.first {
		return 0
	}
	return f.ends[n-f.first-1]
}

func (f *feed) limit() int {
	limit := int(f.share.Load())
	if f.refs.Load() == 1 {
		limit = min(limit, soloBytes)
	}
	return limit
}

// pump projects some of what the journal has at hand. The caller's reader has taken all frames that there are.
func (f *feed) pump(ctx context.Context) (<-chan struct{}, error) {
	for {
		limit := f.limit()
		f.trim(limit)
		had := len(f.buf)
		bell, err := f.source.poll(ctx, func(fr *wire.Frame) bool {
			f.buf = f.key.encode(roomFor(f.buf, fr, limit), fr)
			f.ends = append(f.ends, len(f.buf))
			f.ids = append(f.ids, fr.ID)
			return len(f.buf)-had >= writeAtOnce
		})
		switch {
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			return nil, err // this reader's own trouble, not the feed's
		case err != nil:
			f.err = err
			return nil, nil
		case bell != nil || len(f.buf) > had:
			return bell, nil
		}
	}
}

// roomFor makes a buffer large enough for a frame more, in steps that keep copying it linear: append alone grows a
// large buffer by a quarter at a time. Beyond limit little is held ready.
func roomFor(buf []byte, f *wire.Frame, limit int) []byte {
	need := len(f.Name) + len(f.Data) + len(f.ID) + frameOverhead
	if cap(buf)-len(buf) < need {
		buf = slices.Grow(buf, max(need, min(len(buf), limit-len(buf))))
	}
	return buf
}

// frameOverhead is what a server-sent event has beside its name, data and id.
const frameOverhead = len("event: \ndata: \nid: \n\n")

// trim makes room in a full buffer.
func (f *feed) trim(limit int) {
	if len(f.buf) < limit {
		return
	}
	if f.refs.Load() == 1 {
		// There is but the reader that wants more, and it is done with what there was: the buffer can be used again.
		f.first += len(f.ends)
		if cap(f.buf) > 4*limit { // from when there were more
			f.buf, f.ends, f.ids = nil, nil, nil
			return
		}
		clear(f.ids)
		f.buf, f.ends, f.ids = f.buf[:0], f.ends[:0], f.ids[:0]
		return
	}
	// Others may be behind, and still hold slices of the buffer: the newer half moves to a new one.
	k := 0
	for f.ends[k] < len(f.buf)/2 {
		k++
	}
	cut := f.ends[k]
	f.buf = append(make([]byte, 0, max(limit, len(f.buf)-cut)), f.buf[cut:]...)
	rest := make([]int, 0, len(f.ends))
	for _, e := range f.ends[k+1:] {
		rest = append(rest, e-cut)
	}
	f.ids = append([]string(nil), f.ids[k+1:]...)
	f.ends = rest
	f.first += k + 1
}

// find returns the number of the first frame that a reader wants, if that can be told from what is kept. A reader that goes by the order of
// ids may want a later one still: the feed may be behind it.
func (f *feed) find(at Start) (int, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.ids) - 1; i >= 0; i-- {
		switch {
		case at.Last != "" && f.ids[i] == at.Last, at.After != nil && !at.After(f.ids[i]):
			return f.first + i + 1, true
		}
	}
	// A feed that has all from the beginning is read from there, and what the reader has is passed over: after a restart everybody comes
	// back at once, and nobody should project a run twice, once alone and once for the feed.
	return 0, f.first == 0 && !at.Now
}

// Start is where a reader begins; the zero value is the beginning.
type Start struct {
	// Last is the id of the frame after which to go on; a run that has no such frame is journal.ErrLost.
	Last string
	// After tells by its id whether a frame comes after where the reader stands, for dialects whose ids have
	// an order.
	After func(id string) bool
	// Now skips everything that is there already.
	Now bool
}

func (at Start) isBeginning() bool { return at.Last == "" && at.After == nil && !at.Now }

// Reader is one connection's way through a projection.
type Reader struct {
	feeds   *Feeds
	project func() wire.Projector
	feed    *feed
	next    int // number of the frame to deliver next
	private *source
	from    Start // where to begin
	skips   bool  // that place has not been reached
	found   bool  // the frame before it has passed by in the feed
	passed  int   // frames that the private source has given
	buf     []byte
}

// Reader reads a projection from some place. Close it.
func (fs *Feeds) Reader(key Key, project func() wire.Projector, from Start) *Reader {
	r := &Reader{feeds: fs, project: project, feed: fs.acquire(key, project), from: from}
	if from.isBeginning() {
		return r
	}
	if n, ok := r.feed.find(from); ok {
		r.next, r.skips = n, from.After != nil || n == 0
	} else {
		r.skips = true
		r.private = fs.source(key.Run, project)
	}
	return r
}

// Close lets the projection go, if nobody else reads it.
func (r *Reader) Close() {
	if r.private != nil {
		r.private.cursor.Close()
	}
	r.feeds.release(r.feed)
}

// Poll returns the bytes that are there to be written, or a bell. After the run's end it returns io.EOF. A
// position that the journal does not have is journal.ErrLost.
func (r *Reader) Poll(ctx context.Context) (data []byte, bell <-chan struct{}, err error) {
	for {
		if r.private == nil {
			var wants func(string) bool
			if r.skips {
				wants = r.wants
			}
			data, next, bell, early, err := r.feed.after(ctx, r.next, wants)
			if !early {
				if r.skips && r.from.Last != "" && !r.found && (err == io.EOF || err == nil && bell != nil) {
					return nil, nil, r.lost()
				}
				r.next, r.skips = next, r.skips && len(data) == 0
				return data, bell, err
			}
			r.private, r.passed = r.feeds.source(r.feed.key.Run, r.project), 0
		}
		data, bell, done, err := r.catchUp(ctx)
		if err != nil || len(data) > 0 || bell != nil {
			return data, bell, err
		}
		if done {
			r.private.cursor.Close()
			r.private, r.buf = nil, nil // from now on the feed's buffer is written
		}
	}
}

// wants reports whether a frame of the feed is beyond where the reader stands. It is asked in order, and once for each frame that it does
// not want.
func (r *Reader) wants(id string) bool {
	if r.from.After != nil {
		return r.from.After(id)
	}
	had := r.found
	r.found = had || id == r.from.Last
	return had
}

func (r *Reader) lost() error {
	return fmt.Errorf("no frame %q in run %s: %w", r.from.Last, r.feed.key.Run, journal.ErrLost)
}

// catchUp replays for this reader alone. done says that the shared feed can take over.
func (r *Reader) catchUp(ctx context.Context) (data []byte, bell <-chan struct{}, done bool, err error) {
	r.buf = r.buf[:0]
	bell, err = r.private.poll(ctx, func(fr *wire.Frame) bool {
		r.pass(fr)
		return len(r.buf) >= writeAtOnce
	})
	if r.skips && r.from.Last != "" && (err == io.EOF || err == nil && bell != nil) {
		return nil, nil, false, r.lost()
	}
	if err != nil {
		return nil, nil, false, err
	}
	if bell != nil {
		// At the end of what there is, which is where the feed stands or will stand.
		if r.skips {
			r.skips, r.next = false, r.passed
		}
		return nil, nil, true, nil
	}
	return r.buf, nil, false, nil
}

// pass takes the private source's next frame, if the reader has come to where it wants to be.
func (r *Reader) pass(fr *wire.Frame) {
	if r.skips && r.from.After != nil && r.from.After(fr.ID) {
		r.skips, r.next = false, r.passed
	}
	r.passed++
	switch {
	case r.skips:
		if fr.ID == r.from.Last {
			r.skips, r.next = false, r.passed
		}
	case r.passed > r.next:
		r.buf = r.feed.key.encode(roomFor(r.buf, fr, feedBytes), fr)
		r.next = r.passed
	}
}

// Look makes the next poll ask the store, once for all readers of a feed, and reports whether it did.
func (r *Reader) Look(now time.Time) bool {
	if r.private != nil {
		r.private.cursor.Look()
		return true
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if now.Sub(r.feed.looked) < LookEvery/2 {
		return false
	}
	r.feed.looked = now
	r.feed.source.cursor.Look()
	return true
}
