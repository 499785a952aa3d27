package transcript

import (
	"iter"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// OpenTurn is a model call that has neither ended nor been voided.
type OpenTurn struct {
	Task string
	event.TurnStarted
}

// OpenTurns lists the turns that have neither ended nor been voided, in the order in which they started.
func (f *Fold) OpenTurns() []OpenTurn {
	var open []OpenTurn
	for _, t := range f.turnOrder {
		if t.state == turnOpen {
			open = append(open, OpenTurn{t.task.head.ID, t.started})
		}
	}
	return open
}

// OpenCall is a tool call that was begun and whose outcome is not known.
type OpenCall struct {
	Task   string
	Item   string // of the tool result that is open
	CallID string
	Name   string
	// Child says that the call is a sub-agent's, which goes on as a task of its own.
	Child bool
	// Shown is what the tool had shown of its result.
	Shown []item.Block
}

// OpenCalls lists the calls that have an intention (a tool_result that started) and no outcome, in the order in
// which they started within each task.
func (f *Fold) OpenCalls() []OpenCall {
	var open []OpenCall
	for _, t := range f.order {
		for _, e := range t.entries {
			if e.head.Type == item.TypeToolResult && !e.void && e.head.Status == item.InProgress {
				open = append(open, OpenCall{t.head.ID, e.head.ID, e.head.CallID, e.head.Name, f.contained(e) != nil, e.shown()})
			}
		}
	}
	return open
}

// OpenTasks lists the sub-agents that have not ended, in the order in which they started.
func (f *Fold) OpenTasks() []string {
	var open []string
	for _, t := range f.order {
		if t.parent != nil && t.open {
			open = append(open, t.head.ID)
		}
	}
	return open
}

// Result returns the outcome of a tool call, if it has one. What has an outcome is never called again.
func (f *Fold) Result(callID string) (item.ToolResult, bool) {
	r, ok := f.results[callID]
	return r, ok
}

// Results yields the results of all tool calls that have one, of sub-agents too, in the order in which the calls began within
// each task.
func (f *Fold) Results() iter.Seq[item.ToolResult] {
	return func(yield func(item.ToolResult) bool) {
		for _, t := range f.order {
			for _, e := range t.entries {
				if r, ok := e.head.Value.(item.ToolResult); ok && !e.void && !yield(r) {
					return
				}
			}
		}
	}
}

// Messages returns what a task added to the conversation: one assistant's message for each turn that ended, and one
// tool message for each finished tool result.
func (f *Fold) Messages(task string) []item.Message { return f.messages(task, false) }

// Conversation is Messages with the turns that did not end, each as far as people were shown it.
func (f *Fold) Conversation(task string) []item.Message { return f.messages(task, true) }

func (f *Fold) messages(task string, all bool) []item.Message {
	t := f.tasks[task]
	if t == nil {
		return nil
	}
	var out []item.Message
	at := map[*turn]int{}
	said := map[*turn]bool{} // turns whose order the message item tells
	for _, e := range t.entries {
		whole := e.head.Value
		if whole == nil && e.turn == nil && all && len(e.shown()) > 0 { // a call that was stopped
			whole, _ = e.soFar()
		}
		if e.void || e.turn == nil && whole == nil || e.turn != nil && e.turn.state != turnEnded && !all {
			continue
		}
		if r, ok := whole.(item.ToolResult); ok {
			out = append(out, item.Message{ID: r.ID, Role: item.Tool, CallID: r.CallID, Name: r.Name, Failed: r.Error, Content: r.Content, Blocks: r.Blocks})
			continue
		}
		if e.turn == nil {
			if m, ok := whole.(item.Message); ok {
				out = append(out, m)
			}
			continue
		}
		i, ok := at[e.turn]
		if !ok {
			i = len(out)
			at[e.turn] = i
			out = append(out, e.turn.message())
		}
		if whole == nil {
			whole, _ = e.soFar()
		}
		said[e.turn] = join(&out[i], whole, said[e.turn])
	}
	for i := range out {
		out[i].Order = out[i].Order.Usual()
	}
	return out
}

// join adds an item of a turn to the turn's message. said says, and join returns, whether the order of its parts is known: the
// message item tells it.
func join(m *item.Message, it item.Item, said bool) bool {
	order := item.Order("")
	switch v := it.(type) {
	case item.Reasoning:
		m.Reasoning = append(m.Reasoning, v)
		order = item.OrderReasoning
	case item.ToolCall:
		m.ToolCalls = append(m.ToolCalls, v)
		order = item.OrderCall
	case item.Message:
		m.Content = append(m.Content, v.Content...)
		m.Name = v.Name
		if v.Order != "" {
			m.Order = v.Order
			return true
		}
		order = item.Order(strings.Repeat(item.OrderBlock, len(v.Content)))
	case item.ToolResult: // a message of its own
	}
	if !said {
		m.Order += order
	}
	return said
}

func (t *turn) message() item.Message {
	m := item.Message{ID: t.started.Turn, Role: item.Assistant, Finish: t.end.Finish, Model: t.end.Model}
	if t.state != turnEnded {
		m.Finish, m.Model = item.FinishIncomplete, t.started.Model
	}
	if !t.end.Usage.IsZero() {
		usage := t.end.Usage
		m.Usage = &usage
	}
	return m
}

// FinalText is the text of the last message of a task, as far as it has come: the messages of one turn are one.
func (f *Fold) FinalText(task string) string {
	t := f.tasks[task]
	if t == nil {
		return ""
	}
	var last []*entry
	for _, e := range t.entries {
		if e.void || e.head.Type != item.TypeMessage {
			continue
		}
		if len(last) > 0 && (e.turn == nil || last[0].turn != e.turn) {
			last = last[:0]
		}
		last = append(last, e)
	}
	var b strings.Builder
	for _, e := range last {
		b.WriteString(e.snapshot().Text())
	}
	return b.String()
}
