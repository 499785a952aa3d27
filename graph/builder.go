package graph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Start and End are where edges begin and end.
const (
	Start = "__start__"
	End   = "__end__"
)

// NodeFunc is the work of a node. It reads fields through the scope and returns what it wants written. What it
// returns is carried out when all nodes of the step have finished. It may run again: after a crash, after an
// interrupt, when it is retried.
type NodeFunc func(ctx context.Context, s *Scope) (Command, error)

// BranchFunc chooses where to go after a node. It reads the state of the step's start with the node's own update.
type BranchFunc func(ctx context.Context, s *Scope) ([]Target, error)

// Retry says how often and when a node that returned an error is tried again.
type Retry struct {
	Max int // attempts, the first included
	// Backoff is the wait before attempt n+1; nil means none.
	Backoff func(n int) time.Duration
	// On says which errors are worth another try; nil means all. A panic never is.
	On func(error) bool
}

// Timeout bounds one attempt of a node. The node must heed its context.
type Timeout time.Duration

// NodeOption is a [Retry], a [Timeout] or [OnlyNew].
type NodeOption interface{ apply(*node) }

func (r Retry) apply(n *node)   { n.retry = r }
func (t Timeout) apply(n *node) { n.timeout = time.Duration(t) }

// Graph is built with New, Node, Edge and so on, and then run as often as one likes, also at the same time.
// Mistakes made while building are reported by Compile, or by the first Run. A graph that has run must not
// be changed.
type Graph struct {
	name   string
	fields []*definition
	index  map[string]int
	nodes  map[string]*node
	order  []string // names of nodes in the order of their definition
	start  *node    // has the edges from Start
	joins  []*join

	before, after []string
	limit         int // see Limit
	errs          []error
	compile       sync.Once
	compiled      error
}

type node struct {
	name     string
	run      NodeFunc
	sub      *Graph
	onlyNew  bool // see OnlyNew
	retry    Retry
	timeout  time.Duration
	edges    []string
	branches []branch
	joins    []*join // that wait for this node
	ends     []string
	path     []string // of its pull tasks, always the same
	trigger  []string
}

type branch struct {
	choose BranchFunc
	ends   []string
}

// join is an edge that waits for several nodes.
type join struct {
	name    string // "join:a+b:c"
	sources []string
	target  string
}

// New begins a graph whose state has the given fields.
func New(name string, fields ...AnyField) *Graph {
	g := &Graph{name: name, index: map[string]int{}, nodes: map[string]*node{}, start: &node{name: Start}}
	for _, f := range fields {
		d := f.definition()
		switch _, twice := g.index[d.name]; {
		case d.name == "" || strings.HasPrefix(d.name, "__"):
			g.wrong("field %q: the name must not be empty or begin with two underscores", d.name)
		case twice:
			g.wrong("field %q is declared twice", d.name)
		default:
			g.index[d.name] = len(g.fields)
			g.fields = append(g.fields, d)
		}
	}
	return g
}

func (g *Graph) wrong(format string, args ...any) {
	g.errs = append(g.errs, fmt.Errorf("graph %q: "+format, append([]any{g.name}, args...)...))
}

// Node adds a node.
func (g *Graph) Node(name string, run NodeFunc, opts ...NodeOption) *Graph {
	if run == nil {
		g.wrong("node %q has no function", name)
	}
	n := &node{name: name, run: run}
	for _, o := range opts {
		o.apply(n)
	}
	g.add(n)
	return g
}

func (g *Graph) add(n *node) {
	switch {
	case n.name == "" || strings.HasPrefix(n.name, "__"):
		g.wrong("node %q: the name must not be empty or begin with two underscores", n.name)
	case strings.ContainsAny(n.name, ":|"):
		g.wrong(`node %q: the name must not contain ":" or "|", which namespaces are made of`, n.name)
	case g.nodes[n.name] != nil:
		g.wrong("node %q is defined twice", n.name)
	default:
		n.path = []string{"pull", n.name}
		n.trigger = []string{"branch:to:" + n.name}
		g.nodes[n.name] = n
		g.order = append(g.order, n.name)
	}
}

// Edge leads from a node, or from Start, to another, or to End.
func (g *Graph) Edge(from, to string) *Graph {
	n := g.from(from)
	if n == nil {
		// The node may be defined later; keep the edge until Compile.
		g.errs = append(g.errs, &danglingEdge{g, from, to})
		return g
	}
	if !slices.Contains(n.edges, to) {
		n.edges = append(n.edges, to)
	}
	return g
}

// Chain leads through the nodes in order.
func (g *Graph) Chain(nodes ...string) *Graph {
	for i := 1; i < len(nodes); i++ {
		g.Edge(nodes[i-1], nodes[i])
	}
	return g
}

// Join leads to a node once all of the sources have finished, in whatever steps.
func (g *Graph) Join(sources []string, to string) *Graph {
	g.joins = append(g.joins, &join{
		name: "join:" + strings.Join(sources, "+") + ":" + to, sources: slices.Clone(sources), target: to,
	})
	return g
}

// Branch leads from a node, or from Start, to where choose says. The ends are the targets it may choose; with none
// given it may choose any node, and a drawing of the graph shows all of them.
func (g *Graph) Branch(from string, choose BranchFunc, ends ...string) *Graph {
	if choose == nil {
		g.wrong("branch from %q has no function", from)
		return g
	}
	n := g.from(from)
	if n == nil {
		g.errs = append(g.errs, &danglingBranch{g, from, branch{choose, ends}})
		return g
	}
	n.branches = append(n.branches, branch{choose, ends})
	return g
}

// Ends declares where a node's commands may go, for drawings.
func (g *Graph) Ends(from string, to ...string) *Graph {
	if n := g.from(from); n != nil {
		n.ends = append(n.ends, to...)
	} else {
		g.wrong("ends of %q: there is no such node", from)
	}
	return g
}

// InterruptBefore and InterruptAfter stop every run of the graph before or after the named nodes; "*" means all.
func (g *Graph) InterruptBefore(nodes ...string) *Graph {
	g.before = append(g.before, nodes...)
	return g
}

func (g *Graph) InterruptAfter(nodes ...string) *Graph {
	g.after = append(g.after, nodes...)
	return g
}

// Limit is how many steps a run of the graph may take where the run itself does not say; [DefaultRecursionLimit] if it is
// never called.
func (g *Graph) Limit(steps int) *Graph {
	g.limit = steps
	return g
}

func (g *Graph) from(name string) *node {
	if name == Start {
		return g.start
	}
	return g.nodes[name]
}

// danglingEdge and danglingBranch stand in for edges whose node has not been defined yet.
type danglingEdge struct {
	g        *Graph
	from, to string
}

type danglingBranch struct {
	g    *Graph
	from string
	b    branch
}

func (e *danglingEdge) Error() string {
	return fmt.Sprintf("graph %q: edge from %q to %q: there is no node %q", e.g.name, e.from, e.to, e.from)
}

func (e *danglingBranch) Error() string {
	return fmt.Sprintf("graph %q: branch from %q: there is no such node", e.g.name, e.from)
}

// Compile checks the graph. It is called by Run and may be called before, to find mistakes early.
func (g *Graph) Compile() error {
	g.compile.Do(func() {
		g.settle()
		g.check()
		g.compiled = errors.Join(g.errs...)
	})
	return g.compiled
}

// settle attaches edges that were named before their node.
func (g *Graph) settle() {
	pending := g.errs
	g.errs = nil
	for _, err := range pending {
		switch e := err.(type) {
		case *danglingEdge:
			if g.nodes[e.from] != nil {
				g.Edge(e.from, e.to)
				continue
			}
		case *danglingBranch:
			if n := g.nodes[e.from]; n != nil {
				n.branches = append(n.branches, e.b)
				continue
			}
		}
		g.errs = append(g.errs, err)
	}
	for _, j := range g.joins {
		for _, s := range j.sources {
			if n := g.nodes[s]; n != nil {
				n.joins = append(n.joins, j)
			} else {
				g.wrong("join of %v to %q: there is no node %q", j.sources, j.target, s)
			}
		}
		if len(j.sources) == 0 {
			g.wrong("join to %q waits for no node", j.target)
		}
		g.checkTarget("join to", j.target)
	}
}

func (g *Graph) check() {
	if len(g.start.edges) == 0 && len(g.start.branches) == 0 {
		g.wrong("no edge leads from Start; add Edge(graph.Start, …)")
	}
	for _, n := range append([]*node{g.start}, slices.Collect(maps.Values(g.nodes))...) {
		for _, to := range n.edges {
			g.checkTarget(fmt.Sprintf("edge from %q to", n.name), to)
		}
		for _, b := range n.branches {
			for _, to := range b.ends {
				g.checkTarget(fmt.Sprintf("branch from %q to", n.name), to)
			}
		}
		if n.sub != nil {
			if err := n.sub.Compile(); err != nil {
				g.wrong("subgraph %q: %w", n.name, err)
			}
		}
	}
	for _, name := range slices.Concat(g.before, g.after) {
		if name != "*" && g.nodes[name] == nil {
			g.wrong("breakpoint at %q: there is no such node", name)
		}
	}
}

func (g *Graph) checkTarget(what, to string) {
	if to != End && g.nodes[to] == nil {
		g.wrong("%s %q: there is no such node", what, to)
	}
}
