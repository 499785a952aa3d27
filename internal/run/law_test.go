package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// The laws of design.md §5 that the core must keep, over random graphs with random models: turns that break and
// are tried again, tools with effects, parallel nodes, errors, panics, cancels, and a process that dies at any
// write. Order (1), sum of parts (3), counted once (4) and every run ends once (5) are checked by
// transcript.Check on every journal read; durable before visible (2), two readers (8), what was shown stays (11) and
// effects at most once here; fenced (10) in TestFencedWorkerCanChangeNothing and in the journal's own tests.

// deed is one thing that a node of a random graph does.
type deed struct {
	kind string // say, retry, tool, custom, fail, panic
	text string
	n    int
}

// program is a random graph: steps of parallel nodes, each a list of deeds.
type program [][][]deed

func programs(failures bool) *rapid.Generator[program] {
	weighted := []string{"say", "say", "retry", "tool", "tool", "custom"}
	if failures {
		weighted = append(weighted, "fail", "panic")
	}
	d := rapid.Custom(func(t *rapid.T) deed {
		return deed{
			kind: rapid.SampledFrom(weighted).Draw(t, "kind"),
			text: rapid.StringN(1, 12, 30).Draw(t, "text"),
			n:    rapid.IntRange(1, 5).Draw(t, "n"),
		}
	})
	node := rapid.SliceOfN(d, 0, 3)
	step := rapid.SliceOfN(node, 1, 3)
	return rapid.Custom(func(t *rapid.T) program {
		return rapid.SliceOfN(step, 1, 3).Draw(t, "steps")
	})
}

// effects counts what tools did to the outside world, which no crash takes back.
type effects struct {
	mu    sync.Mutex
	calls map[string]int
}

func (f *effects) do(call string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[call]++
}

var (
	logField      = graph.List[string]("log")
	messagesField = graph.Messages("messages")
)

// graph builds the program: step i's nodes are "i.j", each step waits for all nodes of the one before.
func (p program) graph(f *effects) *graph.Graph {
	g := graph.New("g", logField, messagesField)
	var before []string
	for i, step := range p {
		var names []string
		for j, deeds := range step {
			name := fmt.Sprintf("n%d_%d", i, j)
			names = append(names, name)
			g.Node(name, func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
				writes := []graph.Write{logField.Set([]string{name})}
				for k, d := range deeds {
					msg, err := d.do(ctx, s, fmt.Sprintf("%s-%d", s.Execution(), k), f)
					if err != nil {
						return graph.Command{}, err
					}
					if msg.ID != "" {
						writes = append(writes, messagesField.Add(msg))
					}
				}
				return graph.Update(writes...), nil
			})
		}
		for _, n := range names {
			if len(before) == 0 {
				g.Edge(graph.Start, n)
			} else {
				g.Join(before, n)
			}
		}
		before = names
	}
	for _, n := range before {
		g.Edge(n, graph.End)
	}
	return g
}

func (d deed) do(ctx context.Context, s *graph.Scope, id string, f *effects) (item.Message, error) {
	switch d.kind {
	case "say":
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: unique("msg_" + id), Execution: s.Execution()})
		if err != nil {
			return item.Message{}, err
		}
		return d.say(ctx, w)
	case "retry":
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: unique("void_" + id), Execution: s.Execution()})
		if err != nil {
			return item.Message{}, err
		}
		w.Usage(item.Usage{InputTokens: d.n})
		if err := w.Text(ctx, 0, d.text); err != nil {
			return item.Message{}, err
		}
		w, err = w.Again(ctx, event.TurnStarted{Turn: unique("msg_" + id), Execution: s.Execution()}, "model_server", nil, 0)
		if err != nil {
			return item.Message{}, err
		}
		return d.say(ctx, w)
	case "tool":
		return item.Message{}, d.tool(ctx, s, "call_"+id, f)
	case "custom":
		return item.Message{}, s.Custom(ctx, d.text)
	case "fail":
		return item.Message{}, errors.New(d.text)
	case "panic":
		panic(d.text)
	}
	return item.Message{}, fmt.Errorf("no such deed: %s", d.kind)
}

var counter struct {
	sync.Mutex
	n int
}

// unique makes ids that differ between attempts, as model calls' do.
func unique(s string) string {
	counter.Lock()
	defer counter.Unlock()
	counter.n++
	return fmt.Sprintf("%s_%d", s, counter.n)
}

func (d deed) say(ctx context.Context, w *turn.Writer) (item.Message, error) {
	for i := range d.n {
		if ctx.Err() != nil {
			return item.Message{}, context.Cause(ctx) // it leaves its turn as it is
		}
		if err := errors.Join(
			w.Reasoning(ctx, 0, i/2, d.text), w.Text(ctx, i%2, d.text),
			w.Call(ctx, i%2, item.ToolCall{CallID: fmt.Sprint("x", w.ID(), i%2), Name: "f", Arguments: d.text}),
		); err != nil {
			return item.Message{}, err
		}
	}
	w.Usage(item.Usage{InputTokens: d.n, OutputTokens: 2 * d.n})
	return w.End(ctx, item.FinishStop, "random-1")
}

// tool does what a careful tool node does: intention, effect, outcome, and never twice.
func (d deed) tool(ctx context.Context, s *graph.Scope, call string, f *effects) error {
	res, started, ended := s.Recall().ToolResult(call)
	if ended {
		return nil
	}
	res = item.ToolResult{ID: "fco_" + call, CallID: call}
	if started {
		res.Error, res.Content = true, item.Text("outcome unknown")
	} else {
		err := s.Promise(ctx, event.ItemStarted{Item: res.ID, Type: item.TypeToolResult, CallID: call, Name: "f"})
		if err != nil {
			return err
		}
		f.do(call)
		res.Content = item.Text(d.text)
	}
	return s.Promise(ctx, event.ItemEnded{Item: res, Status: item.Completed})
}

func (f *effects) mustBeAtMostOnce(t fataler) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for call, n := range f.calls {
		if n > 1 {
			t.Fatalf("tool call %s had its effect %d times", call, n)
		}
	}
}

func TestLawsOverRandomRuns(t *testing.T) {
	dir := t.TempDir()
	var f effects
	var mu sync.Mutex
	plans := map[string]program{} // by thread
	w := open(t, dir, func(_ context.Context, r run.Run) (*graph.Graph, error) {
		mu.Lock()
		defer mu.Unlock()
		return plans[r.Thread].graph(&f), nil
	})
	defer w.stop(time.Second)
	rapid.Check(t, func(rt *rapid.T) {
		rw := *w
		rw.t = rt
		p := programs(true).Draw(rt, "program")
		cancel := rapid.IntRange(-20, 20).Draw(rt, "cancel after events")
		thread := newThread()
		mu.Lock()
		plans[thread] = p
		mu.Unlock()
		r := rw.start(thread)
		// Readers that come early, late and in the middle, one of whom asks for a cancel.
		var readers []*follower
		for range 2 {
			readers = append(readers, rw.follow(context.Background(), r.ID))
		}
		if cancel >= 0 {
			for env, err := range rw.j.Follow(context.Background(), r.ID, journal.Position{}) {
				if err != nil {
					rt.Fatalf("follow: %v", err)
				}
				if env.Seq == uint64(cancel)+1 {
					if _, err := rw.e.Cancel(context.Background(), me, r.ID, run.StopRun); err != nil {
						rt.Fatalf("cancel: %v", err)
					}
				}
			}
		}
		r = rw.wait(r.ID)
		final := rw.events(r.ID)
		if got := last(rt, final); string(got.Status) != string(r.Status) || got.Usage != r.Usage {
			rt.Fatalf("journal ends %+v and the row says %s, %+v", got, r.Status, r.Usage)
		}
		mustStay(rt, &rw, thread, final)
		readers = append(readers, rw.follow(context.Background(), r.ID))
		for _, f := range readers {
			<-f.done
			if f.err != nil || len(f.events()) != len(final) {
				rt.Fatalf("a reader saw %d of %d events, %v", len(f.events()), len(final), f.err)
			}
			mustBePrefix(rt, f.events(), final)
		}
		middle := rapid.IntRange(0, len(final)).Draw(rt, "from")
		var tail []event.Envelope
		for env, err := range rw.j.Follow(context.Background(), r.ID, positionAt(final, middle)) {
			if err != nil {
				rt.Fatalf("follow from %d: %v", middle, err)
			}
			tail = append(tail, env)
		}
		if len(tail) != len(final)-middle {
			rt.Fatalf("from %d a reader sees %d events of %d", middle, len(tail), len(final))
		}
		f.mustBeAtMostOnce(rt)
	})
}

func positionAt(events []event.Envelope, n int) journal.Position {
	if n == 0 {
		return journal.Position{}
	}
	return journal.Position{Epoch: events[n-1].Epoch, Seq: events[n-1].Seq}
}

// For every n: the process dies at its n-th write, another takes over, and dies at its n-th, and so on until one
// lives. Nothing that anybody saw is lost, every run that was accepted ends once, effects happen at most once,
// and the final state is the one that a process without crashes reaches.
func TestLawsWithACrashAtEveryWrite(t *testing.T) {
	say := func(n int) deed { return deed{kind: "say", text: "ab", n: n} }
	tool := deed{kind: "tool", text: "done"}
	retry := deed{kind: "retry", text: "xy", n: 2}
	crash(t, program{{{say(2), tool}}, {{tool, retry}, {say(1)}, {tool, tool}}, {{say(3)}}})
}

func TestLawsOverRandomRunsWithRandomCrashes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := programs(false).Draw(rt, "program")
		n := rapid.Int64Range(1, 40).Draw(rt, "dies at write") // at 0 nothing was promised to anybody
		happens := rapid.Bool().Draw(rt, "the write happens")
		crashOnce(rt, p, n, happens)
	})
}

// nextWrite is how far apart the writes are at which processes die. The race detector, under which everything takes five times as long,
// sees some of them; all of them are tried without it.
func nextWrite() int64 {
	if testing.Short() {
		return 5
	}
	return 1
}

func crash(t *testing.T, p program) {
	t.Helper()
	for _, happens := range []bool{false, true} {
		for n := int64(1); ; n += nextWrite() {
			if survived := crashOnce(t, p, n, happens); survived {
				t.Logf("a run of %d writes, killed at each (write happens: %v)", n, happens)
				break
			}
		}
	}
}

// crashOnce runs a program in processes that die at their n-th write, until one does not. It reports whether
// already the first one survived.
func crashOnce(t fataler, p program, n int64, happens bool) (survived bool) {
	t.Helper()
	dir, remove := tempDir(t)
	defer remove()
	var f effects
	var id string
	var saw []event.Envelope
	thread := newThread()
	for life := 0; ; life++ {
		w := open(t, dir, single(p.graph(&f)), func(o *run.Options) { o.Lease = time.Hour })
		if life < 3 { // three deaths, then a process that lives
			w.faults.dieAfter(n, happens)
		}
		if id == "" {
			r, err := w.e.Start(context.Background(), me, thread, request())
			if err != nil {
				// Not accepted, so there is no promise; a client would ask again.
				w.stop(0)
				continue
			}
			id = r.ID
		}
		ctx, cancel := context.WithCancel(context.Background())
		reader := w.follow(ctx, id)
		waitFor(t, func() bool { return w.e.Active() == 0 && (w.faults.dead() || ended(w, id)) })
		dead := w.faults.dead()
		if !dead {
			<-reader.done
		}
		cancel()
		<-reader.done
		got := reader.events()
		mustBePrefix(t, saw, longer(got, saw))
		saw = longer(got, saw)
		if dead {
			w.stop(0)
			continue
		}
		r, err := w.db.Run(context.Background(), me, id)
		if err != nil || r.Status != run.Success {
			t.Fatalf("run ended %s, %v", r.Status, err)
		}
		final := w.events(id)
		mustBePrefix(t, saw, final)
		p.mustHaveState(t, w, thread)
		mustStay(t, w, thread, final)
		f.mustBeAtMostOnce(t)
		w.stop(time.Second)
		return life == 0
	}
}

func longer(a, b []event.Envelope) []event.Envelope {
	if len(a) > len(b) {
		return a
	}
	return b
}

func ended(w *world, id string) bool {
	r, err := w.db.Run(context.Background(), me, id)
	return err == nil && r.Status.Ended()
}

func waitFor(t fataler, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain")
		}
		time.Sleep(time.Millisecond)
	}
}

// mustHaveState checks that every node ran to its end exactly once as far as the state can tell.
func (p program) mustHaveState(t fataler, w *world, thread string) {
	t.Helper()
	var want []string
	for i, step := range p {
		for j := range step {
			want = append(want, fmt.Sprintf("n%d_%d", i, j))
		}
	}
	s, err := w.db.Load(context.Background(), thread, "", "")
	if err != nil {
		t.Fatalf("load state: %v", err)
	}
	var got []string
	if err := json.Unmarshal(s.Values["log"], &got); err != nil {
		t.Fatalf("state %s: %v", s.Values["log"], err)
	}
	slices.Sort(want)
	slices.Sort(got)
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("nodes in the state: %v, want %v", got, want)
	}
}
