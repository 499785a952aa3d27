package chat

import (
	"bytes"
	"cmp"
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// visitor is the Projector as a reader of events.
type visitor Projector

func (v *visitor) p() *Projector { return (*Projector)(v) }

// RunQueued is silent: heartbeats show that the stream lives.
func (v *visitor) RunQueued(event.RunQueued) error { return nil }

// RunStarted has no word in this dialect.
func (v *visitor) RunStarted(event.RunStarted) error { return nil }

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	if e.Cause == event.LostPower {
		v.next = wire.BeyondLoss(v.next)
	}
	return nil
}

func (v *visitor) RunEnded(e event.RunEnded) error {
	p := v.p()
	for _, m := range p.order {
		if m.told && !m.ended {
			p.finish(m, string(item.FinishIncomplete))
		}
	}
	switch e.Status {
	case event.Success:
		if list := citations(p.cited); list != nil {
			p.begin()
			p.raw("citations", list)
			p.end("citations")
		}
	case event.Cancelled:
		p.begin()
		p.field("error", "Stream cancelled")
		p.field("reason", "cancelled")
		p.end("error")
	case event.Failed, event.TimedOut:
		said, reason := "Error during graph execution", string(e.Status)
		if e.Error != nil {
			said, reason = cmp.Or(e.Error.Message, said), cmp.Or(e.Error.Code, reason)
		}
		p.begin()
		p.field("error", said)
		p.field("reason", reason)
		p.end("error")
	}
	p.begin()
	p.field("agent", cmp.Or(p.agent, "unknown"))
	p.field("id", cmp.Or(p.last, p.env.Run))
	p.raw("role", []byte(`"assistant"`))
	p.field("run_id", p.env.Run)
	p.field("status", string(e.Status))
	p.end("end")
	return nil
}

// NodeStarted shows in the place that messages name.
func (v *visitor) NodeStarted(e event.NodeStarted) error {
	v.paths[e.Execution] = e.Path
	return nil
}

// NodeEnded shows in the citations, which the reporter writes into the state.
func (v *visitor) NodeEnded(e event.NodeEnded) error {
	delete(v.paths, e.Execution)
	if v.env.NS != "" || v.env.Task != "" || e.Error != nil || !bytes.Contains(e.Update, []byte(`"citations"`)) {
		return nil
	}
	var one struct {
		Citations *json.RawMessage `json:"citations"`
	}
	var several []json.RawMessage
	if json.Unmarshal(e.Update, &several) != nil {
		several = []json.RawMessage{e.Update}
	}
	for _, raw := range several {
		if json.Unmarshal(raw, &one) == nil && one.Citations != nil {
			v.cited = *one.Citations
		}
	}
	return nil
}

// CheckpointSaved is none of a conversation's business.
func (v *visitor) CheckpointSaved(event.CheckpointSaved) error { return nil }

// InterruptRaised asks, unless the question was told as a message.
func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	if e.Ask == event.AskClarification {
		return nil
	}
	p := v.p()
	p.last, p.agent = e.ID, "human_feedback"
	p.begin()
	p.field("id", e.ID)
	p.raw("role", []byte(`"assistant"`))
	p.content(question(e.Value))
	p.raw("finish_reason", []byte(`"interrupt"`))
	p.raw("options", options(e))
	p.end("interrupt")
	return nil
}

// Custom has no word in this dialect.
func (v *visitor) Custom(event.Custom) error { return nil }

// Warned has no word in this dialect.
func (v *visitor) Warned(event.Warned) error { return nil }

// TaskStarted shows in what the sub-agent says. What it said in an earlier attempt is void.
func (v *visitor) TaskStarted(e event.TaskStarted) error {
	p := v.p()
	id, attempt := p.env.Task, max(e.Attempt, 1)
	t := p.tasks[id]
	if t == nil {
		p.tasks[id] = &task{e.Parent, attempt}
		return nil
	}
	if attempt > t.attempt {
		t.attempt = attempt
		for _, m := range p.order {
			if id != "" && p.within(m.task, id) {
				p.revoke(m)
			}
		}
	}
	return nil
}

// TaskEnded shows in the answer that its caller gets.
func (v *visitor) TaskEnded(event.TaskEnded) error { return nil }

// ContextPrepared is for those who look into a run.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

// TurnStarted shows in what the model says.
func (v *visitor) TurnStarted(e event.TurnStarted) error {
	if v.messages[e.Turn] == nil {
		v.p().add(e.Turn, e.Agent, e.Execution)
	}
	return nil
}

func (v *visitor) TurnEnded(e event.TurnEnded) error {
	m := v.messages[e.Turn]
	if m == nil || m.ended {
		return nil
	}
	if e.Finish == item.FinishIncomplete && !m.told {
		m.ended = true
		return nil
	}
	v.p().finish(m, cmp.Or(string(e.Finish), string(item.FinishStop)))
	return nil
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	if m := v.messages[e.Turn]; m != nil {
		v.p().revoke(m)
	}
	return nil
}

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	p := v.p()
	n := &piece{typ: e.Type}
	p.items[itemKey{p.env.Task, e.Item}] = n
	if e.Type == item.TypeToolResult {
		return nil
	}
	if n.msg = p.messages[e.Turn]; n.msg == nil {
		n.msg = p.add(cmp.Or(e.Turn, e.Item), "", "")
		n.msg.alone = true
	}
	if e.Type == item.TypeToolCall && !n.msg.ended {
		n.call = &call{id: e.CallID, name: e.Name, index: len(n.msg.calls)}
		n.msg.calls = append(n.msg.calls, n.call)
		p.advance(n.msg)
	}
	return nil
}

func (v *visitor) ItemEnded(e event.ItemEnded) error {
	p := v.p()
	if e.Item == nil {
		return nil
	}
	key := itemKey{p.env.Task, e.Item.ItemID()}
	n := p.open(e.Item.ItemID())
	delete(p.items, key)
	if n == nil {
		return nil
	}
	switch value := e.Item.(type) {
	case item.Reasoning:
		for i := range value.Summary {
			p.complete(n, i, &value.Summary[i])
		}
	case item.Message:
		if value.Role != "" && value.Role != item.Assistant && !n.msg.told {
			return nil // what a person said
		}
		for i := range value.Content {
			p.complete(n, i, &value.Content[i])
		}
		if n.msg.alone {
			p.finish(n.msg, string(item.FinishStop))
		}
	case item.ToolCall:
		if n.call != nil {
			n.call.id, n.call.name = cmp.Or(n.call.id, value.CallID), cmp.Or(n.call.name, value.Name)
			p.endCall(n.msg, n.call, value.Arguments)
		}
	case item.ToolResult:
		p.first = len(p.buf)
		p.buf = append(p.buf, p.head(value.ID, p.agentOf(""), "")...)
		p.content(shown(value))
		p.field("tool_call_id", value.CallID)
		p.end("tool_call_result")
	}
	return nil
}

// BlockStarted says nothing yet.
func (v *visitor) BlockStarted(event.BlockStarted) error { return nil }

// TextDelta is nine tenths of every stream.
func (v *visitor) TextDelta(e event.TextDelta) error {
	p := v.p()
	if n := p.open(e.Item); n != nil && n.typ != item.TypeToolResult {
		p.grow(n, e.Block, e.Text)
	}
	return nil
}

// ImageDelta cannot be said in a text.
func (v *visitor) ImageDelta(event.ImageDelta) error { return nil }

// AnnotationAdded shows in the markers of the text, and in the citations.
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }

func (v *visitor) BlockEnded(e event.BlockEnded) error {
	p := v.p()
	if n := p.open(e.Item); n != nil {
		p.complete(n, e.Block, &e.Value)
	}
	return nil
}

func (v *visitor) ArgumentsDelta(e event.ArgumentsDelta) error {
	p := v.p()
	if n := p.open(e.Item); n != nil && n.call != nil {
		p.growCall(n.msg, n.call, e.Text)
	}
	return nil
}

// ToolProgressed has no word in this dialect.
func (v *visitor) ToolProgressed(event.ToolProgressed) error { return nil }

// TeamFormed has no word in this dialect.
func (v *visitor) TeamFormed(event.TeamFormed) error { return nil }

// PlanUpdated is silent: the plan is what the planner said.
func (v *visitor) PlanUpdated(event.PlanUpdated) error { return nil }

// Spoken has no word in this dialect: its page cannot say anything while agents work.
func (v *visitor) Spoken(event.Spoken) error { return nil }

// TeamDissolved has no word in this dialect.
func (v *visitor) TeamDissolved(event.TeamDissolved) error { return nil }

// Unknown was written by a newer version of the program.
func (v *visitor) Unknown(event.Unknown) error { return nil }
