package protocol2

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
	"github.com/tributary-ai/tributary/item"
)

// visitor keeps the methods of the event set apart from those that a caller sees.
type visitor Projector

var _ event.Visitor = (*visitor)(nil)

func (v *visitor) p() *Projector { return (*Projector)(v) }

// RunQueued is not told: the answer to the command that made the run says so.
func (v *visitor) RunQueued(event.RunQueued) error { return nil }

func (v *visitor) RunStarted(e event.RunStarted) error {
	p := v.p()
	p.graph, p.attempt = e.Graph, max(e.Attempt, 1)
	p.describe(e)
	p.lifecycle(p.scope(""), "running", p.graph, "")
	return nil
}

// AttemptStarted is not told: for a client the run just goes on. Where events were lost with the power, their numbers are
// left out.
func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	if e.Cause == event.LostPower {
		v.seq = wire.BeyondLoss(v.seq)
	}
	v.attempt = e.Attempt
	clear(v.speakers) // what was cut off is silent
	return nil
}

// RunEnded ends the root's life. A run that was stopped waits for nobody, so it has completed, if early: Python's iterators
// would go on for ever after interrupted, and JavaScript's hook would show failed as an error to whoever stopped it.
func (v *visitor) RunEnded(e event.RunEnded) error {
	p := v.p()
	how, below, failure := "completed", "completed", ""
	switch e.Status {
	case event.Success:
	case event.Cancelled:
		below = "interrupted"
	case event.Interrupted:
		how, below = "interrupted", "interrupted"
	case event.Failed, event.TimedOut:
		how, below, failure = "failed", "failed", failureOf(e.Error, e.Reason)
	}
	for i := len(p.opened) - 1; i >= 0; i-- {
		p.close(p.opened[i], below, "")
	}
	p.lifecycle(p.scope(""), how, p.graph, failure)
	return nil
}

// failureOf writes why something failed.
func failureOf(err *event.Error, reason string) string {
	name, text := graphs.Failure(err, reason)
	return string(append(jsonline.AppendField(jsonline.AppendString([]byte(`{"error":`), name), "message", text), '}'))
}

func (v *visitor) NodeStarted(e event.NodeStarted) error {
	p := v.p()
	x := &execution{id: e.Execution, ns: v.env.NS, node: v.env.Node}
	p.executions[x.id] = x
	p.within(x.ns)
	if err := p.enter(x.ns); err != nil {
		return err
	}
	if !p.begin("tasks", "tasks", p.open(x.ns), "") {
		return nil
	}
	b := jsonline.AppendField(jsonline.AppendString(append(p.buf, `{"id":`...), x.id), "name", x.node)
	b = append(b, `,"input":`...)
	if len(e.Input) > 0 {
		b = jsonline.AppendForeign(b, e.Input)
	} else {
		st, err := p.state(x.ns)
		if err != nil {
			return err
		}
		b = jsonline.AppendForeign(b, st.Values)
	}
	b = jsonline.AppendStrings(append(b, `,"triggers":`...), e.Triggers)
	b = append(b, `,"interrupts":[],"metadata":`...)
	p.buf = append(append(b, p.metadata...), '}')
	p.end()
	return nil
}

// within marks the execution that is the graph of a namespace. One that runs a sub-agent has messages of its own.
func (p *Projector) within(ns string) {
	if at := strings.LastIndexByte(ns, ':'); at >= 0 && !p.tasks[ns] {
		if x := p.executions[ns[at+1:]]; x != nil {
			x.child = true
		}
	}
}

func (v *visitor) NodeEnded(e event.NodeEnded) error {
	p := v.p()
	if err := p.enter(v.env.NS); err != nil { // a result that was kept may come before any node starts
		return err
	}
	x := p.executions[e.Execution]
	if x == nil {
		x = &execution{id: e.Execution, ns: v.env.NS, node: v.env.Node}
	}
	delete(p.executions, e.Execution)
	sp := p.spaces.At(v.env.NS)
	sp.Wrote = sp.Wrote || graphs.WroteSomething(e.Update)
	how := "completed"
	switch {
	case e.Error != nil:
		how = "failed"
	case len(e.Interrupts) > 0:
		how = "interrupted"
	default:
		if !e.Cached {
			if err := p.returned(x, e.Update); err != nil {
				return err
			}
		}
		p.update(x, e.Update)
	}
	if e.Cached {
		return nil
	}
	p.result(x, e)
	if sc := p.scopes[x.below()]; sc != nil {
		p.close(sc, how, "")
	}
	return nil
}

func (p *Projector) update(x *execution, update json.RawMessage) {
	if !p.begin("updates", "updates", p.open(x.ns), x.node) {
		return
	}
	if graphs.WroteSomething(update) {
		p.buf = p.appendShort(p.buf, update)
	} else {
		p.buf = append(p.buf, "{}"...)
	}
	p.end()
}

func (p *Projector) result(x *execution, e event.NodeEnded) {
	if !p.begin("tasks", "tasks", p.open(x.ns), "") {
		return
	}
	b := jsonline.AppendField(jsonline.AppendString(append(p.buf, `{"id":`...), x.id), "name", x.node)
	if e.Error != nil {
		b = jsonline.AppendField(b, "error", e.Error.Message)
	}
	b = append(b, `,"result":`...)
	if graphs.WroteSomething(e.Update) {
		b = jsonline.AppendForeign(b, e.Update)
	} else {
		b = append(b, "{}"...)
	}
	b = append(b, `,"interrupts":[`...)
	for i, id := range e.Interrupts {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(jsonline.AppendString(append(b, `{"id":`...), id), `,"value":`...)
		if q := p.questions[id]; q != nil {
			b = append(b, q...)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, '}')
	}
	p.buf = append(b, `]}`...)
	p.end()
}

func (v *visitor) CheckpointSaved(e event.CheckpointSaved) error {
	p := v.p()
	ns := v.env.NS
	p.within(ns)
	wrote, first := p.spaces.At(ns).Reached(e)
	if !wrote && !first {
		return nil
	}
	if len(e.Left) > 0 {
		sc := p.scope(ns) // a graph that has ended does not begin again for this
		p.left(sc, e.Left)
		return p.tellStateIn(sc, ns, true)
	}
	if !wrote { // an input that touched no field leaves nothing to tell, if there was nothing before
		st, err := p.state(ns)
		if err != nil {
			return err
		}
		wrote = !bytes.Equal(st.Values, graphs.Empty)
	}
	return p.tellState(ns, wrote)
}

// left tells what nodes left that were cut off, as if they had written it.
func (p *Projector) left(sc *scope, left json.RawMessage) {
	line, ok := jsonline.Compact(left)
	if !ok {
		return
	}
	for key, update := range jsonline.Members(line) {
		node, ok := jsonline.Text(append(append([]byte{'"'}, key...), '"'))
		if ok && p.begin("updates", "updates", sc, node) {
			p.buf = p.appendShort(p.buf, update)
			p.end()
		}
	}
}

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	p := v.p()
	p.questions[e.ID] = jsonline.AppendForeign(nil, e.Value)
	if p.asked[e.ID] { // a node that runs again after a crash asks again
		return nil
	}
	p.asked[e.ID] = true
	if p.begin("input", "input.requested", p.open(v.env.NS), "") {
		b := jsonline.AppendString(append(p.buf, `{"interrupt_id":`...), e.ID)
		// JavaScript's clients read the payload, Python's the value.
		b = append(append(b, `,"payload":`...), p.questions[e.ID]...)
		b = append(append(b, `,"value":`...), p.questions[e.ID]...)
		p.buf = append(b, '}')
		p.end()
	}
	return nil
}

// TaskStarted is a sub-agent, which this protocol knows as a namespace that a tool call caused.
func (v *visitor) TaskStarted(e event.TaskStarted) error {
	p := v.p()
	p.tasks[v.env.NS] = true
	if sc := p.scope(v.env.NS); !sc.open {
		sc.cause = e.CallID
		if e.Agent != "" {
			sc.name = e.Agent
		}
	}
	p.open(v.env.NS)
	return nil
}

func (v *visitor) TaskEnded(e event.TaskEnded) error {
	p := v.p()
	how, failure := "completed", ""
	switch e.Status {
	case event.Success:
	case event.Failed, event.TimedOut:
		how, failure = "failed", failureOf(e.Error, "")
	case event.Cancelled:
		if how = "interrupted"; e.Error != nil {
			failure = failureOf(e.Error, "")
		}
	case event.Interrupted:
		how = "interrupted"
	}
	p.close(p.scope(v.env.NS), how, failure)
	return nil
}

// ContextPrepared is for those who look into a run; they ask for the request itself.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

func (v *visitor) TurnStarted(e event.TurnStarted) error {
	p := v.p()
	t := newTurn(e.Turn, v.env.NS, v.env.Node)
	t.attempt = max(e.Attempt, 1)
	p.turns[e.Turn] = t
	return nil
}

func (v *visitor) TurnEnded(e event.TurnEnded) error {
	if t := v.turns[e.Turn]; t != nil {
		v.p().endTurn(t, e)
	}
	return nil
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	p := v.p()
	t := p.turns[e.Turn]
	if t == nil {
		return nil
	}
	p.forget(t)
	if p.begin("custom", "custom", p.open(v.env.NS), "") {
		b := jsonline.AppendField(append(p.buf, `{"payload":{"type":"message_superseded"`...), "id", t.id)
		p.buf = append(jsonline.AppendIntField(b, "attempt", t.attempt), `}}`...)
		p.end()
	}
	return nil
}

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	p := v.p()
	it := &entry{id: e.Item, typ: e.Type}
	if e.Type == item.TypeToolResult {
		it.call = p.calls[e.CallID]
		if it.call == nil { // the call was made by an earlier run
			it.call = &call{id: e.CallID, name: e.Name}
		}
		p.entries[e.Item] = it
		p.toolStarted(it.call)
		return nil
	}
	if it.turn = p.turns[e.Turn]; it.turn == nil {
		return nil
	}
	it.turn.items = append(it.turn.items, e.Item)
	p.entries[e.Item] = it
	if e.Type == item.TypeToolCall {
		it.call = &call{id: e.CallID, name: e.Name}
		p.calls[e.CallID] = it.call
		it.blocks = []*block{p.startCall(it.turn, it.call)}
	}
	return nil
}

func (v *visitor) ItemEnded(e event.ItemEnded) error {
	p := v.p()
	if e.Item == nil {
		return nil
	}
	it := p.entries[e.Item.ItemID()]
	if it == nil {
		return nil
	}
	switch whole := e.Item.(type) {
	case item.ToolCall:
		if it.typ == item.TypeToolCall && !it.blocks[0].told && whole.Arguments != "" {
			p.argue(it.turn, it.blocks[0], whole.Arguments)
		}
	case item.Message:
		p.endBlocks(it, whole.Content)
	case item.Reasoning:
		p.endBlocks(it, whole.Summary)
	case item.ToolResult:
		if it.typ != item.TypeToolResult {
			return nil
		}
		delete(p.entries, whole.ID)
		p.last = nil
		return p.toolEnded(it.call, whole)
	}
	return nil
}

func (p *Projector) endBlocks(it *entry, blocks []item.Block) {
	if it.turn == nil {
		return
	}
	for i, b := range blocks {
		p.endBlock(it, i, b)
	}
}

// BlockStarted opens a block; it is told with its first piece.
func (v *visitor) BlockStarted(event.BlockStarted) error { return nil }

func (v *visitor) TextDelta(e event.TextDelta) error {
	p := v.p()
	it := p.entry(e.Item)
	switch {
	case it == nil || e.Block < 0:
	case it.typ == item.TypeToolResult:
		p.toolPiece(it.call, e.Text)
	case it.typ == item.TypeMessage || it.typ == item.TypeReasoning:
		p.grow(it.turn, p.text(it, e.Block), e.Text)
	}
	return nil
}

// ImageDelta is a picture in the making; the finished one is a block of the message.
func (v *visitor) ImageDelta(event.ImageDelta) error { return nil }

// AnnotationAdded is in values, as part of the message.
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }

func (v *visitor) BlockEnded(e event.BlockEnded) error {
	p := v.p()
	if it := p.entry(e.Item); it != nil && it.turn != nil && e.Block >= 0 {
		p.endBlock(it, e.Block, e.Value)
	}
	return nil
}

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	p := v.p()
	if it := p.entry(e.Item); it != nil && it.typ == item.TypeToolCall {
		p.argue(it.turn, it.blocks[0], e.Text)
	}
	return nil
}

// Unknown was written by a newer version.
func (v *visitor) Unknown(event.Unknown) error { return nil }
