package task

import (
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// visitor is the Projector as a reader of events.
type visitor Projector

func (v *visitor) projector() *Projector { return (*Projector)(v) }

func (v *visitor) RunQueued(event.RunQueued) error {
	v.queued = true
	v.projector().created(v.outline.Root(), "task.queued")
	return nil
}

func (v *visitor) RunStarted(event.RunStarted) error {
	if v.queued {
		v.projector().tell("task.working", v.outline.Root())
	} else {
		v.projector().created(v.outline.Root(), "task.working")
	}
	return nil
}

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	p := v.projector()
	if e.Cause == event.LostPower {
		p.next = wire.BeyondLoss(p.next)
	}
	root := p.outline.Root()
	p.begin("task.working", root)
	p.buf = jsonline.AppendIntField(p.buf, "attempt", root.Attempt)
	p.buf = jsonline.AppendOptField(p.buf, "cause", e.Cause)
	p.end()
	return nil
}

// RunEnded and the other events that begin or end a task show in what the watcher is told.
func (v *visitor) RunEnded(event.RunEnded) error { return nil }

// NodeStarted is not part of this wire: it shows what agents say, not the graph that they are made of.
func (v *visitor) NodeStarted(event.NodeStarted) error { return nil }

// NodeEnded: see NodeStarted.
func (v *visitor) NodeEnded(event.NodeEnded) error { return nil }

// CheckpointSaved: see NodeStarted. Checkpoints are asked for over the langgraph wire.
func (v *visitor) CheckpointSaved(event.CheckpointSaved) error { return nil }

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	p := v.projector()
	p.begin("task.interrupt", p.outline.Task())
	p.buf = appendInterrupt(jsonline.AppendKey(p.buf, "interrupt"), &e)
	p.end()
	return nil
}

func (v *visitor) Custom(e event.Custom) error {
	p := v.projector()
	p.begin("task.custom", p.outline.Task())
	p.buf = jsonline.AppendOptField(p.buf, "name", e.Name)
	p.buf = jsonline.AppendForeign(jsonline.AppendKey(p.buf, "data"), e.Data)
	p.end()
	return nil
}

func (v *visitor) Warned(e event.Warned) error {
	p := v.projector()
	p.begin("task.warning", p.outline.Task())
	p.buf = jsonline.AppendField(p.buf, "code", e.Code)
	p.buf = jsonline.AppendField(p.buf, "message", e.Message)
	p.end()
	return nil
}

// TaskStarted: see RunEnded.
func (v *visitor) TaskStarted(event.TaskStarted) error { return nil }

// TaskEnded: see RunEnded.
func (v *visitor) TaskEnded(event.TaskEnded) error { return nil }

// ContextPrepared is for those who look into a run; they ask for the request itself.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

// TurnStarted shows only in the items that the turn produces.
func (v *visitor) TurnStarted(event.TurnStarted) error { return nil }

// TurnEnded shows in the usage of the task's end.
func (v *visitor) TurnEnded(event.TurnEnded) error { return nil }

// TurnVoided shows in its items, which are void.
func (v *visitor) TurnVoided(event.TurnVoided) error { return nil }

func (v *visitor) ItemStarted(event.ItemStarted) error {
	if it := v.outline.Item(); it != nil {
		v.projector().item("task.output_item.added", it)
	}
	return nil
}

// ItemEnded repeats the whole item. A block that came whole is in it, and once is enough.
func (v *visitor) ItemEnded(event.ItemEnded) error {
	p := v.projector()
	if p.outline.Item() == nil {
		return nil
	}
	it := p.outline.Whole()
	if it.Type == item.TypeToolCall {
		p.beginIn("task.tool_call_arguments.done", p.outline.Task(), &it)
		p.buf = jsonline.AppendField(p.buf, "arguments", it.Arguments)
		p.end()
	}
	p.item("task.output_item.done", &it)
	return nil
}

func (v *visitor) BlockStarted(e event.BlockStarted) error {
	v.blockOf(e.Block, true, "added")
	return nil
}

func (v *visitor) BlockEnded(e event.BlockEnded) error {
	v.blockOf(e.Block, false, "done")
	return nil
}

// blockOf writes the block that the event speaks of.
func (v *visitor) blockOf(at int, open bool, verb string) {
	if b := v.outline.Block(); b != nil {
		v.projector().block(v.outline.Task(), v.outline.Item(), at, b, open, verb)
	}
}

// TextDelta is nine tenths of every stream.
func (v *visitor) TextDelta(e event.TextDelta) error {
	p := v.projector()
	if p.outline.Block() == nil {
		return nil
	}
	typ, index := "task.text.delta", "block_index"
	it := p.outline.Item()
	if it.Type == item.TypeReasoning {
		typ, index = "task.reasoning_summary_text.delta", "summary_index"
	}
	p.beginIn(typ, p.outline.Task(), it)
	b := jsonline.AppendIntField(p.buf, index, e.Block)
	p.buf = jsonline.AppendField(b, "delta", e.Text)
	p.end()
	return nil
}

func (v *visitor) ImageDelta(e event.ImageDelta) error {
	p := v.projector()
	b := p.outline.Block()
	if b == nil {
		return nil
	}
	p.beginBlock(p.outline.Task(), p.outline.Item(), e.Block, item.ImageBlock, "delta")
	p.buf = jsonline.AppendIntField(p.buf, "partial_image_index", e.Partial)
	p.buf = appendBlock(jsonline.AppendKey(p.buf, "item"), b, true)
	p.end()
	return nil
}

// AnnotationAdded shows in the block's done frame.
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	p := v.projector()
	if it := p.outline.Item(); it != nil {
		p.beginIn("task.tool_call_arguments.delta", p.outline.Task(), it)
		p.buf = jsonline.AppendField(p.buf, "delta", e.Text)
		p.end()
	}
	return nil
}

func (v *visitor) ToolProgressed(e event.ToolProgressed) error {
	p := v.projector()
	if it := p.outline.Item(); it != nil {
		p.beginIn("task.tool_progress", p.outline.Task(), it)
		p.buf = appendProgress(p.buf, &e)
		p.end()
	}
	return nil
}

func (v *visitor) TeamFormed(e event.TeamFormed) error {
	p := v.projector()
	p.begin("task.team.formed", p.outline.Task())
	p.buf = appendValue(p.buf, "team", team(e))
	p.end()
	return nil
}

func (v *visitor) PlanUpdated(e event.PlanUpdated) error {
	p := v.projector()
	p.begin("task.plan.updated", p.outline.Task())
	p.buf = appendValue(p.buf, "plan", plan(e))
	p.end()
	return nil
}

func (v *visitor) Spoken(e event.Spoken) error {
	p := v.projector()
	t := p.outline.Task()
	if t == nil {
		return nil
	}
	p.begin("task.spoken", t)
	p.buf = jsonline.AppendField(p.buf, "id", e.ID)
	p.buf = jsonline.AppendOptField(p.buf, "to", e.To)
	p.buf = jsonline.AppendField(p.buf, "text", e.Text)
	p.end()
	return nil
}

func (v *visitor) TeamDissolved(e event.TeamDissolved) error {
	p := v.projector()
	t := p.outline.Task()
	if t == nil {
		return nil
	}
	p.begin("task.team.dissolved", t)
	p.buf = jsonline.AppendField(p.buf, "team_id", e.Team)
	p.buf = jsonline.AppendField(p.buf, "outcome", life(e.Outcome))
	p.buf = jsonline.AppendOptField(p.buf, "reason", e.Reason)
	p.end()
	return nil
}

// Unknown was written by a newer version of the program; what it would be on this wire is not known here.
func (v *visitor) Unknown(event.Unknown) error { return nil }
