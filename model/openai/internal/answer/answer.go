// Package answer turns the payloads of OpenAI's two wires, as OpenAI and compatible servers send them, into
// the parts of an answer. It knows nothing about connections and requests, and has no use for the SDK.
//
// A decoder reads one answer. It evens out what servers do differently; how is said at [Chat] and [Responses].
package answer

import (
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// Decoder turns the payloads of one answer into parts. After a part that emit refuses, what else the same
// payload holds may still be offered; the caller stops then.
type Decoder interface {
	// Event reads one payload, with the name of its event where it has one. It returns true once nothing
	// more will come.
	Event(name string, data []byte, emit func(model.Part) bool) (done bool, err error)
	// Whole reads an answer that was not streamed.
	Whole(data []byte, emit func(model.Part) bool) error
	// End says that nothing more will come, and why: nil for a clean end. It returns the error that this is,
	// or nil if the answer was complete.
	End(cause error, emit func(model.Part) bool) error
}

var (
	_ Decoder = (*Chat)(nil)
	_ Decoder = (*Responses)(nil)
)

// broken is the error of a payload that is no JSON.
func broken(fault eventstream.Fault, err error) error {
	return fault.Broken("a piece of the answer is not JSON", err)
}
