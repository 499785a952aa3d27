package langgraph

import (
	"bytes"
	"slices"
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

// ours are the keys of a metadata object that a run's own metadata does not replace.
var ours = []string{
	"tags", "graph_id", "assistant_id", "run_attempt", "thread_id", "run_id", "langgraph_step", "langgraph_node",
	"langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns", "checkpoint_ns", "ls_provider", "ls_model_name", "ls_model_type",
}

// RunQueued is not told: a client learns of a run's state by asking for the run.
func (v *visitor) RunQueued(event.RunQueued) error { return nil }

func (v *visitor) RunStarted(e event.RunStarted) error {
	v.graph, v.assistant, v.attempt = e.Graph, e.Assistant, max(e.Attempt, 1)
	v.own = members(e.Metadata, ours)
	v.p().describe()
	v.metadata()
	return nil
}

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	v.attempt = e.Attempt
	v.p().describe()
	v.metadata()
	return nil
}

func (v *visitor) metadata() {
	b := jsonline.AppendIntField(jsonline.AppendString([]byte(`{"run_id":`), v.run), "attempt", v.attempt)
	v.p().emit("metadata", append(b, '}'))
}

func (v *visitor) RunEnded(e event.RunEnded) error {
	switch e.Status {
	case event.Success:
		if v.opt.Modes.Has(Events) {
			return v.p().chainEnd()
		}
	case event.Interrupted:
		data := append(v.p().appendInterrupts([]byte(`{"__interrupt__":`), v.asked), '}')
		if v.opt.Modes.Has(Updates) {
			v.p().emit("updates", data)
		}
		if v.opt.Modes.Has(Values) {
			v.p().emit("values", data)
		}
		if v.opt.Modes.Has(Events) {
			return v.p().chainEnd()
		}
	case event.Failed, event.TimedOut:
		name, text := graphs.Failure(e.Error, e.Reason)
		b := jsonline.AppendField(jsonline.AppendString([]byte(`{"error":`), name), "message", text)
		v.p().emit("error", append(b, '}'))
	case event.Cancelled: // the stream just ends
	}
	return nil
}

func (v *visitor) NodeStarted(e event.NodeStarted) error {
	p := v.p()
	x := &execution{id: e.Execution, ns: v.env.NS, node: v.env.Node, step: v.env.Step, triggers: e.Triggers, path: e.Path}
	if len(e.Input) > 0 {
		x.input = jsonline.AppendForeign(nil, e.Input)
	}
	x.name()
	p.started++
	x.order = p.started
	p.executions[x.id] = x
	p.running[place{x.ns, x.node}] = x
	p.within(x.ns)
	if err := p.enter(x.ns); err != nil {
		return err
	}
	if !p.shows(Tasks|Debug) && !p.opt.Modes.Has(Events) {
		return nil
	}
	return p.tellTask(x)
}

// within marks the execution that is the graph of a namespace. One that runs a sub-agent has messages of its own.
func (p *Projector) within(ns string) {
	if ns == "" || p.tasks[ns] {
		return
	}
	at := strings.LastIndexByte(ns, ':') + 1
	if x := p.executions[ns[at:]]; x != nil {
		x.child = true
	}
}

func (v *visitor) NodeEnded(e event.NodeEnded) error {
	p := v.p()
	if err := p.enter(v.env.NS); err != nil { // a result that was kept may come before any node starts
		return err
	}
	x := p.execution(e.Execution)
	delete(p.executions, e.Execution)
	if at := (place{x.ns, x.node}); p.running[at] == x {
		delete(p.running, at)
	}
	sp := p.spaces.At(v.env.NS)
	sp.Wrote = sp.Wrote || graphs.WroteSomething(e.Update)
	if e.Cached {
		p.tellUpdate(x, e.Update, true)
		return nil
	}
	if e.Error == nil && len(e.Interrupts) == 0 {
		if err := p.returned(x, e.Update); err != nil {
			return err
		}
		p.tellUpdate(x, e.Update, false)
	}
	p.tellResult(x, e)
	if p.opt.Modes.Has(Events) && e.Error == nil && len(e.Interrupts) == 0 {
		p.nodeEnd(x, e)
	}
	return nil
}

func (v *visitor) CheckpointSaved(e event.CheckpointSaved) error {
	p := v.p()
	ns := v.env.NS
	p.within(ns)
	wrote, first := p.spaces.At(ns).Reached(e)
	if e.Source == event.FromLoop && first && !wrote && p.opt.Modes.Has(showState) {
		st, err := p.state(ns)
		if err != nil {
			return err
		}
		wrote = !bytes.Equal(st.Values, graphs.Empty)
	}
	p.tellLeft(e.Left)
	return p.tellState(ns, wrote)
}

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	if _, again := v.questions[e.ID]; !again { // a node that runs again after a crash asks again
		v.asked = append(v.asked, e.ID)
	}
	v.questions[e.ID] = question{jsonline.AppendForeign(nil, e.Value), v.p().execution(e.Execution).order}
	// Nodes of one step ask in any order; those who read the state see them in the order of the tasks.
	slices.SortStableFunc(v.asked, func(a, b string) int { return v.questions[a].order - v.questions[b].order })
	return nil
}

func (v *visitor) Custom(e event.Custom) error {
	if p := v.p(); p.shows(Custom) {
		p.emit(p.name("custom", v.env.NS), jsonline.AppendForeign(nil, e.Data))
	}
	return nil
}

// Warnings, the progress of tools, teams and plans have no words here. They are custom events, whose type is the kind of event.
func (v *visitor) Warned(e event.Warned) error                 { return v.p().tellFact(e) }
func (v *visitor) ToolProgressed(e event.ToolProgressed) error { return v.p().tellFact(e) }
func (v *visitor) TeamFormed(e event.TeamFormed) error         { return v.p().tellFact(e) }
func (v *visitor) PlanUpdated(e event.PlanUpdated) error       { return v.p().tellFact(e) }
func (v *visitor) Spoken(e event.Spoken) error                 { return v.p().tellFact(e) }
func (v *visitor) TeamDissolved(e event.TeamDissolved) error   { return v.p().tellFact(e) }

// tellFact tells what the dialect has no words for: {"type": its kind, …}.
func (p *Projector) tellFact(e event.Event) error {
	if !p.shows(Custom) {
		return nil
	}
	b, err := wire.AppendFact(nil, e)
	p.emit(p.name("custom", p.env.NS), b)
	return err
}

// TaskStarted and TaskEnded are sub-agents, which this dialect knows as namespaces.
func (v *visitor) TaskStarted(event.TaskStarted) error {
	v.tasks[v.env.NS] = true
	return nil
}

func (v *visitor) TaskEnded(event.TaskEnded) error { return nil }

// ContextPrepared is for those who look into a run; they ask for the request itself.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

func (v *visitor) TurnStarted(e event.TurnStarted) error {
	p := v.p()
	p.startTurn(e)
	if p.opt.Modes.Has(Events) {
		p.modelEvent("on_chat_model_start", p.turns[e.Turn], []byte(`{"input":{"messages":[[]]}}`))
	}
	return nil
}

func (v *visitor) TurnEnded(e event.TurnEnded) error {
	if t := v.turns[e.Turn]; t != nil {
		v.p().endTurn(t, e)
	}
	return nil
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	t := v.turns[e.Turn]
	if t == nil {
		return nil
	}
	p := v.p()
	p.forget(t)
	if p.opt.Modes.Has(Custom) { // as its chunks were told at every depth, so is this
		b := jsonline.AppendField([]byte(`{"type":"message_superseded"`), "id", t.id)
		p.emit(p.name("custom", v.env.NS), append(jsonline.AppendIntField(b, "attempt", t.attempt), '}'))
	}
	return nil
}

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	p := v.p()
	if !p.opt.Modes.Has(streaming | Tools) {
		return nil
	}
	it := &entry{id: e.Item, typ: e.Type}
	if e.Type == item.TypeToolResult {
		it.call = p.calls[e.CallID]
		if it.call == nil { // the call was made by an earlier run
			it.call = &call{id: e.CallID, name: e.Name}
		}
		p.entries[e.Item] = it
		p.toolStart(it.call)
		return nil
	}
	if it.turn = v.turns[e.Turn]; it.turn == nil {
		return nil
	}
	it.turn.items = append(it.turn.items, e.Item)
	p.entries[e.Item] = it
	if e.Type == item.TypeToolCall {
		it.call = &call{id: e.CallID, name: e.Name, index: e.Index + 1}
		p.calls[e.CallID] = it.call
		if p.opt.Modes.Has(streaming) {
			p.startCall(it.turn, it.call)
		}
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
		if it.call != nil {
			it.call.args = whole.Arguments
			if p.opt.Modes.Has(streaming) && whole.Arguments != "" && !it.tell(0) {
				p.arguments(it.turn, it.call, whole.Arguments)
			}
		}
	case item.Message:
		p.blocks(it, whole.Content)
	case item.Reasoning:
		p.blocks(it, whole.Summary)
	case item.ToolResult:
		if it.call == nil {
			return nil
		}
		delete(p.entries, whole.ID)
		p.last = nil
		return p.toolEnd(it.call, whole)
	}
	return nil
}

// blocks tells those texts of a finished item that did not stream.
func (p *Projector) blocks(it *entry, blocks []item.Block) {
	for i, b := range blocks {
		p.block(it, i, b)
	}
}

func (p *Projector) block(it *entry, at int, b item.Block) {
	if b.Type == item.TextBlock && b.Text != "" && at >= 0 && it.turn != nil && p.opt.Modes.Has(streaming) && !it.tell(at) {
		p.grow(it, b.Text)
	}
}

// grow tells a piece of an answer or of what led to it.
func (p *Projector) grow(it *entry, text string) {
	if it.typ == item.TypeReasoning {
		p.reasoning(it.turn, text)
		return
	}
	p.text(it.turn, text)
}

// BlockStarted opens a block; what is in it is told by its deltas.
func (v *visitor) BlockStarted(event.BlockStarted) error { return nil }

// BlockEnded repeats what its deltas told, but for a block that came whole.
func (v *visitor) BlockEnded(e event.BlockEnded) error {
	if it := v.p().entry(e.Item); it != nil {
		v.p().block(it, e.Block, e.Value)
	}
	return nil
}

func (v *visitor) TextDelta(e event.TextDelta) error {
	p := v.p()
	if !p.opt.Modes.Has(streaming | Tools) {
		return nil
	}
	it := p.entry(e.Item)
	if it == nil {
		return nil
	}
	switch {
	case it.typ == item.TypeToolResult:
		p.toolPiece(it.call, e.Text)
	case p.opt.Modes.Has(streaming) && e.Block >= 0:
		it.tell(e.Block)
		p.grow(it, e.Text)
	}
	return nil
}

// ImageDelta is a picture in the making; the finished one is in values.
func (v *visitor) ImageDelta(event.ImageDelta) error { return nil }

// AnnotationAdded is in values, as part of the message.
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	p := v.p()
	if !p.opt.Modes.Has(streaming) {
		return nil
	}
	if it := p.entry(e.Item); it != nil && it.typ == item.TypeToolCall && it.turn != nil {
		it.tell(0)
		p.arguments(it.turn, it.call, e.Text)
	}
	return nil
}

// Unknown was written by a newer version.
func (v *visitor) Unknown(event.Unknown) error { return nil }
