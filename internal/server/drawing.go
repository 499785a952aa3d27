package server

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// graphOf builds the graph of the assistant that the path names.
func (s *Server) graphOf(r *http.Request, who run.Identity) (run.Assistant, *graph.Graph, error) {
	a, err := s.assistant(r, who)
	if err != nil {
		return a, nil, err
	}
	g, err := s.opt.Graphs.Graph(r.Context(), a.Graph, run.Request{Assistant: a.ID, Graph: a.Graph, Config: a.Config, Context: a.Context})
	return a, g, notFound(err, "Graph %q not found", clip(a.Graph))
}

func (s *Server) drawAssistant(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	depth := 0
	switch xray := r.URL.Query().Get("xray"); xray {
	case "", "false", "0":
	case "true":
		depth = -1
	default:
		n, err := strconv.Atoi(xray)
		if err != nil || n < 1 {
			return run.Invalidf("xray", "must be true, false or how many levels to open")
		}
		depth = n
	}
	_, g, err := s.graphOf(r, who)
	if err != nil {
		return err
	}
	d := g.Draw(depth)
	nodes, edges := list{}, list{}
	for _, n := range d.Nodes {
		nodes = append(nodes, drawNode(n))
	}
	for _, e := range d.Edges {
		edges = append(edges, object{{"source", e.Source}, {"target", e.Target}, {"conditional", e.Conditional}})
	}
	s.answer(w, http.StatusOK, object{{"nodes", nodes}, {"edges", edges}})
	return nil
}

func drawNode(n graph.DrawnNode) object {
	switch {
	case n.Name == graph.Start || n.Name == graph.End:
		return object{{"id", n.ID}, {"type", "schema"}, {"data", object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}}}}
	case n.Subgraph:
		return object{{"id", n.ID}, {"type", "runnable"}, {"data", object{{"id", list{"langgraph", "pregel", "CompiledStateGraph"}}, {"name", n.Name}}}}
	}
	return object{{"id", n.ID}, {"type", "runnable"}, {"data", object{{"id", list{"langgraph", "RunnableCallable"}}, {"name", n.Name}}}}
}

const schemaDialect = "http://json-schema.org/draft-07/schema#"

// stateSchema is the schema of a graph's state as a document of its own.
func stateSchema(g *graph.Graph) json.RawMessage {
	return withDialect(g.Schema())
}

func withDialect(schema json.RawMessage) json.RawMessage {
	if isNull(schema) {
		return json.RawMessage("null")
	}
	m := fields(schema)
	if m == nil {
		return schema
	}
	m["$schema"], _ = json.Marshal(schemaDialect)
	out, err := json.Marshal(m)
	if err != nil {
		return schema
	}
	return out
}

// Describer is a [Graphs] that knows the schemas of what its graphs can be configured with.
type Describer interface {
	// Schemas returns JSON Schemas of a graph's configurable values and of its context; nil where there are none.
	Schemas(graph string) (configurable, context json.RawMessage)
}

func (s *Server) assistantSchemas(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	a, g, err := s.graphOf(r, who)
	if err != nil {
		return err
	}
	var config, context json.RawMessage
	if d, ok := s.opt.Graphs.(Describer); ok {
		config, context = d.Schemas(a.Graph)
	}
	state := stateSchema(g)
	s.answer(w, http.StatusOK, object{
		{"graph_id", a.Graph}, {"input_schema", state}, {"output_schema", state}, {"state_schema", state},
		{"config_schema", withDialect(config)}, {"context_schema", withDialect(context)},
	})
	return nil
}

func (s *Server) assistantSubgraphs(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	recurse, err := queryBool(r, "recurse")
	if err != nil {
		return err
	}
	_, g, err := s.graphOf(r, who)
	if err != nil {
		return err
	}
	only := r.PathValue("namespace")
	out := object{}
	var walk func(g *graph.Graph, prefix string)
	walk = func(g *graph.Graph, prefix string) {
		subs := g.Subgraphs()
		for _, name := range slices.Sorted(maps.Keys(subs)) {
			ns := prefix + name
			if only == "" || ns == only || strings.HasPrefix(only, ns+"|") {
				if only == "" || ns == only || recurse && strings.HasPrefix(ns, only+"|") {
					schema := stateSchema(subs[name])
					out = append(out, member{ns, object{{"state", schema}, {"input", schema}, {"output", schema}, {"config", nil}}})
				}
				if recurse || only != "" && ns != only {
					walk(subs[name], ns+"|")
				}
			}
		}
	}
	walk(g, "")
	s.answer(w, http.StatusOK, out)
	return nil
}
