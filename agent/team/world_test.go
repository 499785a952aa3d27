package team_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what surrounds a run: a store that outlives its processes, and an engine that begins, continues and ends it.
// It may be told to die after some number of records, as a process does.
type world struct {
	mem    *graph.Memory
	thread string

	mu   sync.Mutex
	left int // records until death; negative: immortal
	dead bool
	// full counts the records that were made.
	full int
	// control reaches the sub-agents of the run.
	control graph.Control
}

var errDead = errors.New("the process died")

func newWorld() *world { return &world{mem: graph.NewMemory(), thread: "thread", left: -1} }

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
	return nil
}

// replacing voids, as the engine does, the turns that a crash left and that others take the place of now.
func (w *world) replacing(events []event.Envelope) []event.Envelope {
	var out []event.Envelope
	for _, env := range events {
		if e, ok := env.Event.(event.ItemStarted); ok && e.Turn != "" {
			old, voided := "", map[string]bool{}
			for _, before := range slices.Concat(w.mem.Events(), out) {
				switch b := before.Event.(type) {
				case event.TurnStarted:
					if b.Turn == e.Turn {
						old = b.Replaces
					}
				case event.TurnVoided:
					voided[b.Turn] = true
				}
			}
			if old != "" && !voided[old] {
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

func (w *world) fold() *transcript.Fold {
	var f transcript.Fold
	for _, env := range w.mem.Events() {
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

// attempt runs the graph as the engine does. The error is the run's.
func (w *world) attempt(ctx context.Context, g *graph.Graph, input any) (graph.Result, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return graph.Result{}, err
	}
	before := w.mem.Events()
	f := w.fold()
	if len(before) == 0 {
		put(w, "", event.RunStarted{Graph: "test", Attempt: 1})
	} else {
		put(w, "", event.AttemptStarted{Attempt: f.Attempt() + 1, Cause: "crash"})
	}
	res, err := g.Run(ctx, graph.Execution{
		Thread: w.thread, Run: "run", Input: raw, Checkpoints: w.mem, Recorder: w, Recall: recall{f, before}, Requests: true, Control: &w.control,
		Continue: slices.ContainsFunc(before, func(e event.Envelope) bool { _, ok := e.Event.(event.CheckpointSaved); return ok && e.NS == "" }),
	})
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

// lawful fails the test if the journal breaks a law.
func (w *world) lawful(t testing.TB) {
	t.Helper()
	if err := lawsOf(w); err != nil {
		t.Fatalf("unlawful journal: %v\n%s", err, w.dump())
	}
}

func lawsOf(w *world) error { return transcript.Check(slices.Values(w.mem.Events())) }

func (w *world) dump() string {
	var out []byte
	for _, e := range w.mem.Events() {
		line, err := json.Marshal(e)
		if err != nil {
			line = []byte(err.Error())
		}
		out = append(append(out, line...), '\n')
	}
	return string(out)
}

func eventsOf[E event.Event](w *world) []E {
	var out []E
	for _, env := range w.mem.Events() {
		if e, ok := env.Event.(E); ok {
			out = append(out, e)
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
	for _, c := range r.OpenCalls() {
		if c.CallID == callID {
			return item.ToolResult{Blocks: c.Shown}, true, false
		}
	}
	return item.ToolResult{}, false, false
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

func (r recall) ToolUpdate(callID string) json.RawMessage {
	for _, env := range r.events {
		if e, ok := env.Event.(event.ItemEnded); ok {
			if res, ok := e.Item.(item.ToolResult); ok && res.CallID == callID {
				return e.Update
			}
		}
	}
	return nil
}

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
			if _, ok := turns[e.Turn]; ok && e.Finish == item.FinishIncomplete {
				voided = e.Turn
				continue
			}
			if task, ok := turns[e.Turn]; ok {
				for _, m := range r.Messages(task) {
					if m.ID == e.Turn {
						return m, true, ""
					}
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

// ask is the input of a conversation.
func ask(text string) any {
	return map[string]any{"messages": []item.Message{item.UserText("u1", text)}}
}

func conversation(t testing.TB, res graph.Result) []item.Message {
	t.Helper()
	msgs, err := graph.Decode(res, graph.Messages("messages").Field)
	if err != nil {
		t.Fatal(err)
	}
	return msgs
}
