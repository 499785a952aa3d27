package assistants

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// graphOf builds the graph of the assistant that the path names.
func (s *Service) graphOf(r *http.Request, who run.Identity) (run.Assistant, *graph.Graph, error) {
	a, err := s.find(r, who)
	if err != nil {
		return a, nil, err
	}
	g, err := s.opt.Graphs.Graph(r.Context(), who, a.Graph, run.Request{Assistant: a.ID, Graph: a.Graph, Config: a.Config, Context: a.Context})
	return a, g, edge.NotFound(err, "Graph %q not found", edge.Clip(a.Graph))
}

// drawnNode and drawnEdge are the parts of a drawing, as draw writes them.
type drawnNode struct {
	ID   string         `json:"id"`
	Type string         `json:"type" enum:"schema,runnable"`
	Data map[string]any `json:"data"`
}

type drawnEdge struct {
	Source      string `json:"source"`
	Target      string `json:"target"`
	Conditional bool   `json:"conditional"`
}

func (s *Service) draw(w http.ResponseWriter, r *http.Request, who run.Identity) error {
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
	nodes, edges := jsonvalue.List{}, jsonvalue.List{}
	for _, n := range d.Nodes {
		nodes = append(nodes, drawNode(n))
	}
	for _, e := range d.Edges {
		edges = append(edges, jsonvalue.Object{{"source", e.Source}, {"target", e.Target}, {"conditional", e.Conditional}})
	}
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"nodes", nodes}, {"edges", edges}})
}

func drawNode(n graph.DrawnNode) jsonvalue.Object {
	switch {
	case n.Name == graph.Start || n.Name == graph.End:
		return jsonvalue.Object{{"id", n.ID}, {"type", "schema"}, {"data", jsonvalue.Object{{"$schema", "https://json-schema.org/draft/2020-12/schema"}}}}
	case n.Subgraph:
		return jsonvalue.Object{{"id", n.ID}, {"type", "runnable"}, {"data", jsonvalue.Object{{"id", jsonvalue.List{"langgraph", "pregel", "CompiledStateGraph"}}, {"name", n.Name}}}}
	}
	return jsonvalue.Object{{"id", n.ID}, {"type", "runnable"}, {"data", jsonvalue.Object{{"id", jsonvalue.List{"langgraph", "RunnableCallable"}}, {"name", n.Name}}}}
}

const schemaDialect = "http://json-schema.org/draft-07/schema#"

// stateSchema is the schema of a graph's state as a document of its own.
func stateSchema(g *graph.Graph) json.RawMessage {
	return withDialect(g.Schema())
}

func withDialect(schema json.RawMessage) json.RawMessage {
	if jsonvalue.IsNull(schema) {
		return json.RawMessage("null")
	}
	m := jsonvalue.Fields(schema)
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

// Describer is a [state.Graphs] that knows the schemas of what its graphs can be configured with.
type Describer interface {
	// Schemas returns JSON Schemas of a graph's configurable values and of its context; nil where there are none.
	Schemas(graph string) (configurable, context json.RawMessage)
}

func (s *Service) schemas(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	a, g, err := s.graphOf(r, who)
	if err != nil {
		return err
	}
	var config, context json.RawMessage
	if d, ok := s.opt.Graphs.(Describer); ok {
		config, context = d.Schemas(a.Graph)
	}
	state := stateSchema(g)
	return edge.Answer(w, http.StatusOK, jsonvalue.Object{
		{"graph_id", a.Graph}, {"input_schema", state}, {"output_schema", state}, {"state_schema", state},
		{"config_schema", withDialect(config)}, {"context_schema", withDialect(context)},
	})
}

func (s *Service) subgraphs(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	recurse, err := edge.QueryBool(r, "recurse")
	if err != nil {
		return err
	}
	_, g, err := s.graphOf(r, who)
	if err != nil {
		return err
	}
	only := r.PathValue("namespace")
	out := jsonvalue.Object{}
	var walk func(g *graph.Graph, prefix string)
	walk = func(g *graph.Graph, prefix string) {
		subs := g.Subgraphs()
		for _, name := range slices.Sorted(maps.Keys(subs)) {
			ns := prefix + name
			if only == "" || ns == only || strings.HasPrefix(only, ns+"|") {
				if only == "" || ns == only || recurse && strings.HasPrefix(ns, only+"|") {
					schema := stateSchema(subs[name])
					out = append(out, jsonvalue.Member{ns, jsonvalue.Object{{"state", schema}, {"input", schema}, {"output", schema}, {"config", nil}}})
				}
				if recurse || only != "" && ns != only {
					walk(subs[name], ns+"|")
				}
			}
		}
	}
	walk(g, "")
	return edge.Answer(w, http.StatusOK, out)
}
