package tributary

import (
	"errors"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
)

// What an error of a Runtime's methods is, for errors.Is. What is wrong with a request is an [*InvalidError]; any other
// error is the runtime's own fault, or its disk's.
var (
	// ErrNotFound: there is no such thing, or it belongs to somebody else.
	ErrNotFound = run.ErrNotFound
	// ErrExists: something with that id is there already.
	ErrExists = run.ErrExists
	// ErrBusy: a run is in flight on the thread, and the call does not wait for it.
	ErrBusy = run.ErrBusy
	// ErrTooMany: the owner has as many of something as one may have.
	ErrTooMany = run.ErrTooMany
	// ErrNotPending: an answer answers nothing, since the question has its answer or was never asked.
	ErrNotPending = graph.ErrNotPending
	// ErrNotListening: nobody of a run hears what is said to it, or not any more.
	ErrNotListening = graph.ErrNobodyListens
	// ErrLost: a position lies in a part of the log that was lost with the power, or beyond its end. Start over.
	ErrLost = journal.ErrLost
	// ErrForbidden: the request wants something that the settings do not allow.
	ErrForbidden = run.ErrForbidden
	// ErrUnavailable: it cannot be done now, and may be later: the disk is full, or what is stored is damaged.
	ErrUnavailable = run.ErrUnavailable
	// ErrClosed: the runtime was closed.
	ErrClosed = errors.New("the runtime is closed")
)

// InvalidError says which part of a request is wrong, and why. Field is what the HTTP interface calls it, as in
// "thread_id" or "config.configurable.model_name". A [Builder] may return one for a setting that it cannot use.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// as is an error with another word for what it is.
type as struct{ err, is error }

func (e *as) Error() string   { return e.err.Error() }
func (e *as) Unwrap() []error { return []error{e.is, e.err} }

// told says in this package's words what an error of the parts is. It is the only place where they are translated.
func (r *Runtime) told(err error) error {
	if err == nil {
		return nil
	}
	var invalid *run.InvalidError
	var unasked *run.NotAskedError
	var edit *event.Error
	switch {
	case r.over.Err() != nil, r.ending.Load() && errors.Is(err, run.ErrUnavailable), errors.Is(err, journal.ErrClosed):
		return &as{err, ErrClosed}
	case errors.As(err, &invalid):
		return &as{err, &InvalidError{invalid.Field, invalid.Reason}}
	case errors.As(err, &unasked):
		return &as{err, ErrNotPending}
	case errors.Is(err, graph.ErrNoCheckpoint), errors.Is(err, journal.ErrGone):
		return &as{err, ErrNotFound}
	case errors.As(err, &edit):
		switch edit.Code {
		case graph.CodeUnknownNode:
			return &as{err, &InvalidError{"as_node", edit.Message}}
		case graph.CodeInvalidInput, graph.CodeInvalidUpdate:
			return &as{err, &InvalidError{"values", edit.Message}}
		}
	}
	return err
}

// asked says in the parts' words what a Builder's error is: a mistake in the request is answered as one, on every wire.
func asked(err error) error {
	var invalid *InvalidError
	var wish *model.WishError
	switch {
	case errors.As(err, &invalid):
		return run.Invalidf(invalid.Field, "%s", invalid.Reason)
	case errors.As(err, &wish) && wish.Setting == "":
		return run.Invalidf("config.configurable", "%s", wish.Reason)
	case errors.As(err, &wish):
		return run.Invalidf("config.configurable."+wish.Setting, "%s", wish.Reason)
	}
	return err
}

func invalid(field, reason string) error { return &InvalidError{field, reason} }
