package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

const (
	// lookEvery is how often a silent stream asks the store whether another process has taken the run over.
	lookEvery = 2 * time.Second
	// askAgain is how often a stream makes sure that its reader may still read.
	askAgain = time.Minute
)

// ending is why a stream is over.
type ending int

const (
	runEnded   ending = iota // there is nothing more to say
	readerLeft               // the client is gone, or does not read; its cursor lets it resume
	serverEnds               // we close, or the reader may no longer read
)

// streamRun writes a run's frames to the client until the run has ended, the client has gone or the server closes.
// Nothing is written before the first frames are known, so that a bad position can still be answered with
// an error.
func (s *Server) streamRun(w http.ResponseWriter, r *http.Request, key feedKey, project func() wire.Projector, last string) error {
	_, err := s.follow(w, r, key, project, start{last: last})
	return err
}

// follow is streamRun from any place, for those who want to know how it ended.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, key feedKey, project func() wire.Projector, from start) (ending, error) {
	rd := s.feeds.readerFrom(key, project, from)
	defer rd.close()
	how, err := s.play(w, r, rd)
	if how == serverEnds {
		// A stream that ends well says that its run is over; this one breaks, so that its reader comes back.
		panic(http.ErrAbortHandler)
	}
	return how, err
}

// pollable gives the bytes of a stream; see [reader].
type pollable interface {
	// poll returns bytes, or a bell where there are none now. After the last it returns io.EOF.
	poll(ctx context.Context) (data []byte, bell <-chan struct{}, err error)
	// look makes the next poll ask the store, and reports whether it is worth polling now.
	look(now time.Time) bool
}

// play writes what a source gives until it ends.
func (s *Server) play(w http.ResponseWriter, r *http.Request, src pollable) (ending, error) {
	ctx := r.Context()
	out := s.newStream(w)
	defer out.timer.Stop()
	for {
		data, bell, err := src.poll(ctx)
		switch {
		case err == io.EOF, out.begun && isGone(err):
			// What was rolled back or deleted while somebody read it has nothing more to say either.
			_ = out.flush() // if the client has left just now, it has all
			return runEnded, nil
		case err != nil && ctx.Err() != nil:
			return readerLeft, nil
		case err != nil && !out.begun:
			return runEnded, err
		case err != nil:
			return runEnded, s.cut(r, err)
		case len(data) > 0:
			if out.write(data) != nil {
				return readerLeft, nil
			}
			continue
		}
		if out.flush() != nil {
			return readerLeft, nil
		}
		if over, how := s.waitOn(r, out, bell, src); over {
			return how, nil
		}
	}
}

func isGone(err error) bool {
	return errors.Is(err, journal.ErrGone) || errors.Is(err, graph.ErrNoCheckpoint)
}

// waitOn waits for the bell with heartbeats. It reports whether the stream is over, and why.
//
// One timer serves heartbeat, look into the store and look at the reader's rights, and it is left running while frames
// flow: to set timers anew for each wake-up would cost more than writing the frame.
func (s *Server) waitOn(r *http.Request, out *stream, bell <-chan struct{}, src pollable) (over bool, how ending) {
	for {
		select {
		case <-bell:
			return false, runEnded
		case now := <-out.timer.C:
			if now.Sub(out.wrote) >= s.opt.Heartbeat {
				if out.write([]byte(sse.Heartbeat)) != nil || out.flush() != nil {
					return true, readerLeft
				}
			}
			out.timer.Reset(min(lookEvery, s.opt.Heartbeat, max(time.Millisecond, s.opt.Heartbeat-now.Sub(out.wrote))))
			if now.Sub(out.asked) >= askAgain {
				out.asked = now
				if _, err := s.opt.Identify(r); err != nil {
					return true, serverEnds
				}
			}
			if src.look(now) {
				return false, runEnded
			}
		case <-r.Context().Done():
			return true, readerLeft
		case <-s.closing:
			return true, serverEnds
		}
	}
}

// look makes the next poll ask the store, once for all readers of a feed, and reports whether it did.
func (r *reader) look(now time.Time) bool {
	if r.private != nil {
		r.private.cursor.Look()
		return true
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if now.Sub(r.feed.looked) < lookEvery/2 {
		return false
	}
	r.feed.looked = now
	r.feed.source.cursor.Look()
	return true
}

// cut ends a stream that cannot be continued: the connection breaks, so that the client notices.
func (s *Server) cut(r *http.Request, err error) error {
	s.log.Error("a stream was cut", "path", r.URL.Path, "err", err)
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

func (s *Server) newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	now := time.Now()
	return &stream{
		w: w, rc: http.NewResponseController(w), timeout: s.opt.WriteTimeout,
		wrote: now, asked: now, timer: time.NewTimer(min(lookEvery, s.opt.Heartbeat)),
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
