package graph

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
)

// taskRun is a task while it is being executed, and what came of it.
type taskRun struct {
	task  *Task
	node  *node
	prior *Outcome // what was known of it before

	writes   []Write
	targets  []Target
	finished bool
	parent   *Command // for the graph above

	err        error
	cancelled  bool // because another task failed
	stopped    bool // waits for an answer, or at a breakpoint below
	interrupts []Interrupt
}

// step executes the tasks that are due, all at the same time, and returns when the last one has ended.
// With e.stopped set, some of them wait.
func (e *engine) step(ctx context.Context) ([]*taskRun, error) {
	runs := make([]taskRun, len(e.cp.Next))
	all := make([]*taskRun, len(runs))
	due := make([]*taskRun, 0, len(runs))
	for i := range runs {
		t := &runs[i]
		all[i] = t
		t.task, t.prior = &e.cp.Next[i], outcomeOf(e.kept, e.cp.Next[i].ID)
		if t.task.Node == Start {
			return e.applyStart(ctx, t)
		}
		if t.node = e.g.nodes[t.task.Node]; t.node == nil {
			return nil, unknownNode("checkpoint %s wants node %q, which graph %q does not have", e.cp.ID, t.task.Node, e.g.name)
		}
		if t.prior != nil && t.prior.Finished {
			if err := e.reuse(t); err != nil {
				return nil, err
			}
			continue
		}
		due = append(due, t)
		e.note(t.task.Node, e.cp.Step+1, event.NodeStarted{
			Execution: t.task.ID, Triggers: t.task.Triggers, Path: t.task.Path, Input: t.task.Input,
		})
	}
	if err := e.flush(ctx); err != nil {
		return nil, err
	}
	if err := e.execute(ctx, due); err != nil {
		return nil, err
	}
	return all, e.judge(ctx, all)
}

// applyStart carries out an input that an update from outside left to be applied.
func (e *engine) applyStart(ctx context.Context, t *taskRun) ([]*taskRun, error) {
	var err error
	t.node, t.finished = e.g.start, true
	if t.writes, err = e.g.readWrites(t.task.Input); err != nil {
		return nil, err
	}
	return []*taskRun{t}, e.choose(ctx, t, e.cp.Step+1)
}

// reuse takes the result of a task that finished before the step was interrupted.
func (e *engine) reuse(t *taskRun) error {
	var err error
	t.writes, err = e.g.keptWrites(*t.prior)
	if err != nil {
		return err
	}
	t.targets, t.finished = t.prior.Goto, true
	if e.x.Recorder == nil {
		return nil
	}
	update, err := encodeUpdate(t.writes)
	e.note(t.task.Node, e.cp.Step+1, event.NodeEnded{Execution: t.task.ID, Update: update, Cached: true})
	return err
}

var errSibling = errors.New("another node of the step failed")

// execute runs the tasks. An error means that nothing can be recorded any more.
func (e *engine) execute(ctx context.Context, due []*taskRun) error {
	if len(due) == 1 {
		return e.perform(ctx, ctx, due[0], true)
	}
	stepCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	broken := make([]error, len(due))
	for i, t := range due {
		wg.Go(func() {
			broken[i] = e.perform(ctx, stepCtx, t, false)
			if broken[i] != nil || t.err != nil {
				cancel(errSibling)
			}
		})
	}
	wg.Wait()
	return errors.Join(broken...)
}

// perform runs one task and records what came of it. A task that is alone in its step leaves its success to
// be recorded with the checkpoint.
func (e *engine) perform(ctx, stepCtx context.Context, t *taskRun, alone bool) error {
	err := e.attempts(stepCtx, t)
	var broken *recordError
	if errors.As(err, &broken) {
		return err
	}
	switch {
	case err == nil:
		t.finished = t.parent == nil
	case Asks(err):
		t.stopped = true
	case stepCtx.Err() != nil:
		t.cancelled = true
		return nil
	default:
		t.err = err
	}
	if e.x.Recorder == nil {
		if t.stopped {
			_, t.interrupts = e.asked(t, err)
		}
		return nil
	}
	events, failure := e.closing(t, err)
	if failure != nil {
		return failure
	}
	if alone && t.err == nil && !t.stopped {
		for _, ev := range events {
			e.note(ev.Node, ev.Step, ev.Event)
		}
		return nil
	}
	b := Batch{Events: events}
	if e.storing() && t.parent == nil {
		o, err := t.outcome(false)
		if err != nil {
			return err
		}
		k := Kept{Thread: e.x.Thread, NS: e.ns, Checkpoint: e.cp.ID, Outcome: o}
		if e.saved {
			b.Save = []Save{k}
		} else {
			e.lastMu.Lock()
			e.last = append(e.last, k)
			e.lastMu.Unlock()
		}
	}
	if len(b.Events) == 0 && len(b.Save) == 0 {
		return nil
	}
	return e.x.record(ctx, b)
}

// closing returns the events with which the task ends. A node that stopped at a breakpoint below itself says nothing.
func (e *engine) closing(t *taskRun, err error) ([]event.Envelope, error) {
	step := e.cp.Step + 1
	if t.stopped {
		raised, all := e.asked(t, err)
		t.interrupts = all
		if len(all) == 0 {
			return nil, nil
		}
		ended := event.NodeEnded{Execution: t.task.ID}
		for _, i := range all {
			ended.Interrupts = append(ended.Interrupts, i.ID)
		}
		return append(raised, e.envelope(t.task.Node, step, ended)), nil
	}
	ended := event.NodeEnded{Execution: t.task.ID, Error: ErrorOf(t.err)}
	if t.finished {
		var err error
		if ended.Update, err = encodeUpdate(t.writes); err != nil {
			t.finished, t.err = false, err
			ended.Error = ErrorOf(err)
		}
	}
	var out []event.Envelope
	if t.finished {
		for _, ev := range e.saying(t) {
			out = append(out, e.envelope(t.task.Node, step, ev))
		}
	}
	return append(out, e.envelope(t.task.Node, step, ended)), nil
}

// asked returns the questions in a node's error, and the events for those that it asked itself.
func (e *engine) asked(t *taskRun, err error) (raised []event.Envelope, all []Interrupt) {
	for _, stop := range interruptions(err) {
		all = append(all, stop.Interrupts...)
		if !stop.own {
			continue
		}
		for _, i := range stop.Interrupts {
			raised = append(raised, e.envelope(t.task.Node, e.cp.Step+1, event.InterruptRaised{
				ID: i.ID, Execution: t.task.ID, Value: i.Value, Ask: i.Ask, Options: i.Options,
			}))
		}
	}
	return raised, all
}

// outcome is what is stored of the task. In a commit, updates that are stored as a field's value are not stored twice.
func (t *taskRun) outcome(committed bool) (Outcome, error) {
	o := Outcome{Task: t.task.ID, Node: t.task.Node, Finished: t.finished, Error: ErrorOf(t.err), Interrupts: t.interrupts}
	if t.prior != nil {
		o.Resumes, o.ResumedBy = t.prior.Resumes, t.prior.ResumedBy
	}
	if !t.finished {
		return o, nil
	}
	o.Goto = t.targets
	for i := range t.writes {
		w := &t.writes[i]
		if committed && w.stored != 0 {
			if o.Stored == nil {
				o.Stored = map[string]int64{}
			}
			o.Stored[w.def.name] = w.stored
			continue
		}
		raw, err := w.encoded()
		if err != nil {
			return o, err
		}
		o.Writes = append(o.Writes, FieldWrite{Field: w.def.name, Value: raw})
	}
	return o, nil
}

// judge decides what the step comes to.
func (e *engine) judge(ctx context.Context, all []*taskRun) error {
	cancelled := false
	for _, t := range all {
		if t.err != nil {
			return &NodeError{Node: t.task.Node, Task: t.task.ID, Err: t.err}
		}
		cancelled = cancelled || t.cancelled
	}
	if cancelled {
		return context.Cause(ctx)
	}
	for _, t := range all {
		if t.parent != nil {
			return &parentCommand{*t.parent}
		}
	}
	for _, t := range all {
		if t.stopped {
			e.stopped = true
			e.open = append(e.open, t.interrupts...)
		}
	}
	if e.stopped {
		e.kept = e.kept[:0:0]
		for _, t := range all {
			e.kept = append(e.kept, Outcome{Task: t.task.ID, Node: t.task.Node, Finished: t.finished, Interrupts: t.interrupts})
		}
	}
	return nil
}

// attempts runs the node as often as its retry policy allows.
func (e *engine) attempts(ctx context.Context, t *taskRun) error {
	for n := 1; ; n++ {
		again := func(err error) bool { return n < t.node.retry.Max && ctx.Err() == nil && worthRetry(t.node.retry, err) }
		err := e.attempt(ctx, t, again)
		if err == nil || !again(err) {
			return err
		}
		if t.node.retry.Backoff == nil {
			continue
		}
		timer := time.NewTimer(t.node.retry.Backoff(n))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

func worthRetry(r Retry, err error) bool {
	var told *event.Error
	if errors.As(err, &told) && told.Code == CodePanic || Asks(err) {
		return false
	}
	var broken *recordError
	return !errors.As(err, &broken) && (r.On == nil || r.On(err))
}

// attempt runs the node once, and its branches.
func (e *engine) attempt(ctx context.Context, t *taskRun, again func(error) bool) error {
	s := &Scope{engine: e, task: t.task, step: e.cp.Step + 1, state: e.st, again: again}
	if t.task.Input != nil {
		s.state = sentState(e.g, t.task.Input)
	}
	if t.prior != nil {
		s.answers = t.prior.Resumes
	}
	cmd, err := e.call(ctx, t.node, s)
	if err == nil {
		err = cmd.err
	}
	if err != nil {
		return err
	}
	if cmd.Parent {
		if e.ns == "" {
			return invalidUpdate("node %q commands the parent of graph %q, which has none", t.task.Node, e.g.name)
		}
		t.parent = &cmd
		return nil
	}
	if t.writes, err = e.g.adoptAll(cmd.Writes); err != nil {
		return err
	}
	if err := e.g.reachable(cmd.Goto); err != nil {
		return err
	}
	t.targets = cmd.Goto
	return e.choose(ctx, t, s.step)
}

// call runs the node's function under its timeout, and turns a panic into an error.
func (e *engine) call(ctx context.Context, n *node, s *Scope) (cmd Command, err error) {
	defer e.recoverTo(&err, n.name)
	if n.timeout > 0 {
		limit := &event.Error{Code: CodeTimeout, Name: "NodeTimeoutError", Message: fmt.Sprintf("node %q took longer than %v", n.name, n.timeout)}
		outer := ctx
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, n.timeout, limit)
		defer cancel()
		defer func() {
			if err != nil && outer.Err() == nil && context.Cause(ctx) == error(limit) {
				err = limit
			}
		}()
	}
	if n.sub != nil {
		return s.descend(ctx, n)
	}
	return n.run(ctx, s)
}

func (e *engine) recoverTo(err *error, node string) {
	if v := recover(); v != nil {
		e.x.log().Error("node panicked", "run", e.x.Run, "node", node, "panic", v, "stack", string(debug.Stack()))
		*err = &event.Error{Code: CodePanic, Name: "PanicError", Message: fmt.Sprintf("node %q panicked: %v", node, v)}
	}
}

// choose asks the node's branches where to go. They see the node's own update.
func (e *engine) choose(ctx context.Context, t *taskRun, step int) (err error) {
	if len(t.node.branches) == 0 {
		return nil
	}
	defer e.recoverTo(&err, t.node.name)
	view := e.st.clone()
	for i := range t.writes {
		view.fold(e.g, &t.writes[i], false)
	}
	s := &Scope{engine: e, task: t.task, step: step, state: view}
	targets := t.targets[:len(t.targets):len(t.targets)]
	for _, b := range t.node.branches {
		chosen, err := b.choose(ctx, s)
		if Asks(err) {
			return fmt.Errorf("branch after node %q asks a person; only nodes may", t.node.name)
		}
		if err != nil {
			return err
		}
		if err := e.g.reachable(chosen); err != nil {
			return err
		}
		targets = append(targets, chosen...)
	}
	t.targets = targets
	return nil
}

// reachable refuses targets that do not exist.
func (g *Graph) reachable(targets []Target) error {
	for _, t := range targets {
		if t.Node != End && g.nodes[t.Node] == nil {
			return unknownNode("graph %q has no node %q to go to", g.name, t.Node)
		}
	}
	return nil
}
