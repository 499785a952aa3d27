package middleware_test

import (
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
)

type agentGraph = graph.Graph

func graphOf(t testing.TB, o agent.Options) *agentGraph {
	t.Helper()
	g, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}
