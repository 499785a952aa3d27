package story

import (
	"context"
	"encoding/json"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// speaks is a node that has a model say something.
func speaks(name string, script scripted.Script) graph.NodeFunc {
	m := scripted.Always(script)
	return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		msg, err := agent.Call(ctx, s, m, model.Request{Messages: messages.Get(s)}, agent.CallOptions{Agent: name})
		return graph.Update(messages.Add(msg)), err
	}
}

var customEvents = Story{
	Name: "custom-events",
	Tells: `A node and a tool tell what they choose, while they work.

Objects, a bare string and a list pass through as they are. What a tool says of its progress carries its name and the
call that it is about, because several may be at work.
`,
	Happens: func(w *World) {
		copying := tool.FuncOfCall("copy", "Copies a file.", func(_ context.Context, c tool.Call, _ struct{}) (string, error) {
			c.Scope.Progress(tool.Progress{Data: json.RawMessage(`{"percent":50}`)})
			return "copied", nil
		})
		worker, err := agent.New(agent.Options{Name: "worker", Tools: tools(copying), Model: scripted.Sequence(
			scripted.Call("call_1", "copy", `{}`), scripted.Words("Copied."),
		)})
		if err != nil {
			w.t.Fatal(err)
		}
		w.serve(graph.New("chatty", messages).
			Node("announce", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				for _, v := range []any{map[string]any{"type": "progress", "done": 1, "of": 2}, "halfway", []int{1, 2}} {
					if err := s.Custom(ctx, v); err != nil {
						return graph.Command{}, err
					}
				}
				return graph.Command{}, s.Emit(ctx, event.Custom{Name: "named", Data: json.RawMessage(`{"html":"<b>"}`)})
			}).
			Subgraph("work", worker, graph.OnlyNew).
			Chain(graph.Start, "announce", "work", graph.End))
		w.ask("Copy it.", run.Success)
	},
}

// What a page shows beside a conversation.
var (
	title     = graph.LastValue[string]("title")
	todos     = graph.LastValue[[]todo]("todos")
	artifacts = graph.Merge[string]("artifacts")
)

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

var stateFields = Story{
	Name: "state-fields",
	Tells: `A title, todos and artifacts grow beside the messages.

They are fields of the state like any other: updates tell what each node wrote, values the whole as it stands. A list of
todos replaces the one before; artifacts are added to those that there are. A node that writes no messages is told all
the same.
`,
	Happens: func(w *World) {
		w.serve(graph.New("desk", messages, title, todos, artifacts).
			Node("plan", func(context.Context, *graph.Scope) (graph.Command, error) {
				return graph.Update(title.Set("On ferns"), todos.Set([]todo{{"read", "in_progress"}, {"write", "pending"}})), nil
			}).
			Node("write", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				cmd, err := speaks("writer", scripted.Words("Done."))(ctx, s)
				cmd.Writes = append(cmd.Writes, todos.Set([]todo{{"read", "completed"}, {"write", "completed"}}),
					artifacts.Set(map[string]string{"ferns.md": "/outputs/ferns.md"}))
				return cmd, err
			}).
			Chain(graph.Start, "plan", "write", graph.End))
		w.ask("Write about ferns.", run.Success)
	},
}

var subgraph = Story{
	Name: "subgraph",
	Tells: `A graph has another one for a node.

The inner graph has a namespace, checkpoints and steps of its own, starts with the fields that both have, and hands
them back when it ends. A message that was streamed below is not told a second time when the node above returns it.
`,
	Happens: func(w *World) {
		research := graph.New("research", messages, topic).
			Node("search", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
				return graph.Update(topic.Set(topic.Get(s) + " in spring")), nil
			}).
			Node("summarize", speaks("researcher", scripted.Words("They swell."))).
			Chain(graph.Start, "search", "summarize", graph.End)
		w.serve(graph.New("paper", messages, topic).
			Node("plan", func(context.Context, *graph.Scope) (graph.Command, error) {
				return graph.Update(topic.Set("rivers")), nil
			}).
			Subgraph("research", research, graph.OnlyNew).
			Node("write", speaks("writer", scripted.Words("In spring, rivers swell."))).
			Chain(graph.Start, "plan", "research", "write", graph.End))
		w.ask("Write about rivers.", run.Success)
	},
}

// library finds passages: what the model reads, and the page that people see.
func library() tool.Tool {
	return tool.Repeatable(tool.Func("search", "Finds passages.", func(_ context.Context, in struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		var r item.ToolResult
		for i, s := range []string{"Otters hold hands.", "Elks swim well."} {
			r.Content = append(r.Content, item.Block{Type: item.TextBlock, Text: s, Ref: i + 1})
			r.Blocks = append(r.Blocks, item.Block{Type: item.TextBlock, Text: "Page " + string(rune('A'+i)) + ": " + s, Ref: i + 1})
		}
		return r, nil
	}))
}

var subAgentWithCitations = Story{
	Name: "sub-agent",
	Tells: `The agent has a sub-agent look something up, and cites what it found.

The sub-agent is a child task inside of the call's result: its tokens are streamed, its items are what people see of the
result, its usage is part of its parent's. The parent's model sees the answer and the passages that it cites. A
passage has one number for both of them, and a marker that is cut by deltas is found all the same; one that
points nowhere stays text.
`,
	Happens: func(w *World) {
		helper := agent.Sub{Name: "helper", Description: "Looks things up.", Options: agent.Options{
			Tools: tools(library()),
			Model: scripted.Sequence(
				scripted.Call("call_1", "search", `{"query":"swimming"}`),
				scripted.Pieces("Elks do", " [^", "2]."),
			),
		}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: scripted.Sequence(
			scripted.Call("call_1", "helper", `{"prompt":"Who swims?","title":"Swimmers"}`),
			scripted.Pieces("It is elks [^2]", ", not [^9]."),
		)})
		w.ask("Which animal swims?", run.Success)
	},
}

var failingSubAgent = Story{
	Name: "sub-agent-fails",
	Tells: `A sub-agent fails in the middle of its answer, and its parent goes on without it.

The child task ends with an error, which is the call's result and is told in the item that contains the child; the run does
not fail. What the child had streamed stays, as incomplete, in its own output and in its own state.
`,
	Happens: func(w *World) {
		helper := agent.Sub{Name: "helper", Description: "Looks things up.", Options: agent.Options{
			Model: scripted.Always(scripted.Words("I think").Fail(errKey)),
		}}
		w.agent(agent.Options{Subs: []agent.Sub{helper}, Model: scripted.Sequence(
			scripted.Call("call_1", "helper", `{"prompt":"Who swims?"}`), scripted.Words("I do not know."),
		)})
		w.ask("Which animal swims?", run.Success)
	},
}
