package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Middleware is something that an agent does beside calling a model and its tools: a guard, a summary, a list of todos.
// It is data: a name, and those of the members that it needs. An agent's middleware is a list, and the list's order is the
// order in which everything happens: the first is the outermost.
//
// There are two sorts of members. Before and After may write state, ask a person or go elsewhere; each is a node of the
// agent's graph, named "<name>.before" or "<name>.after", so its update, its checkpoint, its question and its crash
// are those of any node. Model and Tool are functions around a call; they cost what they do and nothing else.
type Middleware struct {
	Name string
	// Fields are the parts of the state that the middleware owns.
	Fields []graph.AnyField
	// Tools are offered in addition to the agent's, in this run only. It is asked when the run first needs its tools, and
	// again after a crash or an interrupt; it must not depend on the state. To hide a tool for a while, leave
	// it out of the request in Model.
	Tools func(context.Context, *graph.Scope) ([]tool.Tool, error)
	// Before runs before each model call; the hooks of all middlewares in the order of the list.
	Before Hook
	// Model wraps a model call.
	Model func(next ModelFunc) ModelFunc
	// Tool wraps a tool call.
	Tool func(next ToolFunc) ToolFunc
	// After runs after each model call, before its tools; the hooks in the reverse order of the list.
	After Hook
}

// Hook is a node of an agent's graph.
type Hook struct {
	// Due says whether there is anything to do. A hook that is not due is passed by and costs nothing. It only looks at
	// the step, and says the same for the same state. Nil: always.
	Due func(*Step) bool
	// Do is the work. Without Goto in its command the agent goes on as it would have. With it, it goes there
	// instead: to [NodeModel], to [graph.End], or to another node.
	Do func(context.Context, *Step) (graph.Command, error)
}

// Step is one round of an agent: a model call, with what leads to it and what follows from it.
type Step struct {
	*graph.Scope
	Agent string // its name
	// Messages is the conversation as the thread has it. It is shared, and must not be changed.
	Messages []item.Message
	// Number counts the answers since the user last spoke: 0 before the first one, 1 after it.
	Number int
}

// Answer is the last message, if the model said it: what it said in this step, for After and for tool calls.
func (s *Step) Answer() (item.Message, bool) {
	if len(s.Messages) == 0 || s.Messages[len(s.Messages)-1].Role != item.Assistant {
		return item.Message{}, false
	}
	return s.Messages[len(s.Messages)-1], true
}

// ModelCall is a model call that is about to be made.
type ModelCall struct {
	// Step is what led to it. Its scope is for looking and telling; only hooks ask and write.
	Step *Step
	// Model is asked first, Fallbacks in order when it has failed for good.
	Model     model.Model
	Fallbacks []model.Model
	// Request is what the model will be shown. It is a view: whatever is changed in it, the thread stays as it is. Its
	// lists are shared, so replace them and do not write into them.
	Request model.Request
	// Accept, where set, looks at a complete answer. With an error the answer is void, and the model is asked again if the
	// policy has tries left; the error's text is told to people.
	Accept func(item.Message) error

	// Whole has the model asked once without streaming if its stream breaks before anything of it was shown; see [CallOptions].
	Whole bool

	replaces string        // a voided turn, from before a crash
	answer   *item.Message // once there is one
}

// ModelFunc makes a model call and returns the answer, which has been streamed to the run's readers by then. What was shown
// cannot be taken back: a wrap returns the answer as it got it, and what it wants to add it writes in After. It may also
// answer in place of the model, by not calling next. Calling next again after an answer is an error.
type ModelFunc func(context.Context, *ModelCall) (item.Message, error)

// ToolCall is a tool call that is about to be made. Its intention is on record.
type ToolCall struct {
	// Step is the one whose answer wants the call.
	Step *Step
	// Call is what the model wrote. A changed name or changed arguments are carried out in its place; the record of what
	// the model wrote stays as it is, and CallID must too.
	Call item.ToolCall
	// Spec describes the tool as it was looked up; only its Name is set if there is no such tool.
	Spec tool.Spec

	x *execution
}

// Ask asks a person about the call, as [tool.Scope].Ask does: the error must be returned.
func (c *ToolCall) Ask(q tool.Question) (json.RawMessage, error) { return askPerson(c.x.scope, q) }

// Refuse is the outcome of a call that is not made; the model reads why.
func (c *ToolCall) Refuse(why string) Outcome { return Outcome{Result: failedResult(c.Call, why)} }

// Outcome is what came of a tool call.
type Outcome struct {
	Result item.ToolResult
	// Writes are updates of the state, recorded with the result.
	Writes []graph.Write
}

// ToolFunc makes a tool call. It runs between the recorded intention and the recorded outcome, on a worker that holds the
// run. A wrap may refuse the call, change it, ask a person first, or change the outcome before it is recorded. A tool
// is run at most once: calling next again is an error.
type ToolFunc func(context.Context, *ToolCall) (Outcome, error)

// Order describes a list of middleware, a line each: what it is called and where it takes part.
func Order(list []Middleware) string {
	var b strings.Builder
	for i, m := range list {
		fmt.Fprintf(&b, "%2d  %-24s", i+1, m.Name)
		for _, part := range []struct {
			there bool
			name  string
		}{
			{m.Tools != nil, "tools"}, {m.Before.Do != nil, "before"}, {m.Model != nil, "model"},
			{m.Tool != nil, "tool"}, {m.After.Do != nil, "after"},
		} {
			if part.there {
				b.WriteString(" " + part.name)
			}
		}
		sep := " state: "
		for _, f := range m.Fields {
			b.WriteString(sep + f.Name())
			sep = ", "
		}
		b.WriteString("\n")
	}
	return b.String()
}

var (
	errTwoAnswers = errors.New("a middleware asked the model again after it had answered; go back to the model with a hook instead")
	errTwoCalls   = errors.New("a middleware called the tool twice; a tool is run at most once for each call")
)
