// Package state shows the state of threads in LangGraph's words: values in the order of the graph's fields, what is due,
// what was asked, and where in the tree of checkpoints that stands.
//
// # Laws
//
//   - It reads and changes nothing.
//   - A state can be shown without its graph, or with a graph that has changed since: then in the order of the names of
//     its values. Only what needs the graph itself fails.
//   - What is told of a checkpoint never changes, but for what is due there: that becomes done.
package state

import (
	"context"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// Store is where states are read from.
type Store interface {
	graph.Checkpointer
	// Outcomes tells what the tasks of a checkpoint did that led to the one after it; nothing, if there is none.
	Outcomes(ctx context.Context, thread, ns, checkpoint string) ([]graph.Outcome, error)
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// Graphs builds a graph as a run with that configuration would get it; run.ErrNotFound if there is none.
type Graphs interface {
	Graph(ctx context.Context, who run.Identity, name string, config run.Request) (*graph.Graph, error)
}

// Reader reads states.
type Reader struct {
	store  Store
	graphs Graphs
}

// NewReader reads the states in a store, of graphs that are found by their names.
func NewReader(store Store, graphs Graphs) *Reader { return &Reader{store, graphs} }
