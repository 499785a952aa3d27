package graph_test

import (
	"context"
	"testing"

	"github.com/tributary-ai/tributary/graph"
)

// wire/langgraph/assistants: graph drawings with and without xray.
func TestDrawing(t *testing.T) {
	g := researchGraph()
	equal(t, "closed", g.Draw(0), graph.Drawing{
		Nodes: []graph.DrawnNode{{ID: graph.Start, Name: graph.Start}, {ID: "plan", Name: "plan"}, {ID: "research", Name: "research", Subgraph: true}, {ID: "write", Name: "write"}, {ID: graph.End, Name: graph.End}},
		Edges: []graph.DrawnEdge{{graph.Start, "plan", false}, {"plan", "research", false}, {"research", "write", false}, {"write", graph.End, false}},
	})
	equal(t, "open", g.Draw(-1), graph.Drawing{
		Nodes: []graph.DrawnNode{{ID: graph.Start, Name: graph.Start}, {ID: "plan", Name: "plan"}, {ID: "research:search", Name: "search"}, {ID: "research:summarize", Name: "summarize"}, {ID: "write", Name: "write"}, {ID: graph.End, Name: graph.End}},
		Edges: []graph.DrawnEdge{{"research:search", "research:summarize", false}, {graph.Start, "plan", false}, {"plan", "research:search", false}, {"research:summarize", "write", false}, {"write", graph.End, false}},
	})
	if sub := g.At("research:some-execution"); sub == nil || sub.Name() != "research" {
		t.Errorf("graph of the namespace: %v", sub)
	}
	if g.At("plan:x") != nil || g.At("") != g {
		t.Error("a namespace names the wrong graph")
	}
}

func TestBranchesAreDrawnAsConditional(t *testing.T) {
	choose := func(context.Context, *graph.Scope) ([]graph.Target, error) { return nil, nil }
	g := graph.New("tools", notes).Node("agent", noting("")).Node("tools", noting("")).Edge(graph.Start, "agent").Edge("tools", "agent")
	g.Branch("agent", choose, "tools", graph.End)
	equal(t, "edges", g.Draw(0).Edges, []graph.DrawnEdge{{graph.Start, "agent", false}, {"agent", "tools", true}, {"agent", graph.End, true}, {"tools", "agent", false}})
}
