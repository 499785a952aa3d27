package langgraph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// The graphs that were running when testdata/recorded was recorded, in Go, and some that show what those do not.

var (
	messages = graph.Messages("messages")
	topic    = graph.LastValue[string]("topic")
	notes    = graph.List[string]("notes")
	decision = graph.LastValue[string]("decision")
	votes    = graph.List[string]("votes")
	city     = graph.LastValue[string]("city")
)

var words = regexp.MustCompile(`\s*\S+`)

const reply = "Streams carry tokens from the model to the reader one small piece at a time, so the answer " +
	"appears as it is written, and a client that loses its connection can pick up again where it left off."

// say streams a sentence word by word.
func say(ctx context.Context, s *graph.Scope, model, text string, calls ...item.ToolCall) (item.Message, error) {
	w, err := turn.Start(ctx, s, event.TurnStarted{
		Turn: "msg_" + s.Execution(), Execution: s.Execution(), Provider: "scripted", Model: model,
	})
	if err != nil {
		return item.Message{}, err
	}
	pieces := words.FindAllString(text, -1)
	for _, piece := range pieces {
		if err := w.Text(ctx, 0, piece); err != nil {
			return item.Message{}, err
		}
	}
	count := len(pieces)
	for _, c := range calls {
		for i, args := range []string{"", `{"ci`, `ty": "Par`, `is", "uni`, `ts": "celsius"}`} {
			piece := item.ToolCall{Arguments: args}
			if i == 0 {
				piece = c
			}
			if err := w.Call(ctx, 0, piece); err != nil {
				return item.Message{}, err
			}
			count++
		}
	}
	w.Usage(item.Usage{InputTokens: 7 * len(messages.Get(s)), OutputTokens: count})
	return w.End(ctx, item.FinishStop, "")
}

func speaker(model, text string) graph.NodeFunc {
	return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		m, err := say(ctx, s, model, text)
		return graph.Update(messages.Set([]item.Message{m})), err
	}
}

func writes(c graph.Command) graph.NodeFunc {
	return func(context.Context, *graph.Scope) (graph.Command, error) { return c, nil }
}

func graphs() map[string]*graph.Graph {
	all := map[string]*graph.Graph{
		"chat": graph.New("chat", messages).Node("agent", speaker("scripted-1", reply)).Chain(graph.Start, "agent", graph.End),

		"tools": graph.New("tools", messages).Node("agent", caller).Node("tools", weatherTool).
			Edge(graph.Start, "agent").Branch("agent", wantsTool, "tools", graph.End).Edge("tools", "agent"),

		"subgraph": graph.New("subgraph", messages, topic, notes).
			Node("plan", writes(graph.Update(topic.Set("rivers"), notes.Set([]string{"planned"})))).
			Subgraph("research", research()).
			Node("write", speaker("writer-1", "In short: many streams, one river.")).
			Chain(graph.Start, "plan", "research", "write", graph.End),

		"approval": graph.New("approval", messages, decision).
			Node("propose", speaker("scripted-1", "I would like to delete 3 files.")).
			Node("approve", approve).
			Node("act", speaker("scripted-1", "Done, as you decided.")).
			Chain(graph.Start, "propose", "approve", "act", graph.End),

		"parallel": graph.New("parallel", votes).
			Node("left", asks("left")).Node("right", asks("right")).Node("count", writes(graph.Update(votes.Set([]string{"counted"})))).
			Edge(graph.Start, "left").Edge(graph.Start, "right").Edge("left", "count").Edge("right", "count").Edge("count", graph.End),

		"custom": graph.New("custom", messages).Node("work", work).Chain(graph.Start, "work", graph.End),

		"failing": graph.New("failing", messages).Node("prepare", writes(graph.Update())).Node("agent", failing).
			Chain(graph.Start, "prepare", "agent", graph.End),

		"weather": graph.New("weather", messages, topic).
			Node("router", writes(graph.Update(topic.Set("weather")))).Subgraph("inner", weather()).
			Chain(graph.Start, "router", "inner", graph.End),

		"flaky": graph.New("flaky", messages).Node("agent", flaky).Chain(graph.Start, "agent", graph.End),

		"team": graph.New("team", messages).Node("tools", delegates).Chain(graph.Start, "tools", graph.End),

		"historian": graph.New("historian", messages).Node("agent", historian).Chain(graph.Start, "agent", graph.End),

		"quiet": graph.New("quiet", messages).Node("agent", quiet).Chain(graph.Start, "agent", graph.End),
	}
	return all
}

func research() *graph.Graph {
	return graph.New("research", messages, topic, notes).
		Node("search", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			return graph.Update(notes.Set([]string{"found 3 pages on " + topic.Get(s)})), nil
		}).
		Node("summarize", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			m, err := say(ctx, s, "researcher-1", "Rivers gather small streams on the way down.")
			return graph.Update(messages.Set([]item.Message{m}), notes.Set([]string{"summary written"})), err
		}).
		Chain(graph.Start, "search", "summarize", graph.End)
}

func weather() *graph.Graph {
	return graph.New("inner", messages, city).
		Node("model", writes(graph.Update(city.Set("San Francisco")))).
		Node("tell", writes(graph.Update(messages.Set([]item.Message{item.AssistantText("sunny", "It's sunny!")})))).
		Chain(graph.Start, "model", "tell", graph.End).InterruptBefore("tell")
}

func caller(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	history := messages.Get(s)
	text := "It is 21 degrees and clear in Paris."
	var calls []item.ToolCall
	if history[len(history)-1].Role != item.Tool {
		text = "Let me look that up."
		calls = []item.ToolCall{{CallID: "call_" + s.Execution(), Name: "get_weather"}}
	}
	m, err := say(ctx, s, "scripted-1", text, calls...)
	return graph.Update(messages.Set([]item.Message{m})), err
}

func wantsTool(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
	history := messages.Get(s)
	if len(history[len(history)-1].ToolCalls) > 0 {
		return []graph.Target{{Node: "tools"}}, nil
	}
	return []graph.Target{{Node: graph.End}}, nil
}

func weatherTool(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	history := messages.Get(s)
	c := history[len(history)-1].ToolCalls[0]
	var args struct{ City, Units string }
	if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil {
		return graph.Command{}, err
	}
	body := fmt.Sprintf(`{"city":%q,"units":%q,"temp":21,"sky":"clear"}`, args.City, args.Units)
	r := item.ToolResult{ID: "fco_" + s.Execution(), CallID: c.CallID, Name: c.Name, Content: item.Text(body)}
	if err := s.Promise(ctx, event.ItemStarted{Item: r.ID, Type: item.TypeToolResult, CallID: c.CallID, Name: c.Name}); err != nil {
		return graph.Command{}, err
	}
	if err := s.Promise(ctx, event.ItemEnded{Item: r, Status: item.Completed}); err != nil {
		return graph.Command{}, err
	}
	m := item.Message{ID: r.ID, Role: item.Tool, CallID: c.CallID, Name: c.Name, Content: r.Content}
	return graph.Update(messages.Set([]item.Message{m})), nil
}

func approve(_ context.Context, s *graph.Scope) (graph.Command, error) {
	type question struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	answer, err := graph.Ask[struct{ Answer string }](s, question{"Delete 3 files?", []string{"yes", "no"}})
	return graph.Update(decision.Set(answer.Answer)), err
}

func asks(side string) graph.NodeFunc {
	return func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		answer, err := graph.Ask[string](s, map[string]string{"ask": side + "?"})
		return graph.Update(votes.Set([]string{side + ":" + answer})), err
	}
}

func work(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	type progress struct {
		Type string `json:"type"`
		Done int    `json:"done"`
		Of   int    `json:"of"`
	}
	told := []any{progress{"progress", 1, 4}, progress{"progress", 2, 4}, progress{"progress", 3, 4}, progress{"progress", 4, 4},
		"a bare string", []any{"a", "list", 3}}
	for _, v := range told {
		if err := s.Custom(ctx, v); err != nil {
			return graph.Command{}, err
		}
	}
	return graph.Update(messages.Set([]item.Message{item.AssistantText("custom-final", "all four steps done")})), nil
}

func failing(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_" + s.Execution(), Execution: s.Execution(), Provider: "scripted", Model: "scripted-1"})
	if err != nil {
		return graph.Command{}, err
	}
	for _, piece := range words.FindAllString("this answer will never finish", -1) {
		if err := w.Text(ctx, 0, piece); err != nil {
			return graph.Command{}, err
		}
	}
	return graph.Command{}, errors.New("upstream model went away")
}

// flaky thinks, breaks off, and answers at the second try.
func flaky(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	first, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_" + s.Execution() + "_1", Execution: s.Execution()})
	if err != nil {
		return graph.Command{}, err
	}
	if err := errors.Join(
		first.Reasoning(ctx, 0, 0, "Let me "), first.Reasoning(ctx, 0, 0, "think."), first.Text(ctx, 0, "half an ans"),
		first.Void(ctx, "provider_overloaded", nil, 0),
	); err != nil {
		return graph.Command{}, err
	}
	second, err := turn.Start(ctx, s, event.TurnStarted{
		Turn: "msg_" + s.Execution() + "_2", Execution: s.Execution(), Replaces: first.ID(), Attempt: 2,
	})
	if err != nil {
		return graph.Command{}, err
	}
	if err := errors.Join(second.Reasoning(ctx, 0, 0, "Now "), second.Reasoning(ctx, 0, 0, "then."), second.Text(ctx, 0, "whole")); err != nil {
		return graph.Command{}, err
	}
	m, err := second.End(ctx, item.FinishStop, "")
	return graph.Update(messages.Set([]item.Message{m})), err
}

// delegates hands its work to a sub-agent, as a tool does.
func delegates(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	child := graph.New("child", messages).Node("agent", speaker("scripted-1", "I am below.")).Chain(graph.Start, "agent", graph.End)
	_, err := s.Run(ctx, child, graph.Child{
		Task: "call_" + s.Execution(), Agent: "helper", Input: json.RawMessage(`{"messages":[{"type":"human","content":"go","id":"task-1"}]}`),
	})
	return graph.Update(messages.Set([]item.Message{item.AssistantText("", "done below")})), err
}

// historian returns the whole conversation with one new message at its end, as careless nodes do.
func historian(_ context.Context, s *graph.Scope) (graph.Command, error) {
	history := messages.Get(s)
	id := fmt.Sprint("chronicle-", len(history))
	return graph.Update(messages.Set(append(history[:len(history):len(history)], item.AssistantText(id, "and so on")))), nil
}

// quiet is a model that says neither why it stopped nor what it cost.
func quiet(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_" + s.Execution(), Execution: s.Execution()})
	if err != nil {
		return graph.Command{}, err
	}
	if err := errors.Join(w.Text(ctx, 0, "b"), w.Text(ctx, 0, "e")); err != nil {
		return graph.Command{}, err
	}
	m, err := w.End(ctx, "", "")
	return graph.Update(messages.Set([]item.Message{m})), err
}

func TestGraphsCompile(t *testing.T) {
	for name, g := range graphs() {
		if err := g.Compile(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
