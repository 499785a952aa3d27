// Package tool says what a tool is: something with a description that a model can read, and a function
// that can be called with the arguments that the model wrote.
//
// # Laws of Call
//
//   - Arguments have been validated against the schema before Call sees them.
//   - A returned error becomes a result marked as failed, which the model reads; it does not end the run.
//     Write the error for the model: what was wrong and what would be right.
//   - A tool that is not Repeatable is called at most once per call id, whatever crashes. A Repeatable one may
//     be called again with the same Call.ID, and can use it as an idempotency key.
//   - A panic in a tool fails the call, not the process.
package tool

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/tributary-ai/tributary/item"
)

// Tool is something a model can have called.
type Tool interface {
	Spec() Spec
	Call(ctx context.Context, call Call) (item.ToolResult, error)
}

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string
	// Schema is the JSON schema of the arguments, an object schema; empty for a tool without arguments.
	Schema json.RawMessage
	// Repeatable says that calling again with the same call id does no harm. Without it, a call
	// during which the process died is reported to the model as "outcome unknown".
	Repeatable bool
	// Exclusive says that no other call of the same answer may run beside it: the calls before it end first, and
	// those after it wait.
	Exclusive bool

	// Risk says what a call can do to the world, so that people can be asked by class and not by name.
	Risk Risk
	// Group is the name under which the tool is switched on and off together with others: "files", "web".
	Group string

	// Timeout bounds one call; zero means whatever the caller allows.
	Timeout time.Duration
	// Grace is how long a call may take to end once it was told to: a command in a sandbox needs seconds to die.
	// Zero means a moment. A call that takes longer is left behind, and its run goes on without it.
	Grace time.Duration
}

// Call is one call of a tool.
type Call struct {
	ID        string // the call's id, unique within the run
	Arguments json.RawMessage
	Run       string
	Thread    string
	Owner     string // whose run it is
	Task      string // the sub-agent that makes the call; empty for the run's own agent
	// Scope is what the call can reach of its run. It is never nil within [Tool.Call].
	Scope Scope
	// Log is where a panic of the tool is written, for its author; nil: nowhere.
	Log *slog.Logger
}
