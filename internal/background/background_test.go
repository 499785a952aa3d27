package background_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/background"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var owner = run.Identity{Owner: tributary.DefaultOwner}

// world is a runtime whose agent has work done in the background, and what it says after that.
type world struct {
	t     *testing.T
	rt    *tributary.Runtime
	parts door.Parts
	may   chan struct{} // the work ends when it is closed
	paid  atomic.Int32
}

// open makes one. The agent answers its first question with these calls, and the results of those with what then says.
func open(t *testing.T, first []item.ToolCall, then func(results []string) scripted.Script) *world {
	t.Helper()
	w := &world{t: t, may: make(chan struct{})}
	m := scripted.New(func(r model.Request) scripted.Script {
		var results []string
		for _, msg := range r.Messages {
			if msg.Role == item.Tool {
				results = append(results, msg.Text())
			}
		}
		last := r.Messages[len(r.Messages)-1].Text()
		switch {
		case strings.HasPrefix(r.System, "You are a researcher."):
			return scripted.Wait(w.may).Say("Rivers rise.")
		case strings.Contains(last, "by researcher) has ended"):
			return scripted.Say("I know.")
		case len(results) == 0:
			return scripted.Parallel(first...)
		}
		return then(results)
	})
	f, err := lead.New(lead.Options{Without: []string{"reminder"}, Rules: lead.Rules{List: []lead.Rule{{Tool: "pay", Do: lead.Ask}}}})
	if err != nil {
		t.Fatal(err)
	}
	pay := tool.FuncOfCall("pay", "Pays.", func(context.Context, tool.Call, struct{}) (string, error) {
		w.paid.Add(1)
		return "paid", nil
	})
	w.rt, err = tributary.Open(t.Context(), tributary.Options{Models: tributary.OneModel(m), Agent: f.Graph, Tools: []tool.Tool{pay}})
	if err != nil {
		t.Fatal(err)
	}
	w.parts = door.Open(w.rt)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.rt.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

var inBackground = item.ToolCall{CallID: "call_1", Name: "task", Arguments: `{"description":"rivers","prompt":"rivers","subagent_type":"researcher","background":true}`}

// say starts a run of the thread and waits for its end.
func (w *world) say(req tributary.Request) tributary.Run {
	w.t.Helper()
	req.Thread = "a"
	if req.Text != "" {
		req.Configurable = json.RawMessage(`{"subagent_enabled":true}`)
	}
	r, err := w.rt.Start(w.t.Context(), req)
	if err == nil {
		r, err = w.rt.Wait(w.t.Context(), "", r.ID)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	for end := time.Now().Add(2 * time.Minute); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			s, err := w.rt.State(context.Background(), "", "a", tributary.Checkpoint{})
			w.t.Fatalf("it did not come to this: %s\nleft to do: %+v\nthe thread: %s %s (%v)", what, w.followUps(), s.Values["messages"], s.Values["background_tasks"], err)
		}
	}
}

func (w *world) followUps() []run.FollowUp {
	w.t.Helper()
	list, err := w.parts.Store.FollowUps(context.Background(), owner, run.FollowUpQuery{Limit: 10})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func (w *world) runs(thread string) []run.Run {
	w.t.Helper()
	list, err := w.parts.Store.ThreadRuns(context.Background(), owner, thread, "", 10, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// task is the one of the thread, as its state has it.
func (w *world) task() lead.BackgroundTask {
	w.t.Helper()
	s, err := w.rt.State(context.Background(), "", "a", tributary.Checkpoint{})
	if err != nil {
		w.t.Fatal(err)
	}
	list, err := tributary.Value(s, lead.BackgroundTasks)
	if err != nil || len(list) != 1 {
		w.t.Fatalf("the thread has %+v (%v), want one task", list, err)
	}
	return list[0]
}

func done([]string) scripted.Script { return scripted.Say("Somebody looks.") }

// A new input would drop the question.
func TestAThreadThatAsksIsWokenWhenItHasItsAnswer(t *testing.T) {
	w := open(t, []item.ToolCall{inBackground, {CallID: "call_2", Name: "pay", Arguments: `{}`}}, done)
	close(w.may)
	r := w.say(tributary.Request{Text: "Go."})
	if r.Status != event.Interrupted {
		t.Fatalf("the run ended with %s, want a question", r.Status)
	}
	w.until("the work has ended and the thread is left in peace", func() bool {
		f := w.followUps()
		return len(f) == 1 && f[0].Attempts > 1
	})
	if n := len(w.runs("a")); n != 1 {
		t.Fatalf("the thread has %d runs although it asks something", n)
	}
	w.say(tributary.Request{Answers: []tributary.Answer{{Value: "approve"}}})
	w.until("the thread is woken", func() bool { return len(w.runs("a")) == 3 && w.runs("a")[0].Status.Ended() })
	if task := w.task(); task.Status != event.Success || task.Result != "Rivers rise." || w.paid.Load() != 1 {
		t.Errorf("the task is %+v; paid %d times, want once", task, w.paid.Load())
	}
}

func TestAPersonStopsTheWorkAndTheThreadIsTold(t *testing.T) {
	w := open(t, []item.ToolCall{inBackground}, done)
	w.say(tributary.Request{Text: "Go."})
	work := w.runs(w.task().Thread)
	if len(work) != 1 || work[0].Status.Ended() {
		t.Fatalf("the work is %+v, want one run in flight", work)
	}
	if _, err := w.rt.Cancel(t.Context(), "", work[0].ID); err != nil {
		t.Fatal(err)
	}
	w.until("the thread is woken", func() bool { return len(w.runs("a")) == 2 && w.runs("a")[0].Status.Ended() })
	if task := w.task(); task.Status != event.Cancelled {
		t.Errorf("the task is %+v", task)
	}
}

// Whoever cancelled it knows.
func TestWorkThatTheAgentCancelsWakesNobody(t *testing.T) {
	w := open(t, []item.ToolCall{inBackground}, func(results []string) scripted.Script {
		if len(results) == 1 {
			return scripted.Call("call_2", lead.CancelBackgroundTool, `{"task_id":"call_1"}`)
		}
		return scripted.Say("Never mind.")
	})
	w.say(tributary.Request{Text: "Go."})
	thread := w.task().Thread
	w.until("the work has ended and nothing follows from it", func() bool { return w.runs(thread)[0].Status == run.Cancelled && len(w.followUps()) == 0 })
	if n := len(w.runs("a")); n != 1 || w.task().Status != event.Cancelled {
		t.Errorf("the thread has %d runs, and the task is %+v", n, w.task())
	}
}

func TestWorkForAThreadThatIsGoneWakesNobody(t *testing.T) {
	w := open(t, []item.ToolCall{inBackground}, done)
	w.say(tributary.Request{Text: "Go."})
	thread := w.task().Thread
	if err := w.rt.Threads().Delete(t.Context(), "", "a"); err != nil {
		t.Fatal(err)
	}
	close(w.may)
	w.until("the work has ended and nothing follows from it", func() bool { return w.runs(thread)[0].Status.Ended() && len(w.followUps()) == 0 })
	if _, err := w.rt.Threads().Get(t.Context(), "", "a"); err == nil {
		t.Error("the thread is there again")
	}
}

func TestParentsAreFoundByTheNamesOfThreads(t *testing.T) {
	for name, want := range map[string]string{
		"a": "", "a.bg.x": "", "a.bg." + strings.Repeat("0", 32): "a", "a.bg." + strings.Repeat("g", 32): "", ".bg." + strings.Repeat("0", 32): "",
	} {
		parent, ok := background.Parent(name)
		if ok != (want != "") || ok && parent != want || !ok && parent != name {
			t.Errorf("%q: got %q, %v; want %q", name, parent, ok, want)
		}
	}
	if len(background.FollowUps(run.Run{Request: run.Request{Metadata: json.RawMessage(`{"background":{"thread":"a"}}`)}})) > 0 {
		t.Error("a client can have another thread woken")
	}
}
