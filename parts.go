package tributary

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// Parts are what a runtime is made of, for the commands of this module that put a server around it. Their types
// cannot be named from outside of the module.
type Parts struct {
	Engine  *run.Engine
	Journal *journal.Journal
	Store   *sqlite.DB
	Graphs  Graphs
}

// Parts returns the parts; they are closed with the runtime.
func (r *Runtime) Parts() Parts {
	return Parts{Engine: r.engine, Journal: r.journal, Store: r.db, Graphs: Graphs{r}}
}

// Graphs finds a runtime's graphs by name.
type Graphs struct{ r *Runtime }

// Names lists the graphs in order.
func (g Graphs) Names() []string { return slices.Sorted(maps.Keys(g.r.graphs)) }

// Graph builds a graph as a run with that request would get it.
func (g Graphs) Graph(ctx context.Context, name string, req run.Request) (*graph.Graph, error) {
	if _, ok := g.r.graphs[name]; !ok {
		return nil, fmt.Errorf("graph %q: %w", name, run.ErrNotFound)
	}
	req.Graph = name
	return g.r.build(ctx, run.Run{Request: req})
}
