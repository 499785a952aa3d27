package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/tributary-ai/tributary/item"
)

// Invoke calls a tool as the laws of Call demand: arguments are checked (and repaired where that is safe)
// first, and an error or a panic becomes a result marked as failed that tells the model why. The result
// carries the call's id, the tool's name, and both views.
//
// The error is nil unless the tool said, with [Abort], that what happened is not for the model to read.
// Invoke does not watch ctx: a caller that was cancelled finds so in its context, whatever the tool returned.
func Invoke(ctx context.Context, t Tool, call Call) (item.ToolResult, error) {
	args, err := argumentsOf(t)
	if err != nil { // the tool's own fault, but the model is the one who can do without it
		return finished(t.Spec().Name, call, failure(err)), nil
	}
	return invoke(ctx, t, args, call)
}

func invoke(ctx context.Context, t Tool, args *arguments, call Call) (item.ToolResult, error) {
	name := t.Spec().Name
	res, err := guarded(ctx, t, args, call)
	var abort *abortError
	switch {
	case errors.As(err, &abort):
		return item.ToolResult{}, abort.err
	case err != nil:
		return finished(name, call, failed(res, err)), nil
	}
	return finished(name, call, res), nil
}

// guarded checks and calls, and turns a panic of either into an error. The stack goes to the log: it is for the
// tool's author, not the model.
func guarded(ctx context.Context, t Tool, args *arguments, call Call) (res item.ToolResult, err error) {
	defer func() {
		if v := recover(); v != nil {
			if call.Log != nil {
				call.Log.ErrorContext(ctx, "tool panicked", "tool", t.Spec().Name, "call", call.ID, "run", call.Run, "panic", v, "stack", string(debug.Stack()))
			}
			res, err = item.ToolResult{}, fmt.Errorf("the tool broke (%v); the same call will probably break again", v)
		}
	}()
	if call.Scope == nil {
		call.Scope = detached{}
	}
	if call.Arguments, err = args.check(call.Arguments); err != nil {
		return item.ToolResult{}, err
	}
	return t.Call(ctx, call)
}

// failed keeps what a tool returned beside its error: the output of a command that exited with 1 is worth
// reading. The reason comes first.
func failed(res item.ToolResult, err error) item.ToolResult {
	out := failure(err)
	out.Content = append(out.Content, res.Content...)
	out.Blocks = append(out.Blocks, res.View()...)
	return out
}

func failure(err error) item.ToolResult {
	text := err.Error()
	if text == "" {
		text = "the tool failed without saying why"
	}
	res := Text(text)
	res.Error = true
	return res
}

// finished fills in what every result has: the call it answers, the tool's name, something to read, and the
// person's view where the tool gave only the model's.
func finished(name string, call Call, res item.ToolResult) item.ToolResult {
	res.CallID, res.Name = call.ID, name
	if len(res.Content) == 0 {
		// Some providers refuse an empty result, and models take silence for a failure.
		res.Content = item.Text("The tool finished and returned nothing.")
	}
	if res.Blocks == nil {
		res.Blocks = slices.Clone(res.Content)
	}
	return res
}

// Abort marks an error as one that is not a result: the call has no outcome that a model could read, for
// example because a person has to be asked first. [Invoke] returns err itself to its caller.
func Abort(err error) error {
	if err == nil {
		return nil
	}
	return &abortError{err}
}

type abortError struct{ err error }

func (e *abortError) Error() string { return e.err.Error() }
func (e *abortError) Unwrap() error { return e.err }
