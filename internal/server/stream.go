package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/sse"
)

// lookEvery is how often a silent stream asks the store whether another process has taken the run over.
const lookEvery = 2 * time.Second

// streamRun writes a run's frames to the client until the run has ended, the client has gone or the server closes.
// Nothing is written before the first frames are known, so that a bad position can still be answered with
// an error.
func (s *Server) streamRun(w http.ResponseWriter, r *http.Request, key feedKey, project func() wire.Projector, last string) error {
	rd := s.feeds.reader(key, project, last)
	defer rd.close()
	ctx := r.Context()
	out := s.newStream(w)
	defer out.timer.Stop()
	for {
		data, bell, err := rd.poll(ctx)
		switch {
		case err == io.EOF:
			return out.flush()
		case err != nil:
			if !out.begun {
				return err
			}
			return s.cut(r, err)
		case len(data) > 0:
			if err := out.write(data); err != nil {
				return nil // the client is gone or does not read; its cursor lets it resume
			}
			continue
		}
		if err := out.flush(); err != nil {
			return nil
		}
		if done := s.waitOn(ctx, out, bell, rd); done {
			return nil
		}
	}
}

// waitOn waits for the bell with heartbeats. It reports whether the stream is over.
//
// One timer serves both the heartbeat and the look into the store, and it is left running while frames flow: to set
// timers anew for each wake-up would cost more than writing the frame.
func (s *Server) waitOn(ctx context.Context, out *stream, bell <-chan struct{}, rd *reader) (done bool) {
	for {
		select {
		case <-bell:
			return false
		case now := <-out.timer.C:
			if now.Sub(out.wrote) >= s.opt.Heartbeat {
				if out.write([]byte(sse.Heartbeat)) != nil || out.flush() != nil {
					return true
				}
			}
			out.timer.Reset(min(lookEvery, s.opt.Heartbeat, max(time.Millisecond, s.opt.Heartbeat-now.Sub(out.wrote))))
			if rd.look(now) {
				return false
			}
		case <-ctx.Done():
			return true
		case <-s.closing:
			return true
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
	if !errors.Is(err, context.Canceled) && !errors.Is(err, journal.ErrGone) {
		s.log.Error("a stream was cut", "path", r.URL.Path, "err", err)
	}
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
	timer   *time.Timer // see waitOn
}

func (s *Server) newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	return &stream{
		w: w, rc: http.NewResponseController(w), timeout: s.opt.WriteTimeout,
		wrote: time.Now(), timer: time.NewTimer(min(lookEvery, s.opt.Heartbeat)),
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
