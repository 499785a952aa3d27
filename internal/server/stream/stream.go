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
	// Identify says who asks; a reader that it refuses may no longer read.
	Identify func(*http.Request) (run.Identity, error)
	// Closing is closed when the server wants its readers to leave.
	Closing <-chan struct{}
	Log     *slog.Logger
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
)

// Source gives the bytes of a stream; see [feed.Reader].
type Source interface {
	// Poll returns bytes, or a bell where there are none now. After the last it returns io.EOF.
	Poll(ctx context.Context) (data []byte, bell <-chan struct{}, err error)
	// Look makes the next poll ask the store, and reports whether it is worth polling now.
	Look(now time.Time) bool
}

var _ Source = (*feed.Reader)(nil)

// Follow writes a run's frames to the client until the run has ended, the client has gone or the server closes.
// Nothing is written before the first frames are known, so that a bad position can still be answered with
// an error.
func (t *Terms) Follow(w http.ResponseWriter, r *http.Request, rd *feed.Reader) (Ending, error) {
	how, err := t.Play(w, r, rd)
	if how == ServerEnds {
		// A stream that ends well says that its run is over; this one breaks, so that its reader comes back.
		panic(http.ErrAbortHandler)
	}
	return how, err
}

// Play writes what a source gives until it ends.
func (t *Terms) Play(w http.ResponseWriter, r *http.Request, src Source) (Ending, error) {
	ctx := r.Context()
	out := t.newStream(w)
	defer out.timer.Stop()
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
			return RunEnded, t.cut(r, err)
		case len(data) > 0:
			if out.write(data) != nil {
				return ReaderLeft, nil
			}
			continue
		}
		if out.flush() != nil {
			return ReaderLeft, nil
		}
		if over, how := t.waitOn(r, out, bell, src); over {
			return how, nil
		}
	}
}

// waitOn waits for the bell with heartbeats. It reports whether the stream is over, and why.
//
// One timer serves heartbeat, look into the store and look at the reader's rights, and it is left running while frames
// flow: to set timers anew for each wake-up would cost more than writing the frame.
func (t *Terms) waitOn(r *http.Request, out *stream, bell <-chan struct{}, src Source) (over bool, how Ending) {
	for {
		select {
		case <-bell:
			return false, RunEnded
		case now := <-out.timer.C:
			if now.Sub(out.wrote) >= t.Heartbeat {
				if out.write(heartbeat) != nil || out.flush() != nil {
					return true, ReaderLeft
				}
			}
			out.timer.Reset(min(feed.LookEvery, t.Heartbeat, max(time.Millisecond, t.Heartbeat-now.Sub(out.wrote))))
			if now.Sub(out.asked) >= AskAgain {
				out.asked = now
				if _, err := t.Identify(r); err != nil {
					return true, ServerEnds
				}
			}
			if src.Look(now) {
				return false, RunEnded
			}
		case <-r.Context().Done():
			return true, ReaderLeft
		case <-t.Closing:
			return true, ServerEnds
		}
	}
}

// cut ends a stream that cannot be continued: the connection breaks, so that the client notices.
func (t *Terms) cut(r *http.Request, err error) error {
	t.Log.Error("a stream was cut", "path", r.URL.Path, "err", err)
	panic(http.ErrAbortHandler)
}

// stream is the writing side of an event stream.
type stream struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	begun   bool
	dirty   bool
	wrote   time.Time   // when the last write was
	until   time.Time   // the write deadline: at least half of the timeout after wrote
	asked   time.Time   // when the reader was last known to have the right to read
	timer   *time.Timer // see waitOn
}

func (t *Terms) newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	now := time.Now()
	return &stream{
		w: w, rc: http.NewResponseController(w), timeout: t.WriteTimeout,
		wrote: now, asked: now, timer: time.NewTimer(min(feed.LookEvery, t.Heartbeat)),
	}
}

func (s *stream) write(data []byte) error {
	s.begun, s.dirty = true, true
	s.wrote = time.Now()
	if s.until.Sub(s.wrote) < s.timeout/2 { // moving a deadline costs as much as a small write
		s.until = s.wrote.Add(s.timeout)
		if err := s.rc.SetWriteDeadline(s.until); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return err
		}
	}
	_, err := s.w.Write(data)
	return err
}

// flush sends what was written, and the headers if nothing was yet: a client must learn that it is connected.
func (s *stream) flush() error {
	if !s.begun {
		s.begun, s.dirty = true, true
		s.w.WriteHeader(http.StatusOK)
	}
	if !s.dirty {
		return nil
	}
	s.dirty = false
	err := s.rc.Flush()
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}
