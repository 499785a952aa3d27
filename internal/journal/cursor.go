package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/event"
)

// readBytes is how much of a journal is read from the store at once.
const readBytes = 256 << 10

// shortestLine is the least that an event takes.
const shortestLine = len(`{"seq":1,"at":0,"kind":"a","data":{}}` + "\n")

// Cursor reads a run's journal from a position. It holds nothing but that position and, while it lives, the
// run's tail. It belongs to one goroutine; Close it.
type Cursor struct {
	j       *Journal
	run     string
	pos     Position
	tail    *tail
	checked bool             // the position was found to be in the log
	ended   bool             // RunEnded was delivered
	look    bool             // ask the store at the next Poll
	buf     []event.Envelope // of what was read from the store
}

// Cursor starts reading after a position. That the reader may see the run is the caller's business.
func (j *Journal) Cursor(run string, after Position) *Cursor {
	return &Cursor{j: j, run: run, pos: after, tail: j.acquire(run), checked: after.Seq == 0}
}

// AtEnd is a Cursor at the end of what this process has written of a run, for those who wait for its end and need nothing of what came
// before. Of a run that nobody here writes it is at the beginning.
func (j *Journal) AtEnd(run string) *Cursor {
	c := j.Cursor(run, Position{})
	if last, ok := c.tail.last(); ok {
		c.pos = Position{last.Epoch, last.Seq}
		_, c.ended = last.Event.(event.RunEnded)
	}
	return c
}

// Close gives the cursor back.
func (c *Cursor) Close() {
	if c.tail != nil {
		c.j.release(c.run, c.tail)
		c.tail = nil
	}
}

// Next waits until there are events after the cursor, and returns some that are at hand: at least one. After
// RunEnded it returns io.EOF. The slice is valid until the next call; it and the events are shared and read-only.
func (c *Cursor) Next(ctx context.Context) ([]event.Envelope, error) {
	for {
		events, bell, err := c.Poll(ctx)
		if err != nil || len(events) > 0 {
			return events, err
		}
		if err := c.wait(ctx, bell); err != nil {
			return nil, err
		}
	}
}

// Poll is Next without waiting: where nothing is at hand it returns no events, and a bell that is rung (closed)
// when that may have changed. It may also ring for nothing, and a run that another process writes does
// not ring it unless somebody says so ([Journal.Appended]); Next therefore does a [Cursor.Look] every Options.Poll, and so should others.
func (c *Cursor) Poll(ctx context.Context) (events []event.Envelope, bell <-chan struct{}, err error) {
	if !c.checked {
		if err := c.check(ctx); err != nil {
			return nil, nil, err
		}
		c.checked = true
	}
	if c.ended {
		return nil, nil, io.EOF
	}
	v := c.tail.after(c.pos.Seq)
	if v.events == nil {
		// At the end of what this process wrote there is nothing newer in the store, unless another
		// process has taken the run over; that is looked into only now and then.
		if v.end && !c.look {
			c.rest()
			return nil, v.bell, nil
		}
		c.look = false
		v.events, err = c.j.read(ctx, c.run, c.pos.Seq, readBytes, c.buf[:0])
		if errors.Is(err, ErrGone) && v.live && !v.gone {
			// The write that ends and removes a run is followed by its publication, and that by Drop.
			err = nil
		}
		if err != nil {
			return nil, nil, err
		}
		c.buf = v.events
		if len(v.events) == 0 {
			if v.gone {
				return nil, nil, fmt.Errorf("read run %s after %d: %w", c.run, c.pos.Seq, ErrGone)
			}
			c.rest()
			return nil, v.bell, nil
		}
	}
	last := v.events[len(v.events)-1]
	c.pos = Position{last.Epoch, last.Seq}
	_, c.ended = last.Event.(event.RunEnded)
	return v.events, nil, nil
}

// rest lets go of a large buffer: a cursor that waits holds nothing but its position.
func (c *Cursor) rest() {
	if cap(c.buf) > 64 {
		c.buf = nil
	}
}

// Look makes the next Poll ask the store even if this process believes that it has written the last event.
func (c *Cursor) Look() { c.look = true }

func (c *Cursor) wait(ctx context.Context, bell <-chan struct{}) error {
	poll := time.NewTimer(c.j.opt.Poll)
	defer poll.Stop()
	select {
	case <-bell:
	case <-poll.C:
		c.Look()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// check makes sure that the event the position speaks of is the one in the log.
func (c *Cursor) check(ctx context.Context) error {
	at, ok := c.tail.at(c.pos.Seq)
	if !ok {
		events, err := c.j.read(ctx, c.run, c.pos.Seq-1, 1, nil) // one chunk: what follows is read when it is asked for
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return fmt.Errorf("run %s ends before %d: %w", c.run, c.pos.Seq, ErrLost)
		}
		at = events[0]
	}
	if c.pos.Epoch != 0 && at.Epoch != c.pos.Epoch {
		return fmt.Errorf("run %s has event %d of epoch %d, not %d: %w", c.run, c.pos.Seq, at.Epoch, c.pos.Epoch, ErrLost)
	}
	_, c.ended = at.Event.(event.RunEnded)
	return nil
}

// Follow yields the events of a run after a position until RunEnded; an error is the last thing it yields.
// Breaking out of the loop stops the reading and nothing else.
func (j *Journal) Follow(ctx context.Context, run string, after Position) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		c := j.Cursor(run, after)
		defer c.Close()
		for {
			events, err := c.Next(ctx)
			if err == io.EOF {
				return
			}
			if err != nil {
				yield(event.Envelope{}, err)
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
		}
	}
}

// Read yields the events of a run that are durable now, after a position.
func (j *Journal) Read(ctx context.Context, run string, after uint64) iter.Seq2[event.Envelope, error] {
	return func(yield func(event.Envelope, error) bool) {
		for {
			events, err := j.read(ctx, run, after, readBytes, nil)
			if err != nil {
				yield(event.Envelope{}, err)
				return
			}
			if len(events) == 0 {
				return
			}
			for _, e := range events {
				if !yield(e, nil) {
					return
				}
			}
			after = events[len(events)-1].Seq
		}
	}
}

// Last is the number of the last event that is stored of a run, whether or not what is stored can be read.
func (j *Journal) Last(ctx context.Context, run string) (uint64, error) {
	var last uint64
	for {
		chunks, err := j.store.Read(ctx, run, last, readBytes)
		if err != nil {
			return last, fmt.Errorf("read run %s after %d: %w", run, last, err)
		}
		before := last
		for i := range chunks {
			last = max(last, chunks[i].Last)
		}
		if last == before {
			return last, nil
		}
	}
}

// read decodes a stretch of the store after seq into dst, of about so many bytes. It never skips: a hole or a broken chunk is an error.
func (j *Journal) read(ctx context.Context, run string, after uint64, limit int, dst []event.Envelope) ([]event.Envelope, error) {
	chunks, err := j.store.Read(ctx, run, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read run %s after %d: %w", run, after, err)
	}
	next := after + 1
	for i := range chunks {
		if dst, next, err = chunks[i].decode(dst, next); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// decode appends the chunk's events from number next on.
func (c *Chunk) decode(dst []event.Envelope, next uint64) ([]event.Envelope, uint64, error) {
	damaged := func(what string) error {
		return fmt.Errorf("run %s, events %d to %d: %s: %w", c.Run, c.First, c.Last, what, ErrCorrupt)
	}
	if !c.Intact() {
		return nil, 0, damaged("the checksum does not match")
	}
	if c.First > next {
		return nil, 0, damaged(fmt.Sprintf("event %d is missing before them", next))
	}
	if from := max(c.First, next); from <= c.Last {
		dst = slices.Grow(dst, int(min(c.Last-from+1, uint64(len(c.Data)/shortestLine))))
	}
	rest := c.Data
	var lines event.Decoder
	for seq := c.First; seq <= c.Last; seq++ {
		line, tail, ok := bytes.Cut(rest, []byte{'\n'})
		if !ok {
			return nil, 0, damaged("the chunk is cut off")
		}
		rest = tail
		if seq < next {
			continue
		}
		var env event.Envelope
		if err := lines.Decode(line, &env); err != nil {
			return nil, 0, damaged(err.Error())
		}
		if env.Seq != seq {
			return nil, 0, damaged(fmt.Sprintf("found event %d where %d belongs", env.Seq, seq))
		}
		env.Run, env.Thread, env.Epoch = c.Run, c.Thread, c.Epoch
		dst = append(dst, env)
		next = seq + 1
	}
	return dst, next, nil
}
