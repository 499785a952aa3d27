package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// A plan describes a random graph: layers of nodes, each with something to do.
type plan struct {
	layers [][]duty
	joined []bool // the layer is entered when all of the one before have finished
}

type duty struct {
	act   string // one of acts
	yield int    // how often the node gives way to others: the scheduling
}

var acts = []string{"note", "ask", "ask", "ask twice", "fail", "panic", "send", "sub", "agents", "replace", "clear"}

func drawPlan(t *rapid.T) plan {
	var p plan
	for range rapid.IntRange(1, 3).Draw(t, "layers") {
		var layer []duty
		for range rapid.IntRange(1, 3).Draw(t, "width") {
			layer = append(layer, duty{act: rapid.SampledFrom(acts).Draw(t, "act"), yield: rapid.IntRange(0, 20).Draw(t, "yield")})
		}
		p.layers = append(p.layers, layer)
		p.joined = append(p.joined, rapid.Bool().Draw(t, "joined"))
	}
	return p
}

var (
	log     = graph.List[string]("log")
	total   = graph.Reduced("total", func(a, b int) int { return a + b })
	things  = graph.Union[string]("things")
	images  = graph.Merge[int]("images")
	current = graph.LastValue[string]("current")
)

// world is what a plan's nodes can see of the outside, which outlives a crash.
type world struct {
	t     *rapid.T
	tries counter
	mem   *graph.Memory
	flip  bool // give way otherwise than the plan says
}

func (w *world) build(p plan) *graph.Graph {
	g := graph.New("random", messages, log, total, things, images, current)
	g.Node("worker", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		n, err := graph.InputAs[int](s)
		return graph.Update(log.Add(fmt.Sprintf("worker %d", n)), total.Set(n)), err
	})
	var before []string
	for i, layer := range p.layers {
		var names []string
		for j, d := range layer {
			name := fmt.Sprintf("n%d%d", i, j)
			if d.act == "sub" {
				g.Subgraph(name, w.sub(name))
			} else {
				g.Node(name, w.node(name, d))
			}
			names = append(names, name)
			if len(before) == 0 {
				g.Edge(graph.Start, name)
			} else if p.joined[i] {
				g.Join(before, name)
			} else {
				g.Edge(before[j%len(before)], name)
			}
		}
		before = names
	}
	return g
}

// sub is a subgraph that asks in its second step.
func (w *world) sub(name string) *graph.Graph {
	g := graph.New(name, log, total, current)
	g.Node("first", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		w.check(s)
		return graph.Update(log.Add(name+" first"), total.Set(1)), nil
	})
	g.Node("second", func(_ context.Context, s *graph.Scope) (graph.Command, error) {
		a, err := graph.Ask[string](s, name+" second")
		return graph.Update(log.Add(name + " second " + a)), err
	})
	return g.Chain(graph.Start, "first", "second")
}

func (w *world) node(name string, d duty) graph.NodeFunc {
	child := w.sub(name + " agent")
	return func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w.check(s)
		for range d.yield {
			if w.flip {
				break
			}
			runtime.Gosched()
		}
		if err := s.Custom(ctx, name); err != nil {
			return graph.Command{}, err
		}
		seen := len(log.Get(s))
		c := graph.Update(log.Add(fmt.Sprintf("%s saw %d", name, seen)), total.Set(seen), things.Add(name, "shared"), messages.Add(item.UserText(name, "from "+name)))
		switch d.act {
		case "ask", "ask twice":
			a, err := graph.Ask[string](s, name)
			if err == nil && d.act == "ask twice" {
				var b string
				b, err = graph.Ask[string](s, name+" again")
				a += b
			}
			return graph.Update(log.Add(name + " " + a)), err
		case "fail":
			if w.tries.add(name) == 1 {
				return c, errors.New(name + " fails once")
			}
		case "panic":
			if w.tries.add(name) == 1 {
				panic(name + " panics once")
			}
		case "send":
			c = c.Send("worker", 1).Send("worker", 2)
		case "agents":
			a, errA := s.Run(ctx, child, graph.Child{Task: name + "-1", Input: []graph.Write{log.Add("one")}})
			b, errB := s.Run(ctx, child, graph.Child{Task: name + "-2", Input: []graph.Write{log.Add("two")}})
			return graph.Update(log.Add(name+" "+string(a.Values["log"])+string(b.Values["log"])), things.Add(name)), errors.Join(errA, errB)
		case "replace":
			return graph.Update(messages.Add(item.UserText("first", "replaced by "+name)), images.Set(map[string]int{name: seen})), nil
		case "clear":
			return graph.Update(images.Set(map[string]int{}), messages.Add(item.Message{ID: "first", Role: item.Remove})), nil
		}
		return c, nil
	}
}

// check compares what a node reads with what was stored: replaying the blobs gives the live values.
func (w *world) check(s *graph.Scope) {
	if w.mem == nil {
		return
	}
	snap, err := w.mem.Load(context.Background(), "thread", s.NS(), "")
	if err != nil {
		panic(err)
	}
	live, err := json.Marshal(log.Get(s))
	if err != nil {
		panic(err)
	}
	if stored := snap.Values["log"]; string(stored) != string(live) && len(log.Get(s)) > 0 {
		panic(fmt.Sprintf("node %s reads %s, stored is %s", s.Node(), live, stored))
	}
}

var errCrash = errors.New("the process died")

// law is a recorder that dies before its n-th batch, and that checks what passes through it.
type law struct {
	t     *rapid.T
	mem   *graph.Memory
	crash int // batches until the crash; negative for never
	// sparse says that not every checkpoint is stored.
	sparse bool

	// lag is how many batches may wait before they reach the store. A crash loses them.
	lag   int
	queue []graph.Batch

	mu       sync.Mutex
	dead     bool
	batches  int
	versions map[string]bool
	finished map[string]bool // executions whose result is stored
}

func (l *law) Record(_ context.Context, b graph.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches++; l.dead || l.batches == l.crash {
		l.dead, l.queue = true, nil
		return errCrash
	}
	l.queue = append(l.queue, b)
	if b.Promise || len(l.queue) > l.lag {
		l.settle()
	}
	return nil
}

// settle brings what waits into the store.
func (l *law) settle() {
	for _, b := range l.queue {
		l.store(b)
	}
	l.queue = nil
}

func (l *law) store(b graph.Batch) {
	for _, ev := range b.Events {
		if e, ok := ev.Event.(event.NodeStarted); ok && l.finished[e.Execution] {
			l.t.Errorf("node %s was started again after its result was kept", ev.Node)
		}
	}
	if err := l.mem.Record(context.Background(), b); err != nil {
		l.t.Error(err)
	}
	for _, s := range b.Save {
		switch s := s.(type) {
		case graph.Commit:
			l.commit(s)
		case graph.Kept:
			if s.Outcome.Finished {
				l.finished[s.Outcome.Task] = true
			}
		}
	}
}

func (l *law) commit(c graph.Commit) {
	cp := c.Checkpoint
	if cp.Parent != "" {
		parent, err := l.mem.Load(context.Background(), cp.Thread, cp.NS, cp.Parent)
		if err != nil {
			l.t.Errorf("checkpoint %s: parent: %v", cp.ID, err)
			return
		}
		if cp.ID <= cp.Parent || cp.Step <= parent.Step || cp.Step != parent.Step+1 && !l.sparse {
			l.t.Errorf("checkpoint %s at step %d after %s at step %d", cp.ID, cp.Step, cp.Parent, parent.Step)
		}
		for _, b := range c.Blobs {
			for f, v := range parent.Versions {
				if b.Version <= v {
					l.t.Errorf("version %d of %s is not above version %d of its parent's %s", b.Version, b.Field, v, f)
				}
			}
		}
	}
	for _, b := range c.Blobs {
		key := fmt.Sprint(cp.NS, "/", b.Field, "/", b.Version)
		if l.versions[key] {
			l.t.Errorf("version %s is used twice", key)
		}
		l.versions[key] = true
	}
	for _, o := range c.Done {
		l.finished[o.Task] = true
	}
}

func (l *law) revive() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dead, l.crash = false, -1
}

// attempt runs the graph and, as whoever runs graphs must, promises the end of the run.
func attempt(g *graph.Graph, x graph.Execution) (graph.Result, error) {
	r, err := g.Run(context.Background(), x)
	if lost := x.Recorder.Record(context.Background(), graph.Batch{Promise: true}); lost != nil {
		return r, lost
	}
	return r, err
}

// drive brings a plan to its end, whatever happens on the way, and returns the final values.
func drive(t *rapid.T, p plan, crash, lag int, flip bool, durability graph.Durability) (values map[string]string, batches int) {
	mem := graph.NewMemory()
	w := &world{t: t, flip: flip}
	if durability != graph.Exit && lag == 0 {
		w.mem = mem
	}
	g := w.build(p)
	rec := &law{t: t, mem: mem, crash: crash, lag: lag, sparse: durability == graph.Exit, versions: map[string]bool{}, finished: map[string]bool{}}
	next := graph.Execution{Input: json.RawMessage(`{"messages":[{"type":"human","content":"hello","id":"first"}],"log":["begun"]}`)}
	var last error
	for n := 1; ; n++ {
		if n > 100 {
			t.Fatalf("the graph does not come to an end: %v", last)
		}
		x := next
		x.Thread, x.Run, x.Checkpoints, x.Recorder, x.Durability = "thread", fmt.Sprint("run-", n), mem, rec, durability
		r, err := attempt(g, x)
		for errors.Is(err, errCrash) {
			rec.revive() // another process takes over
			x.Continue = true
			r, err = attempt(g, x)
		}
		switch {
		case err != nil:
			next, last = graph.Execution{}, err
		case r.Status == event.Success:
			values = map[string]string{}
			for k, v := range r.Values {
				values[k] = string(v)
			}
			snap, err := mem.Load(context.Background(), "thread", "", "")
			if err != nil {
				t.Fatal(err)
			}
			stored := map[string]string{}
			for k, v := range snap.Values {
				stored[k] = string(v)
			}
			if !reflect.DeepEqual(values, stored) {
				t.Fatalf("live values %v\nstored values %v", values, stored)
			}
			return values, rec.batches
		case len(r.Interrupts) == 0:
			t.Fatal("interrupted without a question")
		default:
			// Answer one question by its value, the others wait for another run.
			next = graph.Execution{Orders: &graph.Orders{Resume: json.RawMessage(`"answer to ` + question(t, r.Interrupts[0]) + `"`)}}
		}
	}
}

func question(t *rapid.T, i graph.Interrupt) string {
	var q string
	if err := json.Unmarshal(i.Value, &q); err != nil {
		t.Fatal(err)
	}
	return q
}

func TestFinalStateDoesNotDependOnScheduling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		want, _ := drive(t, p, -1, 0, true, graph.Async)
		for i := range 3 {
			if got, _ := drive(t, p, -1, i, false, graph.Async); !reflect.DeepEqual(got, want) {
				t.Fatalf("got %v\nwant %v", got, want)
			}
		}
		if got, _ := drive(t, p, -1, 1, false, graph.Exit); !reflect.DeepEqual(got, want) {
			t.Fatalf("with durability exit: got %v\nwant %v", got, want)
		}
	})
}

// The process dies before each of the batches that a story writes, in turn, and another one goes on.
func TestCrashAtAnyRecordEndsInTheSameState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		durability := rapid.SampledFrom([]graph.Durability{graph.Async, graph.Sync, graph.Exit}).Draw(t, "durability")
		lag := rapid.SampledFrom([]int{0, 1, 5}).Draw(t, "lag")
		want, batches := drive(t, p, -1, lag, true, durability)
		for n := 1; n <= batches; n++ {
			if got, _ := drive(t, p, n, lag, false, durability); !reflect.DeepEqual(got, want) {
				t.Fatalf("crash before batch %d of %d:\n got %v\nwant %v", n, batches, got, want)
			}
		}
	})
}
