package protocol2

import (
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/graphs"
)

// Options says how a thread is told.
type Options struct {
	States States
	// Base is the number of frames that the thread's earlier runs gave. Whoever does not know it projects them first: their
	// last [Projector.Seq] is the Base of the next run, and does not change once a run has ended.
	Base uint64
	// Only, if set, is what the reader wants. Other frames are counted and not written, which saves reading states
	// that nobody is shown. The filter's channels alone are heeded; the rest is for [Filter.Match].
	Only *Filter
}

// Event is a frame with what a filter asks for. Its Frame.Name is the method.
type Event struct {
	wire.Frame
	Seq       uint64
	Channel   string
	Namespace []string // shared; not to be changed
}

// Projector writes the events of a thread's runs.
type Projector struct {
	opt Options
	seq uint64

	run, graph string
	attempt    int
	metadata   []byte // of the run's tasks

	spaces     graphs.Spaces
	scopes     map[string]*scope
	opened     []*scope // in the order in which they began
	executions map[string]*execution
	tasks      map[string]bool   // namespaces of sub-agents
	speakers   map[speaker]*turn // who speaks at a node at the moment
	turns      map[string]*turn
	entries    map[string]*entry
	last       *entry
	calls      map[string]*call
	shown      map[string]bool // messages that were told
	asked      map[string]bool // interrupts that were told
	questions  map[string][]byte
	short      map[string]short // messages in the form that values have, by id

	env  *event.Envelope
	dst  []Event
	next Event
	buf  []byte
}

var _ wire.Projector = (*Projector)(nil)

type speaker struct{ ns, node string }

// scope is the namespace of a graph.
type scope struct {
	ns    string
	parts []string
	json  []byte // the parts
	name  string // of the sub-agent, or of the node that is the graph
	open  bool
	// cause is the tool call that a sub-agent works for.
	cause string
}

// execution is a node that runs.
type execution struct {
	id, ns, node string
	child        bool // it is a graph, whose nodes have told of its messages
}

// New returns a projector for the events of a thread's runs, each from its first event.
func New(o Options) *Projector {
	p := &Projector{opt: o, seq: o.Base, short: map[string]short{}}
	p.reset()
	return p
}

// reset forgets the run before.
func (p *Projector) reset() {
	p.attempt = 1
	p.spaces = graphs.Spaces{}
	p.scopes = map[string]*scope{}
	p.opened = nil
	p.executions = map[string]*execution{}
	p.tasks = map[string]bool{}
	p.speakers = map[speaker]*turn{}
	p.turns = map[string]*turn{}
	p.entries = map[string]*entry{}
	p.last = nil
	p.calls = map[string]*call{}
	p.shown = map[string]bool{}
	p.asked = map[string]bool{}
	p.questions = map[string][]byte{}
}

// Seq is the number of the last frame.
func (p *Projector) Seq() uint64 { return p.seq }

// Events appends the frames of the next event. An error is one of States.
func (p *Projector) Events(dst []Event, env *event.Envelope) ([]Event, error) {
	p.env, p.dst = env, dst
	if p.run != env.Run {
		p.run = env.Run
		p.reset()
		p.describe(event.RunStarted{})
	}
	err := event.Visit(env.Event, (*visitor)(p))
	dst = p.dst
	p.env, p.dst = nil, nil // what the caller owns is not kept
	return dst, err
}

// Project is Events for those who do not filter.
func (p *Projector) Project(dst []wire.Frame, env *event.Envelope) ([]wire.Frame, error) {
	events, err := p.Events(nil, env)
	for _, e := range events {
		dst = append(dst, e.Frame)
	}
	return dst, err
}

// begin counts a frame and starts to write it, unless nobody wants it. Its data is appended to p.buf, and end closes it.
func (p *Projector) begin(channel, method string, sc *scope, node string) bool {
	p.seq++
	if p.opt.Only != nil && !p.opt.Only.wants(channel) {
		return false
	}
	id := strconv.FormatUint(p.seq, 10)
	p.next = Event{Frame: wire.Frame{ID: id, Name: method}, Seq: p.seq, Channel: channel, Namespace: sc.parts}
	b := append(p.buf[:0], `{"type":"event","event_id":"`...)
	b = append(append(b, id...), `","seq":`...)
	b = append(append(b, id...), `,"method":"`...)
	b = append(append(b, method...), `","params":{"namespace":`...)
	b = append(append(b, sc.json...), `,"timestamp":`...)
	b = strconv.AppendInt(b, p.env.At.UnixMilli(), 10)
	if node != "" {
		b = jsonline.AppendField(b, "node", node)
	}
	p.buf = append(b, `,"data":`...)
	return true
}

func (p *Projector) end() {
	data := append(make([]byte, 0, len(p.buf)+2), p.buf...) // one piece of memory, and no second one for the end
	p.next.Data = append(data, '}', '}')
	p.dst = append(p.dst, p.next)
}

// scope returns what is known of a namespace.
func (p *Projector) scope(ns string) *scope {
	sc := p.scopes[ns]
	if sc != nil {
		return sc
	}
	sc = &scope{ns: ns, parts: []string{}, json: []byte("[]")}
	if ns != "" {
		sc.parts = strings.Split(ns, "|")
		sc.name, _, _ = strings.Cut(sc.parts[len(sc.parts)-1], ":")
		sc.json = jsonline.AppendStrings(nil, sc.parts)
	}
	p.scopes[ns] = sc
	return sc
}

// open tells that a namespace begins, and those above it, if that was not told before.
func (p *Projector) open(ns string) *scope {
	sc := p.scope(ns)
	if ns == "" || sc.open {
		return sc
	}
	p.open(ns[:max(strings.LastIndexByte(ns, '|'), 0)])
	sc.open = true
	p.opened = append(p.opened, sc)
	p.lifecycle(sc, "started", sc.name, "")
	return sc
}

// close tells that a namespace ends, if it began.
func (p *Projector) close(sc *scope, how, failure string) {
	if !sc.open {
		return
	}
	sc.open = false
	p.lifecycle(sc, how, sc.name, failure)
}

func (p *Projector) lifecycle(sc *scope, what, graph, failure string) {
	if !p.begin("lifecycle", "lifecycle", sc, "") {
		return
	}
	b := jsonline.AppendString(append(p.buf, `{"event":`...), what)
	b = jsonline.AppendField(b, "graph_name", graph)
	if sc.cause != "" && what == "started" {
		b = jsonline.AppendString(append(b, `,"cause":{"type":"toolCall","tool_call_id":`...), sc.cause)
		b = append(b, '}')
	}
	if failure != "" {
		b = jsonline.AppendField(b, "error", failure)
	}
	p.buf = append(b, '}')
	p.end()
}

// describe writes the metadata that the run's tasks carry.
func (p *Projector) describe(e event.RunStarted) {
	b := jsonline.AppendIntField([]byte(`{"run_id":`+string(jsonline.AppendString(nil, p.run))), "run_attempt", p.attempt)
	if e.Assistant != "" {
		b = jsonline.AppendField(b, "assistant_id", e.Assistant)
	}
	if p.graph != "" {
		b = jsonline.AppendField(b, "graph_id", p.graph)
	}
	p.metadata = append(b, '}')
}

// below is the namespace of the graph that an execution is, if it is one.
func (x *execution) below() string {
	part := x.node + ":" + x.id
	if x.ns == "" {
		return part
	}
	return x.ns + "|" + part
}
