// Package graphs holds the graphs of the conformance server, written with the public packages alone: those that ran when
// LangGraph's wire was recorded (chat, tools, subgraph, approval, parallel, custom, failing, slow, bench), and those that the
// tests of LangGraph's own server speak to (agent, agent_simple, nested, weather, error, delay, dynamic, simple_runtime,
// state_schema_graph, zod_registry_graph, plain_zod_graph). Python and React have those that two other suites want.
//
// None of them calls anything outside of the process, and what they say is the same every time, but for ids.
package graphs

import (
	"encoding/json"

	"github.com/tributary-ai/tributary/graph"
)

// Definition is a graph and what is known of it.
type Definition struct {
	// Build makes the graph of a run from its configurable values, an object or empty.
	Build func(configurable json.RawMessage) (*graph.Graph, error)
	// Config and Context are the settings of its default assistant.
	Config, Context json.RawMessage
	// ConfigSchema and ContextSchema describe what it can be configured with.
	ConfigSchema, ContextSchema json.RawMessage
}

func fixed(g *graph.Graph) Definition {
	return Definition{Build: func(json.RawMessage) (*graph.Graph, error) { return g, nil }}
}

// All returns every graph by name.
func All() map[string]Definition {
	all := map[string]Definition{
		"chat": fixed(chat()), "tools": fixed(tools()), "subgraph": fixed(subgraph()), "approval": fixed(approval()), "parallel": fixed(parallel()),
		"custom": fixed(custom()), "failing": fixed(failing()), "slow": fixed(slow()), "bench": fixed(bench()),

		"agent_simple": fixed(agentSimple()), "nested": fixed(nested()), "weather": fixed(weather()), "error": fixed(errorGraph()), "delay": fixed(delay()),
		"dynamic": {Build: dynamic},

		"state_schema_graph": fixed(stateSchema()), "zod_registry_graph": fixed(zodRegistry()), "plain_zod_graph": fixed(plainZod()),
	}
	agent := fixed(agent())
	agent.Config = json.RawMessage(`{"configurable":{"model_name":"openai"}}`)
	agent.ConfigSchema = json.RawMessage(`{"type":"object","properties":{"model_name":{"type":"string"}}}`)
	all["agent"] = agent
	runtime := fixed(simpleRuntime())
	runtime.Context = json.RawMessage(`{"model":"unknown"}`)
	runtime.ContextSchema = json.RawMessage(`{"type":"object","properties":{"model":{"type":"string","enum":["anthropic","openai","unknown"]}}}`)
	runtime.ConfigSchema = runtime.ContextSchema
	all["simple_runtime"] = runtime
	return all
}
