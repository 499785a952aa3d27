package story

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// Story is a thread's life, told by running it.
type Story struct {
	Name    string // of the file
	Tells   string // what happens, and which mistakes the file pins
	Happens func(w *World)
	// Fair says that races which no gate can reach came out as told; nil if there are none.
	Fair func(events []event.Envelope) bool
	// Faults are the laws that the program breaks in this story, until it is mended.
	Faults []transcript.Law
	// Edit changes the recorded events of a run, for what this version of the program cannot be made to write.
	Edit func(events []event.Envelope) []event.Envelope
}

// Recording is a story's thread: its runs, and the states that they speak of.
type Recording struct {
	Runs   []Run
	States []State
	Bases  []Base
}

// Run is the whole journal of a run.
type Run struct {
	ID     string
	Events []event.Envelope
}

// State is a checkpoint with its values.
type State struct {
	NS     string          `json:"ns,omitempty"`
	ID     string          `json:"id"`
	Parent string          `json:"parent,omitempty"`
	Step   int             `json:"step"`
	Source event.Source    `json:"source"`
	Values json.RawMessage `json:"values"`
	Due    []Due           `json:"due,omitempty"`
}

// Due is an execution that is due at a checkpoint.
type Due struct {
	ID       string   `json:"id"`
	Node     string   `json:"node"`
	Path     []string `json:"path,omitempty"`
	Subgraph bool     `json:"subgraph,omitempty"`
}

// Base is the checkpoint of a namespace at which a run stood when it began there.
type Base struct {
	Run        string `json:"run"`
	NS         string `json:"ns,omitempty"`
	Checkpoint string `json:"checkpoint"`
}

// enough is how often a race is run before it is given up.
const enough = 300

// Tell runs a story on a folder of its own and returns the recording in its canonical form.
func Tell(t testing.TB, s Story) *Recording {
	t.Helper()
	for range enough {
		rec := tell(t, s)
		if s.Fair == nil || s.Fair(rec.Runs[0].Events) {
			return canonical(t, rec, s.Edit)
		}
	}
	t.Fatalf("a race of the story did not come out as told in %d tellings", enough)
	return nil
}

func tell(t testing.TB, s Story) *Recording {
	t.Helper()
	dir, err := os.MkdirTemp("", "story")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	w := &World{t: t, dir: dir}
	defer w.close()
	s.Happens(w)
	return w.record()
}

// record returns what has happened, with the ids and times that it had.
func (w *World) record() *Recording {
	w.t.Helper()
	rec := &Recording{}
	for _, r := range w.told {
		rec.Runs = append(rec.Runs, Run{r.id, w.events(r.id)})
	}
	w.look(rec)
	return rec
}

// look reads the states that the runs speak of, in the order in which they were saved.
func (w *World) look(rec *Recording) {
	w.t.Helper()
	known := map[string]bool{}
	for i, r := range w.told {
		for _, ns := range spaces(rec.Runs[i].Events) {
			list, err := w.store.List(context.Background(), w.thread(), ns, "", 1000)
			if err != nil {
				w.t.Fatal(err)
			}
			if base := w.base(list, i); base != "" && (ns != "" || len(r.req.Input) == 0) {
				rec.Bases = append(rec.Bases, Base{r.id, ns, base})
			}
			for _, snap := range slices.Backward(list) {
				if !known[ns+" "+snap.ID] {
					known[ns+" "+snap.ID] = true
					rec.States = append(rec.States, stateOf(r.graph.At(ns), snap))
				}
			}
		}
	}
	slices.SortFunc(rec.States, func(a, b State) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) }) // ids sort by time
}

// spaces lists the namespaces of a run in the order in which they appear.
func spaces(events []event.Envelope) []string {
	out := []string{""}
	for _, env := range events {
		if !slices.Contains(out, env.NS) {
			out = append(out, env.NS)
		}
	}
	return out
}

// base is the newest checkpoint that was there before the i-th run began, of a list that has the newest first.
func (w *World) base(list []*graph.Snapshot, i int) string {
	for _, snap := range list {
		if !slices.ContainsFunc(w.told[i:], func(r told) bool { return r.id == snap.Run }) {
			return snap.ID
		}
	}
	return ""
}

// stateOf writes a snapshot's fields in the order of its graph. Graph is nil for a sub-agent's.
func stateOf(g *graph.Graph, snap *graph.Snapshot) State {
	st := State{NS: snap.NS, ID: snap.ID, Parent: snap.Parent, Step: snap.Step, Source: snap.Source}
	names := slices.Sorted(maps.Keys(snap.Values))
	var below map[string]*graph.Graph
	if g != nil {
		names, below = names[:0], g.Subgraphs()
		for _, f := range g.Fields() {
			names = append(names, f.Name)
		}
	}
	values := []byte{'{'}
	for _, name := range names {
		v, ok := snap.Values[name]
		if !ok {
			continue
		}
		if len(values) > 1 {
			values = append(values, ',')
		}
		values = append(append(jsonline.AppendString(values, name), ':'), v...)
	}
	st.Values = append(values, '}')
	for _, task := range snap.Next {
		_, sub := below[task.Node]
		st.Due = append(st.Due, Due{task.ID, task.Node, task.Path, sub})
	}
	return st
}

// StatesOf are the look-ups that LangGraph's projections of a run are handed.
func (rec *Recording) StatesOf(run string) langgraph.States { return states{rec, run} }

type states struct {
	rec *Recording
	run string
}

func (s states) State(ns, id string) (langgraph.State, error) {
	for _, st := range s.rec.States {
		if st.NS != ns || st.ID != id {
			continue
		}
		out := langgraph.State{ID: st.ID, Parent: st.Parent, Step: st.Step, Source: st.Source, Values: st.Values}
		for _, d := range st.Due {
			out.Next = append(out.Next, d.Node)
			out.Tasks = append(out.Tasks, langgraph.Task{ID: d.ID, Node: d.Node, Path: d.Path, Subgraph: d.Subgraph})
		}
		return out, nil
	}
	return langgraph.State{}, fmt.Errorf("checkpoint %q of namespace %q is not in the file", id, ns)
}

func (s states) Base(ns string) (string, error) {
	for _, b := range s.rec.Bases {
		if b.Run == s.run && b.NS == ns {
			return b.Checkpoint, nil
		}
	}
	return "", nil
}

// threadStates are the same look-ups for the protocol that tells of whole threads.
type threadStates struct{ rec *Recording }

func (s threadStates) State(ns, id string) (protocol2.State, error) {
	return states{s.rec, ""}.State(ns, id)
}

func (s threadStates) Base(run, ns string) (string, error) { return states{s.rec, run}.Base(ns) }

func containsBytes(data []byte, s string) bool { return bytes.Contains(data, []byte(s)) }
