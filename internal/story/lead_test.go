package story

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/transcript"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/files"
)

// payments count what was really paid, by call. They survive the processes.
type payments struct {
	mu   sync.Mutex
	made map[string]int
}

func (p *payments) note(call string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made[call]++
}

// once reports that both payments were made, and none twice.
func (p *payments) once() bool { return p.made["pay_1"] == 1 && p.made["pay_2"] == 1 }

// richest is a model that plans, has two sub-agents work, asks, pays, writes a file and presents it. It goes by what it is shown, so
// that it says the same in every process.
func richest(r model.Request) scripted.Script {
	asked := saidFirst(r)
	switch asked {
	case "rivers", "lakes":
		return says("I looked at " + asked + ".")
	}
	results := 0
	for _, m := range r.Messages {
		if m.Role == item.Tool {
			results++
		}
	}
	switch results {
	case 0:
		return calling("todo_1", "write_todos", `{"todos":[{"content":"look","status":"in_progress"}]}`)
	case 1:
		return calls(delegated("task_1", "rivers"), delegated("task_2", "lakes"))
	case 3:
		return calls(item.ToolCall{CallID: "pay_1", Name: "pay", Arguments: `{"euros":1}`}, item.ToolCall{CallID: "pay_2", Name: "pay", Arguments: `{"euros":2}`},
			item.ToolCall{CallID: "ask_1", Name: "ask_clarification", Arguments: `{"question":"Which?"}`})
	case 6:
		return calling("file_1", "write_file", `{"path":"/mnt/user-data/outputs/a.md","content":"water"}`)
	case 7:
		return calling("show_1", "present_files", `{"filepaths":["/mnt/user-data/outputs/a.md"]}`)
	case 8:
		return calling("todo_2", "write_todos", `{"todos":[{"content":"look","status":"completed"}]}`)
	}
	return says("All is done.")
}

// serveRichest starts a process for the richest story.
func (w *World) serveRichest(paid *payments) {
	w.lead(scripted.New(richest), `{"is_plan_mode":true,"subagent_enabled":true}`, lead.Options{Rules: paymentsAreAsked},
		append([]tool.Tool{payment(paid.note)}, files.Tools(files.Options{})...)...)
}

// tellRichest tells the story in processes of which the first dies just before it writes its n-th event; 0: none dies. It returns what
// the thread has at the end, and the events of its runs.
func tellRichest(t *testing.T, n int) (thread string, events [][]event.Envelope, paid *payments) {
	t.Helper()
	paid = &payments{made: map[string]int{}}
	w := &World{t: t, dir: t.TempDir(), hasty: true}
	defer w.close()
	w.serveRichest(paid)
	if n > 0 {
		w.store.dieAt(func(string) bool { n--; return n == 0 })
	}
	w.finish(w.start(w.saying("Look at water.")), run.Interrupted, paid)
	answers := map[string]any{}
	for _, env := range w.events(w.told[0].id) {
		if e, ok := env.Event.(event.InterruptRaised); ok {
			answers[e.ID] = map[bool]string{true: "approve", false: "the blue one"}[e.Ask == event.AskToolApproval]
		}
	}
	if len(answers) != 3 { // nothing was made before a person was asked, so nothing can be unknown
		t.Errorf("the first run asks %d questions, want one for each payment and a choice", len(answers))
	}
	w.finish(w.start(run.Request{Command: w.json(map[string]any{"resume": answers})}), run.Success, paid)
	for _, r := range w.told {
		events = append(events, w.events(r.id))
	}
	return w.digest(), events, paid
}

// finish waits for a run, in another process if this one dies.
func (w *World) finish(id string, want run.Status, paid *payments) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.eng.Wait(ctx, reader, id) // how it ended is asked below
	}()
	select {
	case <-done:
	case <-w.store.dead:
		cancel()
		<-done
		w.serveRichest(paid)
	}
	w.wait(id, want)
}

// digest is what the thread has: every field, and of the messages what they say.
func (w *World) digest() string {
	w.t.Helper()
	snap, err := w.store.Load(context.Background(), thread, "", "")
	if err != nil {
		w.t.Fatal(err)
	}
	var msgs []item.Message
	if err := json.Unmarshal(snap.Values["messages"], &msgs); err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range msgs {
		fmt.Fprintf(&b, "%s %s %s", m.Role, m.CallID, m.Text())
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s(%s)", c.CallID, c.Arguments)
		}
		b.WriteByte('\n')
	}
	for _, f := range []string{"title", "todos", "artifacts", "delegations", "thread_data", "approved_tools"} {
		fmt.Fprintf(&b, "%s: %s\n", f, snap.Values[f])
	}
	return b.String()
}

// The process is killed at an event, whichever it is, and another goes on: to the same end, without paying twice, and with every law kept.
// What a tool did that may not be repeated, and of which nobody knows, is told as unknown.
func TestTheRichestStoryEndsTheSameWhereverTheProcessDies(t *testing.T) {
	whole, events, paid := tellRichest(t, 0)
	if !paid.once() || !strings.Contains(whole, `artifacts: ["/mnt/user-data/outputs/a.md"]`) || strings.Count(whole, `"status":"success"`) != 2 || !strings.Contains(whole, "title: \"Look at water\"") {
		t.Fatalf("paid %v; the thread has\n%s", paid.made, whole)
	}
	lawful := func(t *testing.T, runs [][]event.Envelope) {
		t.Helper()
		for _, r := range runs {
			if err := transcript.Check(slices.Values(r)); err != nil {
				t.Error(err)
			}
		}
	}
	lawful(t, events)
	// Where there is little time, every event around the questions is tried, and elsewhere some of them.
	var fatal []int
	total, every := 0, 1
	if testing.Short() {
		every = stride(t)
	}
	for _, env := range slices.Concat(events...) {
		total++
		if _, asks := env.Event.(event.InterruptRaised); asks {
			fatal = append(fatal, total-1, total, total+1, total+2)
		}
		if total%every == 0 {
			fatal = append(fatal, total)
		}
	}
	slices.Sort(fatal)
	for _, n := range slices.Compact(fatal) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			got, events, paid := tellRichest(t, n)
			lawful(t, events)
			if paid.made["pay_1"] > 1 || paid.made["pay_2"] > 1 {
				t.Errorf("something was paid twice: %v", paid.made)
			}
			if strings.Contains(got, "The outcome of this call is unknown") {
				return // the process died in a call that may not be made twice
			}
			if got != whole || !paid.once() {
				t.Errorf("paid %v; the thread has\n%s\nwant\n%s", paid.made, got, whole)
			}
		})
	}
}
