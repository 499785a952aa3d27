package story

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/background"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
)

// thread is the one that every story is about, unless it has a name; it is renamed with the other ids.
const thread = "0190a000-0000-7000-8000-000000000001"

var reader = run.Identity{Owner: "reader"}

// patience bounds every wait, so that a story that hangs says where.
const patience = 3 * time.Minute

// World is where a story happens: a data folder, and the process that has it open.
type World struct {
	t     testing.TB
	dir   string
	name  string // of the thread, where the story gives it one
	boot  string // of the machine that the process runs on
	hasty bool   // processes do not wait for runs when they are stopped
	graph *graph.Graph
	// build, if set, makes the graph of each run, in place of the one that is served.
	build func(ctx context.Context, r run.Run) (*graph.Graph, error)
	store *mortal
	log   *journal.Journal
	eng   *run.Engine
	desk  *background.Desk
	told  []told
	// requests says that what models are shown is put on record. Most stories are not about that.
	requests bool
	wire     json.RawMessage // what runs remember of how they are shown; see run.Request.Wire
	// opened, begun and rests, if set, are told of each process, of each run, and of each that was waited for.
	opened func()
	begun  func(run string)
	rests  func()

	mu      sync.Mutex
	current string // the run that executes
}

// told is a run of the story, with the graph that it ran.
type told struct {
	id    string
	req   run.Request
	graph *graph.Graph
}

// serve starts a process that runs a graph on the story's folder, in place of the one before.
func (w *World) serve(g *graph.Graph) {
	w.t.Helper()
	if err := g.Compile(); err != nil {
		w.t.Fatal(err)
	}
	w.close()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, w.dir, sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.graph, w.store = g, &mortal{DB: db, dead: make(chan struct{})}
	w.log = journal.Open(w.store, journal.Options{})
	w.desk = background.New(w.store)
	w.eng, err = run.Open(ctx, run.Options{
		Store: w.store, Journal: w.log, Checkpoints: db, Boot: w.boot, Requests: w.requests, Folder: w.folder, FollowUps: background.FollowUps,
		Build: func(ctx context.Context, r run.Run) (*graph.Graph, error) {
			if w.build != nil {
				return w.build(ctx, r)
			}
			w.executes(r.ID) // a run that goes on after a crash, or that waited
			return g, nil
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.desk.Use(w.eng)
	if w.opened != nil {
		w.opened()
	}
}

// agent starts a process that runs the built-in agent.
func (w *World) agent(o agent.Options) {
	w.t.Helper()
	g, err := agent.New(o)
	if err != nil {
		w.t.Fatal(err)
	}
	w.serve(g)
}

// folder is that of the thread.
func (w *World) folder(run.Identity, string) (*os.Root, error) {
	dir := filepath.Join(w.dir, "files")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenRoot(dir)
}

// draining is a context that says it ends soon and ends late: runs are stopped soon, and have as long as handing over takes on a
// busy machine.
type draining struct {
	context.Context
	soon time.Time
}

func (d draining) Deadline() (time.Time, bool) { return d.soon, true }

// close ends the process, if there is one.
func (w *World) close() {
	w.t.Helper()
	if w.eng == nil {
		return
	}
	grace := 10 * time.Millisecond
	if w.hasty {
		grace = time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.eng.Close(draining{ctx, time.Now().Add(grace)}); err != nil && w.store.alive() == nil {
		w.t.Error(err)
	}
	w.log.Close()
	if err := w.store.DB.Close(); err != nil {
		w.t.Error(err)
	}
	w.eng = nil
}

// thread is what the story's thread is called.
func (w *World) thread() string { return cmp.Or(w.name, thread) }

// start begins a run of the thread.
func (w *World) start(req run.Request) string {
	w.t.Helper()
	req.Assistant, req.Graph, req.CreateThread = w.graph.Name(), w.graph.Name(), true
	req.Wire = w.wire
	r, err := w.eng.Start(context.Background(), reader, w.thread(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.told = append(w.told, told{r.ID, req, w.graph})
	w.executes(r.ID)
	if w.begun != nil {
		w.begun(r.ID)
	}
	return r.ID
}

func (w *World) executes(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = id
}

// wait returns when a run has ended, and holds it to how the story has it end.
func (w *World) wait(id string, want run.Status) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := w.eng.Wait(ctx, reader, id)
	if err != nil {
		w.t.Fatal(err)
	}
	if r.Status != want {
		w.t.Fatalf("the run ended with %s (%v), want %s", r.Status, r.Error, want)
	}
	if w.rests != nil {
		w.rests()
	}
}

// ask has a person say something, and returns when the run has ended.
func (w *World) ask(text string, want run.Status) {
	w.t.Helper()
	w.wait(w.start(w.saying(text)), want)
}

// saying is the request of a person who says something.
func (w *World) saying(text string) run.Request {
	w.t.Helper()
	return run.Request{Input: w.json(map[string]any{
		"messages": []item.Message{item.UserText(fmt.Sprint("human-", len(w.told)+1), text)},
	})}
}

// answer resumes the thread with a person's answer.
func (w *World) answer(value any, want run.Status) {
	w.t.Helper()
	w.wait(w.start(run.Request{Command: w.json(map[string]any{"resume": value})}), want)
}

func (w *World) json(v any) json.RawMessage {
	w.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		w.t.Fatal(err)
	}
	return raw
}

// events is the journal of a run as it is on disk now.
func (w *World) events(id string) []event.Envelope {
	w.t.Helper()
	var out []event.Envelope
	for env, err := range w.log.Read(context.Background(), id, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, env)
	}
	return out
}

// until waits until the journal of the current run shows an event. It is the gate with which stories put into order what
// happens at the same time: nodes, tools and models call it.
func (w *World) until(ctx context.Context, shows func(*event.Envelope) bool) error {
	w.mu.Lock()
	id := w.current
	w.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the journal of run %s does not show what the story waits for", id))
	defer cancel()
	for env, err := range w.log.Follow(ctx, id, journal.Position{}) {
		if err != nil {
			return context.Cause(ctx)
		}
		if shows(&env) {
			return nil
		}
	}
	return fmt.Errorf("run %s ended without what the story waits for", id)
}

// gate is until, for a script.
func (w *World) gate(shows func(*event.Envelope) bool) func(context.Context) error {
	return func(ctx context.Context) error { return w.until(ctx, shows) }
}

// said tells that a piece of text is on disk.
func said(text string) func(*event.Envelope) bool {
	return func(env *event.Envelope) bool {
		d, ok := env.Event.(event.TextDelta)
		return ok && d.Text == text
	}
}

// ended tells that an execution of a node of the root graph has ended whose result says something.
func ended(node, saying string) func(*event.Envelope) bool {
	return func(env *event.Envelope) bool {
		e, ok := env.Event.(event.NodeEnded)
		return ok && env.NS == "" && env.Node == node && containsBytes(e.Update, saying)
	}
}
