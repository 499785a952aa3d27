package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// act is the node that makes one tool call.
func (a *loop) act(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	o, err := graph.InputAs[order](s)
	if err != nil {
		return graph.Command{}, err
	}
	x := &execution{loop: a, scope: s, tree: a.Shared.of(s), call: o.Call}
	x.tree.restore(o.Newest)
	res, err := x.outcome(ctx, o.Refuse)
	if err != nil {
		if s.NS() == "" {
			a.Shared.release(s) // the run goes no further
		}
		return graph.Command{}, err
	}
	return graph.Update(a.messages.Add(messageOf(res))), nil
}

// execution is one tool call while it is made.
type execution struct {
	*loop
	scope *graph.Scope
	tree  *tree
	call  item.ToolCall
	// begun says that the call had been begun when a crash ended the process.
	begun bool
	// child says that a sub-agent was begun: its own items are what people see, and its references have numbers.
	child bool
}

const outcomeUnknown = "The outcome of this call is unknown: the program was stopped while it ran, and calling it again might repeat its effects. " +
	"Find out what happened before you call it again."

// outcome returns the result of the call, from memory or by making it.
func (x *execution) outcome(ctx context.Context, refuse string) (item.ToolResult, error) {
	res, started, ended := x.scope.Recall().ToolResult(x.call.CallID)
	if ended {
		return res, nil
	}
	x.begun = started
	t, known := x.Tools.Lookup(x.call.Name)
	if started && known && !t.Spec().Repeatable {
		return x.close(ctx, failedResult(x.call, outcomeUnknown), item.Incomplete)
	}
	if !started {
		// From here on, whoever takes the run over knows that the tool may have run.
		begin := event.ItemStarted{Item: resultID(x.call), Type: item.TypeToolResult, CallID: x.call.CallID, Name: x.call.Name}
		if err := x.scope.Promise(ctx, begin); err != nil {
			return item.ToolResult{}, err
		}
	} else if err := x.scope.Promise(ctx); err != nil { // who lost the run must not begin the call again
		return item.ToolResult{}, err
	}
	if refuse != "" {
		return x.close(ctx, failedResult(x.call, refuse), item.Completed)
	}
	res, err := x.invoke(ctx, t)
	if err != nil {
		return item.ToolResult{}, err
	}
	if ctx.Err() != nil && (res.Error || x.child) {
		return item.ToolResult{}, context.Cause(ctx) // it was stopped; that is no outcome
	}
	res.ID = resultID(x.call)
	if !x.child {
		if reflect.DeepEqual(res.Blocks, res.Content) {
			res.Blocks = nil // people see Content then; it need not be stored twice
		}
		res = x.tree.add(res)
	}
	return x.close(ctx, res, item.Completed)
}

// close writes the outcome down, with the blocks that people see, all at once: a crash leaves no half of it.
func (x *execution) close(ctx context.Context, res item.ToolResult, status item.Status) (item.ToolResult, error) {
	var events []event.Event
	if !x.child {
		events = blocksOf(res)
	}
	// The tool has done what it did, even if somebody cancels at this moment.
	err := x.scope.Promise(context.WithoutCancel(ctx), append(events, event.ItemEnded{Item: res, Status: status})...)
	return res, err
}

func blocksOf(res item.ToolResult) []event.Event {
	var events []event.Event
	for i, b := range res.View() {
		events = append(events, event.BlockStarted{Item: res.ID, Block: i, Type: b.Type, Ref: b.Ref})
		if b.Type == item.TextBlock && b.Text != "" {
			events = append(events, event.TextDelta{Item: res.ID, Block: i, Text: b.Text})
		}
		events = append(events, event.BlockEnded{Item: res.ID, Block: i, Value: b})
	}
	return events
}

// grace is how long a tool may take to notice that it was cancelled.
const grace = 50 * time.Millisecond

// invoke calls the tool. Sub-agents are waited for, since they end when they are told to; of other tools nobody knows,
// and a run must end all the same: one that does not heed its context is left behind.
func (x *execution) invoke(ctx context.Context, t tool.Tool) (item.ToolResult, error) {
	ctx = context.WithValue(ctx, executionKey{}, x)
	c := x.scope.Config()
	call := tool.Call{ID: x.call.CallID, Arguments: json.RawMessage(x.call.Arguments), Run: c.Run, Thread: c.Thread, Owner: c.Owner}
	if _, sub := t.(*subTool); sub || t == nil {
		return x.Tools.Invoke(ctx, x.call.Name, call)
	}
	limited, cancel := x.limit(ctx)
	defer cancel()
	p := &scope{scope: x.scope, ctx: ctx, call: x.call}
	defer p.end()
	call.Scope = p
	type outcome struct {
		res item.ToolResult
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := x.Tools.Invoke(limited, x.call.Name, call)
		done <- outcome{res, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-limited.Done():
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case o = <-done:
		case <-timer.C:
			slog.WarnContext(ctx, "a tool does not heed its context and is left behind", "tool", x.call.Name, "call", x.call.CallID, "run", c.Run)
			o.res.Error = true
		}
	}
	if o.err == nil && o.res.Error && limited.Err() != nil && ctx.Err() == nil {
		return failedResult(x.call, fmt.Sprintf("The tool took longer than %v and was stopped. What it did until then is not known.", x.ToolTimeout)), nil
	}
	return o.res, o.err
}

func (x *execution) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if x.ToolTimeout > 0 {
		return context.WithTimeout(ctx, x.ToolTimeout)
	}
	return context.WithCancel(ctx)
}

type executionKey struct{}

func resultID(c item.ToolCall) string { return "fco_" + c.CallID }

func failedResult(c item.ToolCall, why string) item.ToolResult {
	return item.ToolResult{ID: resultID(c), CallID: c.CallID, Name: c.Name, Error: true, Content: item.Text(why)}
}

func messageOf(r item.ToolResult) item.Message {
	return item.Message{ID: r.ID, Role: item.Tool, CallID: r.CallID, Name: r.Name, Content: r.Content, Blocks: r.Blocks, Failed: r.Error}
}
