package graphs

import (
	"context"
	"encoding/json"
	"time"

	agents "github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// Python returns the graphs that the integration tests of LangGraph's Python SDK speak to, but for factory_agent, which tells
// of objects of its Python server. They have an agent of their own, which takes the place of the other suite's.
func Python() (map[string]Definition, error) {
	searching, err := toolsAgent()
	if err != nil {
		return nil, err
	}
	deep, err := deepAgent()
	if err != nil {
		return nil, err
	}
	return map[string]Definition{"agent": fixed(pythonAgent()), "tools_agent": fixed(searching), "deep_agent": fixed(deep)}, nil
}

// pythonAgent speaks, calls a tool, asks a person and goes on, and tells of each on the channel progress.
func pythonAgent() *graph.Graph {
	value := graph.LastValue[string]("value")
	items := graph.List[string]("items")
	// step is a node that tells of its beginning and its end.
	step := func(name, mark string, work func(context.Context, *graph.Scope) ([]item.Message, error), writes ...graph.Write) graph.NodeFunc {
		return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			tell := func(phase string) error {
				return s.Custom(ctx, map[string]string{"name": "progress", "step": name, "phase": phase})
			}
			if err := tell("start"); err != nil {
				return graph.Command{}, err
			}
			// The SDK reads questions on a stream of their own, and stops all others when it has one; its server is not
			// so fast that they have nothing yet.
			if err := sleep(ctx, 100*time.Millisecond); err != nil {
				return graph.Command{}, err
			}
			said, err := work(ctx, s)
			if err != nil {
				return graph.Command{}, err
			}
			return graph.Update(append(writes, messages.Set(said), items.Set([]string{mark}))...), tell("end")
		}
	}
	speak := func(ctx context.Context, s *graph.Scope) ([]item.Message, error) {
		m, err := answer(ctx, s, 0, script{pieces: words("Hello, world!"), plain: true})
		return []item.Message{m}, err
	}
	call := func(context.Context, *graph.Scope) ([]item.Message, error) {
		asked := item.AssistantText("ai-msg-2", "")
		asked.ToolCalls = []item.ToolCall{{CallID: "tc-1", Name: "search", Arguments: `{"query":"v3"}`}}
		return []item.Message{asked, {Role: item.Tool, CallID: "tc-1", Name: "search", Content: item.Text("result for 'v3'")}}, nil
	}
	ask := func(_ context.Context, s *graph.Scope) ([]item.Message, error) {
		said, err := graph.Ask[json.RawMessage](s, "Are we good?")
		return []item.Message{item.AssistantText("ai-msg-3", "Human said: "+string(said))}, err
	}
	below := func(context.Context, *graph.Scope) ([]item.Message, error) {
		return []item.Message{item.AssistantText("sub-msg-1", "from subgraph")}, nil
	}
	return graph.New("agent", messages, value, items).
		Node("stream_message", step("stream_message", "streamed", speak, value.Set("x"))).
		Node("call_tool", step("call_tool", "tool", call)).
		Node("ask_human", step("ask_human", "asked", ask)).
		Node("run_subgraph", step("run_subgraph", "sub", below)).
		Chain(graph.Start, "stream_message", "call_tool", "ask_human", "run_subgraph", graph.End)
}

// callsOnce is a model that calls a tool, and says its piece when it has the result.
func callsOnce(call, then scripted.Script) model.Model {
	return scripted.New(func(r model.Request) scripted.Script {
		for _, m := range r.Messages {
			if m.Role == item.Tool {
				return then
			}
		}
		return call
	})
}

// lookup is a tool that finds something on every query.
func lookup(name string) (*tool.Set, error) {
	type in struct {
		Query string `json:"query"`
	}
	return tool.NewSet(tool.Func(name, "Looks a query up.", func(_ context.Context, q in) (string, error) {
		return "result for '" + q.Query + "'", nil
	}))
}

func toolsAgent() (*graph.Graph, error) {
	search, err := lookup("search")
	if err != nil {
		return nil, err
	}
	return agents.New(agents.Options{
		Name: "tools_agent", Tools: search,
		Model: callsOnce(scripted.Call("tc-1", "search", `{"query":"v3"}`), scripted.Say("done.")),
	})
}

// deepAgent has a sub-agent, which has a tool. The sub-agent is called as deepagents calls its own: task.
func deepAgent() (*graph.Graph, error) {
	notes, err := lookup("notes")
	if err != nil {
		return nil, err
	}
	researcher := agents.Sub{Name: "task", Description: "Looks up notes on a topic.", Options: agents.Options{
		Tools: notes,
		Model: callsOnce(scripted.Call("tc-notes-1", "notes", `{"query":"v3"}`), scripted.Say("v3 streaming is event-typed and thread-centric.")),
	}}
	return agents.New(agents.Options{
		Name: "deep_agent", Subs: []agents.Sub{researcher},
		Model: callsOnce(scripted.Call("tc-task-1", "task", `{"prompt":"research v3 streaming"}`), scripted.Say("Research complete.")),
	})
}
