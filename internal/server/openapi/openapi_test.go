package openapi

import (
	"encoding/json"
	"testing"

	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
)

func TestEveryRouteOfLangGraphIsDescribed(t *testing.T) {
	routes := edge.NewRoutes(edge.Options{})
	langgraph.Mount(routes, langgraph.Options{})
	known := map[string]bool{}
	for _, p := range routes.Patterns() {
		known[p] = true
		if _, ok := operations[p]; !ok {
			t.Errorf("%s is not in the table of operations", p)
		}
	}
	for p := range operations {
		if !known[p] {
			t.Errorf("%s is described and does not exist", p)
		}
	}
	raw, err := json.Marshal(Document(routes.Patterns(), ""))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			if seen[op.OperationID] {
				t.Errorf("%s %s: the operation id %q is not unique", method, path, op.OperationID)
			}
			seen[op.OperationID] = true
		}
	}
	if len(seen) != len(operations) {
		t.Errorf("%d operations in the document, want %d", len(seen), len(operations))
	}
}
