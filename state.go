package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// Checkpoint names a state of a thread: the one with the id, or the latest if that is empty; of the graph itself, or of the
// subgraph that runs in the namespace NS.
type Checkpoint struct {
	ID string
	NS string
}

// State is what a thread's graph holds at a checkpoint.
type State struct {
	Thread     string
	Checkpoint Checkpoint // its ID is empty before the thread's first run
	Parent     string     // the checkpoint before it; empty for the first
	// Values are the fields by name, with what finished nodes of an unfinished step have written. [Value] reads one.
	Values map[string]json.RawMessage
	// Next are the nodes that are due; none, if the graph has come to its end.
	Next []string
	// Interrupts are the questions that wait for an answer; see [Runtime.Resume].
	Interrupts []graph.Interrupt
	// Subgraphs are the namespaces in which subgraphs of nodes that are due run, by node and in the order of Next.
	Subgraphs []string

	Run      string // which saved it; empty for an update from outside
	Step     int
	Source   event.Source
	At       time.Time
	Metadata json.RawMessage
}

// Value reads a field of a state. It is the zero value where the field has not been written.
func Value[T any](s State, f graph.Field[T]) (T, error) {
	return graph.Decode(graph.Result{Values: s.Values}, f)
}

// State returns the state of a thread. It is empty, and no error, where the thread has not run yet.
func (r *Runtime) State(ctx context.Context, owner, thread string, at Checkpoint) (State, error) {
	th, err := r.db.Thread(ctx, identity(owner), thread)
	if err != nil {
		return State{}, r.told(err)
	}
	snap, err := r.db.Load(ctx, thread, at.NS, at.ID)
	if errors.Is(err, graph.ErrNoCheckpoint) && at == (Checkpoint{}) {
		return State{Thread: thread}, nil
	}
	if err != nil {
		return State{}, r.told(err)
	}
	root, _ := r.graphOf(ctx, th) // a state can be shown without its graph
	return stateOf(root, snap), nil
}

// History yields the states of a thread, newest first: all of them, or those before a checkpoint; of the graph itself, or
// of the subgraph in the checkpoint's namespace. An error is the last thing yielded.
func (r *Runtime) History(ctx context.Context, owner, thread string, before Checkpoint) iter.Seq2[State, error] {
	return func(yield func(State, error) bool) {
		th, err := r.db.Thread(ctx, identity(owner), thread)
		if err != nil {
			yield(State{}, r.told(err))
			return
		}
		root, _ := r.graphOf(ctx, th)
		const some = 20
		for {
			snaps, err := r.db.List(ctx, thread, before.NS, before.ID, some)
			if err != nil {
				yield(State{}, r.told(err))
				return
			}
			for _, snap := range snaps {
				before.ID = snap.ID
				if !yield(stateOf(root, snap), nil) {
					return
				}
			}
			if len(snaps) < some {
				return
			}
		}
	}
}

// graphOf is the graph of a thread: that of its latest run, configured as it was, or the one that it was created for.
func (r *Runtime) graphOf(ctx context.Context, th run.Thread) (*graph.Graph, error) {
	var meta struct {
		Graph     string `json:"graph_id"`
		Assistant string `json:"assistant_id"`
	}
	if len(th.Metadata) > 0 {
		_ = json.Unmarshal(th.Metadata, &meta) // others may have written what they like there
	}
	if meta.Graph == "" {
		return nil, run.Invalidf("thread_id", "the thread has no graph yet: start a run on it, or create it with a graph")
	}
	return graphs{r}.Graph(ctx, run.Identity{Owner: th.Owner}, meta.Graph, run.Request{Assistant: meta.Assistant, Config: th.Config})
}

// stateOf shows a checkpoint. Without its graph, or with one that has changed so that it cannot read its old values,
// it shows what was stored.
func stateOf(root *graph.Graph, snap *graph.Snapshot) State {
	s := State{
		Thread: snap.Thread, Checkpoint: Checkpoint{snap.ID, snap.NS}, Parent: snap.Parent, Values: snap.Values, Interrupts: snap.Open(),
		Run: snap.Run, Step: snap.Step, Source: snap.Source, At: snap.At, Metadata: snap.Metadata,
	}
	var g *graph.Graph
	if root != nil {
		g = root.At(snap.NS)
	}
	if g != nil {
		if values, next, err := g.Preview(snap); err == nil {
			s.Values, s.Next = values, next
		}
		for _, t := range snap.Next {
			if g.Subgraphs()[t.Node] != nil {
				s.Subgraphs = append(s.Subgraphs, below(snap.NS, t))
			}
		}
	}
	if s.Next == nil {
		for _, t := range snap.Next {
			s.Next = append(s.Next, t.Node)
		}
	}
	return s
}

// below is the namespace in which the subgraph of a task runs.
func below(ns string, t graph.Task) string {
	if ns != "" {
		ns += "|"
	}
	return ns + t.Node + ":" + t.ID
}

// Update changes a thread's state from outside of any run.
type Update struct {
	// From is the state to change, which makes a branch if it is not the latest.
	From Checkpoint
	// Values is an object of fields; it is merged as if a node had returned it.
	Values json.RawMessage
	// As is the node that is taken to have written it, whose successors are due next; empty for the one that wrote last.
	As string
}

// UpdateState changes the state of a thread and returns the checkpoint it made. It is refused while a run is in flight:
// [ErrBusy].
func (r *Runtime) UpdateState(ctx context.Context, owner, thread string, u Update) (Checkpoint, error) {
	if err := wantObject("values", u.Values); err != nil {
		return Checkpoint{}, err
	}
	at, err := r.edit(ctx, identity(owner), thread, u.From, graph.NodeUpdate{Values: u.Values, As: u.As})
	return at, r.told(err)
}

// Fork makes a copy of an older state the latest of its thread, with all that is due there: the next run goes on from it.
// What came after it stays in the history. A run can also start from any state at once: see [Request].Checkpoint.
func (r *Runtime) Fork(ctx context.Context, owner, thread string, from Checkpoint) (Checkpoint, error) {
	at, err := r.edit(ctx, identity(owner), thread, from, graph.NodeUpdate{As: graph.AsCopy})
	return at, r.told(err)
}

func (r *Runtime) edit(ctx context.Context, who run.Identity, thread string, from Checkpoint, u graph.NodeUpdate) (Checkpoint, error) {
	th, err := r.db.Thread(ctx, who, thread)
	if err != nil {
		return Checkpoint{}, err
	}
	if th.Status == run.Busy {
		return Checkpoint{}, fmt.Errorf("thread %s: %w", thread, run.ErrBusy)
	}
	root, err := r.graphOf(ctx, th)
	if err != nil {
		return Checkpoint{}, err
	}
	g := root.At(from.NS)
	if g == nil {
		return Checkpoint{}, run.Invalidf("checkpoint_ns", "there is no graph at %q", from.NS)
	}
	var e run.Edits
	id, err := g.UpdateState(ctx, graph.Edit{
		Thread: thread, NS: from.NS, From: from.ID, Steps: [][]graph.NodeUpdate{{u}}, Checkpoints: r.db, Recorder: &e,
	})
	if err != nil {
		return Checkpoint{}, err
	}
	return Checkpoint{id, from.NS}, r.db.SaveState(ctx, who, thread, e.Status(th.Status), e.Saves)
}
