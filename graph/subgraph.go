package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// OnlyNew makes a subgraph hand a list up without the elements that it was given. Without it the graph above gets the
// whole list, as in LangGraph, and a field that appends then holds the old elements twice.
var OnlyNew NodeOption = onlyNew{}

type onlyNew struct{}

func (onlyNew) apply(n *node) { n.onlyNew = true }

// Subgraph adds a node that runs another graph. The two share the fields of the same name: the subgraph begins with
// the values of the graph above and hands its own back when it has ended. It has a namespace of its
// own, "node:execution", and its own checkpoints there, and goes on from them when the node is repeated.
func (g *Graph) Subgraph(name string, sub *Graph, opts ...NodeOption) *Graph {
	n := &node{name: name, sub: sub}
	for _, o := range opts {
		o.apply(n)
	}
	if sub == nil || sub == g {
		g.wrong("subgraph %q needs another graph", name)
		n.sub = nil
	}
	g.add(n)
	return g
}

// descend runs a subgraph as the work of a node.
func (s *Scope) descend(ctx context.Context, n *node) (Command, error) {
	e := s.engine.below(n.sub, n.name+":"+s.task.ID)
	input, err := share(s.engine.g, s.state, n.sub, nil)
	if err != nil {
		return Command{}, err
	}
	if err := e.enter(ctx, input); err != nil {
		return Command{}, err
	}
	err = e.end(ctx, e.loop(ctx))
	var up *parentCommand
	if errors.As(err, &up) {
		up.cmd.Parent = false
		return up.cmd, nil
	}
	if err != nil {
		return Command{}, err
	}
	if e.stopped {
		return Command{}, &Interruption{Interrupts: e.open}
	}
	var base state
	if n.onlyNew {
		base = s.state
	}
	writes, err := share(n.sub, e.st, s.engine.g, base)
	return Update(writes...), err
}

// parentCommand ends a subgraph with a command for the graph above.
type parentCommand struct{ cmd Command }

func (*parentCommand) Error() string { return "a command for the parent graph" }

// below makes the engine of a graph inside this one.
func (e *engine) below(g *Graph, part string) *engine {
	return &engine{g: g, x: e.x, ns: joinNS(e.ns, part), task: e.task, meter: e.meter, before: g.before, after: g.after, unborn: e.ours}
}

// enter goes on from the namespace's own checkpoint, or begins with the input.
func (e *engine) enter(ctx context.Context, input []Write) error {
	snap, _, err := e.revisit(ctx)
	if err != nil {
		return err
	}
	if snap == nil {
		e.fresh()
		return e.input(ctx, input)
	}
	e.started = snap.Run == e.x.Run && snap.Source == event.FromLoop
	return e.stand(ctx, snap)
}

// revisit loads the namespace's latest checkpoint and counts how often this run has come here. What it recorded here
// before, in an attempt that failed, may still be on its way to the store and is waited for. A namespace that is named after a
// task of this very Execution has no checkpoint when it is entered for the first time, and none is looked for.
func (e *engine) revisit(ctx context.Context) (snap *Snapshot, visits int, err error) {
	e.x.mu.Lock()
	e.x.begun[e.ns]++
	visits = e.x.begun[e.ns]
	e.x.mu.Unlock()
	if visits > 1 && e.storing() {
		if err := e.x.record(ctx, Batch{Promise: true}); err != nil {
			return nil, 0, err
		}
	}
	if visits == 1 && e.unborn {
		return nil, visits, nil
	}
	snap, err = e.load(ctx, "")
	return snap, visits, err
}

// share makes updates of one graph's fields from another graph's values. With a base, lists are handed over
// without what base has of them.
func share(from *Graph, values state, to *Graph, base state) ([]Write, error) {
	var out []Write
	for i, d := range from.fields {
		at, ok := to.index[d.name]
		if !ok || !values[i].set {
			continue
		}
		target := to.fields[at]
		v := values[i].value
		if target.typ != d.typ {
			raw, err := d.encode(v)
			if err != nil {
				return nil, err
			}
			if v, err = target.read(raw); err != nil {
				return nil, fmt.Errorf("graphs %q and %q share a field of different types: %w", from.name, to.name, err)
			}
		}
		if base != nil && target.grow != nil && target.grow.since != nil {
			if tail, ok := target.grow.since(v, base[at].value); ok {
				v = tail
			}
		}
		out = append(out, Write{def: target, value: v})
	}
	return out, nil
}

// Child is a graph that a node runs as a sub-agent.
type Child struct {
	// Task is the sub-agent's id, the call id of the tool call that asked for it. It must be unique within the run.
	Task  string
	Agent string
	Title string
	// Uncalled says that no tool call opened it, as with an expert of a team.
	Uncalled bool
	// Alone says that the node's execution runs no other child. Its namespace is then the execution's own, "node:execution",
	// as a subgraph's is: LangGraph's clients look for the sub-agent of a call there.
	Alone bool
	// Input is an object of the child's fields: a json.RawMessage, a []Write, or what encodes as one. Writes are taken as they
	// are, without being encoded and read again.
	Input any
	// OmitValues leaves Result.Values empty. [Decode] then returns the child's own values, which must not be changed.
	OmitValues bool
}

// Run executes a graph as a sub-agent of this node, in a namespace of its own. All its events carry the child's task id.
// If it was begun before, by an execution of this node that a crash or an interrupt ended, it goes on from
// its last checkpoint; if it had ended, its result is returned at once. An [Interruption] must be returned by
// the node.
func (s *Scope) Run(ctx context.Context, g *Graph, c Child) (Result, error) {
	if err := g.Compile(); err != nil {
		return Result{}, err
	}
	input, err := c.writes(g)
	if err != nil {
		return Result{}, err
	}
	id := s.task.ID
	if !c.Alone {
		id = childID(id, c.Task)
	}
	e := s.engine.below(g, s.task.Node+":"+id)
	e.task, e.meter = c.Task, &meter{parent: s.engine.meter}
	ctx, leave := s.engine.x.Control.enter(ctx, c.Task)
	defer leave()
	return e.serve(ctx, c, s.engine.task, input)
}

// writes is the input of the child as updates of its fields.
func (c Child) writes(g *Graph) ([]Write, error) {
	if list, ok := c.Input.([]Write); ok {
		return g.adoptAll(slices.DeleteFunc(slices.Clone(list), func(w Write) bool {
			if w.def == nil {
				return false // which adoptAll complains of
			}
			_, has := g.index[w.def.name]
			return !has // as in an object from outside
		}))
	}
	raw, err := encodePayload(c.Input)
	if err != nil {
		return nil, fmt.Errorf("input of sub-agent %q: %w", c.Task, err)
	}
	return g.readWrites(raw)
}

// resultOf is how a sub-agent stopped.
func (e *engine) resultOf(c Child) (Result, error) {
	r, err := e.result(!c.OmitValues)
	if c.OmitValues {
		r.child = e
	}
	return r, err
}

// serve runs a sub-agent between its TaskStarted and its TaskEnded.
func (e *engine) serve(ctx context.Context, c Child, parent string, input []Write) (Result, error) {
	// Who is cancelled before it works begins and ends all the same, so that its end is told.
	begin := context.WithoutCancel(ctx)
	snap, tries, err := e.revisit(begin)
	if err != nil {
		return Result{}, err
	}
	if snap != nil && len(snap.Next) == 0 {
		if err := e.stand(begin, snap); err != nil {
			return Result{}, err
		}
		return e.resultOf(c)
	}
	// After a crash the journal has its beginning already: it was written with the first checkpoint.
	if recovered := snap != nil && snap.Run == e.x.Run && tries == 1; !recovered {
		started := event.TaskStarted{Parent: parent, CallID: c.Task, Agent: c.Agent, Title: c.Title}
		if c.Uncalled {
			started.CallID = ""
		}
		if tries > 1 {
			started.Attempt = tries
		}
		e.note("", 0, started)
	} else if e.x.Recall != nil {
		e.meter.usage = e.x.Recall.TaskUsage(c.Task)
	}
	e.x.carryUsage(c.Task, e.meter)
	defer e.x.keepUsage(c.Task, e.meter)
	if snap == nil {
		e.fresh()
		err = e.input(begin, input)
	} else {
		e.started = snap.Run == e.x.Run && snap.Source == event.FromLoop
		err = e.stand(begin, snap)
	}
	if err != nil {
		return Result{}, err
	}
	failure := e.loop(ctx)
	if failure == nil || !handedOver(ctx) { // otherwise it goes on elsewhere, with its caller
		e.note("", 0, e.ended(ctx, failure))
	}
	if err := e.end(ctx, failure); err != nil {
		return Result{}, err
	}
	if e.stopped {
		return Result{}, &Interruption{Interrupts: e.open}
	}
	return e.resultOf(c)
}

// ended tells how a sub-agent ended, and why if it did not succeed.
func (e *engine) ended(ctx context.Context, failure error) event.TaskEnded {
	ended := event.TaskEnded{Status: event.Success, Usage: e.meter.sum()}
	switch {
	case failure != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		ended.Status, ended.Error = event.TimedOut, ErrorOf(context.Cause(ctx))
	case failure != nil && ctx.Err() != nil:
		ended.Status, ended.Error = event.Cancelled, ErrorOf(context.Cause(ctx))
	case failure != nil:
		ended.Status, ended.Error = event.Failed, ErrorOf(failure)
	case e.stopped:
		ended.Status = event.Interrupted
	}
	return ended
}

// carryUsage adds what earlier attempts of a sub-agent cost in this process: what it used is what all of them used.
func (x *session) carryUsage(task string, m *meter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if spent, ok := x.spent[task]; ok {
		m.usage = spent
	}
}

func (x *session) keepUsage(task string, m *meter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.spent[task] = m.sum()
}

// meter sums what a sub-agent's turns cost, its children's included.
type meter struct {
	parent *meter
	mu     sync.Mutex
	usage  item.Usage
}

func (m *meter) add(ev event.Event) {
	if m == nil {
		return
	}
	var u item.Usage
	switch ev := ev.(type) {
	case event.TurnEnded:
		u = ev.Usage
	case event.TurnVoided:
		u = ev.Usage
	default:
		return
	}
	for ; m != nil; m = m.parent {
		m.mu.Lock()
		m.usage = m.usage.Plus(u)
		m.mu.Unlock()
	}
}

func (m *meter) sum() item.Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.usage
}

// Decode reads a field of a result.
func Decode[T any](r Result, f Field[T]) (T, error) {
	var v T
	if r.child != nil {
		i, ok := r.child.g.index[f.def.name]
		if !ok || !r.child.st[i].set {
			return v, nil
		}
		if own, ok := r.child.st[i].value.(T); ok {
			return own, nil
		}
		return v, fmt.Errorf("field %q of graph %q holds a %T, not a %T", f.def.name, r.child.g.name, r.child.st[i].value, v)
	}
	raw, ok := r.Values[f.def.name]
	if !ok {
		return v, nil
	}
	err := json.Unmarshal(raw, &v)
	return v, err
}
