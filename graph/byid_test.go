package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/tributary-ai/tributary/graph"
)

// An object whose keys do not look like ids of questions is an answer, unless its sender says that it holds answers by id.
func TestAnswersByIDAreNotToldByTheirShape(t *testing.T) {
	answer := graph.JSON("answer")
	g := graph.New("ask", answer).Node("a", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		got, err := graph.Ask[json.RawMessage](s, "sure?")
		return graph.Update(answer.Set(got)), err
	}).Chain(graph.Start, "a", graph.End)
	s := begin(t, g)
	s.input(`{}`)
	var by graph.Orders
	if err := json.Unmarshal([]byte(`{"resume":{"x":1},"by_id":true}`), &by); err != nil {
		t.Fatal(err)
	}
	if _, err := s.try(graph.Execution{Orders: &by}); !errors.Is(err, graph.ErrNotPending) {
		t.Errorf("an answer to the question x: %v, want ErrNotPending", err)
	}
	r := s.run(graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(`{"x":1}`)}})
	equal(t, "the answer", string(r.Values["answer"]), `{"x":1}`)
	if err := json.Unmarshal([]byte(`{"resume":7,"by_id":true}`), &by); err == nil {
		t.Error("7 passes for answers by id")
	}
}
