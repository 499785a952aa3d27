package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/event"
)

// obey carries out a client's orders at a checkpoint. Answers, changed state and new targets become durable
// together with the first step.
func (e *engine) obey(ctx context.Context, from *Snapshot, latest bool) error {
	if from == nil {
		if e.x.Orders.Resume != nil {
			return fmt.Errorf("thread %q: %w", e.x.Thread, ErrNotPending)
		}
		e.fresh()
	} else if err := e.stand(ctx, from); err != nil {
		return err
	}
	answer := e.answer
	if e.x.Orders.Resume != nil && !latest && len(e.pending()) == 0 && len(e.cp.Next) > 0 {
		answer = e.answerAgain
	}
	if err := answer(ctx); err != nil {
		return err
	}
	writes, err := e.g.readWrites(e.x.Orders.Update)
	if err != nil {
		return err
	}
	if err := e.g.reachable(e.x.Orders.Goto); err != nil {
		return err
	}
	if len(writes) == 0 && len(e.x.Orders.Goto) == 0 {
		return nil
	}
	return e.amend(writes, e.x.Orders.Goto)
}

// amend makes a checkpoint with changed state and more to do, besides what is due already. What is known of
// the tasks that were due moves with them.
func (e *engine) amend(writes []Write, targets []Target) error {
	st := e.st.clone()
	for i := range writes {
		st.fold(e.g, &writes[i], true)
	}
	e.st = st
	a := agenda{g: e.g}
	for _, t := range e.cp.Next {
		switch {
		case t.Node == Start:
		case t.Input != nil:
			a.send(t)
		default:
			a.pulls = append(a.pulls, t)
		}
	}
	for _, t := range targets {
		a.visit(t)
	}
	next, kept := a.tasks(), e.kept
	was := make([]string, len(next))
	for i := range next {
		was[i] = next[i].ID
	}
	by := &taskRun{task: &Task{ID: taskID(e.cp.ID, e.ns, Start, []string{"command"}), Node: Start}, writes: writes, finished: true}
	if err := e.save(event.FromUpdate, next, e.cp.Joins, []*taskRun{by}); err != nil {
		return err
	}
	for i, id := range was {
		o := outcomeOf(kept, id)
		if id == "" || o == nil {
			continue
		}
		moved := *o
		moved.Task, moved.Interrupts, moved.Error = next[i].ID, nil, nil
		e.carry(moved)
	}
	return nil
}

// answer gives answers to the questions that are open. A question below a subgraph is known at every level down to
// the one that asks; all are told in one batch, so that a crash cannot lose the answer on the way.
func (e *engine) answer(ctx context.Context) error {
	byID, one := e.x.Orders.answers()
	if byID == nil && one == nil {
		return nil
	}
	if slices.ContainsFunc(e.kept, func(o Outcome) bool { return o.ResumedBy == e.x.Run }) {
		return nil // given before the crash
	}
	open := e.pending()
	if len(open) == 0 && (one != nil || len(e.cp.Next) == 0) {
		return nil // at its end, or stopped at a breakpoint: nothing is asked, and the state is the answer
	}
	if one != nil {
		byID = map[string]json.RawMessage{open[0].ID: one}
	}
	post := &mailbox{e: e, levels: map[string]*Snapshot{}}
	for _, i := range open {
		answer, ok := byID[i.ID]
		if !ok {
			continue
		}
		delete(byID, i.ID)
		if err := post.deliver(ctx, i, answer); err != nil {
			return err
		}
	}
	for id := range byID {
		return fmt.Errorf("interrupt %s: %w", id, ErrNotPending)
	}
	post.send()
	return nil
}

// answerAgain goes back to a checkpoint whose questions were all answered, and answers one of them otherwise. The
// tasks run once more, at a copy of the checkpoint; what else they ask gets the answers of before.
func (e *engine) answerAgain(context.Context) error {
	byID, one := e.x.Orders.answers()
	tasks, kept := e.cp.Next, e.kept
	if err := e.fork(); err != nil {
		return err
	}
	for i, t := range tasks {
		o := outcomeOf(kept, t.ID)
		if o == nil || len(o.Resumes) == 0 {
			continue
		}
		again := Outcome{Task: e.cp.Next[i].ID, Node: t.Node, Resumes: o.Resumes, ResumedBy: o.ResumedBy}
		for n := range o.Resumes {
			answer, ok := byID[interruptID(t.ID, n)]
			if one != nil {
				answer, ok, one = one, true, nil // the first that was asked
			}
			if ok {
				delete(byID, interruptID(t.ID, n))
				again.Resumes, again.ResumedBy = append(slices.Clone(o.Resumes[:n]), answer), e.x.Run
				break
			}
		}
		e.carry(again)
	}
	for id := range byID {
		return fmt.Errorf("interrupt %s: %w", id, ErrNotPending)
	}
	return nil
}

// carry keeps an outcome with the checkpoint that was just made.
func (e *engine) carry(o Outcome) {
	e.kept = append(e.kept, o)
	k := Kept{Thread: e.x.Thread, NS: e.ns, Checkpoint: e.cp.ID, Outcome: o}
	if e.saved {
		e.out.Save = append(e.out.Save, k)
	} else {
		e.last = append(e.last, k)
	}
}

// pending lists the open questions in the order of the tasks.
func (e *engine) pending() []Interrupt { return openQuestions(e.cp.Next, e.kept) }

// Open lists the questions that wait for an answer, in the order of the tasks that ask them.
func (s *Snapshot) Open() []Interrupt { return openQuestions(s.Next, s.Kept) }

func openQuestions(next []Task, kept []Outcome) []Interrupt {
	var open []Interrupt
	for _, t := range next {
		if o := outcomeOf(kept, t.ID); o != nil {
			open = append(open, o.Interrupts...)
		}
	}
	return open
}

// mailbox brings answers to where they were asked for.
type mailbox struct {
	e      *engine
	levels map[string]*Snapshot // below the root, by namespace
	dirty  []address
}

type address struct {
	ns, checkpoint string
	outcome        *Outcome
}

func (m *mailbox) deliver(ctx context.Context, i Interrupt, answer json.RawMessage) error {
	for _, ns := range levels(i.NS) {
		kept, checkpoint := m.e.kept, m.e.cp.ID
		if ns != m.e.ns {
			snap := m.levels[ns]
			if snap == nil {
				var err error
				if snap, err = m.e.x.Checkpoints.Load(ctx, m.e.x.Thread, ns, ""); err != nil {
					return fmt.Errorf("interrupt %s below %q: %w", i.ID, ns, err)
				}
				copied := *snap
				copied.Kept = slices.Clone(snap.Kept)
				snap = &copied
				m.levels[ns] = snap
			}
			kept, checkpoint = snap.Kept, snap.ID
		}
		o := asking(kept, i.ID)
		if o == nil {
			return fmt.Errorf("interrupt %s: %w", i.ID, ErrNotPending)
		}
		o.Interrupts = slices.DeleteFunc(slices.Clone(o.Interrupts), func(x Interrupt) bool { return x.ID == i.ID })
		o.ResumedBy = m.e.x.Run
		if ns == i.NS {
			o.Resumes = append(slices.Clip(o.Resumes), answer)
		}
		if !slices.ContainsFunc(m.dirty, func(a address) bool { return a.outcome == o }) {
			m.dirty = append(m.dirty, address{ns, checkpoint, o})
		}
	}
	return nil
}

func asking(kept []Outcome, id string) *Outcome {
	for n := range kept {
		if slices.ContainsFunc(kept[n].Interrupts, func(i Interrupt) bool { return i.ID == id }) {
			return &kept[n]
		}
	}
	return nil
}

func (m *mailbox) send() {
	if !m.e.storing() {
		return
	}
	for _, a := range m.dirty {
		// A graph below reads its answer from the store.
		m.e.out.Promise = m.e.out.Promise || a.ns != m.e.ns
		m.e.out.Save = append(m.e.out.Save, Kept{Thread: m.e.x.Thread, NS: a.ns, Checkpoint: a.checkpoint, Outcome: *a.outcome})
	}
}
