package agent

import (
	"context"
	"encoding/json"
	"fmt"
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
	offer, err := a.tools(ctx, s)
	if err != nil {
		return graph.Command{}, err
	}
	x := &execution{loop: a, tools: offer.set, scope: s, tree: trees.Get(s), call: o.Call}
	x.tree.restore(o.Newest)
	out, err := x.outcome(ctx)
	if err != nil {
		return graph.Command{}, err
	}
	return graph.Update(append([]graph.Write{a.messages.Add(messageOf(out.Result))}, out.Writes...)...), nil
}

// execution is one tool call while it is made.
type execution struct {
	*loop
	tools *tool.Set
	scope *graph.Scope
	tree  *tree
	call  item.ToolCall // as the model wrote it
	// begun says that the call had been begun when a crash ended the process.
	begun bool
	// lost says that it had been begun, and may not be made twice: it may have been made. Its wraps are asked all the same, since
	// one that still asks a person for leave has not let it be made; it asks again.
	lost bool
	// child says that a sub-agent was begun: its own items are what people see, and its references have numbers.
	child bool
	// ran says that the tool was called.
	ran bool
	// once says that it must not be called again: what came of it is known from here or never.
	once bool
	// shown is what the tool has shown of its result.
	shown shown
	// writes are what a sub-agent's work writes into its caller's state.
	writes []graph.Write
}

const outcomeUnknown = "The outcome of this call is unknown: the program was stopped while it ran, and calling it again might repeat its effects. " +
	"Find out what happened before you call it again."

// outcome returns what comes of the call, from memory or by making it.
func (x *execution) outcome(ctx context.Context) (Outcome, error) {
	recall := x.scope.Recall()
	res, started, ended := recall.ToolResult(x.call.CallID)
	if ended {
		writes, err := x.scope.Writes(recall.ToolUpdate(x.call.CallID))
		return Outcome{res, writes}, err
	}
	x.begun = started
	t, known := x.tools.Lookup(x.call.Name)
	spec := tool.Spec{Name: x.call.Name}
	if known {
		spec = t.Spec()
	}
	x.lost = started && known && !spec.Repeatable
	if err := x.intend(ctx, started && (x.lost || len(res.Blocks) == 0)); err != nil {
		return Outcome{}, err
	}
	leave, err := x.tree.enter(ctx, x.scope.NS(), spec.Exclusive)
	if err != nil {
		return Outcome{}, err
	}
	defer leave()
	out, err := x.tool(ctx, &ToolCall{Step: x.step(x.scope.Base()), Call: x.call, Spec: spec, x: x})
	if x.lost && !graph.Asks(err) {
		return x.close(ctx, Outcome{Result: seen(res.Blocks, failedResult(x.call, outcomeUnknown))}, item.Incomplete)
	}
	if err != nil {
		return Outcome{}, err
	}
	if sub, ok := t.(*subTool); ok && x.begun && !x.child {
		// Before the crash it was called; now a middleware wants something else. Its readers are told that it ended.
		if err := sub.drop(ctx, x); err != nil {
			return Outcome{}, err
		}
	}
	if ctx.Err() != nil && (out.Result.Error || x.child) {
		return Outcome{}, context.Cause(ctx) // it was stopped; that is no outcome
	}
	res = out.Result
	res.ID, res.CallID, res.Name = resultID(x.call), x.call.CallID, x.call.Name
	if !x.child {
		res = seen(x.shown.list(), res)
		if reflect.DeepEqual(res.Blocks, res.Content) {
			res.Blocks = nil // people see Content then; it need not be stored twice
		}
		res = x.tree.add(res)
	}
	out.Result = res
	return x.close(ctx, out, item.Completed)
}

// intend puts the intention on record. From here on, whoever takes the run over knows that the tool may have run. A call
// that is on record already asks the fence all the same: its worker may have lost the run since. One that had something to show
// before a crash is recorded anew, since it will show it again.
func (x *execution) intend(ctx context.Context, recorded bool) error {
	if recorded {
		return x.scope.Promise(ctx)
	}
	return x.scope.Promise(ctx, event.ItemStarted{
		Item: resultID(x.call), Type: item.TypeToolResult, CallID: x.call.CallID, Name: x.call.Name,
	})
}

// close writes the outcome down, with the blocks that people see, all at once: a crash leaves no half of it. Nobody goes on before
// what cannot be done again is on the disk; for the rest the intention of the next call, which is waited for, stands behind it.
func (x *execution) close(ctx context.Context, out Outcome, status item.Status) (Outcome, error) {
	update, err := graph.EncodeWrites(out.Writes)
	if err != nil {
		return Outcome{}, fmt.Errorf("tool %q: %w", x.call.Name, err)
	}
	events := append(x.shown.end(resultID(x.call)), event.ItemEnded{Item: out.Result, Status: status, Update: update})
	// The tool has done what it did, even if somebody cancels at this moment.
	write := x.scope.Emit
	if x.once {
		write = x.scope.Promise
	}
	return out, write(context.WithoutCancel(ctx), events...)
}

// briefly is how long a tool may take to notice that it was cancelled, unless it says that it needs longer.
const briefly = 50 * time.Millisecond

// invokeOnce is the tool call within all wraps.
func invokeOnce(ctx context.Context, c *ToolCall) (Outcome, error) {
	if c.x.ran {
		return Outcome{}, errTwoCalls
	}
	c.x.ran = true
	return c.x.invoke(ctx, c.Call)
}

// invoke calls the tool. Sub-agents are waited for, since they end when they are told to; of other tools nobody knows,
// and a run must end all the same: one that does not heed its context is left behind.
func (x *execution) invoke(ctx context.Context, made item.ToolCall) (Outcome, error) {
	if x.lost {
		return Outcome{Result: failedResult(x.call, outcomeUnknown)}, nil
	}
	c := x.scope.Config()
	call := tool.Call{ID: x.call.CallID, Arguments: json.RawMessage(made.Arguments), Run: c.Run, Thread: c.Thread, Owner: c.Owner, Task: x.scope.Task(), Log: x.Log}
	t, _ := x.tools.Lookup(made.Name)
	if sub, ok := t.(*subTool); ok {
		ctx = context.WithValue(ctx, executionKey{}, x)
		res, err := x.tools.Invoke(ctx, sub.spec.Name, call)
		return Outcome{Result: res, Writes: x.writes}, err
	}
	if t == nil {
		res, err := x.tools.Invoke(ctx, made.Name, call)
		return Outcome{Result: res}, err
	}
	spec := t.Spec()
	if x.begun && !spec.Repeatable { // not the tool that the model wanted
		return Outcome{Result: failedResult(x.call, outcomeUnknown)}, nil
	}
	x.once = !spec.Repeatable
	limit := spec.Timeout
	if limit <= 0 {
		limit = x.ToolTimeout
	}
	limited, cancel := within(ctx, limit)
	defer cancel()
	sc := &scope{scope: x.scope, ctx: ctx, call: x.call, log: x.Log, shown: &x.shown}
	defer sc.end()
	call.Scope = sc
	type outcome struct {
		res item.ToolResult
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		res, err := x.tools.Invoke(limited, made.Name, call)
		done <- outcome{res, err}
	}()
	var o outcome
	select {
	case o = <-done:
	case <-limited.Done():
		timer := time.NewTimer(max(spec.Grace, briefly))
		defer timer.Stop()
		select {
		case o = <-done:
		case <-timer.C:
			x.Log.WarnContext(ctx, "a tool does not heed its context and is left behind", "tool", made.Name, "call", x.call.CallID, "run", c.Run)
			o.res.Error = true
		}
	}
	if o.err != nil {
		return Outcome{}, o.err
	}
	if o.res.Error && limited.Err() != nil && ctx.Err() == nil {
		return Outcome{Result: failedResult(x.call, fmt.Sprintf("The tool took longer than %v and was stopped. What it did until then is not known.", limit))}, nil
	}
	out := Outcome{Result: o.res}
	if !o.res.Error {
		out.Writes = sc.end()
	}
	return out, nil
}

func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if limit > 0 {
		return context.WithTimeout(ctx, limit)
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
