package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// view is a thread with the graph that its state belongs to.
type view struct {
	s     *Server
	th    run.Thread
	meta  map[string]json.RawMessage
	root  *graph.Graph // nil where it is not known
	wrong error        // why not
}

// view finds the graph of a thread: the one of its latest run, configured as that was, or the one that its creator
// named in the metadata.
func (s *Server) view(ctx context.Context, th run.Thread) *view {
	v := &view{s: s, th: th, meta: fields(th.Metadata)}
	name := textOf(v.meta, "graph_id")
	if name == "" {
		v.wrong = run.Invalidf("thread_id", "the thread has no graph yet: run an assistant on it, or create it with metadata.graph_id")
		return v
	}
	v.root, v.wrong = s.opt.Graphs.Graph(ctx, name, run.Request{Assistant: textOf(v.meta, "assistant_id"), Graph: name, Config: th.Config})
	if v.wrong != nil {
		v.root = nil
	}
	return v
}

// at returns the graph of a namespace, or nil.
func (v *view) at(ns string) *graph.Graph {
	if v.root == nil {
		return nil
	}
	return v.root.At(ns)
}

// values returns the values of a checkpoint in the order of the graph, with what finished tasks of an unfinished
// step have written, and the nodes that are due.
func (v *view) values(snap *graph.Snapshot) (json.RawMessage, []string, error) {
	g := v.at(snap.NS)
	if g == nil {
		return ordered(nil, snap.Values), due(snap), nil
	}
	values, next, err := g.Preview(snap)
	if err != nil {
		// The graph has changed since and cannot read its old values; a person still may.
		return ordered(g, snap.Values), due(snap), nil
	}
	return ordered(g, values), next, nil
}

func due(snap *graph.Snapshot) []string {
	var next []string
	for _, t := range snap.Next {
		next = append(next, t.Node)
	}
	return next
}

// ordered writes values as an object: in the order of the graph's fields, then those that it does not know.
func ordered(g *graph.Graph, values map[string]json.RawMessage) json.RawMessage {
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
		b = append(append(append(b, key...), ':'), orNull(values[name])...)
	}
	return append(b, '}')
}

// emptyState is what a thread without checkpoints answers; clients look at its checkpoint.
var emptyState = object{
	{"values", object{}}, {"next", list{}}, {"tasks", list{}}, {"metadata", object{}},
	{"created_at", nil}, {"checkpoint", nil}, {"parent_checkpoint", nil},
}

// state shows a checkpoint; with subgraphs, also those below its tasks. parents are the checkpoints of the graphs
// above.
func (v *view) state(ctx context.Context, snap *graph.Snapshot, subgraphs bool, parents object) (object, error) {
	values, next, err := v.values(snap)
	if err != nil {
		return nil, err
	}
	tasks, err := v.tasks(ctx, snap, subgraphs, parents)
	if err != nil {
		return nil, err
	}
	nodes := list{}
	for _, n := range next {
		nodes = append(nodes, n)
	}
	var parent any
	if snap.Parent != "" {
		parent = v.reference(snap.NS, snap.Parent, parents)
	}
	return object{
		{"values", values}, {"next", nodes}, {"tasks", tasks}, {"metadata", v.metadata(snap, parents)},
		{"created_at", stamp(snap.At)}, {"checkpoint", v.reference(snap.NS, snap.ID, parents)}, {"parent_checkpoint", parent},
	}, nil
}

// reference names a checkpoint as requests do.
func (v *view) reference(ns, id string, parents object) object {
	var where any
	if ns != "" && len(parents) > 0 {
		where = append(slices.Clone(parents), member{ns, id})
	}
	return object{{"thread_id", v.th.ID}, {"checkpoint_id", id}, {"checkpoint_ns", ns}, {"checkpoint_map", where}}
}

func (v *view) metadata(snap *graph.Snapshot, parents object) object {
	own := fields(snap.Metadata)
	o := object{}
	for _, name := range []string{"graph_id", "assistant_id"} {
		if raw, ok := v.meta[name]; ok {
			o = append(o, member{name, raw})
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
			o = append(o, member{name, own[name]})
		}
	}
	if parents == nil {
		parents = object{}
	}
	return append(o, member{"thread_id", v.th.ID}, member{"source", snap.Source}, member{"step", snap.Step}, member{"parents", parents})
}

// tasks shows what is due at a checkpoint, or was, with what became of it.
func (v *view) tasks(ctx context.Context, snap *graph.Snapshot, subgraphs bool, parents object) (list, error) {
	out := list{}
	if len(snap.Next) == 0 {
		return out, nil
	}
	done, err := v.s.opt.Store.Outcomes(ctx, snap.Thread, snap.NS, snap.ID)
	if err != nil {
		return nil, err
	}
	g := v.at(snap.NS)
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
			failure = errorText(o.Error)
		}
		out = append(out, object{
			{"id", t.ID}, {"name", t.Node}, {"path", pregelPath(t.Path, t.Node)}, {"error", failure},
			{"interrupts", interruptList(o.Interrupts)}, {"checkpoint", checkpoint}, {"state", nested}, {"result", result(t, o)},
		})
	}
	return out, nil
}

// below shows where a subgraph of a task stands: its namespace, or with subgraphs its state.
func (v *view) below(ctx context.Context, snap *graph.Snapshot, t graph.Task, subgraphs bool, parents object) (checkpoint, nested any, err error) {
	ns := t.Node + ":" + t.ID
	if snap.NS != "" {
		ns = snap.NS + "|" + ns
	}
	where := object{{"thread_id", v.th.ID}, {"checkpoint_ns", ns}}
	if !subgraphs {
		return where, nil, nil
	}
	inner, err := v.s.opt.Store.Load(ctx, snap.Thread, ns, "")
	if errors.Is(err, graph.ErrNoCheckpoint) {
		return where, nil, nil // not begun
	}
	if err != nil {
		return nil, nil, err
	}
	nested, err = v.state(ctx, inner, true, append(slices.Clone(parents), member{snap.NS, snap.ID}))
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
	out := object{}
	for _, w := range o.Writes {
		out = append(out, member{w.Field, w.Value})
	}
	return out
}

func interruptList(all []graph.Interrupt) list {
	out := list{}
	for _, i := range all {
		out = append(out, object{{"id", i.ID}, {"value", orNull(i.Value)}})
	}
	return out
}

// pendingInterrupts lists the open questions by task, with an empty list for a task that merely waits.
func pendingInterrupts(snap *graph.Snapshot) object {
	out := object{}
	for _, t := range snap.Next {
		o := outcome(snap.Kept, t.ID)
		if o == nil {
			o = &graph.Outcome{}
		}
		if !o.Finished {
			out = append(out, member{t.ID, interruptList(o.Interrupts)})
		}
	}
	return out
}

// errorText is an error as LangGraph's clients read it back: JSON in a string.
func errorText(e *event.Error) string {
	name := e.Name
	if name == "" {
		name = "Error"
	}
	b, err := json.Marshal(object{{"message", e.Message}, {"name", name}})
	if err != nil {
		return e.Message
	}
	return string(b)
}

// pregelPath is a task's path in LangGraph's words; the place of a send is a number.
func pregelPath(path []string, node string) list {
	if len(path) == 0 {
		path = []string{"pull", node}
	}
	out := list{}
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

func (s *Server) getState(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	subgraphs, err := queryBool(r, "subgraphs")
	if err != nil {
		return err
	}
	ref := checkpointRef{ID: r.PathValue("checkpoint_id"), NS: r.URL.Query().Get("checkpoint_ns")}
	return s.answerState(w, r, who, ref, subgraphs)
}

func (s *Server) postCheckpoint(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	var req struct {
		Checkpoint *checkpointRef `json:"checkpoint"`
		Subgraphs  bool           `json:"subgraphs"`
	}
	if err := decode(w, r, &req); err != nil {
		return err
	}
	if req.Checkpoint == nil {
		return run.Invalidf("checkpoint", "is required")
	}
	return s.answerState(w, r, who, *req.Checkpoint, req.Subgraphs)
}

// checkpointRef is a checkpoint as a client names it.
type checkpointRef struct {
	ID  string            `json:"checkpoint_id"`
	NS  string            `json:"checkpoint_ns"`
	Map map[string]string `json:"checkpoint_map"`
}

// check makes sure that it can be looked up.
func (c *checkpointRef) check(field string) (err error) {
	if c.ID != "" {
		if c.ID, err = parseID(field+"_id", c.ID); err != nil {
			return err
		}
	}
	if len(c.NS) > 4096 {
		return run.Invalidf(field+"_ns", "is too long")
	}
	return nil
}

func (s *Server) answerState(w http.ResponseWriter, r *http.Request, who run.Identity, ref checkpointRef, subgraphs bool) error {
	th, err := s.thread(r, who)
	if err != nil {
		return err
	}
	if err := ref.check("checkpoint"); err != nil {
		return err
	}
	ctx := r.Context()
	snap, err := s.opt.Store.Load(ctx, th.ID, ref.NS, ref.ID)
	switch {
	case errors.Is(err, graph.ErrNoCheckpoint) && ref.ID == "":
		s.answer(w, http.StatusOK, emptyState)
		return nil
	case errors.Is(err, graph.ErrNoCheckpoint):
		return failure(http.StatusNotFound, "Checkpoint "+ref.ID+" not found")
	case err != nil:
		return err
	}
	o, err := s.view(ctx, th).state(ctx, snap, subgraphs, nil)
	if err != nil {
		return err
	}
	s.answer(w, http.StatusOK, o)
	return nil
}
