package graph

import (
	"encoding/json"
	"slices"
)

// Name is the graph's name.
func (g *Graph) Name() string { return g.name }

// Fields lists the graph's fields in the order of their declaration.
func (g *Graph) Fields() []FieldInfo {
	out := make([]FieldInfo, len(g.fields))
	for i, d := range g.fields {
		out[i] = FieldInfo{Name: d.name, Schema: d.schema(), Initial: d.initial != nil}
	}
	return out
}

// FieldInfo describes a field.
type FieldInfo struct {
	Name   string
	Schema json.RawMessage // JSON Schema of its values
	// Initial says that the field has a value, empty, before it was written.
	Initial bool
}

// Schema is the JSON Schema of the state: an object of the fields.
func (g *Graph) Schema() json.RawMessage {
	b := []byte(`{"type":"object","properties":{`)
	for i, d := range g.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, d.key...), d.schema()...)
	}
	return append(b, `}}`...)
}

// Nodes lists the nodes' names in the order of their definition.
func (g *Graph) Nodes() []string { return slices.Clone(g.order) }

// Subgraphs returns the graphs that are nodes of this one, by node.
func (g *Graph) Subgraphs() map[string]*Graph {
	out := map[string]*Graph{}
	for name, n := range g.nodes {
		if n.sub != nil {
			out[name] = n.sub
		}
	}
	return out
}

// At returns the graph that runs in a namespace, or nil if there is none.
func (g *Graph) At(ns string) *Graph {
	for _, name := range nodesOf(ns) {
		n := g.nodes[name]
		if n == nil || n.sub == nil {
			return nil
		}
		g = n.sub
	}
	return g
}

// Drawing is a graph to be drawn.
type Drawing struct {
	Nodes []DrawnNode
	Edges []DrawnEdge
}

// DrawnNode is a node of a drawing. Nodes inside a subgraph have ids of the form "outer:inner".
type DrawnNode struct {
	ID       string
	Name     string
	Subgraph bool
}

// DrawnEdge is an edge of a drawing. A conditional one may be taken.
type DrawnEdge struct {
	Source, Target string
	Conditional    bool
}

// Draw returns the graph with subgraphs opened down to a depth: 0 leaves them closed, -1 opens all.
func (g *Graph) Draw(depth int) Drawing {
	d := g.draw(depth)
	d.Nodes = append([]DrawnNode{{ID: Start, Name: Start}}, d.Nodes...)
	d.Nodes = append(d.Nodes, DrawnNode{ID: End, Name: End})
	return d
}

// draw returns the nodes without Start and End, which only the outermost graph has.
func (g *Graph) draw(depth int) Drawing {
	// The joins are known from the nodes once the graph is compiled. What is wrong with it is not for us to say.
	_ = g.Compile()
	var d Drawing
	entry, exit := map[string]string{}, map[string]string{}
	for _, name := range g.order {
		n := g.nodes[name]
		if n.sub == nil || depth == 0 {
			d.Nodes = append(d.Nodes, DrawnNode{ID: name, Name: name, Subgraph: n.sub != nil})
			continue
		}
		entry[name], exit[name] = d.open(name, n.sub.draw(depth-1))
	}
	at := func(ends map[string]string, name string) string {
		if id, ok := ends[name]; ok {
			return id
		}
		return name
	}
	for _, e := range g.arrows() {
		d.Edges = append(d.Edges, DrawnEdge{at(exit, e.Source), at(entry, e.Target), e.Conditional})
	}
	return d
}

// open puts the inside of a subgraph in its place and returns the ids at which it is entered and left. Where there
// is only one way in or out, the subgraph's own Start or End is not drawn.
func (d *Drawing) open(name string, inner Drawing) (entry, exit string) {
	id := func(s string) string { return name + ":" + s }
	in, out := ends(inner.Edges)
	entry, exit = id(Start), id(End)
	if in != "" {
		entry = id(in)
	} else {
		d.Nodes = append(d.Nodes, DrawnNode{ID: entry, Name: Start})
	}
	for _, n := range inner.Nodes {
		n.ID = id(n.ID)
		d.Nodes = append(d.Nodes, n)
	}
	if out != "" {
		exit = id(out)
	} else {
		d.Nodes = append(d.Nodes, DrawnNode{ID: exit, Name: End})
	}
	for _, e := range inner.Edges {
		if e.Source == Start && in != "" || e.Target == End && out != "" {
			continue
		}
		d.Edges = append(d.Edges, DrawnEdge{id(e.Source), id(e.Target), e.Conditional})
	}
	return entry, exit
}

// ends returns the only node that Start leads to, and the only one that leads to End, if each is the only one.
func ends(edges []DrawnEdge) (in, out string) {
	ins, outs := 0, 0
	for _, e := range edges {
		if e.Source == Start {
			in = e.Target
			ins++
		}
		if e.Target == End {
			out = e.Source
			outs++
		}
	}
	if ins != 1 || in == End {
		in = ""
	}
	if outs != 1 || out == Start {
		out = ""
	}
	return in, out
}

// arrows lists the edges of this graph alone.
func (g *Graph) arrows() []DrawnEdge {
	var out []DrawnEdge
	add := func(from, to string, conditional bool) {
		if e := (DrawnEdge{from, to, conditional}); !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	all := []*node{g.start}
	for _, name := range g.order {
		all = append(all, g.nodes[name])
	}
	for _, n := range all {
		for _, to := range n.edges {
			add(n.name, to, false)
		}
		for _, j := range n.joins {
			add(n.name, j.target, false)
		}
		for _, b := range n.branches {
			targets := b.ends
			if len(targets) == 0 {
				targets = append(slices.Clone(g.order), End)
			}
			for _, to := range targets {
				add(n.name, to, true)
			}
		}
		for _, to := range n.ends {
			add(n.name, to, true)
		}
		if len(n.edges)+len(n.joins)+len(n.branches)+len(n.ends) == 0 {
			add(n.name, End, false)
		}
	}
	return out
}
