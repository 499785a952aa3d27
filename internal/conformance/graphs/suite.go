package graphs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// turns counts the answers of the fake models by thread: they take turns between two words.
var turns struct {
	sync.Mutex
	byThread map[string]int
}

// alternate streams the next of two words as the thread's model.
func alternate(ctx context.Context, s *graph.Scope, said [2]string) (item.Message, error) {
	thread := s.Config().Thread
	turns.Lock()
	if turns.byThread == nil {
		turns.byThread = map[string]int{}
	}
	n := turns.byThread[thread]
	turns.byThread[thread]++
	turns.Unlock()
	return answer(ctx, s, 0, script{pieces: letters(said[n%2]), plain: true})
}

func toolMessage(content string) item.Message {
	return item.Message{Role: item.Tool, CallID: "tool_call_id", Content: item.Text("tool_call__" + content)}
}

func lastText(s *graph.Scope) string {
	said := messages.Get(s)
	if len(said) == 0 {
		return ""
	}
	return said[len(said)-1].Text()
}

// pause is how long the agent is to sleep: seconds, or steps of milliseconds that it tells of.
type pause struct {
	seconds float64
	steps   int
	ms      float64
}

func (p *pause) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &p.seconds) == nil {
		return nil
	}
	var w struct {
		Steps int     `json:"steps"`
		MS    float64 `json:"ms"`
	}
	err := json.Unmarshal(data, &w)
	p.steps, p.ms = w.Steps, w.MS
	return err
}

func (p pause) take(ctx context.Context, s *graph.Scope) error {
	for i := range p.steps {
		if err := s.Custom(ctx, map[string]any{"type": "sleep", "step": i}); err != nil {
			return err
		}
		if err := sleep(ctx, time.Duration(p.ms*float64(time.Millisecond))); err != nil {
			return err
		}
	}
	return sleep(ctx, time.Duration(p.seconds*float64(time.Second)))
}

// agent talks to a tool until it has said its second word.
func agent() *graph.Graph {
	var (
		shared      = graph.JSON("sharedState")
		sharedValue = graph.JSON("sharedStateValue")
		interrupt   = graph.LastValue[bool]("interrupt")
		keyOne      = graph.LastValue[string]("keyOne")
		keyTwo      = graph.LastValue[string]("keyTwo")
		nap         = graph.JSON("sleep")
		fromStore   = graph.JSON("sharedStateFromStoreConfig")
	)
	space := []string{"sharedState", "data"}
	run := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		if interrupt.Get(s) {
			if _, err := graph.Ask[json.RawMessage](s, "i want to interrupt"); err != nil {
				return graph.Command{}, err
			}
		}
		said := messages.Get(s)
		if raw, ok := nap.Lookup(s); ok && len(said) > 0 && said[len(said)-1].Role == item.User {
			var p pause
			if err := json.Unmarshal(raw, &p); err != nil {
				return graph.Command{}, fmt.Errorf("sleep: %w", err)
			}
			if err := p.take(ctx, s); err != nil {
				return graph.Command{}, err
			}
		}
		m, err := alternate(ctx, s, [2]string{"begin", "end"})
		if err != nil {
			return graph.Command{}, err
		}
		config, err := graph.Configurable[struct {
			UserID json.RawMessage `json:"user_id,omitempty"`
		}](s)
		if err != nil {
			return graph.Command{}, err
		}
		if _, given := fromStore.Lookup(s); !given {
			value, err := json.Marshal(map[string]any{"id": config.UserID})
			if err != nil {
				return graph.Command{}, err
			}
			if err := s.Store().Put(ctx, space, "user_id", value); err != nil {
				return graph.Command{}, err
			}
		}
		state, err := json.Marshal(map[string]any{"data": config})
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(interrupt.Set(false), messages.Add(m), shared.Set(state)), nil
	}
	tool := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		value, ok, err := s.Store().Get(ctx, space, "user_id")
		if err != nil {
			return graph.Command{}, err
		}
		if !ok {
			value = json.RawMessage("null")
		}
		return graph.Update(fromStore.Set(value), messages.Add(toolMessage(lastText(s)))), nil
	}
	check := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		value, _, err := s.Store().Get(ctx, []string{"inputtedState", "data"}, "my_key")
		if err != nil {
			return graph.Command{}, err
		}
		var w struct {
			IsTrue bool `json:"isTrue"`
		}
		if json.Unmarshal(value, &w) != nil || !w.IsTrue {
			return graph.Command{}, errNotTrue
		}
		return graph.Command{}, nil
	}
	route := func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		said := messages.Get(s)
		switch {
		case len(said) > 0 && said[0].Text() == "should_end":
			return graph.To(graph.End), nil
		case len(said) > 0 && said[0].Text() == "___check_state_value":
			return graph.To("checkSharedState"), nil
		case lastText(s) == "end":
			return graph.To(graph.End), nil
		}
		return graph.To("tool"), nil
	}
	return graph.New("agent", messages, shared, sharedValue, interrupt, keyOne, keyTwo, nap, fromStore).
		Node("agent", run).Node("tool", tool).Node("checkSharedState", check).
		Edge(graph.Start, "agent").Edge("tool", "agent").Edge("checkSharedState", graph.End).
		Branch("agent", route, "tool", "checkSharedState", graph.End)
}

// errNotTrue is a sentence that clients see, so it begins with a capital.
var errNotTrue = &event.Error{Code: graph.CodeNode, Name: "Error", Message: "Value is not true"}

// agentSimple sends its last message to the tool.
func agentSimple() *graph.Graph {
	var (
		keyOne = graph.LastValue[string]("key_one")
		keyTwo = graph.LastValue[string]("key_two")
		nap    = graph.LastValue[float64]("sleep")
	)
	run := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		config, err := graph.Configurable[struct {
			Header string `json:"x-configurable-header"`
			User   struct {
				Identity string `json:"identity"`
			} `json:"langgraph_auth_user"`
		}](s)
		if err != nil {
			return graph.Command{}, err
		}
		if config.Header != "" {
			return graph.Update(messages.Add(item.AssistantText("", "end: "+config.Header))), nil
		}
		space := []string{"ALL"}
		if config.User.Identity != "" {
			space[0] = config.User.Identity
		}
		if _, ok, err := s.Store().Get(ctx, space, "key_one"); err != nil {
			return graph.Command{}, err
		} else if !ok {
			value, err := json.Marshal(map[string]string{"text": lastText(s)})
			if err != nil {
				return graph.Command{}, err
			}
			if err := s.Store().Put(ctx, space, "key_one", value); err != nil {
				return graph.Command{}, err
			}
		}
		m, err := alternate(ctx, s, [2]string{"begin", "end\u2028"})
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(messages.Add(m)), nil
	}
	route := func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
		said := messages.Get(s)
		if strings.HasPrefix(lastText(s), "end") {
			return graph.To(graph.End), nil
		}
		t, err := graph.SendTo("tool", map[string]any{"call": said[len(said)-1]})
		return []graph.Target{t}, err
	}
	tool := func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		sent, err := graph.InputAs[struct {
			Call item.Message `json:"call"`
		}](s)
		if err != nil {
			return graph.Command{}, err
		}
		return graph.Update(messages.Add(toolMessage(sent.Call.Text()))), nil
	}
	return graph.New("agent_simple", keyOne, keyTwo, nap, messages).
		Node("agent", run).Node("tool", tool).
		Edge(graph.Start, "agent").Edge("tool", "agent").
		Branch("agent", route, "tool", graph.End)
}

// lines is a list of strings that also takes a single one.
type lines []string

func (l *lines) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*l = lines{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(l))
}

func linesField(name string) graph.Field[lines] {
	return graph.Reduced(name, func(old, update lines) lines { return append(old[:len(old):len(old)], update...) })
}

// nested is a graph in a graph in a graph.
func nested() *graph.Graph {
	said := graph.List[string]("messages")
	entered := func(node string) graph.NodeFunc {
		return func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(said.Add("Entered " + node + " node")), nil
		}
	}
	c := graph.New("child", said, graph.Enum("child", "child_one", "child_two")).
		Node("c_one", entered("c_one")).Node("c_two", entered("c_two")).
		Chain(graph.Start, "c_one", "c_two", graph.End)
	p := graph.New("parent", said, graph.Enum("parent", "parent_one", "parent_two")).
		Node("p_one", entered("p_one")).Subgraph("p_two", c, graph.OnlyNew).
		Chain(graph.Start, "p_one", "p_two", graph.End)
	return graph.New("nested", said).
		Node("gp_one", entered("gp_one")).Subgraph("gp_two", p, graph.OnlyNew).
		Chain(graph.Start, "gp_one", "gp_two", graph.End)
}

// weather stops inside of its subgraph.
func weather() *graph.Graph {
	route := graph.Enum("route", "weather", "other")
	city := graph.LastValue[string]("city")
	inner := graph.New("weather_graph", messages, city).
		Node("model_node", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(city.Set("San Francisco")), nil
		}).
		Node("weather_node", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			return graph.Update(messages.Add(item.AssistantText("", "It's sunny in "+city.Get(s)+"!"))), nil
		}).
		Chain(graph.Start, "model_node", "weather_node", graph.End).
		InterruptBefore("weather_node")
	return graph.New("weather", messages, route).
		Node("router_node", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(route.Set("weather")), nil
		}).
		Node("normal_llm_node", func(context.Context, *graph.Scope) (graph.Command, error) {
			return graph.Update(messages.Add(item.AssistantText("", "Hello"))), nil
		}).
		Subgraph("weather_graph", inner).
		Edge(graph.Start, "router_node").Edge("normal_llm_node", graph.End).Edge("weather_graph", graph.End).
		Branch("router_node", func(_ context.Context, s *graph.Scope) ([]graph.Target, error) {
			if route.Get(s) == "weather" {
				return graph.To("weather_graph"), nil
			}
			return graph.To("normal_llm_node"), nil
		}, "weather_graph", "normal_llm_node")
}

// stateSchema, zodRegistry and plainZod are asked for their schemas: of a conversation, of one beside an enumeration, and
// of a state that has none.
func stateSchema() *graph.Graph {
	count := graph.LastValue[float64]("count")
	return graph.New("state_schema_graph", messages, count).
		Node("process", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			n := count.Get(s) + 1
			return graph.Update(messages.Add(item.AssistantText("", fmt.Sprintf("Response %g", n))), count.Set(n)), nil
		}).
		Chain(graph.Start, "process", graph.End)
}

func zodRegistry() *graph.Graph {
	count := graph.LastValue[float64]("count")
	status := graph.Enum("status", "idle", "processing", "done")
	return graph.New("zod_registry_graph", messages, count, status).
		Node("process", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			n := count.Get(s) + 1
			return graph.Update(messages.Add(item.AssistantText("", fmt.Sprintf("Message %g", n))), count.Set(n), status.Set("processing")), nil
		}).
		Chain(graph.Start, "process", graph.End)
}

func plainZod() *graph.Graph {
	items := graph.LastValue[[]string]("items")
	counter := graph.LastValue[float64]("counter")
	label := graph.LastValue[string]("label")
	return graph.New("plain_zod_graph", items, counter, label).
		Node("process", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			n := counter.Get(s) + 1
			list := append(slices.Clip(items.Get(s)), fmt.Sprintf("Item %g", n))
			return graph.Update(items.Set(list), counter.Set(n), label.Set("processed")), nil
		}).
		Chain(graph.Start, "process", graph.End)
}

// customError has a name of its own.
type customError struct{}

func (customError) Error() string { return "Boo!" }
func (customError) Name() string  { return "CustomError" }

func errorGraph() *graph.Graph {
	return graph.New("error", messages).
		Node("error_node", func(ctx context.Context, _ *graph.Scope) (graph.Command, error) {
			if err := sleep(ctx, time.Second); err != nil {
				return graph.Command{}, err
			}
			return graph.Command{}, customError{}
		}).
		Chain(graph.Start, "error_node", graph.End)
}

func delay() *graph.Graph {
	ms := graph.LastValue[float64]("delay")
	return graph.New("delay", messages, ms).
		Node("long_running", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if err := sleep(ctx, time.Duration(ms.Get(s)*float64(time.Millisecond))); err != nil {
				return graph.Command{}, err
			}
			return graph.Update(messages.Add(item.AssistantText("", fmt.Sprintf("finished after %gms", ms.Get(s))))), nil
		}).
		Chain(graph.Start, "long_running", graph.End)
}

// dynamic has one node, whose name the configuration says.
func dynamic(configurable json.RawMessage) (*graph.Graph, error) {
	var c struct {
		NodeName string `json:"nodeName"`
	}
	if len(configurable) > 0 {
		if err := json.Unmarshal(configurable, &c); err != nil {
			return nil, fmt.Errorf("configurable: %w", err)
		}
	}
	if c.NodeName == "" {
		c.NodeName = "default"
	}
	said := linesField("messages")
	g := graph.New("dynamic", said).
		Node(c.NodeName, func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if err := s.Custom(ctx, "node: "+c.NodeName); err != nil {
				return graph.Command{}, err
			}
			return graph.Update(said.Set(lines{c.NodeName})), nil
		}).
		Chain(graph.Start, c.NodeName, graph.End)
	return g, g.Compile()
}

func simpleRuntime() *graph.Graph {
	message := graph.LastValue[string]("message")
	model := graph.LastValue[string]("model")
	return graph.New("simple_runtime", message, model).
		Node("use_context", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
			c, err := graph.ContextAs[struct {
				Model string `json:"model"`
			}](s)
			if err != nil {
				return graph.Command{}, err
			}
			return graph.Update(model.Set(c.Model)), nil
		}).
		Chain(graph.Start, "use_context", graph.End)
}
