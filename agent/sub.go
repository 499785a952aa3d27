package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
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
	// Make makes the options when the agent is first called, in place of Options: of many a run calls few. Nil: Options are it.
	Make func() (Options, error)
	// Timeout bounds one call; zero means no limit.
	Timeout time.Duration
}

const subSchema = `{"type":"object","properties":{` +
	`"prompt":{"type":"string","minLength":1,"description":"the whole task; the agent sees nothing else of this conversation"},` +
	`"title":{"type":"string","description":"the task in a few words, for the people who watch"}},` +
	`"required":["prompt"],"additionalProperties":false}`

// subTool is one sub-agent, or a [Team] of them, as the caller's model sees it.
type subTool struct {
	spec    tool.Spec
	limits  Limits
	members map[string]*member
	team    *Team // nil for one that is a tool by itself
}

// member is a sub-agent with its graph, which is made when it is first needed: a team may have many of whom a run calls none.
type member struct {
	Sub
	graph func() (*graph.Graph, error)
}

func newMember(sub Sub, parent *Options, depth int) *member {
	return &member{sub, sync.OnceValues(func() (*graph.Graph, error) {
		o := sub.Options
		if sub.Make != nil {
			var err error
			if o, err = sub.Make(); err != nil {
				return nil, err
			}
		}
		return build(o.under(sub.Name, *parent), depth+1)
	})}
}

// under completes the options of a sub-agent with what its caller has.
func (o Options) under(name string, parent Options) Options {
	o.Name, o.Limits = name, parent.Limits
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
	return o
}

// newSubTool makes a tool of one sub-agent. Its call may be repeated: the child goes on from its own checkpoint.
func newSubTool(sub Sub, parent Options, depth int) (*subTool, error) {
	m := newMember(sub, &parent, depth)
	if _, err := m.graph(); err != nil {
		return nil, err
	}
	return &subTool{
		spec:   tool.Spec{Name: sub.Name, Description: sub.Description, Schema: json.RawMessage(subSchema), Repeatable: true},
		limits: parent.Limits, members: map[string]*member{sub.Name: m},
	}, nil
}

func (t *subTool) Spec() tool.Spec { return t.spec }

// work is what a call asks a sub-agent to do.
type work struct {
	member        *member
	prompt, title string
	background    bool
}

func (t *subTool) work(arguments json.RawMessage) (work, error) {
	var in struct {
		Prompt      string `json:"prompt"`
		Title       string `json:"title"`
		Description string `json:"description"`
		Type        string `json:"subagent_type"`
		Background  bool   `json:"background"`
	}
	if err := json.Unmarshal(arguments, &in); err != nil {
		return work{}, err
	}
	if t.team == nil {
		return work{member: t.members[t.spec.Name], prompt: in.Prompt, title: in.Title}, nil
	}
	m := t.members[in.Type]
	if m == nil {
		return work{}, fmt.Errorf("there is no sub-agent %q; there are %s", in.Type, strings.Join(slices.Sorted(maps.Keys(t.members)), ", "))
	}
	return work{m, in.Prompt, in.Description, in.Background && t.team.Background != nil}, nil
}

// Call runs the sub-agent as a child task of the run, and returns its answer with the items that the answer cites.
func (t *subTool) Call(ctx context.Context, c tool.Call) (item.ToolResult, error) {
	x, ok := ctx.Value(executionKey{}).(*execution)
	if !ok {
		return item.ToolResult{}, errNoScope
	}
	w, err := t.work(c.Arguments)
	if err != nil {
		return item.ToolResult{}, err
	}
	if w.background {
		text, writes, err := t.team.Background(ctx, x.scope, Delegation{ID: c.ID, Agent: w.member.Name, Title: w.title}, w.prompt)
		x.writes = append(x.writes, writes...)
		return tool.Text(text), err
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
	if limit := w.member.Timeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &overtime{limit})
		defer cancel()
	}
	x.child = true
	res, err := t.run(ctx, x, c.ID, w)
	if t.team != nil {
		t.team.note(x, c.ID, w, res, err)
	}
	return res, err
}

// overtime is why a sub-agent was stopped that took too long.
type overtime struct{ limit time.Duration }

func (o *overtime) Error() string { return fmt.Sprintf("it took longer than %v", o.limit) }
func (o *overtime) Code() string  { return graph.CodeTimeout }

func (t *subTool) run(ctx context.Context, x *execution, id string, w work) (item.ToolResult, error) {
	// One that failed just before a crash does not begin once more: readers were told of its end.
	if end, ok := x.scope.Recall().EndedTask(id); ok && end.Status != event.Success && end.Status != event.Interrupted {
		return item.ToolResult{}, w.failure(reasonOf(end))
	}
	g, err := w.member.graph()
	if err != nil {
		return item.ToolResult{}, err
	}
	input := []graph.Write{x.messages.Add(item.UserText("in_"+id, w.prompt))}
	if t.team != nil && t.team.Lend != nil {
		input = append(input, t.team.Lend(x.scope.Base())...)
	}
	res, err := x.scope.Run(ctx, g, graph.Child{Task: id, Agent: w.member.Name, Title: w.title, Alone: true, Input: input})
	if err != nil {
		return item.ToolResult{}, w.failure(err)
	}
	if t.team != nil && t.team.Return != nil {
		back, err := t.team.Return(res)
		if err != nil {
			return item.ToolResult{}, err
		}
		x.writes = append(x.writes, back...)
	}
	return w.result(&x.tree.pool, res)
}

// drop ends a sub-agent that an earlier attempt had begun and that is not to go on.
func (t *subTool) drop(ctx context.Context, x *execution) error {
	w, err := t.work(json.RawMessage(x.call.Arguments))
	if err == nil && w.background {
		return nil // it is no child of this run
	}
	x.child = true
	if _, ended := x.scope.Recall().EndedTask(x.call.CallID); ended {
		return nil
	}
	if err != nil {
		return nil // then it was never begun
	}
	g, err := w.member.graph()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	cancel(errDropped)
	_, err = x.scope.Run(ctx, g, graph.Child{Task: x.call.CallID, Agent: w.member.Name, Alone: true, Input: map[string]any{"messages": []item.Message{}}})
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

func (w work) failure(err error) error {
	var asks *graph.Interruption
	if errors.As(err, &asks) {
		return tool.Abort(err)
	}
	return &subError{fmt.Sprintf("agent %q failed: %s", w.member.Name, graph.ErrorOf(err).Message), err}
}

// subError is a sub-agent's failure in words for its caller, with the reason.
type subError struct {
	text string
	err  error
}

func (e *subError) Error() string { return e.text }
func (e *subError) Unwrap() error { return e.err }

// result makes what the caller's model reads of what the child wrote.
func (w work) result(pool *cite.Pool, res graph.Result) (item.ToolResult, error) {
	msgs, err := graph.Decode(res, graph.Messages("messages").Field)
	if err != nil {
		return item.ToolResult{}, err
	}
	if len(msgs) == 0 || msgs[len(msgs)-1].Role != item.Assistant || len(msgs[len(msgs)-1].Content) == 0 {
		return item.ToolResult{}, fmt.Errorf("agent %q ended without an answer", w.member.Name)
	}
	return quote(pool, msgs[len(msgs)-1].Content), nil
}

func quote(pool *cite.Pool, answer []item.Block) item.ToolResult {
	return item.ToolResult{Content: pool.Quote(answer), Blocks: append(cited(pool, answer), answer...)}
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
