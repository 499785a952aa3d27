package edge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// statusError is an error with a status of its own.
type statusError struct {
	status int
	field  string
	msg    string
}

func (e *statusError) Error() string { return e.msg }

// Refuse makes an error for the client with a status.
func Refuse(status int, msg string) error { return &statusError{status: status, msg: msg} }

// RefuseField is Refuse for what is wrong with one member, parameter or header, which the message names too.
func RefuseField(status int, field, msg string) error { return &statusError{status, field, msg} }

// NotFound says in a dialect's words what is missing, where the error is that something is. Others pass.
func NotFound(err error, format string, args ...any) error {
	if errors.Is(err, run.ErrNotFound) {
		return Refuse(http.StatusNotFound, fmt.Sprintf(format, args...))
	}
	return err
}

// StatusOf is the one table from errors to statuses. What it does not know is our fault.
func StatusOf(err error) (status int, field string) {
	var s *statusError
	var invalid *run.InvalidError
	var tooLarge *http.MaxBytesError
	var limit *run.LimitError
	switch {
	case errors.As(err, &s):
		return s.status, s.field
	case errors.As(err, &invalid):
		return http.StatusUnprocessableEntity, invalid.Field
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, ""
	case errors.As(err, &limit):
		return http.StatusTooManyRequests, ""
	case errors.Is(err, run.ErrForbidden):
		return http.StatusForbidden, ""
	case errors.Is(err, run.ErrNotFound), errors.Is(err, graph.ErrNoCheckpoint):
		return http.StatusNotFound, ""
	case errors.Is(err, run.ErrExists), errors.Is(err, run.ErrBusy):
		return http.StatusConflict, ""
	case errors.Is(err, graph.ErrNotPending):
		return http.StatusConflict, ""
	case errors.Is(err, journal.ErrLost), errors.Is(err, journal.ErrGone):
		return http.StatusGone, ""
	case errors.Is(err, run.ErrUnavailable), errors.Is(err, journal.ErrClosed), errors.Is(err, journal.ErrCorrupt):
		return http.StatusServiceUnavailable, ""
	}
	return http.StatusInternalServerError, ""
}

// damageOf says to the client what is lost and what to do, where that is why it gets nothing. How it was found is for the log.
func damageOf(err error) (msg string, ok bool) {
	var damage *run.DamageError
	switch {
	case errors.As(err, &damage):
		return damage.Lost + " is damaged; " + damage.Remedy, true
	case errors.Is(err, journal.ErrCorrupt):
		return "some of the run's stored events are damaged; restore the data folder from a backup, or delete the run", true
	}
	return "", false
}

// Problem is the JSON form of an error.
type Problem struct {
	Error  string `json:"error"`
	Detail string `json:"detail"` // what LangGraph's clients show
	Field  string `json:"field,omitempty" doc:"the member, parameter or header that is wrong"`
}

// encode is json.Marshal. What writes itself as plain JSON is not read and copied again.
func encode(v any) ([]byte, error) {
	if o, ok := v.(jsonvalue.Object); ok {
		return o.MarshalJSON()
	}
	return json.Marshal(v)
}

// Answer writes a JSON body. What cannot be written as JSON is an error, and nothing has been written.
func Answer(w http.ResponseWriter, status int, v any) error {
	body, err := encode(v)
	if err != nil {
		return fmt.Errorf("encode an answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone needs no answer
	return nil
}
