package graph_test

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/graph"
)

// A complete graph: plan, look two things up at the same time, write.
func Example() {
	topic := graph.LastValue[string]("topic")
	notes := graph.List[string]("notes")

	g := graph.New("research", topic, notes)
	g.Node("plan", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(notes.Add("planned "+topic.Get(s))).Send("look", "source").Send("look", "mouth"), nil
	})
	g.Node("look", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		where, err := graph.InputAs[string](s)
		return graph.Update(notes.Add("saw the " + where)), err
	})
	g.Node("write", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(notes.Add(fmt.Sprintf("wrote down %d notes", len(notes.Get(s))))), nil
	})
	g.Chain(graph.Start, "plan").Chain("look", "write", graph.End)

	r, err := g.Run(context.Background(), graph.Execution{Input: []byte(`{"topic":"rivers"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status, string(r.Values["notes"]))
	// Output: success ["planned rivers","saw the source","saw the mouth","wrote down 3 notes"]
}
