package tributary_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

// A builder gets the secrets of a request and nobody sees them: neither who prints the configuration, nor who reads the run.
func TestABuilderGetsSecretsThatNobodySees(t *testing.T) {
	const canary = "canary-0c5f7d"
	var got, shown string
	rt := open(t, tributary.Options{Graphs: map[string]tributary.Builder{"look": func(_ context.Context, c tributary.Config) (*graph.Graph, error) {
		got, _ = c.Secrets.Secret("KEY")
		raw, err := json.Marshal(c)
		if err != nil {
			return nil, err
		}
		shown = fmt.Sprintf("%v %+v %#v %s", c, c, c, raw)
		g := graph.New("look")
		g.Node("use", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			value, _ := s.Secret("KEY")
			got += value
			return graph.Command{}, nil
		})
		g.Edge(graph.Start, "use")
		return g, g.Compile()
	}}})
	run, err := rt.Start(t.Context(), tributary.Request{Assistant: "look", Input: json.RawMessage(`{}`), Context: json.RawMessage(`{"secrets":{"KEY":"` + canary + `"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if run, err = rt.Wait(t.Context(), "", run.ID); err != nil || run.Status != event.Success {
		t.Fatalf("the run is %+v, %v", run, err)
	}
	if got != canary+canary || strings.Contains(shown, canary) || strings.Contains(fmt.Sprintf("%+v", run), canary) {
		t.Errorf("got %q; shown: %s; the run is %+v", got, shown, run)
	}
}
