package graph

import (
	"maps"
	"slices"
	"strconv"

	"github.com/tributary-ai/tributary/event"
)

// advance applies what the tasks of a step wrote, in the order of the tasks, and goes to the next checkpoint.
func (e *engine) advance(done []*taskRun) error { return e.advanceAs(event.FromLoop, done) }

func (e *engine) advanceAs(source event.Source, done []*taskRun) error {
	if err := e.oneWriter(done); err != nil {
		return err
	}
	st := e.st.clone() // scopes of the step may still be held
	e.ran = e.ran[:0]
	for _, t := range done {
		for i := range t.writes {
			st.fold(e.g, &t.writes[i], true)
		}
		e.ran = append(e.ran, t.task.Node)
	}
	e.st = st
	next, joins := e.successors(done)
	return e.save(source, next, joins, done)
}

// oneWriter refuses two writes of a last-value field in one step.
func (e *engine) oneWriter(done []*taskRun) error {
	if len(done) < 2 {
		return nil
	}
	writer := make([]*taskRun, len(e.g.fields))
	for _, t := range done {
		for i := range t.writes {
			w := &t.writes[i]
			at := e.g.index[w.def.name]
			if first := writer[at]; first != nil && first != t && w.def.single {
				return invalidUpdate("field %q keeps the last value and was written by both %q and %q in one step; give it a reducer, or let one of them write it",
					w.def.name, first.task.Node, t.task.Node)
			}
			writer[at] = t
		}
	}
	return nil
}

// agenda gathers what is due next.
type agenda struct {
	g     *Graph
	pulls []Task
	sends []Task
}

func (a *agenda) pull(node, trigger string) {
	if node == End {
		return
	}
	for i := range a.pulls {
		if a.pulls[i].Node == node {
			if !slices.Contains(a.pulls[i].Triggers, trigger) {
				a.pulls[i].Triggers = append(slices.Clip(a.pulls[i].Triggers), trigger)
			}
			return
		}
	}
	n := a.g.nodes[node]
	t := Task{Node: node, Path: n.path, Triggers: n.trigger}
	if trigger != n.trigger[0] {
		t.Triggers = []string{trigger}
	}
	a.pulls = append(a.pulls, t)
}

func (a *agenda) visit(t Target) {
	switch {
	case t.Node == End:
	case t.Send:
		a.send(Task{Node: t.Node, Triggers: pushTrigger, Input: t.Input})
	default:
		a.pull(t.Node, a.g.nodes[t.Node].trigger[0])
	}
}

var pushTrigger = []string{"push"}

func (a *agenda) send(t Task) {
	t.Path = []string{"push", strconv.Itoa(len(a.sends)), t.Node}
	a.sends = append(a.sends, t)
}

// tasks returns what is due in the order in which updates are applied: by name, then what was sent.
func (a *agenda) tasks() []Task {
	if len(a.pulls) > 1 {
		slices.SortFunc(a.pulls, func(x, y Task) int {
			if x.Node < y.Node {
				return -1
			}
			return 1 // no two have the same name
		})
	}
	return append(a.pulls, a.sends...)
}

// successors follows edges, commands and joins.
func (e *engine) successors(done []*taskRun) ([]Task, map[string][]string) {
	a := agenda{g: e.g}
	joins := e.cp.Joins
	copied := false
	for _, t := range done {
		for _, to := range t.node.edges {
			if to != End {
				a.pull(to, e.g.nodes[to].trigger[0])
			}
		}
		for _, target := range t.targets {
			a.visit(target)
		}
		for _, j := range t.node.joins {
			if !copied {
				joins, copied = maps.Clone(joins), true
				if joins == nil {
					joins = map[string][]string{}
				}
			}
			arrived := joins[j.name]
			if !slices.Contains(arrived, t.node.name) {
				arrived = append(slices.Clip(arrived), t.node.name)
				slices.Sort(arrived)
			}
			if joins[j.name] = arrived; len(arrived) == len(j.sources) {
				delete(joins, j.name)
				a.pull(j.target, j.name)
			}
		}
	}
	if len(joins) == 0 {
		joins = nil
	}
	return a.tasks(), joins
}

// save goes to a new checkpoint with the live state, and stores it unless that is left to the end.
func (e *engine) save(source event.Source, next []Task, joins map[string][]string, done []*taskRun) error {
	e.cp = Checkpoint{
		ID: newCheckpointID(e.cp.ID), Parent: e.base, Thread: e.x.Thread, NS: e.ns, Run: e.x.Run,
		Step: e.cp.Step + 1, Source: source, Next: next, Joins: joins, Metadata: e.x.Config.Metadata,
	}
	for i := range next {
		next[i].ID = taskID(e.cp.ID, e.ns, next[i].Node, next[i].Path)
	}
	e.kept, e.saved, e.ours, e.led, e.last = nil, false, true, done, nil
	if !e.storing() || e.x.Durability == Exit {
		return nil
	}
	return e.store()
}

// settle stores the checkpoint that was left to the end.
func (e *engine) settle() error {
	if e.saved || e.cp.ID == "" || !e.storing() {
		return nil
	}
	if err := e.store(); err != nil {
		return err
	}
	e.out.Save = append(e.out.Save, e.last...)
	return nil
}

// store puts the checkpoint into the next batch.
func (e *engine) store() error {
	e.cp.At = now()
	c := Commit{}
	var changed []string
	if err := e.blobs(&c, &changed); err != nil {
		return err
	}
	for _, t := range e.led {
		o, err := t.outcome(true)
		if err != nil {
			return err
		}
		c.Done = append(c.Done, o)
	}
	c.Checkpoint = e.cp
	e.out.Save = append(e.out.Save, c)
	e.out.Promise = e.out.Promise || e.x.Durability == Sync
	e.note("", e.cp.Step, event.CheckpointSaved{
		ID: e.cp.ID, Parent: e.cp.Parent, Source: e.cp.Source, Next: names(e.cp.Next), Changed: changed,
	})
	e.saved, e.base, e.led = true, e.cp.ID, nil
	return nil
}

// blobs stores the fields that changed under one new version.
func (e *engine) blobs(c *Commit, changed *[]string) error {
	e.cp.Versions = make(map[string]int64, len(e.st))
	var version int64
	for i := range e.st {
		cell, d := &e.st[i], e.g.fields[i]
		if cell.changed {
			if version == 0 {
				version = newVersion(e.st.newest())
			}
			if cell.only != nil {
				cell.only.stored = version
			}
			b, err := cell.blob(d, version)
			if err != nil {
				return err
			}
			c.Blobs = append(c.Blobs, b)
			*changed = append(*changed, d.name)
		}
		if cell.version != 0 {
			e.cp.Versions[d.name] = cell.version
		}
	}
	return nil
}

func (st state) newest() int64 {
	var v int64
	for i := range st {
		v = max(v, st[i].version)
	}
	return v
}

func names(tasks []Task) []string {
	if len(tasks) == 0 {
		return nil
	}
	out := make([]string, len(tasks))
	for i, t := range tasks {
		out[i] = t.Node
	}
	return out
}
