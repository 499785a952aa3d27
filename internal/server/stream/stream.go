package stream

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// Terms are the terms under which connections last: those of streams here, and of the dialects' sockets.
type Terms struct {
	// Heartbeat is how often a silent stream shows that it lives.
	Heartbeat time.Duration
	// WriteTimeout is how long a reader may refuse to take what is written to it.
	WriteTimeout time.Duration
	// ParkAfter is how long a stream is silent before it is parked; none is, if it is not positive.
	ParkAfter time.Duration
	// Identify says who asks; a reader that it refuses may no longer read. It is asked again while a stream lasts, and of a
	// parked one with a request that has its address and headers, but neither its body nor its context.
	Identify func(*http.Request) (run.Identity, error)
	// Closing is closed when the server wants its readers to leave.
	Closing <-chan struct{}
	Log     *slog.Logger

	lot lot
}

var heartbeat = []byte(sse.Heartbeat)

// AskAgain is how often a connection makes sure that its reader may still read.
const AskAgain = time.Minute

// Ending is why a stream is over.
type Ending int

// The ways to end.
const (
	RunEnded   Ending = iota // there is nothing more to say
	ReaderLeft               // the client is gone, or does not read; its cursor lets it resume
	ServerEnds               // we close, or the reader may no longer read

	broken // it cannot be continued
	silent // it is not over: it can be parked
)

// Source gives the bytes of a stream; see [feed.Reader].
type Source interface {
	// Poll returns bytes, or a bell where there are none now. After the last it returns io.EOF.
	Poll(ctx context.Context) (data []byte, bell <-chan struct{}, err error)
	// Look makes the next poll ask the store, and reports whether it is worth polling now.
	Look(now time.Time) bool
	Close()
}

var _ Source = (*feed.Reader)(nil)

// Follow writes a run's frames to the client until the run has ended, the client has gone or the server closes.
// Nothing is written before the first frames are known, so that a bad position can still be answered with
// an error. It may return while there is more to write: see Parking.
func (t *Terms) Follow(w http.ResponseWriter, r *http.Request, src Source) error {
	_, err := t.play(w, r, src, manner{parks: true, breaks: true})
	return err
}

// Attend is Follow for a reader whose leaving means something: it returns when the stream is over, at once.
func (t *Terms) Attend(w http.ResponseWriter, r *http.Request, src Source) (Ending, error) {
	return t.play(w, r, src, manner{breaks: true})
}

// Play is Follow for what has no end: it says nothing about any run that the server ends it.
func (t *Terms) Play(w http.ResponseWriter, r *http.Request, src Source) error {
	_, err := t.play(w, r, src, manner{parks: true})
	return err
}

// manner is how a stream may go on and end.
type manner struct {
	parks  bool
	breaks bool // when the server ends it: a stream that ends well says that its run is over
}

func (t *Terms) play(w http.ResponseWriter, r *http.Request, src Source, m manner) (Ending, error) {
	owned := true
	defer func() {
		if owned {
			src.Close()
		}
	}()
	out := t.newStream(w, r)
	defer out.timer.Stop()
	out.parks = m.parks && t.ParkAfter > 0 && takesOver(w, r)
	for {
		how, err := t.write(r.Context(), out, src)
		switch {
		case how == silent:
			if t.park(w, r, out, src, m) {
				owned = false
				return how, nil
			}
			out.parks = false
			continue
		case how == broken, how == ServerEnds && m.breaks:
			panic(http.ErrAbortHandler)
		}
		return how, err
	}
}

// write writes what a source gives until it ends, or until the stream can be parked.
func (t *Terms) write(ctx context.Context, out *stream, src Source) (Ending, error) {
	for {
		data, bell, err := src.Poll(ctx)
		switch {
		case err == io.EOF, out.begun && feed.Gone(err):
			// What was rolled back or deleted while somebody read it has nothing more to say either.
			_ = out.flush() // if the client has left just now, it has all
			return RunEnded, nil
		case err != nil && ctx.Err() != nil:
			return ReaderLeft, nil
		case err != nil && !out.begun:
			return RunEnded, err
		case err != nil:
			t.Log.Error("a stream was cut", "path", out.request.URL.Path, "err", err)
			return broken, nil
		case len(data) > 0:
			if out.write(data) != nil {
				return ReaderLeft, nil
			}
			out.said = out.wrote
			continue
		}
		if out.flush() != nil {
			return ReaderLeft, nil
		}
		if over, how := t.waitOn(out, bell, src); over {
			return how, nil
		}
	}
}

// waitOn waits for the bell with heartbeats. It reports whether the stream is over, and why.
//
// One timer serves heartbeat, look into the store and look at the reader's rights, and it is left running while frames
// flow: to set timers anew for each wake-up would cost more than writing the frame.
func (t *Terms) waitOn(out *stream, bell <-chan struct{}, src Source) (over bool, how Ending) {
	for {
		select {
		case <-bell:
			return false, RunEnded
		case now := <-out.timer.C:
			if out.to.Left() {
				return true, ReaderLeft
			}
			if now.Sub(out.wrote) >= t.Heartbeat {
				if out.write(heartbeat) != nil || out.flush() != nil {
					return true, ReaderLeft
				}
			}
			out.timer.Reset(t.nextTick(out, now))
			if now.Sub(out.asked) >= AskAgain {
				out.asked = now
				if _, err := t.Identify(out.request); err != nil {
					return true, ServerEnds
				}
			}
			if out.parks && now.Sub(out.said) >= t.ParkAfter {
				return true, silent
			}
			if src.Look(now) {
				return false, RunEnded
			}
		case <-out.left:
			return true, ReaderLeft
		case <-t.Closing:
			return true, ServerEnds
		}
	}
}

// nextTick is how long a silent stream can be left alone.
func (t *Terms) nextTick(out *stream, now time.Time) time.Duration {
	due := t.Heartbeat - now.Sub(out.wrote)
	if out.parks {
		due = min(due, t.ParkAfter-now.Sub(out.said))
	}
	return min(feed.LookEvery, t.Heartbeat, max(time.Millisecond, due))
}

// sink takes what is written to a client.
type sink interface {
	io.Writer
	// SetWriteDeadline and Flush may be http.ErrNotSupported.
	SetWriteDeadline(time.Time) error
	Flush() error
	// Left reports whether the client is known to have left, for sinks that have no other way to tell.
	Left() bool
}

// answer is the sink of net/http, whose requests tell by their context that the client has left.
type answer struct {
	http.ResponseWriter
	*http.ResponseController
}

func (answer) Left() bool { return false }

// stream is the writing side of an event stream.
type stream struct {
	to      sink
	request *http.Request   // who asks
	left    <-chan struct{} // closed when the client has left; nil if its sink knows
	timeout time.Duration
	begun   bool
	dirty   bool
	parks   bool
	wrote   time.Time   // when the last write was
	said    time.Time   // when the last write was that was no heartbeat
	until   time.Time   // the write deadline: at least half of the timeout after wrote
	asked   time.Time   // when the reader was last known to have the right to read
	timer   *time.Timer // see waitOn
}

func (t *Terms) newStream(w http.ResponseWriter, r *http.Request) *stream {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	now := time.Now()
	first := min(feed.LookEvery, t.Heartbeat)
	if t.ParkAfter > 0 {
		first = min(first, t.ParkAfter)
	}
	return &stream{
		to: answer{w, http.NewResponseController(w)}, request: r, left: r.Context().Done(), timeout: t.WriteTimeout,
		wrote: now, said: now, asked: now, timer: time.NewTimer(first),
	}
}

func (s *stream) write(data []byte) error {
	s.begun, s.dirty = true, true
	s.wrote = time.Now()
	if s.until.Sub(s.wrote) < s.timeout/2 { // moving a deadline costs as much as a small write
		s.until = s.wrote.Add(s.timeout)
		if err := s.to.SetWriteDeadline(s.until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	_, err := s.to.Write(data)
	return err
}

// flush sends what was written, and the headers if nothing was yet: a client must learn that it is connected.
func (s *stream) flush() error {
	if !s.begun {
		s.begun, s.dirty = true, true
		if _, err := s.to.Write(nil); err != nil {
			return err
		}
	}
	if !s.dirty {
		return nil
	}
	s.dirty = false
	err := s.to.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
