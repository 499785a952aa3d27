package langgraph

import (
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
)

// Options says what a stream shows.
type Options struct {
	Modes     Modes // Values if 0
	Subgraphs bool  // stream_subgraphs: tell of graphs below the root, by name
	// States may be nil where no mode shows values; see the package comment.
	States States
	// Ordinal numbers the frames 0, 1, 2 … in place of the IDs of the package comment, as LangGraph's JS server does. Such an
	// ID is only good for a stream of the same modes: a join that wants fewer must filter ([Modes.Shows]) the stream of
	// the modes that the run was created with.
	Ordinal bool
}

// showState are the modes that tell of a state when it is reached.
const showState = Values | Checkpoints | Debug | Events | Messages

// Projector writes the events of one run. It remembers open turns and the ids of messages, not their texts, unless mode
// messages or events wants them back whole.
type Projector struct {
	opt Options

	run, thread, graph, assistant string
	attempt                       int
	own                           []byte   // the run's metadata, without the keys that are ours: ,"k":v…
	meta                          []byte   // the same with what is known of the run
	chained                       bool     // mode events told that the graph started
	asked                         []string // interrupts, in the order in which their nodes started
	questions                     map[string]question

	spaces     graphs.Spaces
	executions map[string]*execution
	tasks      map[string]bool // namespaces of sub-agents
	started    int
	running    map[place]*execution // the last to start at a node
	turns      map[string]*turn
	entries    map[string]*entry
	last       *entry           // the item that the delta before belonged to
	calls      map[string]*call // tool calls by call id
	shown      map[string]bool  // messages that were told in mode messages-tuple
	completed  map[string]bool  // in mode messages

	frames uint64 // of the run so far
	n      int    // of this event
	env    *event.Envelope
	dst    []wire.Frame

	reuse   bool
	scratch []byte // of the frames of this event, where they may be reused
}

var (
	_ wire.Projector = (*Projector)(nil)
	_ wire.Reuser    = (*Projector)(nil)
)

// Reuse makes the data of frames good only until the next call of Project.
func (p *Projector) Reuse() { p.reuse = true }

// room is memory for n bytes of a frame.
func (p *Projector) room(n int) []byte {
	if !p.reuse {
		return make([]byte, 0, n)
	}
	if cap(p.scratch)-len(p.scratch) < n { // what was handed out stays in the old one
		p.scratch = make([]byte, 0, 2*n)
	}
	at := len(p.scratch)
	p.scratch = p.scratch[:at+n]
	return p.scratch[at : at : at+n]
}

type place struct{ ns, node string }

// question is what an interrupt asks.
type question struct {
	value []byte
	order int // of the node that asks
}

// execution is a node that runs.
type execution struct {
	id, ns, node string
	step         int
	order        int // among all that started
	triggers     []string
	path         []string
	input        []byte // of a send
	child        bool   // it is a graph, whose nodes have told of its messages
	full         string // namespace with the node in it
}

// New returns a projector for the events of one run, from the first.
func New(o Options) *Projector {
	if o.Modes == 0 {
		o.Modes = Values
	}
	return &Projector{
		opt:        o,
		attempt:    1,
		questions:  map[string]question{},
		spaces:     graphs.Spaces{},
		executions: map[string]*execution{},
		tasks:      map[string]bool{},
		running:    map[place]*execution{},
		turns:      map[string]*turn{},
		entries:    map[string]*entry{},
		calls:      map[string]*call{},
		shown:      map[string]bool{},
		completed:  map[string]bool{},
	}
}

// Project appends the frames of the next event. An error is one of States.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	p.env, p.dst, p.n = env, dst, 0
	p.scratch = p.scratch[:0]
	if p.run == "" {
		p.run, p.thread = env.Run, env.Thread
		p.describe()
	}
	err := event.Visit(env.Event, (*visitor)(p))
	dst = p.dst
	p.env, p.dst = nil, nil // what the caller owns is not kept
	return dst, err
}

// emit adds a frame. data must not be changed afterwards.
func (p *Projector) emit(name string, data []byte) {
	p.dst = append(p.dst, wire.Frame{ID: p.id(), Name: name, Data: data})
	p.n++
	p.frames++
}

func (p *Projector) id() string {
	if p.opt.Ordinal {
		return strconv.FormatUint(p.frames, 10)
	}
	return FormatCursor(p.env.Epoch, p.env.Seq, p.n)
}

// visible reports that a namespace's graph is told of.
func (p *Projector) visible(ns string) bool { return ns == "" || p.opt.Subgraphs }

// name is the SSE name of a mode's frame about a namespace.
func (p *Projector) name(mode, ns string) string {
	if ns == "" || !p.opt.Subgraphs {
		return mode
	}
	return mode + "|" + ns
}

// shows reports that one of the modes is on and that the event's namespace is told of.
func (p *Projector) shows(m Modes) bool { return p.opt.Modes.Has(m) && p.visible(p.env.NS) }

// describe writes what every metadata object of the run has.
func (p *Projector) describe() {
	b := append([]byte(nil), p.own...)
	if p.graph != "" {
		b = jsonline.AppendField(b, "graph_id", p.graph)
	}
	if p.assistant != "" {
		b = jsonline.AppendField(b, "assistant_id", p.assistant)
	}
	b = jsonline.AppendIntField(b, "run_attempt", p.attempt)
	b = jsonline.AppendField(b, "thread_id", p.thread)
	p.meta = jsonline.AppendField(b, "run_id", p.run)
}

// execution finds the execution that an event of the current node belongs to.
func (p *Projector) execution(id string) *execution {
	if x := p.executions[id]; x != nil {
		return x
	}
	if x := p.running[place{p.env.NS, p.env.Node}]; x != nil && id == "" {
		return x
	}
	x := &execution{id: id, ns: p.env.NS, node: p.env.Node, step: p.env.Step}
	x.name()
	return x
}

// name sets the namespace that the clients know the node by.
func (x *execution) name() {
	part := x.node
	if x.id != "" {
		part += ":" + x.id
	}
	x.full = under(x.ns, part)
}

func under(ns, part string) string {
	if ns == "" {
		return part
	}
	return ns + "|" + part
}

// appendMeta writes the members of a metadata object about a node, each with a comma before it.
func (p *Projector) appendMeta(b []byte, x *execution) []byte {
	b = append(b, p.meta...)
	b = jsonline.AppendIntField(b, "langgraph_step", x.step)
	b = jsonline.AppendField(b, "langgraph_node", x.node)
	b = jsonline.AppendKey(b, "langgraph_triggers")
	b = append(b, '[')
	for i, t := range x.triggers {
		if i > 0 {
			b = append(b, ',')
		}
		if t == "push" {
			t = "__pregel_push"
		}
		b = jsonline.AppendString(b, t)
	}
	b = append(b, ']')
	b = appendPath(jsonline.AppendKey(b, "langgraph_path"), x.path)
	b = jsonline.AppendField(b, "langgraph_checkpoint_ns", x.full)
	return jsonline.AppendField(b, "checkpoint_ns", x.full)
}

// appendPath writes a path in LangGraph's words: the place of a send is a number.
func appendPath(b []byte, path []string) []byte {
	b = append(b, '[')
	for i, s := range path {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case i == 0 && (s == "pull" || s == "push"):
			b = jsonline.AppendString(b, "__pregel_"+s)
		case i == 1 && path[0] == "push" && isNumber(s):
			b = append(b, s...)
		default:
			b = jsonline.AppendString(b, s)
		}
	}
	return append(b, ']')
}

func isNumber(s string) bool {
	_, ok := number(s, 31)
	return ok
}
