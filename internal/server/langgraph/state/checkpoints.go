package state

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// Checkpoints looks up the checkpoints that a run's events speak of. What it answers never changes: values of a
// checkpoint are final, and where a run began is in the past.
//
// The look-ups belong to a projection that several readers share, so they end with none of their contexts.
type Checkpoints struct {
	of   *Reader
	run  run.Run
	root *graph.Graph
	last map[string]langgraph.State // of each namespace, the one that was asked for last
}

var _ langgraph.States = (*Checkpoints)(nil)

// Of looks up for one run.
func (s *Reader) Of(rn run.Run) *Checkpoints {
	return &Checkpoints{of: s, run: rn, last: map[string]langgraph.State{}}
}

// graph is the run's graph, which knows the order of its fields.
func (st *Checkpoints) graph(ctx context.Context, ns string) *graph.Graph {
	if st.root == nil {
		g, err := st.of.graphs.Graph(ctx, run.Identity{Owner: st.run.Owner}, st.run.Request.Graph, st.run.Request)
		if err != nil { // values can be shown without it
			return nil
		}
		st.root = g
	}
	return st.root.At(ns)
}

// State returns a checkpoint.
func (st *Checkpoints) State(ns, checkpoint string) (langgraph.State, error) {
	if known, ok := st.last[ns]; ok && known.ID == checkpoint {
		return known, nil
	}
	ctx := context.Background()
	snap, err := st.of.store.Load(ctx, st.run.Thread, ns, checkpoint)
	if err != nil {
		return langgraph.State{}, err
	}
	g := st.graph(ctx, ns)
	out := langgraph.State{
		ID: snap.ID, Parent: snap.Parent, Step: snap.Step, Source: snap.Source,
		Values: Ordered(g, snap.Values), Next: due(snap),
	}
	var below map[string]*graph.Graph
	if g != nil {
		below = g.Subgraphs()
	}
	for _, t := range snap.Next {
		out.Tasks = append(out.Tasks, langgraph.Task{ID: t.ID, Node: t.Node, Path: t.Path, Subgraph: below[t.Node] != nil})
	}
	st.last[ns] = out
	return out, nil
}

// Base returns where the run stood in a namespace when it began.
func (st *Checkpoints) Base(ns string) (string, error) {
	ctx := context.Background()
	if ns == "" {
		if st.run.Request.Input != nil {
			return "", nil
		}
		if st.run.Request.Checkpoint != "" {
			return st.run.Request.Checkpoint, nil
		}
	}
	rn, err := st.of.store.Run(ctx, run.Identity{Owner: st.run.Owner}, st.run.ID)
	if err != nil {
		return "", GoneIfMissing(err)
	}
	// Only one run at a time writes to a thread, so everything from before this one began is older than it.
	before := idAt(rn.StartedAt.Add(time.Millisecond))
	for {
		some, err := st.of.store.List(ctx, st.run.Thread, ns, before, 8)
		if err != nil {
			return "", err
		}
		for _, snap := range some {
			if snap.Run != st.run.ID && !snap.At.After(rn.StartedAt) {
				return snap.ID, nil
			}
			before = snap.ID
		}
		if len(some) < 8 {
			return "", nil
		}
	}
}

// GoneIfMissing tells that a run whose events are being read was removed meanwhile.
func GoneIfMissing(err error) error {
	if errors.Is(err, run.ErrNotFound) {
		return fmt.Errorf("%w: %w", graph.ErrNoCheckpoint, err)
	}
	return err
}

// idAt is an id after all that were made before a time.
func idAt(t time.Time) string {
	var u uuid.UUID
	ms := uint64(t.UnixMilli())
	for i := range 6 {
		u[i] = byte(ms >> (40 - 8*i))
	}
	u[6], u[8] = 0x70, 0x80
	return u.String()
}

// Final is what a run left behind: its last values, or the questions that it stopped with.
func (s *Reader) Final(ctx context.Context, rn run.Run, checkpoint string) (json.RawMessage, *graph.Snapshot, error) {
	snap, err := s.store.Load(ctx, rn.Thread, "", checkpoint)
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return json.RawMessage("null"), nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	g, err := s.graphs.Graph(ctx, run.Identity{Owner: rn.Owner}, rn.Request.Graph, rn.Request)
	if err != nil {
		g = nil // values can be shown without it
	}
	return Ordered(g, snap.Values), snap, nil
}
