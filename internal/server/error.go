package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// statusError is an error with a status of its own.
type statusError struct {
	status int
	field  string
	msg    string
}

func (e *statusError) Error() string { return e.msg }

// failure makes an error for the client with a status.
func failure(status int, msg string) error { return &statusError{status: status, msg: msg} }

// statusOf is the one table from errors to statuses. What it does not know is our fault.
func statusOf(err error) (status int, field string) {
	var s *statusError
	var invalid *run.InvalidError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &s):
		return s.status, s.field
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity, invalid.Field
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, ""
	case errors.Is(err, run.ErrNotFound), errors.Is(err, graph.ErrNoCheckpoint):
		return http.StatusNotFound, ""
	case errors.Is(err, run.ErrExists), errors.Is(err, run.ErrBusy):
		return http.StatusConflict, ""
	case errors.Is(err, graph.ErrNotPending):
		return http.StatusConflict, ""
	case errors.Is(err, journal.ErrLost), errors.Is(err, journal.ErrGone):
		return http.StatusGone, ""
	case errors.Is(err, run.ErrUnavailable), errors.Is(err, journal.ErrClosed):
		return http.StatusServiceUnavailable, ""
	}
	return http.StatusInternalServerError, ""
}

// problem is the JSON form of an error.
type problem struct {
	Error  string `json:"error"`
	Detail string `json:"detail"` // what LangGraph's clients show
	Field  string `json:"field,omitempty"`
}

// fail answers a request with an error. The cause of a 5xx goes to the log and not to the client.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody is there to be told
	}
	status, field := statusOf(err)
	msg := err.Error()
	switch {
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		s.log.Warn("not available", "method", r.Method, "path", r.URL.Path, "err", err)
		msg = run.ErrUnavailable.Error()
	case status >= 500:
		s.log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		msg = "internal error"
	}
	if status == http.StatusNotFound && s.opt.LikeJS {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(msg)) // a client that has gone needs no answer
		return
	}
	s.answer(w, status, problem{Error: http.StatusText(status), Detail: msg, Field: field})
}

// answer writes a JSON body.
func (s *Server) answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		s.log.Error("encode an answer", "err", err)
		status, body = http.StatusInternalServerError, []byte(`{"error":"Internal Server Error","detail":"internal error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
}
