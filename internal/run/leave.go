package run

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/transcript"
)

// leave sees to it that what people were shown stays, however the run ended: turns that are still open, and tools that had shown
// something of their results, end incomplete with what they had, and what no state holds of the conversation goes into that of its graph. The batch that it returns is
// written with the end of the run.
//
// The text is read from the journal, since that is what people saw. This happens where no node can do it: nodes are stopped,
// have failed or panicked, or will not run at all because the run was cancelled after its process had died.
func (x *execution) leave(ctx context.Context, end End) (journal.Batch, error) {
	x.rec.seal()
	if end.Rollback {
		return x.void(end), nil
	}
	var b journal.Batch
	missing := x.missing(end)
	cut := slices.DeleteFunc(slices.Clone(x.ledger.calls), func(c openCall) bool { return !c.shown })
	if len(missing) == 0 && len(x.ledger.turns) == 0 && len(cut) == 0 {
		return b, nil
	}
	fold, err := x.reread(ctx)
	if err != nil {
		return b, err
	}
	for _, t := range x.ledger.turns {
		closing, shown := fold.CutOff(t.id)
		if !shown {
			closing = []event.Event{event.TurnVoided{Turn: t.id, Cause: wordFor(end), Error: end.Error}}
		}
		for _, e := range closing {
			t.env.Event = e
			b.Events = append(b.Events, place(t.env))
		}
	}
	for _, c := range cut {
		closing, _ := fold.CutOffCall(c.env.Task, c.id)
		for _, e := range closing {
			c.env.Event = e
			b.Events = append(b.Events, place(c.env))
			missing[c.id] = c.said
		}
	}
	left := map[string][]graph.Leaving{} // by namespace
	for _, task := range fold.TaskIDs() {
		for _, m := range fold.Conversation(task) {
			if s, ok := missing[m.ID]; ok {
				left[s.env.NS] = append(left[s.env.NS], graph.Leaving{
					Node: s.env.Node, Task: s.env.Task, Message: m, Follows: func(id string) bool { return fold.Before(m.ID, id) },
				})
			}
		}
	}
	// Those below first, as everything ends.
	spaces := slices.SortedFunc(maps.Keys(left), func(a, b string) int { return cmp.Or(depth(b)-depth(a), cmp.Compare(a, b)) })
	for _, ns := range spaces {
		if err := x.leaveIn(ctx, ns, left[ns], &b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// missing is what was said and is in no state that we know of, by the message's id: what was cut off, and, of a run that did not
// come to the end of its step, what nodes of the step had finished saying.
func (x *execution) missing(end End) map[string]said {
	out := map[string]said{}
	for _, t := range slices.Concat(x.ledger.turns, x.ledger.cut) {
		out[t.id] = said{t.id, t.env}
	}
	if end.Status != Success && end.Status != Interrupted {
		for _, s := range x.ledger.unsaved {
			out[s.id] = s
		}
	}
	return out
}

// depth is how far a namespace is below the root graph's.
func depth(ns string) int {
	if ns == "" {
		return 0
	}
	return 1 + strings.Count(ns, "|")
}

// void ends the turns that are open of a run that is rolled back with all it said.
func (x *execution) void(end End) (b journal.Batch) {
	for _, t := range slices.Backward(x.ledger.turns) {
		t.env.Event = event.TurnVoided{Turn: t.id, Cause: wordFor(end), Error: end.Error}
		b.Events = append(b.Events, place(t.env))
	}
	return b
}

// reread folds what the run has written. Of a damaged journal that is what comes before the damage.
func (x *execution) reread(ctx context.Context) (*transcript.Fold, error) {
	// What is queued must be there to be read.
	if err := x.rec.log.Append(ctx, journal.Batch{Promise: true}); err != nil {
		return nil, err
	}
	fold := &transcript.Fold{}
	for env, err := range x.e.opt.Journal.Read(ctx, x.r.ID, 0) {
		if errors.Is(err, journal.ErrCorrupt) {
			return fold, nil
		}
		if err != nil {
			return nil, err
		}
		_ = fold.Apply(&env) // a broken law is told by whoever checks for it
	}
	return fold, nil
}

// leaveIn adds to the batch what puts messages into the state of a namespace. A state that is lost keeps nobody from ending
// the run: the journal still has the text.
func (x *execution) leaveIn(ctx context.Context, ns string, left []graph.Leaving, b *journal.Batch) error {
	log := x.e.opt.Log.With("run", x.r.ID, "thread", x.r.Thread, "ns", ns)
	snap, err := x.e.opt.Checkpoints.Load(ctx, x.r.Thread, ns, "")
	var damaged *DamageError
	switch {
	case errors.Is(err, graph.ErrNoCheckpoint):
		return nil
	case errors.As(err, &damaged):
		log.Error("what the run had said cannot be put into its state", "err", err)
		return nil
	case err != nil:
		return err
	}
	saved, err := graph.Leave(snap, x.r.ID, left)
	if err != nil {
		log.Error("what the run had said cannot be put into its state", "err", err)
		return nil
	}
	b.Events = append(b.Events, saved.Events...)
	for _, s := range saved.Save {
		b.Saves = append(b.Saves, s)
		b.Weight += weigh(s)
	}
	return nil
}

// wordFor is the word with which turns that said nothing are voided at the end.
func wordFor(end End) string {
	if end.Error != nil {
		return end.Error.Code
	}
	return string(end.Status)
}
