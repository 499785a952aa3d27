package graph

import (
	"context"
	"errors"
	"fmt"

	"github.com/tributary-ai/tributary/event"
)

// Codes of the errors that the runtime itself raises, as they stand in event.Error.
const (
	CodeNode           = "node_error" // a node returned an error that has no code of its own
	CodePanic          = "panic"
	CodeTimeout        = "timeout"
	CodeInvalidUpdate  = "invalid_update"
	CodeRecursionLimit = "recursion_limit"
	CodeInvalidInput   = "invalid_input"
	CodeUnknownNode    = "unknown_node"
	CodeCancelled      = "cancelled"
)

// ErrNotPending is returned for an answer to a question that nobody is asking: it was answered before, or never asked.
var ErrNotPending = errors.New("no such interrupt is pending")

// ErrHandOver is the cause with which the context of a run ends that another process goes on with. Whoever is stopped by it
// leaves open what was open, as if the process had died, and says nothing of an end: there is none.
var ErrHandOver error = &event.Error{Code: "drain", Message: "the server is shutting down"}

func handedOver(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), ErrHandOver)
}

// NodeError is a failure of a node. It unwraps to what the node returned.
type NodeError struct {
	Node string
	Task string
	Err  error
}

func (e *NodeError) Error() string { return fmt.Sprintf("node %q: %v", e.Node, e.Err) }
func (e *NodeError) Unwrap() error { return e.Err }

// ErrorOf tells an error as events do. An error may choose its name with a method Name() string and its code with
// Code() string; an *event.Error anywhere in the chain is told as it is.
func ErrorOf(err error) *event.Error {
	if err == nil {
		return nil
	}
	var told *event.Error
	if errors.As(err, &told) {
		return told
	}
	out := &event.Error{Code: CodeNode, Name: "Error", Message: plain(err).Error()}
	var named interface {
		error
		Name() string
	}
	if errors.As(err, &named) {
		out.Name, out.Message = named.Name(), named.Error()
	}
	var coded interface {
		error
		Code() string
	}
	switch {
	case errors.As(err, &coded):
		out.Code = coded.Code()
	case errors.Is(err, context.DeadlineExceeded):
		out.Code = CodeTimeout
	case errors.Is(err, context.Canceled):
		out.Code = CodeCancelled
	}
	return out
}

// plain takes our own wrapping away: clients show the sentence that the node's author wrote.
func plain(err error) error {
	var n *NodeError
	for errors.As(err, &n) {
		err = n.Err
	}
	return err
}

func invalidUpdate(format string, args ...any) error {
	return &event.Error{Code: CodeInvalidUpdate, Name: "InvalidUpdateError", Message: fmt.Sprintf(format, args...)}
}

func invalidInput(format string, args ...any) error {
	return &event.Error{Code: CodeInvalidInput, Name: "InvalidInputError", Message: fmt.Sprintf(format, args...)}
}

func unknownNode(format string, args ...any) error {
	return &event.Error{Code: CodeUnknownNode, Name: "UnknownNodeError", Message: fmt.Sprintf(format, args...)}
}
