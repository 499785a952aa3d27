package langgraph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
)

// server runs graphs for real: engine, journal and checkpoints in SQLite.
type server struct {
	t      *testing.T
	db     *sqlite.DB
	log    *journal.Journal
	engine *run.Engine
	graphs map[string]*graph.Graph
	n      int
}

var me = run.Identity{Owner: "me"}

func serve(t *testing.T) *server {
	t.Helper()
	ctx := t.Context()
	s := &server{t: t, graphs: graphs()}
	var err error
	if s.db, err = sqlite.Open(ctx, t.TempDir(), sqlite.Options{}); err != nil {
		t.Fatal(err)
	}
	s.log = journal.Open(s.db, journal.Options{})
	s.engine, err = run.Open(ctx, run.Options{
		Store: s.db, Journal: s.log, Checkpoints: s.db, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Build: func(_ context.Context, r run.Run) (*graph.Graph, error) {
			g := s.graphs[r.Request.Graph]
			if g == nil {
				return nil, fmt.Errorf("no graph %q", r.Request.Graph)
			}
			return g, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.engine.Close(context.Background())
		s.log.Close()
		s.db.Close()
	})
	return s
}

// thread is a conversation with its runs so far.
type thread struct {
	*server
	id   string
	runs []*recording
}

func (s *server) thread() *thread {
	s.n++
	return &thread{server: s, id: fmt.Sprintf("0190a000-0000-7000-8000-%012d", s.n)}
}

// recording is a run that is over: its journal, and the states that it speaks of.
type recording struct {
	Events []event.Envelope           `json:"events"`
	Bases  map[string]string          `json:"bases"`
	Saved  map[string]langgraph.State `json:"states"` // by namespace, a space, and checkpoint
}

func (r *recording) State(ns, checkpoint string) (langgraph.State, error) {
	st, ok := r.Saved[ns+" "+checkpoint]
	if !ok {
		return st, fmt.Errorf("checkpoint %q of %q is not known", checkpoint, ns)
	}
	return st, nil
}

func (r *recording) Base(ns string) (string, error) { return r.Bases[ns], nil }

// run executes a request to its end.
func (th *thread) run(req run.Request) *recording {
	th.t.Helper()
	ctx := th.t.Context()
	req.Assistant, req.CreateThread = req.Graph, true
	r, err := th.engine.Start(ctx, me, th.id, req)
	if err != nil {
		th.t.Fatal(err)
	}
	rec := &recording{Bases: map[string]string{}, Saved: map[string]langgraph.State{}}
	for env, err := range th.log.Follow(ctx, r.ID, journal.Position{}) {
		if err != nil {
			th.t.Fatal(err)
		}
		rec.Events = append(rec.Events, env)
	}
	th.snapshot(rec, r.ID, req)
	th.runs = append(th.runs, rec)
	return rec
}

// snapshot reads what the server would read: every state, and where the run began in each namespace.
func (th *thread) snapshot(rec *recording, id string, req run.Request) {
	th.t.Helper()
	spaces := map[string]bool{"": true}
	for _, env := range rec.Events {
		spaces[env.NS] = true
	}
	for ns := range spaces {
		list, err := th.db.List(th.t.Context(), th.id, ns, "", 1000)
		if err != nil {
			th.t.Fatal(err)
		}
		for _, snap := range list {
			rec.Saved[ns+" "+snap.ID] = th.state(req.Graph, snap)
			if snap.Run != id && rec.Bases[ns] == "" && (ns != "" || len(req.Input) == 0) {
				rec.Bases[ns] = snap.ID
			}
		}
	}
	if req.Checkpoint != "" && len(req.Input) == 0 {
		rec.Bases[""] = req.Checkpoint
	}
}

func (th *thread) state(name string, snap *graph.Snapshot) langgraph.State {
	st := langgraph.State{ID: snap.ID, Parent: snap.Parent, Step: snap.Step, Source: snap.Source}
	fields := []graph.FieldInfo{}
	var below map[string]*graph.Graph
	if g := th.graphs[name].At(snap.NS); g != nil {
		fields, below = g.Fields(), g.Subgraphs()
	} else { // a sub-agent's
		for name := range snap.Values {
			fields = append(fields, graph.FieldInfo{Name: name})
		}
	}
	values := []byte{'{'}
	for _, f := range fields {
		v, ok := snap.Values[f.Name]
		if !ok {
			continue
		}
		if len(values) > 1 {
			values = append(values, ',')
		}
		values = append(append(values, '"'), f.Name...)
		values = append(append(values, `":`...), v...)
	}
	st.Values = append(values, '}')
	for _, t := range snap.Next {
		st.Next = append(st.Next, t.Node)
		_, sub := below[t.Node]
		st.Tasks = append(st.Tasks, langgraph.Task{ID: t.ID, Node: t.Node, Path: t.Path, Subgraph: sub})
	}
	return st
}

func (r *recording) project(t testing.TB, o langgraph.Options) []wire.Frame {
	t.Helper()
	o.States = r
	p := langgraph.New(o)
	var frames []wire.Frame
	for i := range r.Events {
		var err error
		if frames, err = p.Project(frames, &r.Events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return frames
}

func hello(graph string) run.Request {
	return run.Request{Graph: graph, Input: json.RawMessage(`{"messages":[{"type":"human","content":"hello","id":"human-1"}]}`)}
}
