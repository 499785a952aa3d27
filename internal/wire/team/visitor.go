package team

import (
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/item"
)

// visitor is the Projector as a reader of events.
type visitor Projector

var _ event.Visitor = (*visitor)(nil)

func (v *visitor) p() *Projector { return (*Projector)(v) }

func (v *visitor) key(id string) key { return key{v.env.Task, id} }

// RunQueued and RunStarted say nothing that team_formed does not.
func (v *visitor) RunQueued(event.RunQueued) error   { return nil }
func (v *visitor) RunStarted(event.RunStarted) error { return nil }

func (v *visitor) AttemptStarted(e event.AttemptStarted) error {
	if e.Cause == event.LostPower {
		v.next = wire.BeyondLoss(v.next)
	}
	return nil
}

// RunEnded ends everything that is still open, and dissolves the team.
func (v *visitor) RunEnded(e event.RunEnded) error {
	p := v.p()
	for _, w := range p.order {
		if err := p.end(w, e.Status, e.Error, nil); err != nil {
			return err
		}
	}
	if len(p.answer.from) > 0 {
		content, status := p.answer.b.String(), event.Success
		if e.Status != event.Success {
			status = e.Status
		}
		if err := p.write(synthesis, Frame{Attempt: p.answer.attempt, Content: &content, Status: status}); err != nil {
			return err
		}
	}
	f := Frame{Outcome: e.Status, Reason: e.Reason, Error: e.Error, Usage: &e.Usage}
	if p.outcome != "" && e.Status == event.Success {
		f.Outcome = p.outcome
	}
	if f.Reason == "" {
		f.Reason = p.reason
	}
	err := p.write(dissolved, f)
	p.over = true
	return err
}

// NodeStarted, NodeEnded and CheckpointSaved are about the graph, which this wire does not show.
func (v *visitor) NodeStarted(event.NodeStarted) error         { return nil }
func (v *visitor) NodeEnded(event.NodeEnded) error             { return nil }
func (v *visitor) CheckpointSaved(event.CheckpointSaved) error { return nil }

func (v *visitor) InterruptRaised(e event.InterruptRaised) error {
	f := Frame{Interrupt: e.ID, Ask: string(e.Ask), Data: e.Value, Options: e.Options}
	if w := v.tasks[v.env.Task]; w != nil {
		f = w.of(f)
	}
	return v.p().write(review, f)
}

func (v *visitor) Custom(e event.Custom) error {
	f := Frame{Name: e.Name, Data: e.Data}
	if v.tasks[v.env.Task] != nil {
		f.Kind = "custom"
		return v.p().step(f)
	}
	return v.p().write(custom, f)
}

func (v *visitor) Warned(e event.Warned) error {
	f := Frame{Code: e.Code, Message: e.Message}
	if w := v.tasks[v.env.Task]; w != nil {
		f = w.of(f)
	}
	return v.p().write(warning, f)
}

// TaskStarted begins an expert, or somebody who works for one. What the lead drafts is shown as the plan that comes of it.
func (v *visitor) TaskStarted(e event.TaskStarted) error {
	p := v.p()
	id := v.env.Task
	if w := p.tasks[id]; w != nil {
		again := w.own && (len(w.text.from) > 0 || !w.open)
		w.open = true
		if again && e.Attempt > 1 && len(w.text.from) > 0 {
			return p.reset(&w.text, w, "again")
		}
		return nil
	}
	w := &worker{task: id, open: true}
	switch parent := p.tasks[e.Parent]; {
	case p.members[e.Agent] && parent == nil:
		w.own, w.expert = true, e.Agent
		if phase, ok := strings.CutSuffix(id, "."+e.Agent); ok {
			w.phase = phase
		}
	case parent != nil:
		w.expert, w.phase = parent.expert, parent.phase
	default:
		return nil
	}
	w.text.attempt = 1
	p.tasks[id] = w
	p.order = append(p.order, w)
	return p.step(Frame{Kind: "started", Name: e.Agent, Title: e.Title, CallID: e.CallID})
}

func (v *visitor) TaskEnded(e event.TaskEnded) error {
	if w := v.tasks[v.env.Task]; w != nil {
		return v.p().end(w, e.Status, e.Error, &e.Usage)
	}
	return nil
}

// TurnStarted says whose text follows: an expert's own, or, from nobody's task, the lead's answer.
func (v *visitor) TurnStarted(e event.TurnStarted) error {
	w := v.tasks[v.env.Task]
	if v.env.Task != "" && (w == nil || !w.own) {
		return nil // what sub-agents of experts say is theirs, and what the lead drafts is no answer
	}
	if w != nil && slices.ContainsFunc(w.text.from, func(t *turn) bool { return t.done }) {
		// It had answered, and was spoken to: what it says now takes the place of that.
		p := v.p()
		if err := p.step(Frame{Kind: "thought", Text: w.text.b.String()}); err != nil {
			return err
		}
		if err := p.reset(&w.text, w, "spoken"); err != nil {
			return err
		}
	}
	v.turns[v.key(e.Turn)] = &turn{id: e.Turn, worker: w, seen: map[string]bool{}}
	return nil
}

// ContextPrepared is about what models are shown.
func (v *visitor) ContextPrepared(event.ContextPrepared) error { return nil }

// TurnEnded makes a step of what was said before tools were called.
func (v *visitor) TurnEnded(e event.TurnEnded) error {
	t := v.turns[v.key(e.Turn)]
	if t != nil {
		t.done = e.Finish != item.FinishPause && e.Finish != item.FinishIncomplete
	}
	if t == nil || t.void || t.shown == 0 || t.worker == nil || e.Finish != item.FinishToolCalls {
		return nil
	}
	p := v.p()
	if err := p.step(Frame{Kind: "thought", Text: t.worker.text.b.String()}); err != nil {
		return err
	}
	return p.reset(&t.worker.text, t.worker, "step")
}

func (v *visitor) TurnVoided(e event.TurnVoided) error {
	if t := v.turns[v.key(e.Turn)]; t != nil {
		return v.p().voided(t, e.Cause)
	}
	return nil
}

func (v *visitor) ItemStarted(e event.ItemStarted) error {
	if t := v.turns[v.key(e.Turn)]; t != nil && e.Type == item.TypeMessage {
		v.items[v.key(e.Item)] = t
	}
	return nil
}

// ItemEnded repeats what was streamed. A message of which nothing was is told here.
func (v *visitor) ItemEnded(e event.ItemEnded) error {
	p := v.p()
	switch it := e.Item.(type) {
	case item.Message:
		t := p.items[v.key(it.ID)]
		delete(p.items, v.key(it.ID))
		if t == nil || t.seen[it.ID] {
			return nil
		}
		return p.say(t, it.Text())
	case item.Reasoning:
		return p.step(Frame{Kind: "thought", Text: thought(it)})
	case item.ToolCall:
		return p.step(Frame{Kind: "tool_call", Name: it.Name, CallID: it.CallID, Arguments: it.Arguments})
	case item.ToolResult:
		f := Frame{Kind: "tool_result", Name: it.Name, CallID: it.CallID, Status: event.Success}
		if it.Error {
			f.Status = event.Failed
			f.Text = item.JoinText(it.Content)
		}
		return p.step(f)
	}
	return nil
}

// BlockStarted says nothing that its deltas do not.
func (v *visitor) BlockStarted(event.BlockStarted) error { return nil }

func (v *visitor) TextDelta(e event.TextDelta) error {
	t := v.items[v.key(e.Item)]
	if t == nil {
		return nil // of a reasoning or a tool's result, which are told when they are complete, or nobody's
	}
	t.seen[e.Item] = true
	return v.p().say(t, e.Text)
}

// ImageDelta, AnnotationAdded and BlockEnded are about what is told as text with its marks; ArgumentsDelta about a call that is told
// when it is complete.
func (v *visitor) ImageDelta(event.ImageDelta) error           { return nil }
func (v *visitor) AnnotationAdded(event.AnnotationAdded) error { return nil }
func (v *visitor) BlockEnded(event.BlockEnded) error           { return nil }
func (v *visitor) ArgumentsDelta(event.ArgumentsDelta) error   { return nil }

func (v *visitor) ToolProgressed(e event.ToolProgressed) error {
	return v.p().step(Frame{Kind: "progress", Name: e.Name, CallID: e.CallID, Message: e.Message, Data: e.Data})
}

// TeamFormed is told again after a crash; readers know it then.
func (v *visitor) TeamFormed(e event.TeamFormed) error {
	p := v.p()
	for _, m := range e.Members {
		p.members[m.ID] = true
	}
	if p.known {
		return nil
	}
	p.team = e.Team
	return p.write(formed, Frame{Title: e.Title, Lead: e.Lead, Experts: e.Members})
}

// PlanUpdated is the team's plan, or what an expert has set itself to do.
func (v *visitor) PlanUpdated(e event.PlanUpdated) error {
	f := Frame{Plan: e.Plan, Title: e.Title, Steps: e.Steps}
	if v.tasks[v.env.Task] != nil {
		f.Kind = "plan"
		return v.p().step(f)
	}
	return v.p().write(planUpdate, f)
}

// Spoken is what a person said, to one or to all.
func (v *visitor) Spoken(e event.Spoken) error {
	return v.p().write(spoken, Frame{ID: e.ID, Expert: e.To, Text: e.Text})
}

// TeamDissolved is told when the run ends, after everything else.
func (v *visitor) TeamDissolved(e event.TeamDissolved) error {
	v.outcome, v.reason = e.Outcome, e.Reason
	return nil
}

// Unknown is of a newer version, which has a name for it that this one's clients do not know.
func (v *visitor) Unknown(event.Unknown) error { return nil }

func thought(r item.Reasoning) string {
	var parts []string
	for _, b := range r.Summary {
		parts = append(parts, b.Text)
	}
	return strings.Join(parts, "\n\n")
}
