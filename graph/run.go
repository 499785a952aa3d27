package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/event"
)

// Durability says when checkpoints are written.
type Durability string

const (
	Async Durability = "async" // while the next step runs, in order; the default
	Sync  Durability = "sync"  // on disk before the next step begins
	Exit  Durability = "exit"  // only the last one, when the run stops
)

// Execution is one run of a graph on a thread. The zero value of everything but Input runs in memory alone.
type Execution struct {
	Thread string
	Run    string
	Config Config
	// Context is a value for all nodes of this run, as JSON.
	Context json.RawMessage

	// Input is an object of fields that begins a new turn. Without it, and without Orders, the graph goes on
	// where its checkpoint stands.
	Input json.RawMessage
	// Orders answer a waiting graph, change its state, send it elsewhere.
	Orders *Orders
	// From is the checkpoint to start from; the thread's latest if empty.
	From string
	// Continue says that this run was begun before and died: it goes on from the last checkpoint that it
	// saved. Input and Orders count only if it saved none.
	Continue bool

	// InterruptBefore and InterruptAfter stop the run before or after nodes; "*" means all.
	InterruptBefore []string
	InterruptAfter  []string
	// RecursionLimit bounds the steps of the run; if 0 it is what the graph says with [Graph.Limit].
	RecursionLimit int
	// Limit bounds the steps where neither the run nor its graph does; [DefaultRecursionLimit] if 0.
	Limit      int
	Durability Durability

	Checkpoints Checkpointer // nil: nothing is loaded or saved
	Recorder    Recorder     // nil: nothing is told
	Store       Store
	Recall      Recall
	// Secret returns what the run's creator gave in confidence under a name; nil: nothing was. It is neither in the configuration
	// nor in the state.
	Secret func(name string) (value string, ok bool)
	// Folder opens the folder of the thread; nil: there is none. It is asked once in a run, by the first who needs it, and
	// what it returns is closed when the run stops.
	Folder func() (*os.Root, error)
	// Log is told what is for the authors of nodes and for nobody else: the stack of a panic. nil: nothing is.
	Log *slog.Logger
	// Control, where there is one, can stop sub-agents of the run alone, and speak to them.
	Control *Control
	// Cache, where there is one, keeps the state for the thread's next run.
	Cache *Cache
	// NewThread says that the thread was made for this run, so that there is no checkpoint to look for.
	NewThread bool
	// Requests says that what models are shown is put on record; see [event.ContextPrepared].
	Requests bool
	// OmitValues leaves Result.Values empty: whoever has a store can read them there.
	OmitValues bool
}

// Result is how a run stopped.
type Result struct {
	// Status is event.Success, or event.Interrupted if nodes are still due.
	Status event.Status
	// Values is the state, encoded.
	Values     map[string]json.RawMessage
	Interrupts []Interrupt
	Checkpoint string
	Next       []string

	child *engine // of a sub-agent whose Values were left out
}

// DefaultRecursionLimit is how many steps a run may take unless it or its graph says otherwise.
const DefaultRecursionLimit = 25

// Run executes the graph until nothing is due, a node asks a person, a breakpoint is reached, or something fails.
// An error that a node returned is found in the result with errors.As; it is wrapped in a [NodeError]. If
// ctx ends, Run waits for the nodes, which must heed it, and returns its cause.
func (g *Graph) Run(ctx context.Context, x Execution) (Result, error) {
	if err := g.Compile(); err != nil {
		return Result{}, err
	}
	e := &engine{
		g: g, x: newSession(x),
		before: slices.Concat(g.before, x.InterruptBefore),
		after:  slices.Concat(g.after, x.InterruptAfter),
	}
	defer e.x.folder.close()
	defer e.x.Control.hush()
	if err := e.begin(ctx); err != nil {
		return Result{}, err
	}
	if err := e.end(ctx, e.loop(ctx)); err != nil {
		return Result{}, err
	}
	if e.saved { // in the order of the journal, before the next run of the thread can begin
		x.Cache.put(g, &e.cp, e.st)
	}
	return e.result(!x.OmitValues)
}

// engine runs one graph in one namespace. A subgraph has an engine of its own, which shares the Execution.
type engine struct {
	g    *Graph
	x    *session
	ns   string
	task string // sub-agent for whom it works
	// meter sums what the sub-agent's turns cost; nil for the root.
	meter *meter

	before, after []string

	st    state
	cp    Checkpoint // where the graph stands
	kept  []Outcome  // what is known of the tasks that are due at cp
	ran   []string   // nodes whose results led to cp
	saved bool       // cp is in the store
	ours  bool       // cp was made by this Execution, and so were the ids of its tasks
	// base is the checkpoint in the store that the next one follows. It differs from cp only where nothing is
	// saved before the end.
	base string

	unborn  bool  // nothing can have been saved in this namespace before
	started bool  // a first step was made: breakpoints count from then on
	steps   int   // made by this run
	out     Batch // to be recorded next
	stopped bool  // at a breakpoint or an interrupt
	open    []Interrupt

	lastMu sync.Mutex
	last   []Save     // outcomes to keep with a checkpoint that is only saved at the end
	led    []*taskRun // what led to that checkpoint
}

func (e *engine) storing() bool { return e.x.Checkpoints != nil && e.x.Recorder != nil }

func (e *engine) envelope(node string, step int, ev event.Event) event.Envelope {
	return event.Envelope{NS: e.ns, Task: e.task, Node: node, Step: step, Event: ev}
}

// note adds events to the next batch.
func (e *engine) note(node string, step int, ev event.Event) {
	if e.x.Recorder != nil {
		if e.out.Events == nil { // the usual batch: a node ended, a checkpoint was saved, a node starts
			e.out.Events = make([]event.Envelope, 0, 3)
		}
		e.out.Events = append(e.out.Events, e.envelope(node, step, ev))
	}
}

// flush writes what was noted. It has happened, whoever cancels at this moment: a sub-agent whose beginning was lost would
// end without one.
func (e *engine) flush(ctx context.Context) error {
	if len(e.out.Events) == 0 && len(e.out.Save) == 0 {
		return nil
	}
	b := e.out
	e.out = Batch{}
	return e.x.record(context.WithoutCancel(ctx), b)
}

// begin finds out where to start.
func (e *engine) begin(ctx context.Context) error {
	var latest *Snapshot
	var err error
	if !e.x.NewThread || e.ns != "" { // a subgraph may be entered for the second time
		if latest, err = e.load(ctx, ""); err != nil {
			return err
		}
	}
	if e.x.Continue && latest != nil && latest.Run == e.x.Run {
		// A checkpoint that this run saved after a step: its breakpoints have not been heeded yet. One that only
		// forked or changed another is where the run began, and it begins past the breakpoint.
		e.started = latest.Source == event.FromLoop
		return e.stand(ctx, latest)
	}
	from := latest
	if e.x.From != "" && (latest == nil || latest.ID != e.x.From) {
		if from, err = e.load(ctx, e.x.From); err != nil {
			return err
		}
		if from == nil {
			return fmt.Errorf("thread %s, checkpoint %s: %w", e.x.Thread, e.x.From, ErrNoCheckpoint)
		}
	}
	switch {
	case e.x.Orders != nil:
		return e.obey(ctx, from, from == latest)
	case nullToNil(e.x.Input) != nil:
		if from != nil {
			err = e.stand(ctx, from)
		} else {
			e.fresh()
		}
		if err != nil {
			return err
		}
		writes, err := e.g.readWrites(e.x.Input)
		if err != nil {
			return err
		}
		return e.input(ctx, writes)
	case from == nil:
		return invalidInput("thread %q has no state to go on from; give an input", e.x.Thread)
	case from != latest:
		if err := e.stand(ctx, from); err != nil {
			return err
		}
		return e.fork()
	}
	return e.stand(ctx, from)
}

// load returns nil for a checkpoint that does not exist.
func (e *engine) load(ctx context.Context, id string) (*Snapshot, error) {
	if e.x.Checkpoints == nil {
		return nil, nil
	}
	read := e.x.Checkpoints.Load
	// What a process that is gone has left is not in the memory of this one.
	if heads, ok := e.x.Checkpoints.(HeadReader); ok && e.x.Cache != nil && e.ns == "" && !e.x.Continue {
		read = heads.Head
	}
	snap, err := read(ctx, e.x.Thread, e.ns, id)
	if errors.Is(err, ErrNoCheckpoint) {
		return nil, nil
	}
	return snap, err
}

// state returns the live state of a checkpoint: the one that the run before left, or what is stored.
func (e *engine) state(ctx context.Context, snap *Snapshot) (state, error) {
	if snap.Values == nil && len(snap.Versions) > 0 {
		if st, ok := e.x.Cache.take(e.g, &snap.Checkpoint); ok {
			return st, nil
		}
		whole, err := e.x.Checkpoints.Load(ctx, e.x.Thread, e.ns, snap.ID)
		if err != nil {
			return nil, err
		}
		snap.Values = whole.Values
	}
	return loadState(e.g, snap)
}

// fresh stands before anything happened.
func (e *engine) fresh() {
	e.st = newState(e.g)
	e.cp = Checkpoint{Thread: e.x.Thread, NS: e.ns, Step: -2}
}

// stand takes a stored checkpoint as where the graph is.
func (e *engine) stand(ctx context.Context, snap *Snapshot) error {
	st, err := e.state(ctx, snap)
	if err != nil {
		return err
	}
	e.st, e.cp, e.kept, e.saved, e.base, e.ours = st, snap.Checkpoint, snap.Kept, true, snap.ID, false
	for _, o := range snap.Done {
		e.ran = append(e.ran, o.Node)
	}
	return nil
}

// input begins a turn: a checkpoint that says what the state was before, and one with the input applied.
// Whatever was due before is given up.
func (e *engine) input(ctx context.Context, writes []Write) error {
	e.kept = nil
	if err := e.save(event.FromInput, []Task{{Node: Start, Path: startPath, Triggers: startTrigger}}, nil, nil); err != nil {
		return err
	}
	start := &taskRun{task: &e.cp.Next[0], node: e.g.start, writes: writes, finished: true}
	if err := e.choose(ctx, start, e.cp.Step+1); err != nil {
		return err
	}
	e.started = true
	return e.advance([]*taskRun{start})
}

var (
	startPath    = []string{"pull", Start}
	startTrigger = []string{Start}
)

// fork makes a copy of an older checkpoint, to run its tasks once more.
func (e *engine) fork() error {
	e.kept = nil
	return e.save(event.FromFork, retask(e.cp.Next), e.cp.Joins, nil)
}

// retask strips tasks of their ids, to make them due at another checkpoint.
func retask(tasks []Task) []Task {
	out := slices.Clone(tasks)
	for i := range out {
		out[i].ID = ""
	}
	return out
}

// loop makes steps until the graph stops.
func (e *engine) loop(ctx context.Context) error {
	for {
		if len(e.cp.Next) == 0 {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if e.started && (hits(e.after, e.ran...) || hitsTask(e.before, e.cp.Next)) {
			e.stopped = true
			return nil
		}
		if e.steps >= e.limit() {
			return &event.Error{
				Code: CodeRecursionLimit, Name: "GraphRecursionError",
				Message: fmt.Sprintf("graph %q made %d steps without coming to an end; raise recursion_limit, of the run or in the configuration, if it needs more", e.g.name, e.steps),
			}
		}
		e.steps++
		e.started = true
		done, err := e.step(ctx)
		if err != nil || e.stopped {
			return err
		}
		if err := e.advance(done); err != nil {
			return err
		}
	}
}

// limit is how many steps the engine may make.
func (e *engine) limit() int {
	for _, n := range []int{e.x.RecursionLimit, e.g.limit, e.x.Limit} {
		if n > 0 {
			return n
		}
	}
	return DefaultRecursionLimit
}

func hits(list []string, nodes ...string) bool {
	return slices.ContainsFunc(nodes, func(n string) bool {
		return slices.Contains(list, n) || n != Start && slices.Contains(list, "*")
	})
}

func hitsTask(list []string, tasks []Task) bool {
	return len(list) > 0 && slices.ContainsFunc(tasks, func(t Task) bool { return hits(list, t.Node) })
}

// end records what is left to record, and returns the failure if there was one.
func (e *engine) end(ctx context.Context, failure error) error {
	var broken *recordError
	if errors.As(failure, &broken) {
		return failure
	}
	err := e.settle()
	if err == nil {
		// A cancelled run keeps the steps that it finished.
		err = e.flush(context.WithoutCancel(ctx))
	}
	if err != nil {
		return errors.Join(failure, err)
	}
	return failure
}

// result tells how the graph stopped.
func (e *engine) result(values bool) (Result, error) {
	r := Result{Status: event.Success, Checkpoint: e.cp.ID, Interrupts: e.open}
	if values {
		var err error
		if r.Values, err = e.st.encode(e.g); err != nil {
			return Result{}, err
		}
	}
	if e.stopped {
		r.Status = event.Interrupted
		for _, t := range e.cp.Next {
			if o := outcomeOf(e.kept, t.ID); o == nil || !o.Finished {
				r.Next = append(r.Next, t.Node)
			}
		}
	}
	return r, nil
}

func outcomeOf(kept []Outcome, task string) *Outcome {
	for i := range kept {
		if kept[i].Task == task {
			return &kept[i]
		}
	}
	return nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }
