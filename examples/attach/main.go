// Command attach shows that a run belongs to the data folder and not to the process that started it. Each of its commands
// is a process of its own:
//
//	attach start            starts a run and leaves at once
//	attach follow RUN       reads it from its first event, until it ends or asks
//	attach answer RUN TEXT  answers what its thread asks, and reads on
//	attach again RUN TEXT   goes back to before the question, and answers otherwise
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
)

func main() {
	if err := command(context.Background(), append(os.Args[1:], "", "", "")); err != nil {
		log.Fatal(err)
	}
}

func command(ctx context.Context, args []string) error {
	dir := cmp.Or(os.Getenv("ATTACH_DATA"), "data")
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, Graphs: map[string]tributary.Builder{"report": tributary.Fixed(report())}})
	if err != nil {
		return err
	}
	switch do, id, text := args[0], args[1], args[2]; do {
	case "start":
		err = start(ctx, rt)
	case "follow":
		err = show(rt.Follow(ctx, "", id, tributary.Position{}))
	case "answer":
		err = answer(ctx, rt, id, text)
	case "again":
		err = again(ctx, rt, id, text)
	default:
		err = errors.New("say start, follow, answer or again")
	}
	now, cancel := context.WithCancel(ctx)
	cancel() // nothing is waited for: what runs goes on in the next process
	return errors.Join(err, rt.Close(now))
}

func start(ctx context.Context, rt *tributary.Runtime) error {
	run, err := rt.Start(ctx, tributary.Request{Assistant: "report", Input: []byte(`{"topic":"rivers"}`)})
	fmt.Println(run.ID)
	return err
}

func answer(ctx context.Context, rt *tributary.Runtime, id, text string) error {
	run, err := rt.Run(ctx, "", id)
	if err != nil {
		return err
	}
	state, err := rt.State(ctx, "", run.Thread, tributary.Checkpoint{})
	if err != nil {
		return err
	}
	for _, q := range state.Interrupts {
		return show(rt.Resume(ctx, tributary.Request{Thread: run.Thread}, tributary.Answer{Interrupt: q.ID, Value: text}))
	}
	return errors.New("nothing is asked")
}

func again(ctx context.Context, rt *tributary.Runtime, id, text string) error {
	run, err := rt.Run(ctx, "", id)
	if err != nil {
		return err
	}
	for state, err := range rt.History(ctx, "", run.Thread, tributary.Checkpoint{}) {
		if err != nil {
			return err
		}
		if len(state.Next) == 1 && state.Next[0] == "review" && state.Source == event.FromLoop {
			if _, err := rt.Fork(ctx, "", run.Thread, state.Checkpoint); err != nil {
				return err
			}
			if err := show(rt.Stream(ctx, tributary.Request{Thread: run.Thread})); err != nil {
				return err
			}
			return answer(ctx, rt, id, text)
		}
	}
	return errors.New("it was never asked")
}

// show prints what a reader of a run sees.
func show(events iter.Seq2[event.Envelope, error]) error {
	for env, err := range events {
		if err != nil {
			return err
		}
		switch e := env.Event.(type) {
		case event.NodeEnded:
			if e.Update != nil {
				fmt.Printf("%s wrote %s\n", env.Node, e.Update)
			}
		case event.InterruptRaised:
			fmt.Printf("%s asks %s\n", env.Node, e.Value)
		case event.RunEnded:
			fmt.Println(e.Status)
		}
	}
	return nil
}

// report looks at a topic from several sides at the same time, and publishes what a person has approved.
func report() *graph.Graph {
	topic, notes, verdict := graph.LastValue[string]("topic"), graph.List[string]("notes"), graph.LastValue[string]("verdict")

	review := graph.New("review", notes, verdict).Node("ask", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		answer, err := graph.Ask[string](s, fmt.Sprintf("publish %d notes?", len(notes.Get(s))))
		return graph.Update(verdict.Set(answer)), err
	}).Chain(graph.Start, "ask", graph.End)

	g := graph.New("report", topic, notes, verdict)
	g.Node("plan", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Send("look", "the source of "+topic.Get(s)).Send("look", "the mouth of "+topic.Get(s)), nil
	})
	g.Node("look", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		at, err := graph.InputAs[string](s)
		return graph.Update(notes.Add(at)), err
	})
	g.Subgraph("review", review, graph.OnlyNew)
	return g.Chain(graph.Start, "plan").Chain("look", "review", graph.End)
}
