package tributary_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// The built-in agent without a key: the offline model counts, token by token.
func Example() {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	for env, err := range rt.Stream(ctx, tributary.Request{Text: "count to three"}) {
		if err != nil {
			log.Fatal(err)
		}
		if d, ok := env.Event.(event.TextDelta); ok {
			fmt.Print(d.Text)
		}
	}
	// Output:
	// one
	// two
	// three
}

// A model of your own; anything with a Stream method will do.
func ExampleRuntime_Chat() {
	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Models: tributary.OneModel(scripted.Always(scripted.Say("Rivers gather streams.")))})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	answer, err := rt.Chat(ctx, tributary.Request{Text: "What do rivers do?"})
	fmt.Println(answer, err)
	// Output: Rivers gather streams. <nil>
}

// A graph that asks a person, and goes on when it is answered.
func ExampleRuntime_Resume() {
	decision := graph.LastValue[string]("decision")
	g := graph.New("review", decision)
	g.Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		answer, err := graph.Ask[string](s, "Delete three files?")
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(decision.Set(answer)), nil
	})
	g.Chain(graph.Start, "ask", graph.End)

	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Graphs: map[string]tributary.Builder{"review": tributary.Fixed(g)}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	var thread, question string
	for env := range rt.Stream(ctx, tributary.Request{Assistant: "review", Input: []byte(`{}`)}) {
		thread = env.Thread
		if q, ok := env.Event.(event.InterruptRaised); ok {
			question = q.ID
			fmt.Printf("asked: %s\n", q.Value)
		}
	}
	for env := range rt.Resume(ctx, tributary.Request{Thread: thread}, tributary.Answer{Interrupt: question, Value: "no"}) {
		if n, ok := env.Event.(event.NodeEnded); ok {
			fmt.Printf("wrote: %s\n", n.Update)
		}
	}
	// Output:
	// asked: "Delete three files?"
	// wrote: {"decision":"no"}
}

// A node of your own that calls a model: readers see the answer arrive, and a failure that may pass is tried again.
func ExampleCallModel() {
	poet := scripted.Sequence(
		scripted.Fail(&model.Error{Class: model.Overloaded, Message: "busy"}),
		scripted.Say("Streams become rivers."),
	)
	messages := graph.Messages("messages")
	g := graph.New("poem", messages)
	g.Node("write", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		m, err := tributary.CallModel(ctx, s, poet, model.Request{Messages: messages.Get(s)},
			tributary.CallOptions{Retry: tributary.Retry{Backoff: time.Millisecond}})
		return graph.Update(messages.Add(m)), err
	})
	g.Chain(graph.Start, "write", graph.End)

	ctx := context.Background()
	rt, err := tributary.Open(ctx, tributary.Options{Graphs: map[string]tributary.Builder{"poem": tributary.Fixed(g)}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	answer, err := rt.Chat(ctx, tributary.Request{Assistant: "poem", Text: "A line on water, please."})
	fmt.Println(answer, err)
	fmt.Println(poet.Calls(), "calls")
	// Output:
	// Streams become rivers. <nil>
	// 2 calls
}
