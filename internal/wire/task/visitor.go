package task

import (
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// visitor is the Projector as a reader of events.
type visitor Projector

func (v *visitor) projector() *Projector { return (*Projector)(v) }

func (v *visitor) RunQueued(event.RunQueued) error {
	p := v.projector()
	p.created(p.tasks[""], event.TaskStarted{}, "task.queued")
	p.queued = true
	return nil
}

func (v *visitor) RunStarted(event.RunStarted) error {
	p := v.projector()
	if p.queued {
		p.begin("task.working", p.tasks[""])
		p.end()
		return nil
	}
	p.created(p.tasks[""], event.TaskStarted{}, "task.working")
	return nil
}

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	p := v.projector()
	if e.Cause == event.LostPower {
		p.next = wire.BeyondLoss(p.next)
	}
	p.attempt = max(p.attempt+1, e.Attempt)
	p.begin("task.working", p.tasks[""])
	p.buf = appendInt(p.buf, "attempt", p.attempt)
	p.buf = appendOptional(p.buf, "cause", e.Cause)
	p.end()
	return nil
}

func (v *visitor) RunEnded(e event.RunEnded) error {
	p := v.projector()
	p.ended(p.tasks[""], e.Status, transcript.Task{Reason: e.Reason, Error: e.Error})
	return nil
}

// NodeStarted is not part of this wire: it shows what agents say, not the graph that they are made of.
func (v *visitor) NodeStarted(event.NodeStarted) error { return nil }

// NodeEnded: see NodeStarted.
func (v *visitor) NodeEnded(event.NodeEnded) error { return nil }

// CheckpointSaved: see NodeStarted. Checkpoints are asked for over the langgraph wire.
func (v *visitor) CheckpointSaved(event.CheckpointSaved) error { return nil }

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	p := v.projector()
	p.begin("task.interrupt", p.current())
	p.buf = appendInterrupt(appendKey(p.buf, "interrupt"), &e)
	p.end()
	return nil
}

func (v *visitor) Custom(e event.Custom) error {
	p := v.projector()
	p.begin("task.custom", p.current())
	p.buf = appendOptional(p.buf, "name", e.Name)
	p.buf = appendRaw(p.buf, "data", e.Data)
	p.end()
	return nil
}

func (v *visitor) Warned(e event.Warned) error {
	p := v.projector()
	p.begin("task.warning", p.current())
	p.buf = appendField(p.buf, "code", e.Code)
	p.buf = appendField(p.buf, "message", e.Message)
	p.end()
	return nil
}

func (v *visitor) TaskStarted(e event.TaskStarted) error {
	p := v.projector()
	id := p.env.Task
	if id == "" {
		return nil
	}
	attempt := max(e.Attempt, 1)
	t := p.tasks[id]
	if t == nil {
		parent := p.tasks[e.Parent]
		if parent == nil {
			parent = p.tasks[""]
		}
		t = &task{id: id, key: id, parent: parent, attempt: attempt}
		p.add(t)
		p.created(t, e, "task.working")
		return nil
	}
	t.open = true
	if attempt > t.attempt {
		t.attempt = attempt
		p.restart(t)
		p.created(t, e, "task.working")
		return nil
	}
	p.begin("task.working", t)
	p.end()
	return nil
}

func (v *visitor) TaskEnded(e event.TaskEnded) error {
	p := v.projector()
	if t := p.current(); t.parent != nil {
		p.ended(t, e.Status, transcript.Task{Error: e.Error})
	}
	return nil
}

// ContextPrepared is for those who look into a run; they ask for the request itself.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

// TurnStarted shows only in the items that the turn produces.
func (v *visitor) TurnStarted(e event.TurnStarted) error {
	p := v.projector()
	t := p.current()
	tu := &turn{task: t, attempt: e.Attempt, open: true}
	p.turns[e.Turn] = tu
	t.turns = append(t.turns, tu)
	return nil
}

// TurnEnded shows in the usage of the task's end.
func (v *visitor) TurnEnded(e event.TurnEnded) error {
	if t := v.projector().turns[e.Turn]; t != nil && t.open {
		t.open, t.cut = false, e.Finish == item.FinishIncomplete
		t.spend(e.Usage)
	}
	return nil
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	p := v.projector()
	t := p.turns[e.Turn]
	if t == nil || !t.open && !t.cut {
		return nil
	}
	t.open, t.cut = false, false
	t.spend(e.Usage)
	for _, en := range t.entries {
		p.reset(en, max(t.attempt, 1), e.Cause)
	}
	return nil
}

// spend counts for those who have not said yet what they spent.
func (t *turn) spend(u item.Usage) {
	for at := t.task; at != nil; at = at.parent {
		if at.open {
			at.usage = at.usage.Plus(u)
		}
	}
}

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	p := v.projector()
	t := p.current()
	key := entryKey{t.key, e.Item}
	if old := p.entries[key]; old != nil {
		p.reset(old, old.since, "restarted")
	}
	if old := t.results[e.CallID]; old != nil && e.Type == item.TypeToolResult {
		p.reset(old, old.since, "restarted")
	}
	en := &entry{task: t, turn: p.turns[e.Turn], id: e.Item, index: t.items, typ: e.Type, call: e.CallID, name: e.Name, since: p.attempt, open: true}
	if e.Type == item.TypeMessage {
		en.role = item.Assistant
	}
	t.items++
	t.entries = append(t.entries, en)
	p.entries[key] = en
	if en.turn != nil {
		en.turn.entries = append(en.turn.entries, en)
	}
	if e.Type == item.TypeToolResult {
		t.results[e.CallID] = en
	}
	it := en.shell()
	p.item(en, &it, "task.output_item.added")
	return nil
}

func (v *visitor) ItemEnded(e event.ItemEnded) error {
	p := v.projector()
	if e.Item == nil {
		return nil
	}
	en := p.entry(e.Item.ItemID())
	if en == nil {
		return nil
	}
	en.open = false
	it := en.shell()
	if it.Status = e.Status; e.Status == "" || e.Status == item.InProgress {
		it.Status = item.Completed
	}
	var blocks []item.Block
	switch value := e.Item.(type) {
	case item.Reasoning:
		blocks = value.Summary
	case item.Message:
		blocks = value.Content
		if value.Role != "" {
			it.Role = value.Role
		}
	case item.ToolCall:
		it.CallID, it.Name, it.Arguments = value.CallID, value.Name, value.Arguments
		p.beginIn("task.tool_call_arguments.done", en)
		p.buf = appendField(p.buf, "arguments", value.Arguments)
		p.end()
	case item.ToolResult:
		it.Name, it.Failed = value.Name, value.Error
		blocks = value.View()
		if child := p.contained(en); child != nil {
			it.Task, blocks = child.id, nil
		}
	}
	it.Blocks = make([]transcript.Block, len(blocks))
	for i := range blocks {
		it.Blocks[i] = transcript.Block{Block: blocks[i]}
		// A block that came whole is in the item, and once is enough.
		if i < len(en.blocks) && en.blocks[i].open {
			p.block(en, i, &blocks[i], false, "done")
		}
	}
	p.item(en, &it, "task.output_item.done")
	return nil
}

func (v *visitor) BlockStarted(e event.BlockStarted) error {
	p := v.projector()
	en := p.entry(e.Item)
	if en == nil || e.Block < 0 || e.Block > len(en.blocks) {
		return nil
	}
	b := block{e.Type, e.Ref, true}
	if e.Block == len(en.blocks) {
		en.blocks = append(en.blocks, b)
	} else {
		en.blocks[e.Block] = b
	}
	p.block(en, e.Block, &item.Block{Type: e.Type, Ref: e.Ref}, true, "added")
	return nil
}

// TextDelta is nine tenths of every stream.
func (v *visitor) TextDelta(e event.TextDelta) error {
	p := v.projector()
	en := p.openBlock(e.Item, e.Block, item.TextBlock)
	if en == nil {
		return nil
	}
	if en.typ == item.TypeReasoning {
		p.beginIn("task.reasoning_summary_text.delta", en)
		p.buf = appendInt(p.buf, "summary_index", e.Block)
	} else {
		p.beginIn("task.text.delta", en)
		p.buf = appendInt(p.buf, "block_index", e.Block)
	}
	p.buf = appendField(p.buf, "delta", e.Text)
	p.end()
	return nil
}

func (v *visitor) ImageDelta(e event.ImageDelta) error {
	p := v.projector()
	en := p.openBlock(e.Item, e.Block, item.ImageBlock)
	if en == nil {
		return nil
	}
	p.beginBlock(en, e.Block, item.ImageBlock, "delta")
	p.buf = appendInt(p.buf, "partial_image_index", e.Partial)
	picture := item.Block{Type: item.ImageBlock, URL: e.URL, Ref: en.blocks[e.Block].ref}
	p.buf = appendBlock(appendKey(p.buf, "item"), &picture, true)
	p.end()
	return nil
}

// AnnotationAdded shows in the block's done frame.
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }

func (v *visitor) BlockEnded(e event.BlockEnded) error {
	p := v.projector()
	en := p.entry(e.Item)
	if en == nil || e.Block < 0 || e.Block > len(en.blocks) {
		return nil
	}
	b := block{typ: e.Value.Type, ref: e.Value.Ref}
	if e.Block == len(en.blocks) {
		en.blocks = append(en.blocks, b)
	} else {
		en.blocks[e.Block] = b
	}
	p.block(en, e.Block, &e.Value, false, "done")
	return nil
}

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	p := v.projector()
	en := p.entry(e.Item)
	if en == nil || en.typ != item.TypeToolCall {
		return nil
	}
	p.beginIn("task.tool_call_arguments.delta", en)
	p.buf = appendField(p.buf, "delta", e.Text)
	p.end()
	return nil
}

func (v *visitor) ToolProgressed(e event.ToolProgressed) error {
	p := v.projector()
	en := p.entry(e.Item)
	if en == nil || en.typ != item.TypeToolResult || !en.open {
		return nil
	}
	p.beginIn("task.tool_progress", en)
	p.buf = appendProgress(p.buf, &e)
	p.end()
	return nil
}

func (v *visitor) TeamFormed(e event.TeamFormed) error {
	p := v.projector()
	p.begin("task.team.formed", p.current())
	p.buf = appendValue(p.buf, "team", team(e))
	p.end()
	return nil
}

func (v *visitor) PlanUpdated(e event.PlanUpdated) error {
	p := v.projector()
	p.begin("task.plan.updated", p.current())
	p.buf = appendValue(p.buf, "plan", plan(e))
	p.end()
	return nil
}

func (v *visitor) Spoken(e event.Spoken) error {
	p := v.projector()
	p.begin("task.spoken", p.current())
	p.buf = appendField(p.buf, "id", e.ID)
	p.buf = appendOptional(p.buf, "to", e.To)
	p.buf = appendField(p.buf, "text", e.Text)
	p.end()
	return nil
}

func (v *visitor) TeamDissolved(e event.TeamDissolved) error {
	p := v.projector()
	p.begin("task.team.dissolved", p.current())
	p.buf = appendField(p.buf, "team_id", e.Team)
	p.buf = appendField(p.buf, "outcome", life(e.Outcome))
	p.buf = appendOptional(p.buf, "reason", e.Reason)
	p.end()
	return nil
}

// Unknown was written by a newer version of the program; what it would be on this wire is not known here.
func (v *visitor) Unknown(event.Unknown) error { return nil }
