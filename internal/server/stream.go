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
func (s *Server) waitOn(ctx context.Context, out *stream, bell <-chan struct{}, rd *reader) (done bool) {
	beat := time.NewTimer(s.opt.Heartbeat)
	defer beat.Stop()
	look := time.NewTimer(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-bell:
			return false
		case <-beat.C:
			if out.write([]byte(sse.Heartbeat)) != nil || out.flush() != nil {
				return true
			}
			beat.Reset(s.opt.Heartbeat)
		case <-look.C:
			rd.look()
			return false
		case <-ctx.Done():
			return true
		case <-s.closing:
			return true
		}
	}
}

func (r *reader) look() {
	if r.private != nil {
		r.private.cursor.Look()
		return
	}
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.feed.source.cursor.Look()
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
}

func (s *Server) newStream(w http.ResponseWriter) *stream {
	h := w.Header()
	h.Set("Content-Type", sse.ContentType)
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	return &stream{w: w, rc: http.NewResponseController(w), timeout: s.opt.WriteTimeout}
}

func (s *stream) write(data []byte) error {
	s.begun, s.dirty = true, true
	if err := s.rc.SetWriteDeadline(time.Now().Add(s.timeout)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
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
