package graphs

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

var messages = graph.Messages("messages")

// speaker is a node that answers the conversation with a script.
func speaker(sc script) graph.NodeFunc {
	return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		m, err := answer(ctx, s, len(messages.Get(s)), sc)
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(messages.Add(m)), nil
	}
}

// chat is one model call.
func chat() *graph.Graph {
	return graph.New("chat", messages).
		Node("agent", speaker(script{pieces: words("Streams carry tokens from the model to the reader one small piece at a time, so the answer " +
			"appears as it is written, and a client that loses its connection can pick up again where it left off.")})).
		Chain(graph.Start, "agent", graph.End)
}

var calls atomic.Int64

// tools is a call whose arguments arrive in pieces, its result, and an answer.
func tools() *graph.Graph {
	agent := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		said := messages.Get(s)
		sc := script{pieces: words("It is 21 degrees and clear in Paris.")}
		if len(said) == 0 || said[len(said)-1].Role != item.Tool {
			id := fmt.Sprintf("call_%04d", calls.Add(1))
			part := func(args string) piece {
				return piece{call: &item.ToolCall{CallID: id, Name: "get_weather", Arguments: args}}
			}
			sc.pieces = then(words("Let me look that up."),
				pieces(part(""), part(`{"ci`), part(`ty": "Par`), part(`is", "uni`), part(`ts": "celsius"}`)))
		}
		return speaker(sc)(ctx, s)
	}
	run := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		said := messages.Get(s)
		var results []item.Message
		for _, c := range said[len(said)-1].ToolCalls {
			m, err := getWeather(ctx, s, c)
			if err != nil {
				return graph.Command{}, err
			}
			results = append(results, m)
		}
		return graph.Update(messages.Set(results)), nil
	}
	return graph.New("tools", messages).
		Node("agent", agent).Node("tools", run).
		Edge(graph.Start, "agent").Edge("tools", "agent").
		Branch("agent", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
			said := messages.Get(s)
			if len(said[len(said)-1].ToolCalls) > 0 {
				return graph.To("tools"), nil
			}
			return graph.To(graph.End), nil
		}, "tools", graph.End)
}

// getWeather is the tool. It tells that it begins before it does, and what came of it after.
func getWeather(ctx context.Context, s *graph.Scope, c item.ToolCall) (item.Message, error) {
	id := "result_" + c.CallID
	if _, _, ended := s.Recall().ToolResult(c.CallID); !ended {
		if err := s.Promise(ctx, event.ItemStarted{Item: id, Type: item.TypeToolResult, CallID: c.CallID, Name: c.Name}); err != nil {
			return item.Message{}, err
		}
	}
	var args struct {
		City  string `json:"city"`
		Units string `json:"units"`
	}
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		return item.Message{}, fmt.Errorf("arguments of %s: %w", c.Name, err)
	}
	text, err := json.Marshal(struct {
		City  string `json:"city"`
		Units string `json:"units"`
		Temp  int    `json:"temp"`
		Sky   string `json:"sky"`
	}{args.City, args.Units, 21, "clear"})
	if err != nil {
		return item.Message{}, err
	}
	content := item.Text(string(text))
	err = s.Promise(ctx,
		event.BlockStarted{Item: id, Block: 0, Type: item.TextBlock},
		event.TextDelta{Item: id, Block: 0, Text: string(text)},
		event.BlockEnded{Item: id, Block: 0, Value: content[0]},
		event.ItemEnded{Item: item.ToolResult{ID: id, CallID: c.CallID, Name: c.Name, Content: content}, Status: item.Completed})
	return item.Message{ID: id, Role: item.Tool, CallID: c.CallID, Name: c.Name, Content: content}, err
}

// subgraph has a graph as its middle node.
func subgraph() *graph.Graph {
	topic := graph.LastValue[string]("topic")
	notes := graph.List[string]("notes")
	summarize := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		m, err := answer(ctx, s, len(messages.Get(s)), script{model: "researcher-1", pieces: words("Rivers gather small streams on the way down.")})
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(messages.Add(m), notes.Add("summary written")), nil
	}
	research := graph.New("research", messages, topic, notes).
		Node("search", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			return graph.Update(notes.Add("found 3 pages on " + topic.Get(s))), nil
		}).
		Node("summarize", summarize).
		Chain(graph.Start, "search", "summarize", graph.End)
	return graph.New("subgraph", messages, topic, notes).
		Node("plan", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(topic.Set("rivers"), notes.Add("planned")), nil
		}).
		Subgraph("research", research).
		Node("write", speaker(script{model: "writer-1", pieces: words("In short: many streams, one river.")})).
		Chain(graph.Start, "plan", "research", "write", graph.End)
}

// approval asks a person in the middle.
func approval() *graph.Graph {
	decision := graph.LastValue[string]("decision")
	type question struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	approve := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		a, err := graph.Ask[struct {
			Answer string `json:"answer"`
		}](s, question{"Delete 3 files?", []string{"yes", "no"}})
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(decision.Set(a.Answer)), nil
	}
	return graph.New("approval", messages, decision).
		Node("propose", speaker(script{pieces: words("I would like to delete 3 files.")})).
		Node("approve", approve).
		Node("act", speaker(script{pieces: words("Done, as you decided.")})).
		Chain(graph.Start, "propose", "approve", "act", graph.End)
}

// parallel asks two people at once.
func parallel() *graph.Graph {
	votes := graph.List[string]("votes")
	voter := func(side string) graph.NodeFunc {
		return func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			vote, err := graph.Ask[string](s, map[string]string{"ask": side + "?"})
			if err != nil {
				return graph.Command{}, err
			}
			return graph.Update(votes.Add(side + ":" + vote)), nil
		}
	}
	return graph.New("parallel", votes).
		Node("left", voter("left")).Node("right", voter("right")).
		Node("count", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(votes.Add("counted")), nil
		}).
		Edge(graph.Start, "left").Edge(graph.Start, "right").Edge("left", "count").Edge("right", "count").Edge("count", graph.End)
}

// custom writes events of its own.
func custom() *graph.Graph {
	work := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		type progress struct {
			Type string `json:"type"`
			Done int    `json:"done"`
			Of   int    `json:"of"`
		}
		for i := 1; i <= 4; i++ {
			if err := s.Custom(ctx, progress{"progress", i, 4}); err != nil {
				return graph.Command{}, err
			}
		}
		for _, v := range []any{"a bare string", []any{"a", "list", 3}} {
			if err := s.Custom(ctx, v); err != nil {
				return graph.Command{}, err
			}
		}
		return graph.Update(messages.Add(item.AssistantText("custom-final", "all four steps done"))), nil
	}
	return graph.New("custom", messages).Node("work", work).Chain(graph.Start, "work", graph.End)
}

// failing has a model that breaks in the middle of its answer.
func failing() *graph.Graph {
	return graph.New("failing", messages).
		Node("prepare", nothing).
		Node("agent", speaker(script{pieces: then(words("this answer will never finish"), pieces(piece{fail: "upstream model went away"}))})).
		Chain(graph.Start, "prepare", "agent", graph.End)
}

var (
	count   = graph.LastValue[float64]("n")
	delayMS = graph.LastValue[float64]("delay_ms")
)

// slow answers at a pace that its input sets.
func slow() *graph.Graph {
	agent := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		n, ok := count.Lookup(s)
		if !ok {
			n = 40
		}
		pace, ok := delayMS.Lookup(s)
		if !ok {
			pace = 100
		}
		tokens := func(yield func(piece) bool) {
			for i := range int(n) {
				if !yield(piece{text: "t" + strconv.Itoa(i) + " "}) {
					return
				}
			}
		}
		return speaker(script{pieces: tokens, pace: time.Duration(pace * float64(time.Millisecond))})(ctx, s)
	}
	return graph.New("slow", messages, count, delayMS).
		Node("first", nothing).Node("agent", agent).Node("last", nothing).
		Chain(graph.Start, "first", "agent", "last", graph.End)
}

// bench answers with the times at which its tokens were made: see the conformance server's page.
func bench() *graph.Graph {
	agent := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		n, ok := count.Lookup(s)
		if !ok {
			n = 2000
		}
		return speaker(script{pieces: clocked(ctx, int(n), delayMS.Get(s))})(ctx, s)
	}
	return graph.New("bench", messages, count, delayMS).Node("agent", agent).Chain(graph.Start, "agent", graph.End)
}

// clocked yields n times: without a pause, with a chance for others in between, or on a schedule whose lateness is
// not forgiven.
func clocked(ctx context.Context, n int, delayMS float64) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		start := time.Now()
		for i := range n {
			switch {
			case delayMS < 0:
				runtime.Gosched()
			case delayMS > 0:
				due := start.Add(time.Duration(float64(i) * delayMS * float64(time.Millisecond)))
				if sleep(ctx, time.Until(due)) != nil {
					return
				}
			}
			if !yield(piece{text: strconv.FormatInt(time.Now().UnixMicro(), 10) + " "}) {
				return
			}
		}
	}
}
