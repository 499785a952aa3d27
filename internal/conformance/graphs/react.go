package graphs

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// React returns the graphs that the browser tests of @langchain/react speak to, by the names that those tests use.
func React() (map[string]Definition, error) {
	all := map[string]Definition{
		"stategraph_text": fixed(speaks("stategraph_text", "Plan accepted.")),
		"slow_graph":      fixed(slowGraph()), "error_graph": fixed(intentional()), "stateful_values_graph": fixed(statefulValues()),
		"remove_message_graph": fixed(removesMessages()), "custom_channel_graph": fixed(customChannels()),
		"interrupt_graph": fixed(interrupts()), "interrupt_once_graph": fixed(interruptsOnce()),
		"multi_interrupt_graph": fixed(interruptsMany()), "nested_interrupt_graph": fixed(interruptsBelow()),
		"subgraph_graph": fixed(hostsChild()), "embedded_subgraph_graph": fixed(embedsChild()), "parallel_subgraph": fixed(hostsMany()),
	}
	agents, err := reactAgents()
	if err != nil {
		return nil, err
	}
	for name, g := range agents {
		all[name] = fixed(g)
	}
	return all, nil
}

// reading is how long the models of these graphs take for a letter. The tests look whether a hook shows that it loads, every
// 50 milliseconds or so, and LangGraph's server never takes less.
const reading = 10 * time.Millisecond

func speaks(name, text string) *graph.Graph {
	return graph.New(name, messages).
		Node("agent", speaker(script{pieces: letters(text), pace: reading, plain: true})).
		Chain(graph.Start, "agent", graph.End)
}

// slowly writes after as long as the tests need to look.
func slowly(writes ...graph.Write) graph.NodeFunc {
	return func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
		return graph.Update(writes...), sleep(ctx, 400*time.Millisecond)
	}
}

func slowGraph() *graph.Graph {
	return graph.New("slow_graph", messages).
		Node("agent", slowly(messages.Add(item.AssistantText("", "Done.")))).
		Chain(graph.Start, "agent", graph.End)
}

func statefulValues() *graph.Graph {
	status := graph.LastValue[string]("status")
	return graph.New("stateful_values_graph", messages, status).
		Node("agent", slowly(messages.Add(item.AssistantText("", "Done.")), status.Set("final"))).
		Chain(graph.Start, "agent", graph.End)
}

func intentional() *graph.Graph {
	return graph.New("error_graph", messages).
		Node("agent", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Command{}, fmt.Errorf("intentional error for testing")
		}).
		Chain(graph.Start, "agent", graph.End)
}

// removesMessages takes an answer back and gives others.
func removesMessages() *graph.Graph {
	says := func(text string) graph.NodeFunc {
		return func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(messages.Add(item.AssistantText("", text))), nil
		}
	}
	replace := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		var out []item.Message
		for _, m := range messages.Get(s) {
			if m.Role == item.Assistant {
				out = append(out, item.Message{ID: m.ID, Role: item.Remove})
			}
		}
		return graph.Update(messages.Set(append(out, item.AssistantText(messageID(), "Step 2: To Keep")))), nil
	}
	return graph.New("remove_message_graph", messages).
		Node("step1", says("Step 1: To Remove")).Node("step2", replace).Node("step3", says("Step 3: To Keep")).
		Chain(graph.Start, "step1", "step2", "step3", graph.End)
}

// customChannels writes events with a name and without.
func customChannels() *graph.Graph {
	agent := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		for _, data := range []any{
			map[string]string{"stage": "thinking"},
			map[string]any{"name": "status", "payload": map[string]string{"label": "answering"}},
			map[string]string{"stage": "done"},
		} {
			if err := s.Custom(ctx, data); err != nil {
				return graph.Command{}, err
			}
		}
		return graph.Update(messages.Add(item.AssistantText("", "Custom channel reply"))), nil
	}
	return graph.New("custom_channel_graph", messages).Node("agent", agent).Chain(graph.Start, "agent", graph.End)
}

var (
	request   = graph.LastValue[string]("request")
	decision  = graph.JSON("decision")
	completed = graph.LastValue[bool]("completed")
)

// review is a node that asks, and notes the answer as an object.
func review(prompt string, done func(*graph.Scope) graph.Write) graph.NodeFunc {
	return func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		said, err := graph.Ask[json.RawMessage](s, map[string]string{"prompt": prompt, "request": request.Get(s)})
		if err != nil {
			return graph.Command{}, err
		}
		if len(said) == 0 || said[0] != '{' {
			if said, err = json.Marshal(map[string]json.RawMessage{"value": said}); err != nil {
				return graph.Command{}, err
			}
		}
		return graph.Update(decision.Set(said), done(s)), nil
	}
}

func complete(*graph.Scope) graph.Write { return completed.Set(true) }

func interrupts() *graph.Graph {
	return graph.New("interrupt_graph", request, decision, completed).
		Node("review", review("Approve the outbound action?", complete)).
		Chain(graph.Start, "review", graph.End)
}

// interruptsOnce asks in a thread's first turn and never again.
func interruptsOnce() *graph.Graph {
	turns := graph.LastValue[float64]("completedTurns")
	next := func(s *graph.Scope) graph.Write { return turns.Set(turns.Get(s) + 1) }
	ask := review("Approve the outbound action?", next)
	return graph.New("interrupt_once_graph", request, decision, turns).
		Node("review", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if _, decided := decision.Lookup(s); decided {
				return graph.Update(next(s)), nil
			}
			return ask(ctx, s)
		}).
		Chain(graph.Start, "review", graph.End)
}

// interruptsMany asks about several things at once.
func interruptsMany() *graph.Graph {
	prompts := graph.LastValue[[]string]("prompts")
	decisions := graph.Merge[json.RawMessage]("decisions")
	type one struct {
		Prompt string `json:"prompt"`
	}
	fanOut := func(_ context.Context, s *graph.Scope) (out []graph.Target, err error) {
		for _, p := range prompts.Get(s) {
			t, err := graph.SendTo("review", one{p})
			if err != nil {
				return nil, err
			}
			out = append(out, t)
		}
		return out, nil
	}
	ask := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		in, err := graph.InputAs[one](s)
		if err != nil {
			return graph.Command{}, err
		}
		said, err := graph.Ask[json.RawMessage](s, map[string]string{"prompt": "Approve action " + in.Prompt + "?", "action": in.Prompt})
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(decisions.Set(map[string]json.RawMessage{in.Prompt: said})), nil
	}
	aggregate := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		said, all := decisions.Get(s), true
		for _, p := range prompts.Get(s) {
			all = all && said[p] != nil
		}
		return graph.Update(completed.Set(all)), nil
	}
	return graph.New("multi_interrupt_graph", prompts, decisions, completed).
		Node("review", ask).Node("aggregate", aggregate).
		Branch(graph.Start, fanOut, "review").
		Chain("review", "aggregate", graph.End)
}

// interruptsBelow asks two graphs down.
func interruptsBelow() *graph.Graph {
	grandchild := graph.New("grandchild", request, decision, completed).
		Node("review", review("Approve nested subgraph action?", complete)).Chain(graph.Start, "review", graph.End)
	child := graph.New("child", request, decision, completed).Subgraph("inner", grandchild).Chain(graph.Start, "inner", graph.End)
	return graph.New("nested_interrupt_graph", request, decision, completed).Subgraph("child", child).Chain(graph.Start, "child", graph.End)
}

// inner is a graph of one node that tells how it is coming on and answers.
func inner(name, answer string, progress ...string) *graph.Graph {
	node := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		tell := func(i int) error {
			if i >= len(progress) {
				return nil
			}
			return s.Custom(ctx, map[string]string{"type": "progress", "label": progress[i]})
		}
		if err := tell(0); err != nil {
			return graph.Command{}, err
		}
		said, err := speaker(script{pieces: letters(answer), pace: reading, plain: true})(ctx, s)
		if err != nil {
			return graph.Command{}, err
		}
		return said, tell(1)
	}
	return graph.New(name, messages).Node("inner", node).Chain(graph.Start, "inner", graph.End)
}

func hostsChild() *graph.Graph {
	return graph.New("subgraph_graph", messages).
		Subgraph("child", inner("child", "Reply from child", "child-started", "child-finished")).
		Chain(graph.Start, "child", graph.End)
}

// embedsChild has a plain node that runs a graph, and one that does not.
func embedsChild() *graph.Graph {
	below := inner("research", "Subgraph reply", "research-started", "research-finished")
	research := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		res, err := s.Run(ctx, below, graph.Child{Task: s.Execution(), Uncalled: true, Alone: true, Input: []graph.Write{messages.Set(messages.Get(s))}})
		if err != nil {
			return graph.Command{}, err
		}
		said, err := graph.Decode(res, messages.Field)
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(messages.Add(item.AssistantText("", said[len(said)-1].Text()))), nil
	}
	return graph.New("embedded_subgraph_graph", messages).
		Node("research", research).
		Node("summarize", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(messages.Add(item.AssistantText("", "Summary line"))), nil
		}).
		Chain(graph.Start, "research", "summarize", graph.End)
}

// workers is how many the tests expect to work at once.
const workers = 6

func hostsMany() *graph.Graph {
	return graph.New("parallel_subgraph", messages).
		Subgraph("worker", inner("worker", "Subgraph reply", "worker-started"), graph.OnlyNew).
		Branch(graph.Start, func(context.Context, *graph.Scope) (out []graph.Target, err error) {
			for i := range workers {
				t, err := graph.SendTo("worker", map[string]any{"messages": []item.Message{item.UserText(messageID(), fmt.Sprintf("Subtask %d", i+1))}})
				if err != nil {
					return nil, err
				}
				out = append(out, t)
			}
			return out, nil
		}, "worker").
		Edge("worker", graph.End)
}
