package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

var (
	count    = graph.LastValue[int]("count")
	messages = graph.Messages("messages")
)

// loop is a graph of one node that runs n times.
func loop(n int) *graph.Graph {
	g := graph.New("loop", count)
	g.Node("step", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		return graph.Update(count.Set(count.Get(s) + 1)), nil
	})
	g.Edge(graph.Start, "step")
	g.Branch("step", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		if count.Get(s) < n {
			return []graph.Target{{Node: "step"}}, nil
		}
		return []graph.Target{{Node: graph.End}}, nil
	}, "step", graph.End)
	return g
}

func graphSteps(ctx context.Context, b *bench) ([]row, error) {
	n := 20_000
	if b.quick {
		n = 2_000
	}
	input := json.RawMessage(`{"count":0}`)
	start := time.Now()
	if _, err := loop(n).Run(ctx, graph.Execution{Input: input, RecursionLimit: n + 10}); err != nil {
		return nil, err
	}
	memory := time.Since(start) / time.Duration(n)

	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: filepath.Join(b.dir, uuid.NewString()), Graphs: map[string]tributary.Builder{"loop": tributary.Fixed(loop(n))},
	})
	if err != nil {
		return nil, err
	}
	defer rt.Close(ctx)
	start, used := time.Now(), cpu()
	var end event.RunEnded
	for env, err := range rt.Stream(ctx, tributary.Request{Assistant: "loop", Input: input, RecursionLimit: n + 10}) {
		if err != nil {
			return nil, err
		}
		if e, ok := env.Event.(event.RunEnded); ok {
			end = e
		}
	}
	if end.Status != event.Success {
		return nil, fmt.Errorf("the run ended %s: %v", end.Status, end.Error)
	}
	stored, used := time.Since(start)/time.Duration(n), (cpu()-used)/time.Duration(n)
	return []row{
		{"a step in memory", short(memory), "a function call: some ns", atMost(memory.Seconds(), 5e-6, "5 µs")},
		{"a step with three events, a checkpoint on disk and a follower", fmt.Sprintf("%s, %s CPU", short(stored), short(used)), short(memory) + " in memory", atMost(stored.Seconds(), 150e-6, "150 µs")},
	}, nil
}

// talk is a graph that answers a message with one of a usual length.
func talk(answer string, pieces int) *graph.Graph {
	g := graph.New("talk", messages)
	g.Node("agent", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_" + uuid.NewString()})
		if err != nil {
			return graph.Command{}, err
		}
		size := max(len(answer)/pieces, 1)
		for i := 0; i < len(answer); i += size {
			if err := w.Text(ctx, 0, answer[i:min(i+size, len(answer))]); err != nil {
				return graph.Command{}, err
			}
		}
		m, err := w.End(ctx, item.FinishStop, "bench-1")
		return graph.Update(messages.Set([]item.Message{m})), err
	})
	g.Edge(graph.Start, "agent")
	g.Edge("agent", graph.End)
	return g
}

// checkpointBytes holds what a conversation's state costs on disk against the bytes of its messages.
func checkpointBytes(ctx context.Context, b *bench) ([]row, error) {
	turns := 500
	if b.quick {
		turns = 100
	}
	question := strings.Repeat("What do you think of rivers? ", 6)
	answer := strings.Repeat("Rivers gather small streams on their way down to the sea. ", 20)
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: filepath.Join(b.dir, uuid.NewString()), Graphs: map[string]tributary.Builder{"talk": tributary.Fixed(talk(answer, 10))},
	})
	if err != nil {
		return nil, err
	}
	defer rt.Close(ctx)
	thread := uuid.NewString()
	var first, last time.Duration
	for i := range turns {
		start := time.Now()
		if _, err := rt.Chat(ctx, tributary.Request{Thread: thread, Assistant: "talk", Text: question}); err != nil {
			return nil, err
		}
		if i < turns/10 {
			first += time.Since(start)
		}
		if i >= turns-turns/10 {
			last += time.Since(start)
		}
	}
	db := door.Open(rt).Store
	s, err := db.Load(ctx, thread, "", "")
	if err != nil {
		return nil, err
	}
	size, err := db.Backend.(*sqlite.DB).StateBytes(ctx, thread)
	if err != nil {
		return nil, err
	}
	said := len(s.Values["messages"])
	return []row{
		{fmt.Sprintf("checkpoints of %d turns ÷ their messages", turns), fmt.Sprintf("%.2f (%s ÷ %s)", float64(size)/float64(said), thousands(int(size)), thousands(said)), "1.00", atMost(float64(size)/float64(said), 1.5, "1.5")},
		{"a turn: the last tenth against the first", fmt.Sprintf("%s against %s", short(last/time.Duration(turns/10)), short(first/time.Duration(turns/10))), "–", atMost(last.Seconds()/first.Seconds(), 1.5, "1.5 × the first")},
	}, nil
}

func chatChunks(ctx context.Context, b *bench) ([]row, error) {
	const n = 10_000
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: filepath.Join(b.dir, uuid.NewString()), Graphs: map[string]tributary.Builder{"talk": tributary.Fixed(talk(strings.Repeat("x", n), n))},
	})
	if err != nil {
		return nil, err
	}
	defer rt.Close(ctx)
	start, used := time.Now(), cpu()
	got, err := rt.Chat(ctx, tributary.Request{Assistant: "talk", Text: "go"})
	if err != nil || len(got) != n {
		return nil, fmt.Errorf("got %d characters: %w", len(got), err)
	}
	took, used := time.Since(start), cpu()-used
	start = time.Now()
	var s strings.Builder
	for range n {
		s.WriteByte('x')
	}
	return []row{{"10,000 chunks, durable, joined by Chat", fmt.Sprintf("%s, %s CPU per chunk", short(took), short(used/n)), short(time.Since(start)) + " into a strings.Builder", "linear"}}, nil
}
