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

// The answers are stored before the first step ends; a run that is begun again after that has given them already. One answer
// must not go to the next question then, and answers by id are not answers to nobody.
func TestAnswersThatACrashLeftBehindAreNotGivenAgain(t *testing.T) {
	votes := graph.List[string]("votes")
	asks := func(side string) graph.NodeFunc {
		return func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			answer, err := graph.Ask[string](s, side)
			return graph.Update(votes.Add(side + ": " + answer)), err
		}
	}
	for name, c := range map[string]struct {
		answer func(left, right string) string
		open   int
	}{
		"by id": {func(left, right string) string { return `{"` + left + `":"aye","` + right + `":"no"}` }, 0},
		"one":   {func(string, string) string { return `"aye"` }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := graph.New("vote", votes).Node("left", asks("left")).Node("right", asks("right")).Edge(graph.Start, "left").Edge(graph.Start, "right")
			mem := graph.NewMemory()
			res, err := g.Run(t.Context(), graph.Execution{Thread: "t", Run: "1", Input: json.RawMessage(`{}`), Checkpoints: mem, Recorder: mem})
			if err != nil || len(res.Interrupts) != 2 {
				t.Fatalf("%+v, %v", res, err)
			}
			orders := &graph.Orders{Resume: json.RawMessage(c.answer(res.Interrupts[0].ID, res.Interrupts[1].ID))}
			x := graph.Execution{Thread: "t", Run: "2", Orders: orders, Checkpoints: mem, Recorder: &dying{Recorder: mem, after: 1}}
			if _, err := g.Run(t.Context(), x); err == nil {
				t.Fatal("the process did not die")
			}
			x.Recorder = mem
			if res, err = g.Run(t.Context(), x); err != nil || len(res.Interrupts) != c.open {
				t.Errorf("begun again: %d questions are open, %v; want %d", len(res.Interrupts), err, c.open)
			}
		})
	}
}
