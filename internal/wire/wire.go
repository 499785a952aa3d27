// Package wire says what a dialect is: a pure fold from a run's events to frames.
//
// # Laws of a Projector
//
//   - Pure: no clock, no network, no randomness, no globals. Every time, id and index in a frame comes from
//     an envelope, or from what was folded so far. The same events give the same frames on any machine.
//   - Resuming after a frame is running the projection again from the first event and dropping frames up to
//     and including that one; so a frame's ID is unique within the stream and derived from positions in the
//     journal, never invented.
//   - Every kind of event is either projected or silenced by name; see [event.Visitor].
//
// A Projector may be handed look-ups of things that never change, such as the values of a checkpoint by its
// id. Dialects live in the packages below this one; each owns its own strings.
package wire

import "github.com/tributary-ai/tributary/event"

// Frame is one message of a stream: an SSE event, or a WebSocket message.
type Frame struct {
	ID   string // cursor: the SSE id
	Name string // the SSE event name; empty if the dialect has none
	Data []byte // one line of JSON; read-only, shared between readers
}

// Projector turns the events of one run, in order from the first, into frames of one dialect.
type Projector interface {
	// Project appends the frames of the next event to dst and returns it. One event may give none, one
	// or several.
	Project(dst []Frame, env *event.Envelope) ([]Frame, error)
}

// Reuser is a Projector that spares memory for whoever copies frames as they come, as the server does.
type Reuser interface {
	// Reuse makes the data of frames good only until the next call of Project.
	Reuse()
}
