package research_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what surrounds the runs of a thread: a store that outlives processes. It may be told to die after some number
// of records, as a process does.
type world struct {
	mem     *graph.Memory
	control *graph.Control

	mu   sync.Mutex
	from int // the events of the current run begin here
	run  int
	left int // records until death; negative: immortal
	dead bool
	full int // records of the current run

	replaces map[string]string // turns by those that take their place
	voided   map[string]bool
	// seen, where set, is told of every event that was recorded.
	seen func(event.Envelope)
}

var errDead = errors.New("the process died")

func newWorld() *world {
	return &world{mem: graph.NewMemory(), control: &graph.Control{}, left: -1, replaces: map[string]string{}, voided: map[string]bool{}}
}

func (w *world) Record(ctx context.Context, b graph.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.left == 0 {
		w.dead = true
	}
	if w.dead {
		return errDead
	}
	b.Events = w.replacing(b.Events)
	if err := w.mem.Record(ctx, b); err != nil {
		return err
	}
	w.full++
	w.left--
	if w.seen != nil {
		for _, e := range b.Events {
			w.seen(e)
		}
	}
	return nil
}

// replacing voids, as the engine does, the turns that a crash left and that others take the place of now.
func (w *world) replacing(events []event.Envelope) []event.Envelope {
	var out []event.Envelope
	for _, env := range events {
		switch e := env.Event.(type) {
		case event.TurnStarted:
			w.replaces[e.Turn] = e.Replaces
		case event.TurnVoided:
			w.voided[e.Turn] = true
		case event.ItemStarted:
			if old := w.replaces[e.Turn]; e.Turn != "" && old != "" && !w.voided[old] {
				w.voided[old] = true
				out = append(out, event.Envelope{Task: env.Task, NS: env.NS, Node: env.Node, Event: event.TurnVoided{Turn: old, Cause: "crash"}})
			}
		}
		out = append(out, env)
	}
	return out
}

// restart gives the run a new process, which dies after n records.
func (w *world) restart(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dead, w.left = false, n
}

// events are those of the current run.
func (w *world) events() []event.Envelope {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.mem.Events()[w.from:])
}

func (w *world) fold() *transcript.Fold {
	var f transcript.Fold
	for _, env := range w.events() {
		_ = f.Apply(&env) // laws are checked at the end
	}
	return &f
}

func put(w *world, task string, events ...event.Event) {
	b := graph.Batch{}
	for _, e := range events {
		b.Events = append(b.Events, event.Envelope{Task: task, Event: e})
	}
	_ = w.Record(context.Background(), b) // a dead world records nothing
}

// next begins another run of the thread.
func (w *world) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from, w.full = len(w.mem.Events()), 0
	w.run++
}

// say runs the graph with what a user says; answer with an answer to what is asked.
func (w *world) say(ctx context.Context, g *graph.Graph, text string) (graph.Result, error) {
	raw, err := json.Marshal(map[string]any{"messages": []item.Message{item.UserText(fmt.Sprintf("u%d", w.run), text)}})
	if err != nil {
		return graph.Result{}, err
	}
	return w.attempt(ctx, g, graph.Execution{Input: raw})
}

func (w *world) answer(ctx context.Context, g *graph.Graph, value any) (graph.Result, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return graph.Result{}, err
	}
	return w.attempt(ctx, g, graph.Execution{Orders: &graph.Orders{Resume: raw}})
}

// attempt runs the graph as the engine does. The error is the run's.
func (w *world) attempt(ctx context.Context, g *graph.Graph, x graph.Execution) (graph.Result, error) {
	before := w.events()
	f := w.fold()
	if len(before) == 0 {
		put(w, "", event.RunStarted{Graph: "test", Attempt: 1})
	} else {
		put(w, "", event.AttemptStarted{Attempt: f.Attempt() + 1, Cause: "crash"})
	}
	x.Thread, x.Run, x.Checkpoints, x.Recorder, x.Recall, x.Control = "thread", fmt.Sprintf("run%d", w.run), w.mem, w, recall{f, before}, w.control
	x.Continue = slices.ContainsFunc(before, func(e event.Envelope) bool { _, ok := e.Event.(event.CheckpointSaved); return ok && e.NS == "" })
	res, err := g.Run(ctx, x)
	if w.isDead() {
		return res, errDead
	}
	if w.end(ctx, res, err); w.isDead() {
		return res, errDead
	}
	return res, err
}

func (w *world) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

func (w *world) end(ctx context.Context, res graph.Result, err error) {
	ended := event.RunEnded{Status: res.Status, Error: graph.ErrorOf(err)}
	switch {
	case ctx.Err() != nil:
		ended.Status, ended.Error = event.Cancelled, nil
	case err != nil:
		ended.Status = event.Failed
	}
	f := w.fold()
	for _, t := range f.OpenTurns() {
		if closing, shown := f.CutOff(t.Turn); shown {
			put(w, t.Task, closing...)
		} else {
			put(w, t.Task, event.TurnVoided{Turn: t.Turn, Cause: string(ended.Status)})
		}
	}
	for _, id := range slices.Backward(f.OpenTasks()) {
		t, _ := f.Task(id)
		put(w, id, event.TaskEnded{Status: ended.Status, Usage: t.Usage})
	}
	root, _ := w.fold().Task("")
	ended.Usage = root.Usage
	put(w, "", ended)
}

// lawful fails the test if the journal of the current run breaks a law.
func (w *world) lawful(t testing.TB) {
	t.Helper()
	events := w.events()
	for i := range events {
		events[i].Seq = uint64(i + 1)
	}
	if err := transcript.Check(slices.Values(events)); err != nil {
		t.Fatalf("unlawful journal: %v\n%s", err, w.dump())
	}
}

func (w *world) dump() string {
	var out strings.Builder
	for _, e := range w.events() {
		line, err := json.Marshal(e)
		if err != nil {
			line = []byte(err.Error())
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

func eventsOf[E event.Event](w *world) []E {
	var out []E
	for _, env := range w.events() {
		if e, ok := env.Event.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// path is the nodes of the root graph that ended, in order; those that ended twice after a crash count once.
func (w *world) path() []string {
	var out []string
	seen := map[string]bool{}
	for _, env := range w.events() {
		if e, ok := env.Event.(event.NodeEnded); ok && env.NS == "" && e.Error == nil && len(e.Interrupts) == 0 && !seen[e.Execution] {
			seen[e.Execution] = true
			out = append(out, env.Node)
		}
	}
	return out
}

// recall is what the journal knows of earlier attempts.
type recall struct {
	*transcript.Fold
	events []event.Envelope
}

func (r recall) ToolResult(callID string) (item.ToolResult, bool, bool) {
	if res, ok := r.Result(callID); ok {
		return res, true, true
	}
	return item.ToolResult{}, slices.ContainsFunc(r.OpenCalls(), func(c transcript.OpenCall) bool { return c.CallID == callID }), false
}

func (r recall) ToolResults() iter.Seq[item.ToolResult] {
	return func(yield func(item.ToolResult) bool) {
		for _, env := range r.events {
			if e, ok := env.Event.(event.ItemEnded); ok {
				if res, ok := e.Item.(item.ToolResult); ok && !yield(res) {
					return
				}
			}
		}
	}
}

func (r recall) ToolUpdate(string) json.RawMessage { return nil }

func (r recall) TaskUsage(task string) item.Usage {
	t, _ := r.Fold.Task(task)
	return t.Usage
}

func (r recall) EndedTask(task string) (ended event.TaskEnded, ok bool) {
	for _, env := range r.events {
		if e, is := env.Event.(event.TaskEnded); is && env.Task == task {
			ended, ok = e, true
		}
	}
	return ended, ok
}

func (r recall) Turn(execution string) (msg item.Message, ended bool, voided string) {
	turns := map[string]string{} // to the task
	for _, env := range r.events {
		switch e := env.Event.(type) {
		case event.TurnStarted:
			if e.Execution == execution {
				turns[e.Turn] = env.Task
			}
		case event.TurnEnded:
			task, ok := turns[e.Turn]
			if ok && e.Finish == item.FinishIncomplete {
				voided = e.Turn
				continue
			}
			for _, m := range r.Messages(task) {
				if ok && m.ID == e.Turn {
					return m, true, ""
				}
			}
		case event.TurnVoided:
			if _, ok := turns[e.Turn]; ok {
				voided = e.Turn
			}
		}
	}
	for _, open := range r.OpenTurns() {
		if open.Execution == execution {
			voided = open.Turn
		}
	}
	return msg, false, voided
}

// library is a search tool over a few passages. It counts its calls.
type library struct {
	mu       sync.Mutex
	passages []shelf
	calls    []string // call ids
	limits   []int
}

// shelf is what is found by a word of the query; the first that fits is.
type shelf struct {
	word string
	says []string
}

func (l *library) tool() tool.Tool {
	type in struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
	}
	return tool.FuncOfCall("search", "Searches.", func(_ context.Context, c tool.Call, a in) (item.ToolResult, error) {
		l.mu.Lock()
		l.calls, l.limits = append(l.calls, c.ID), append(l.limits, a.Limit)
		l.mu.Unlock()
		var res item.ToolResult
		for _, s := range l.passages {
			w := s.word
			if !strings.Contains(strings.ToLower(a.Query)+" ", w+" ") && !strings.Contains(strings.ToLower(a.Query), w+"?") {
				continue
			}
			for i, p := range s.says {
				b := item.Block{Type: item.TextBlock, Ref: i + 1, Text: p, Name: "About " + w + " — " + w + ".md", URL: w + ".md"}
				res.Blocks = append(res.Blocks, b)
				res.Content = append(res.Content, b)
			}
			return res, nil
		}
		return tool.Text("Nothing was found."), nil
	})
}

// graphOf makes a research graph with quick retries.
func graphOf(t testing.TB, m model.Model, s research.Settings, tools ...tool.Tool) *graph.Graph {
	t.Helper()
	g, err := research.New(research.Options{Model: m, Tools: setOf(t, tools...), Settings: s, Policy: agent.Policy{Tries: 2, Backoff: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func setOf(t testing.TB, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// value reads a field of a result.
func value[T any](t testing.TB, res graph.Result, field string) T {
	t.Helper()
	var v T
	if raw, ok := res.Values[field]; ok {
		if err := json.Unmarshal(raw, &v); err != nil {
			t.Fatalf("field %s: %v", field, err)
		}
	}
	return v
}
