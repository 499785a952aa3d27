package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tributary-ai/tributary/event"
)

// Names that an update from outside may act as, besides nodes.
const (
	AsInput = "__input__" // leaves the values as an input that is applied by whatever comes next
	AsCopy  = "__copy__"  // copies the checkpoint with all that is due
)

// Edit changes the state of a thread from outside any run.
type Edit struct {
	Thread string
	NS     string // see [Graph.At] for the graph to call with one
	// From is the checkpoint to change, which makes a branch if it is not the latest; the latest if empty.
	From string
	// Steps are applied one after the other, each with a checkpoint of its own.
	Steps    [][]NodeUpdate
	Metadata json.RawMessage

	Checkpoints Checkpointer
	Recorder    Recorder
}

// NodeUpdate is an update as if a node had returned it.
type NodeUpdate struct {
	// Values is an object of fields; null with an empty As copies the checkpoint.
	Values json.RawMessage
	Goto   []Target
	// As is the node that is taken to have written. Its successors are due next, and nothing else. If empty, it is
	// the node that wrote last.
	As string
}

// UpdateState applies an edit and returns the id of the last checkpoint it made. It tells no events, as there is no
// run whose journal they could stand in.
func (g *Graph) UpdateState(ctx context.Context, ed Edit) (string, error) {
	if err := g.Compile(); err != nil {
		return "", err
	}
	if len(ed.Steps) == 0 {
		return "", invalidInput("an edit needs at least one update")
	}
	if ed.Checkpoints == nil || ed.Recorder == nil {
		return "", errors.New("an edit needs Checkpoints to read the state from and a Recorder to write it to")
	}
	silent := &quiet{ed.Recorder}
	e := &engine{g: g, ns: ed.NS, x: &session{Execution: Execution{
		Thread: ed.Thread, Config: Config{Metadata: ed.Metadata}, Checkpoints: ed.Checkpoints, Recorder: silent,
	}}}
	snap, err := e.load(ctx, ed.From)
	if err != nil {
		return "", err
	}
	if snap == nil {
		if ed.From != "" {
			return "", fmt.Errorf("thread %s, checkpoint %s: %w", ed.Thread, ed.From, ErrNoCheckpoint)
		}
		e.fresh()
	} else if err := e.stand(ctx, snap); err != nil {
		return "", err
	}
	for i, step := range ed.Steps {
		if err := e.edit(ctx, step); err != nil {
			return "", fmt.Errorf("update %d: %w", i+1, err)
		}
	}
	e.out.Promise = true
	return e.cp.ID, e.flush(ctx)
}

// quiet keeps events out of a recorder that has no run.
type quiet struct{ Recorder }

func (q *quiet) Record(ctx context.Context, b Batch) error {
	b.Events = nil
	return q.Recorder.Record(ctx, b)
}

// edit applies one step of an edit.
func (e *engine) edit(ctx context.Context, updates []NodeUpdate) error {
	if len(updates) == 0 {
		return invalidInput("a step needs at least one update")
	}
	if only := updates[0]; len(updates) == 1 {
		switch {
		case only.As == AsInput:
			return e.leaveInput(only.Values)
		case only.As == AsCopy:
			return e.save(event.FromFork, retask(e.cp.Next), e.cp.Joins, nil)
		case only.As == "" && nullToNil(only.Values) == nil && len(only.Goto) == 0:
			return e.save(event.FromUpdate, retask(e.cp.Next), e.cp.Joins, nil)
		}
	}
	if err := e.takeInput(updates); err != nil {
		return err
	}
	done := make([]*taskRun, len(updates))
	for i, u := range updates {
		t, err := e.pretend(ctx, u, i)
		if err != nil {
			return err
		}
		done[i] = t
	}
	return e.advanceAs(event.FromUpdate, done)
}

// leaveInput makes a checkpoint at which an input waits to be applied.
func (e *engine) leaveInput(values json.RawMessage) error {
	if _, err := e.g.readWrites(values); err != nil {
		return err
	}
	if values = nullToNil(values); values == nil {
		values = json.RawMessage(`{}`)
	}
	return e.save(event.FromInput, []Task{{Node: Start, Path: startPath, Triggers: startTrigger, Input: values}}, e.cp.Joins, nil)
}

// takeInput applies an input that was left before, unless the update is that very input.
func (e *engine) takeInput(updates []NodeUpdate) error {
	if len(e.cp.Next) != 1 || e.cp.Next[0].Node != Start || slices.ContainsFunc(updates, func(u NodeUpdate) bool { return u.As == Start }) {
		return nil
	}
	writes, err := e.g.readWrites(e.cp.Next[0].Input)
	if err != nil {
		return err
	}
	st := e.st.clone()
	for i := range writes {
		st.fold(e.g, &writes[i], true)
	}
	e.st = st
	return nil
}

// pretend makes a finished task of an update.
func (e *engine) pretend(ctx context.Context, u NodeUpdate, i int) (*taskRun, error) {
	as := u.As
	if as == "" {
		var err error
		if as, err = e.lastWriter(ctx); err != nil {
			return nil, err
		}
	}
	t := &taskRun{finished: true, targets: u.Goto}
	t.task = &Task{Node: as, ID: taskID(e.cp.ID, e.ns, as, []string{"update", strconv.Itoa(i)})}
	switch as {
	case Start:
		t.node = e.g.start
	case End:
		t.node = &node{name: End}
	default:
		if t.node = e.g.nodes[as]; t.node == nil {
			return nil, unknownNode("graph %q has no node %q to update the state as", e.g.name, as)
		}
	}
	var err error
	if t.writes, err = e.g.readWrites(u.Values); err != nil {
		return nil, err
	}
	if err := e.g.reachable(u.Goto); err != nil {
		return nil, err
	}
	return t, e.choose(ctx, t, e.cp.Step+1)
}

// lastWriter finds the node that wrote last. Where several did, in one step, the caller has to say.
func (e *engine) lastWriter(ctx context.Context) (string, error) {
	ran, parent := e.ran, e.cp.Parent
	for {
		nodes := slices.Compact(slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(ran), func(n string) bool { return n == Start }))))
		switch {
		case len(nodes) == 1:
			return nodes[0], nil
		case len(nodes) > 1:
			return "", invalidUpdate("the nodes %q wrote last, in one step; say as which of them to update", nodes)
		case parent == "":
			return Start, nil
		}
		snap, err := e.x.Checkpoints.Load(ctx, e.x.Thread, e.ns, parent)
		if err != nil {
			return "", err
		}
		ran, parent = nil, snap.Parent
		for _, o := range snap.Done {
			ran = append(ran, o.Node)
		}
	}
}

// Preview returns a snapshot's values with the updates of tasks that have finished while others of
// their step still wait, and the nodes that do.
func (g *Graph) Preview(snap *Snapshot) (values map[string]json.RawMessage, next []string, err error) {
	st, err := loadState(g, snap)
	if err != nil {
		return nil, nil, err
	}
	changed := false
	for _, t := range snap.Next {
		o := outcomeOf(snap.Kept, t.ID)
		if o == nil || !o.Finished {
			next = append(next, t.Node)
			continue
		}
		writes, err := g.keptWrites(*o)
		if err != nil {
			return nil, nil, err
		}
		for i := range writes {
			st.fold(g, &writes[i], true)
			changed = true
		}
	}
	if !changed {
		return snap.Values, next, nil
	}
	values, err = st.encode(g)
	return values, next, err
}
