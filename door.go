package tributary

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/run"
)

func init() {
	door.Hang(func(runtime any) door.Parts {
		r := runtime.(*Runtime)
		p := door.Parts{Engine: r.engine, Journal: r.journal, Store: r.db, Graphs: graphs{r}, Log: r.log, Quota: r.quota()}
		if r.opt.Files {
			p.Folder = r.folder
		}
		return p
	})
}

// graphs finds a runtime's graphs by name.
type graphs struct{ r *Runtime }

func (g graphs) Names() []string { return slices.Sorted(maps.Keys(g.r.graphs)) }

func (g graphs) Graph(ctx context.Context, name string, req run.Request) (*graph.Graph, error) {
	if _, ok := g.r.graphs[name]; !ok {
		return nil, fmt.Errorf("graph %q: %w", name, run.ErrNotFound)
	}
	req.Graph = name
	return g.r.build(ctx, run.Run{Request: req})
}
