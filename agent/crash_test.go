package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// effects counts what tools did to the world outside, by call id. It survives crashes.
type effects struct {
	mu   sync.Mutex
	done map[string]int
}

func (e *effects) note(call string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.done == nil {
		e.done = map[string]int{}
	}
	e.done[call]++
}

func (e *effects) most() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, v := range e.done {
		n = max(n, v)
	}
	return n
}

// reply answers by what it is shown, so that it says the same after a crash: a call, two calls at once, the end.
func reply(req model.Request) scripted.Script {
	results := 0
	for _, m := range req.Messages {
		if m.Role == item.Tool {
			results++
		}
	}
	switch results {
	case 0:
		return scripted.Say("First one.").Call("a", "pay", `{"s":"a"}`)
	case 1:
		return scripted.Parallel(item.ToolCall{CallID: "b", Name: "pay", Arguments: `{"s":"b"}`}, item.ToolCall{CallID: "c", Name: "look", Arguments: `{"s":"c"}`})
	}
	return scripted.Say("All is paid [^1].")
}

// The process dies after its n-th record, for every n; a new one takes over and dies as well; the third one lives. Nothing
// is paid twice, every call has a result, every law holds, and what readers saw is never taken back.
func TestACrashAfterAnyRecordNeitherRepeatsNorLosesACall(t *testing.T) {
	var paid *effects
	pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, in text) (string, error) {
		c.Scope.Show(0, item.Block{Type: item.TextBlock, Text: "paying"})
		paid.note(c.ID)
		return "paid " + in.S, nil
	})
	look := tool.Repeatable(tool.FuncOfCall("look", "Looks.", func(_ context.Context, c tool.Call, in text) (item.ToolResult, error) {
		c.Scope.Show(0, item.Block{Type: item.TextBlock, Text: "looking"})
		return passage("found " + in.S), nil
	}))
	o := agent.Options{Tools: toolset(t, pay, look)}

	whole := newWorld()
	paid = &effects{}
	o.Model = scripted.New(reply)
	if _, err := whole.attempt(t.Context(), build(t, o), ask("go")); err != nil {
		t.Fatal(err)
	}
	whole.lawful(t)
	records := whole.full
	unknown := 0
	for first := range records {
		for second := 0; second < records; second += 7 {
			t.Run(fmt.Sprintf("%d and %d", first, second), func(t *testing.T) {
				paid = &effects{}
				w := newWorld()
				var seen []event.Envelope
				for _, n := range []int{first, second, -1} {
					w.restart(n)
					o.Model = scripted.New(reply)
					res, err := w.attempt(t.Context(), build(t, o), ask("go"))
					now := w.mem.Events()
					if len(now) < len(seen) || !slices.EqualFunc(now[:len(seen)], seen, func(a, b event.Envelope) bool { return a.Seq == b.Seq && a.Event.Kind() == b.Event.Kind() }) {
						t.Fatal("the journal was rewritten")
					}
					seen = now
					if errors.Is(err, errDead) {
						continue
					}
					if err != nil {
						t.Fatalf("%v\n%s", err, w.dump())
					}
					unknown += checkPaid(t, w, conversation(t, res), paid)
					break
				}
				w.lawful(t)
			})
		}
	}
	if unknown == 0 {
		t.Error("no crash came while a tool ran; the test shows nothing")
	}
}

// checkPaid holds the end of a run against what really happened, and returns how many calls have an unknown outcome.
func checkPaid(t *testing.T, w *world, msgs []item.Message, paid *effects) (unknown int) {
	t.Helper()
	if n := paid.most(); n > 1 {
		t.Errorf("paid %d times for one call", n)
	}
	results := map[string]item.Message{}
	for _, m := range msgs {
		if m.Role == item.Tool {
			if _, twice := results[m.CallID]; twice {
				t.Errorf("two results for call %s", m.CallID)
			}
			results[m.CallID] = m
		}
	}
	if len(results) != 3 {
		t.Errorf("%d results, want 3", len(results))
	}
	for id, r := range results {
		switch {
		case r.Failed && strings.Contains(r.Text(), "unknown"):
			unknown++
		case r.Failed:
			t.Errorf("call %s failed: %s", id, r.Text())
		case r.Name == "pay" && paid.done[id] != 1:
			t.Errorf("call %s says it was paid, and it was %d times", id, paid.done[id])
		}
	}
	answer := msgs[len(msgs)-1]
	if answer.Text() != "All is paid [^1]." || len(answer.Content[0].Annotations) != 1 {
		t.Errorf("answer %+v", answer)
	}
	if turns := len(eventsOf[event.TurnEnded](w)); turns != 3 {
		t.Errorf("%d turns ended, want 3: an answer was given twice", turns)
	}
	return unknown
}

// passage is a result that can be cited.
func passage(texts ...string) item.ToolResult {
	var r item.ToolResult
	for i, s := range texts {
		r.Content = append(r.Content, item.Block{Type: item.TextBlock, Text: s, Ref: i + 1})
		r.Blocks = append(r.Blocks, item.Block{Type: item.TextBlock, Text: "page: " + s, Ref: i + 1})
	}
	return r
}

// A recall that knows of results only is enough for the law of tools.
func TestPlainRecallIsEnough(t *testing.T) {
	paid := &effects{}
	pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, _ text) (string, error) {
		paid.note(c.ID)
		return "paid", nil
	})
	look := tool.Func("look", "Looks.", func(_ context.Context, in text) (string, error) { return in.S, nil })
	for n := range 60 {
		w := newWorld()
		w.restart(n)
		o := agent.Options{Model: scripted.New(reply), Tools: toolset(t, pay, look)}
		if _, err := w.attempt(t.Context(), build(t, o), ask("go")); err == nil {
			break
		}
		w.restart(-1)
		f := w.fold()
		before := w.mem.Events()
		put(w, "", event.AttemptStarted{Attempt: 2, Cause: "crash"})
		for _, open := range f.OpenTurns() {
			put(w, open.Task, event.TurnVoided{Turn: open.Turn, Cause: "crash"})
		}
		_, err := build(t, o).Run(t.Context(), graph.Execution{
			Thread: "thread", Run: "run", Checkpoints: w.mem, Recorder: w, Recall: plainRecall{r: recall{f, before}},
			Continue: true, Input: []byte(`{"messages":[{"id":"u1","type":"human","content":"go"}]}`),
		})
		if err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		if paid.most() > 1 {
			t.Fatalf("after %d records: paid twice", n)
		}
		paid.done = nil
	}
}

type plainRecall struct {
	graph.NoRecall
	r recall
}

func (p plainRecall) ToolResult(id string) (item.ToolResult, bool, bool) { return p.r.ToolResult(id) }
