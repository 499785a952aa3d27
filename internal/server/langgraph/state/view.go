package state

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// ThreadState is what [View.State] shows.
type ThreadState struct {
	Values     json.RawMessage `json:"values" type:"object"`
	Next       []string        `json:"next" doc:"the nodes that are due"`
	Tasks      []PregelTask    `json:"tasks"`
	Metadata   json.RawMessage `json:"metadata" type:"object"`
	CreatedAt  *time.Time      `json:"created_at"`
	Checkpoint *Checkpoint     `json:"checkpoint"`
	Parent     *Checkpoint     `json:"parent_checkpoint"`
}

// Checkpoint names a checkpoint.
type Checkpoint struct {
	Thread string             `json:"thread_id"`
	ID     string             `json:"checkpoint_id" format:"uuid"`
	NS     string             `json:"checkpoint_ns"`
	Map    *map[string]string `json:"checkpoint_map"`
}

// PregelTask is a node that is due at a checkpoint, or was.
type PregelTask struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Path       []any        `json:"path"`
	Error      *string      `json:"error"`
	Interrupts []Interrupt  `json:"interrupts"`
	Checkpoint any          `json:"checkpoint" doc:"where its subgraph stands: thread_id and checkpoint_ns"`
	State      *ThreadState `json:"state" doc:"of its subgraph, where it was asked for"`
	Result     any          `json:"result"`
}

// Interrupt is what a task stopped to ask.
type Interrupt struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

// View is a thread with the graph that its state belongs to.
type View struct {
	store Store
	th    run.Thread
	meta  map[string]json.RawMessage
	root  *graph.Graph // nil where it is not known
	wrong error        // why not
}

// View finds the graph of a thread: the one of its latest run, configured as that was, or the one that its creator
// named in the metadata.
func (s *Reader) View(ctx context.Context, th run.Thread) *View {
	v := &View{store: s.store, th: th, meta: jsonvalue.Fields(th.Metadata)}
	name := jsonvalue.Text(v.meta, "graph_id")
	if name == "" {
		v.wrong = run.Invalidf("thread_id", "the thread has no graph yet: run an assistant on it, or create it with metadata.graph_id")
		return v
	}
	v.root, v.wrong = s.graphs.Graph(ctx, run.Identity{Owner: th.Owner}, name, run.Request{Assistant: jsonvalue.Text(v.meta, "assistant_id"), Graph: name, Config: th.Config})
	if v.wrong != nil {
		v.root = nil
	}
	return v
}

// Root is the thread's graph, or why it is not known.
func (v *View) Root() (*graph.Graph, error) {
	return v.root, v.wrong
}

// At returns the graph of a namespace, or nil.
func (v *View) At(ns string) *graph.Graph {
	if v.root == nil {
		return nil
	}
	return v.root.At(ns)
}

// Values returns the values of a checkpoint in the order of the graph, with what finished tasks of an unfinished
// step have written, and the nodes that are due.
func (v *View) Values(snap *graph.Snapshot) (values json.RawMessage, next []string) {
	g := v.At(snap.NS)
	if g == nil {
		return Ordered(nil, snap.Values), due(snap)
	}
	written, next, err := g.Preview(snap)
	if err != nil {
		// The graph has changed since and cannot read its old values; a person still may.
		return Ordered(g, snap.Values), due(snap)
	}
	return Ordered(g, written), next
}

func due(snap *graph.Snapshot) []string {
	var next []string
	for _, t := range snap.Next {
		next = append(next, t.Node)
	}
	return next
}

// Ordered writes values as an object: in the order of the graph's fields, then those that it does not know.
func Ordered(g *graph.Graph, values map[string]json.RawMessage) json.RawMessage {
	var names []string
	if g != nil {
		for _, f := range g.Fields() {
			if _, ok := values[f.Name]; ok {
				names = append(names, f.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	b := []byte{'{'}
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		key, _ := json.Marshal(name) // a string always encodes
		b = append(append(append(b, key...), ':'), jsonvalue.OrNull(values[name])...)
	}
	return append(b, '}')
}

// Empty is what a thread without checkpoints answers; clients look at its checkpoint.
var Empty = jsonvalue.Object{
	{"values", jsonvalue.Object{}}, {"next", jsonvalue.List{}}, {"tasks", jsonvalue.List{}}, {"metadata", jsonvalue.Object{}},
	{"created_at", nil}, {"checkpoint", nil}, {"parent_checkpoint", nil},
}

// State shows a checkpoint; with subgraphs, also those below its tasks.
func (v *View) State(ctx context.Context, snap *graph.Snapshot, subgraphs bool) (jsonvalue.Object, error) {
	return v.state(ctx, snap, subgraphs, nil)
}

// state is State with the checkpoints of the graphs above.
func (v *View) state(ctx context.Context, snap *graph.Snapshot, subgraphs bool, parents jsonvalue.Object) (jsonvalue.Object, error) {
	values, next := v.Values(snap)
	tasks, err := v.tasks(ctx, snap, subgraphs, parents)
	if err != nil {
		return nil, err
	}
	nodes := jsonvalue.List{}
	for _, n := range next {
		nodes = append(nodes, n)
	}
	var parent any
	if snap.Parent != "" {
		parent = v.reference(snap.NS, snap.Parent, parents)
	}
	return jsonvalue.Object{
		{"values", values}, {"next", nodes}, {"tasks", tasks}, {"metadata", v.metadata(snap, parents)},
		{"created_at", jsonvalue.Time(snap.At)}, {"checkpoint", v.reference(snap.NS, snap.ID, parents)}, {"parent_checkpoint", parent},
	}, nil
}

// reference names a checkpoint as requests do.
func (v *View) reference(ns, id string, parents jsonvalue.Object) jsonvalue.Object {
	var where any
	if ns != "" && len(parents) > 0 {
		where = append(slices.Clone(parents), jsonvalue.Member{ns, id})
	}
	return jsonvalue.Object{{"thread_id", v.th.ID}, {"checkpoint_id", id}, {"checkpoint_ns", ns}, {"checkpoint_map", where}}
}

// Metadata shows what is known of a checkpoint beside its values.
func (v *View) Metadata(snap *graph.Snapshot) jsonvalue.Object { return v.metadata(snap, nil) }

func (v *View) metadata(snap *graph.Snapshot, parents jsonvalue.Object) jsonvalue.Object {
	own := jsonvalue.Fields(snap.Metadata)
	o := jsonvalue.Object{}
	for _, name := range []string{"graph_id", "assistant_id"} {
		if raw, ok := v.meta[name]; ok {
			o = append(o, jsonvalue.Member{name, raw})
		}
	}
	if snap.Run != "" {
		own = maps.Clone(own)
		if own == nil {
			own = map[string]json.RawMessage{}
		}
		own["run_id"], _ = json.Marshal(snap.Run)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains([]string{"graph_id", "assistant_id", "thread_id", "source", "step", "parents"}, name) {
			o = append(o, jsonvalue.Member{name, own[name]})
		}
	}
	if parents == nil {
		parents = jsonvalue.Object{}
	}
	return append(o, jsonvalue.Member{"thread_id", v.th.ID}, jsonvalue.Member{"source", snap.Source}, jsonvalue.Member{"step", snap.Step}, jsonvalue.Member{"parents", parents})
}

// tasks shows what is due at a checkpoint, or was, with what became of it.
func (v *View) tasks(ctx context.Context, snap *graph.Snapshot, subgraphs bool, parents jsonvalue.Object) (jsonvalue.List, error) {
	out := jsonvalue.List{}
	if len(snap.Next) == 0 {
		return out, nil
	}
	done, err := v.store.Outcomes(ctx, snap.Thread, snap.NS, snap.ID)
	if err != nil {
		return nil, err
	}
	g := v.At(snap.NS)
	for _, t := range snap.Next {
		o := outcome(snap.Kept, t.ID)
		if finished := outcome(done, t.ID); finished != nil {
			o = finished
		}
		if o == nil {
			o = &graph.Outcome{}
		}
		var checkpoint, nested any
		if g != nil && g.Subgraphs()[t.Node] != nil {
			if checkpoint, nested, err = v.below(ctx, snap, t, subgraphs, parents); err != nil {
				return nil, err
			}
		}
		var failure any
		if o.Error != nil {
			failure = ErrorText(o.Error)
		}
		out = append(out, jsonvalue.Object{
			{"id", t.ID}, {"name", t.Node}, {"path", pregelPath(t.Path, t.Node)}, {"error", failure},
			{"interrupts", interruptList(o.Interrupts)}, {"checkpoint", checkpoint}, {"state", nested}, {"result", result(t, o)},
		})
	}
	return out, nil
}

// below shows where a subgraph of a task stands: its namespace, or with subgraphs its state.
func (v *View) below(ctx context.Context, snap *graph.Snapshot, t graph.Task, subgraphs bool, parents jsonvalue.Object) (checkpoint, nested any, err error) {
	ns := t.Node + ":" + t.ID
	if snap.NS != "" {
		ns = snap.NS + "|" + ns
	}
	where := jsonvalue.Object{{"thread_id", v.th.ID}, {"checkpoint_ns", ns}}
	if !subgraphs {
		return where, nil, nil
	}
	inner, err := v.store.Load(ctx, snap.Thread, ns, "")
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return where, nil, nil // not begun
	}
	if err != nil {
		return nil, nil, err
	}
	nested, err = v.state(ctx, inner, true, append(slices.Clone(parents), jsonvalue.Member{snap.NS, snap.ID}))
	return nil, nested, err
}

func outcome(all []graph.Outcome, task string) *graph.Outcome {
	for i := range all {
		if all[i].Task == task {
			return &all[i]
		}
	}
	return nil
}

// result is what a finished task wrote; the input, of the task that applies it.
func result(t graph.Task, o *graph.Outcome) any {
	if t.Node == graph.Start && t.Input != nil {
		return t.Input
	}
	if !o.Finished || len(o.Writes) == 0 {
		return nil
	}
	out := jsonvalue.Object{}
	for _, w := range o.Writes {
		out = append(out, jsonvalue.Member{w.Field, w.Value})
	}
	return out
}

func interruptList(all []graph.Interrupt) jsonvalue.List {
	out := jsonvalue.List{}
	for _, i := range all {
		out = append(out, jsonvalue.Object{{"id", i.ID}, {"value", jsonvalue.OrNull(i.Value)}})
	}
	return out
}

// Pending lists the open questions by task, with an empty list for a task that merely waits.
func Pending(snap *graph.Snapshot) jsonvalue.Object {
	out := jsonvalue.Object{}
	for _, t := range snap.Next {
		o := outcome(snap.Kept, t.ID)
		if o == nil {
			o = &graph.Outcome{}
		}
		if !o.Finished {
			out = append(out, jsonvalue.Member{t.ID, interruptList(o.Interrupts)})
		}
	}
	return out
}

// Questions lists what a run stopped to ask; nothing, at a breakpoint.
func Questions(snap *graph.Snapshot) jsonvalue.List {
	return append(jsonvalue.List{}, interruptList(snap.Open())...)
}

// ErrorText is an error as LangGraph's clients read it back: JSON in a string.
func ErrorText(e *event.Error) string {
	name := e.Name
	if name == "" {
		name = "Error"
	}
	b, err := json.Marshal(jsonvalue.Object{{"message", e.Message}, {"name", name}})
	if err != nil {
		return e.Message
	}
	return string(b)
}

// pregelPath is a task's path in LangGraph's words; the place of a send is a number.
func pregelPath(path []string, node string) jsonvalue.List {
	if len(path) == 0 {
		path = []string{"pull", node}
	}
	out := jsonvalue.List{}
	for i, p := range path {
		n, err := strconv.Atoi(p)
		switch {
		case i == 0 && (p == "pull" || p == "push"):
			out = append(out, "__pregel_"+p)
		case i == 1 && path[0] == "push" && err == nil:
			out = append(out, n)
		default:
			out = append(out, p)
		}
	}
	return out
}
