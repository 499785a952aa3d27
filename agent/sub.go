package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/cite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// Sub is an agent that another one can call like a tool.
type Sub struct {
	Name        string // of the tool and the agent
	Description string // tells the caller's model what it is good for
	// Options describe the agent. Model, Fallbacks, Policy and Breakers are the caller's where they are not set.
	Options Options
	// Timeout bounds one call; zero means no limit.
	Timeout time.Duration
}

const subSchema = `{"type":"object","properties":{` +
	`"prompt":{"type":"string","minLength":1,"description":"the whole task; the agent sees nothing else of this conversation"},` +
	`"title":{"type":"string","description":"the task in a few words, for the people who watch"}},` +
	`"required":["prompt"],"additionalProperties":false}`

// subTool is a sub-agent as its caller's model sees it.
type subTool struct {
	sub    Sub
	limits Limits
	graph  *graph.Graph
}

func newSubTool(sub Sub, parent Options, depth int) (*subTool, error) {
	o := sub.Options
	o.Name, o.Limits = sub.Name, parent.Limits
	if o.Model == nil {
		o.Model, o.Fallbacks = parent.Model, parent.Fallbacks
	}
	if o.Policy == (Policy{}) {
		o.Policy = parent.Policy
	}
	if o.Breakers == nil {
		o.Breakers = parent.Breakers
	}
	if o.Log == nil {
		o.Log = parent.Log
	}
	g, err := build(o, depth+1)
	if err != nil {
		return nil, err
	}
	return &subTool{sub: sub, limits: parent.Limits, graph: g}, nil
}

// Spec says that a call may be repeated: the child goes on from its own checkpoint.
func (t *subTool) Spec() tool.Spec {
	return tool.Spec{Name: t.sub.Name, Description: t.sub.Description, Schema: json.RawMessage(subSchema), Repeatable: true}
}

// Call runs the sub-agent as a child task of the run, and returns its answer with the items that the answer cites.
func (t *subTool) Call(ctx context.Context, c tool.Call) (item.ToolResult, error) {
	x, ok := ctx.Value(executionKey{}).(*execution)
	if !ok {
		return item.ToolResult{}, errNoScope
	}
	var in struct{ Prompt, Title string }
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return item.ToolResult{}, err
	}
	slot, err := x.tree.admit(t.limits, x.scope.Task(), x.begun)
	if err != nil {
		return item.ToolResult{}, err
	}
	select {
	case slot <- struct{}{}:
		defer func() { <-slot }()
	case <-ctx.Done():
		return item.ToolResult{}, context.Cause(ctx)
	}
	if t.sub.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.sub.Timeout, fmt.Errorf("it took longer than %v", t.sub.Timeout))
		defer cancel()
	}
	x.child = true
	// One that failed just before a crash does not begin once more: readers were told of its end.
	if end, ok := x.scope.Recall().EndedTask(c.ID); ok && end.Status != event.Success && end.Status != event.Interrupted {
		return item.ToolResult{}, t.failure(reasonOf(end))
	}
	res, err := x.scope.Run(ctx, t.graph, graph.Child{
		Task: c.ID, Agent: t.sub.Name, Title: in.Title, Alone: true,
		Input: map[string]any{"messages": []item.Message{item.UserText("in_"+c.ID, in.Prompt)}},
	})
	if err != nil {
		return item.ToolResult{}, t.failure(err)
	}
	return t.result(&x.tree.pool, res)
}

// drop ends a sub-agent that an earlier attempt had begun and that is not to go on.
func (t *subTool) drop(ctx context.Context, x *execution) error {
	x.child = true
	if _, ended := x.scope.Recall().EndedTask(x.call.CallID); ended {
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errDropped)
	_, err := x.scope.Run(ctx, t.graph, graph.Child{Task: x.call.CallID, Agent: t.sub.Name, Alone: true, Input: map[string]any{"messages": []item.Message{}}})
	if errors.Is(err, errDropped) {
		return nil
	}
	return err
}

var errDropped = &event.Error{Code: graph.CodeCancelled, Message: "the call was refused when it was taken up again"}

var errNoScope = errors.New("a sub-agent can only be called by an agent's graph")

func reasonOf(end event.TaskEnded) error {
	if end.Error != nil {
		return end.Error
	}
	return errors.New("it was stopped")
}

func (t *subTool) failure(err error) error {
	var asks *graph.Interruption
	if errors.As(err, &asks) {
		return tool.Abort(err)
	}
	return fmt.Errorf("agent %q failed: %s", t.sub.Name, graph.ErrorOf(err).Message)
}

// result makes what the caller's model reads of what the child wrote.
func (t *subTool) result(pool *cite.Pool, res graph.Result) (item.ToolResult, error) {
	msgs, err := graph.Decode(res, graph.Messages("messages").Field)
	if err != nil {
		return item.ToolResult{}, err
	}
	if len(msgs) == 0 || msgs[len(msgs)-1].Role != item.Assistant || len(msgs[len(msgs)-1].Content) == 0 {
		return item.ToolResult{}, fmt.Errorf("agent %q ended without an answer", t.sub.Name)
	}
	answer := msgs[len(msgs)-1].Content
	return item.ToolResult{Content: pool.Quote(answer), Blocks: append(cited(pool, answer), answer...)}, nil
}

// cited returns what people see of the items that an answer cites. Beside their text for the model, which
// Quote gives, they make the references known again to whoever restores the pool from the caller's conversation.
func cited(pool *cite.Pool, answer []item.Block) []item.Block {
	var out []item.Block
	done := map[int]bool{}
	for _, b := range answer {
		for _, note := range b.Annotations {
			g, ok := pool.Group(note.Ref)
			if note.Type == item.ReferenceToBlock && ok && !done[note.Ref] {
				done[note.Ref] = true
				out = append(out, g.Blocks...)
			}
		}
	}
	return out
}
