package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func helper(m model.Model, tools *tool.Set) agent.Sub {
	return agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{Model: m, Tools: tools}}
}

func TestASubAgentAnswersWithWhatItCites(t *testing.T) {
	child := scripted.Sequence(scripted.Call("c1", "search", `{"s":"owl,elk,fox"}`), scripted.Say("An elk it is [^2]."))
	parent := scripted.Sequence(scripted.Call("c1", "helper", `{"prompt":"which animal?","title":"animals"}`), scripted.Say("It is an elk [^2]."))
	parent.Record, child.Record = true, true
	w, msgs, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{helper(child, toolset(t, library()))}}, "go")
	if err != nil {
		t.Fatal(err)
	}
	if got := child.Requests()[0].Messages; len(got) != 1 || got[0].Text() != "which animal?" {
		t.Errorf("the child was asked %+v", got)
	}
	shown := item.JoinText(parent.Requests()[1].Messages[2].Content)
	if want := "<referencable-item>\nID: 2elk</referencable-item>An elk it is [^2]."; shown != want {
		t.Errorf("the parent was shown %q, want %q", shown, want)
	}
	if got := msgs[3].Content[0].Annotations; len(got) != 1 || got[0].Ref != 2 {
		t.Errorf("annotations %+v", got)
	}
	started := eventsOf[event.TaskStarted](w)
	if len(started) != 1 || started[0].CallID != "c1" || started[0].Agent != "helper" || started[0].Title != "animals" {
		t.Errorf("task %+v", started)
	}
	f := w.fold()
	root, _ := f.Task("")
	result := root.Items[1]
	if result.Task != "c1" || len(result.Items) != 3 || result.Items[2].Text() != "An elk it is [^2]." {
		t.Errorf("people see %+v", result)
	}
	sub, _ := f.Task("c1")
	turns := eventsOf[event.TurnEnded](w)
	var childUse, all item.Usage
	for i, e := range turns {
		all = all.Plus(e.Usage)
		if i == 1 || i == 2 {
			childUse = childUse.Plus(e.Usage)
		}
	}
	if sub.Usage != childUse || root.Usage != all {
		t.Errorf("usage: child %+v of %+v, root %+v of %+v", sub.Usage, childUse, root.Usage, all)
	}
}

// The next run restores the pool from the parent's conversation, in which only the cited items are.
func TestWhatASubAgentCitedIsCitableInTheNextRun(t *testing.T) {
	child := scripted.Sequence(scripted.Call("c1", "search", `{"s":"owl,elk"}`), scripted.Say("Elk [^2]."))
	parent := scripted.Sequence(scripted.Call("c1", "helper", `{"prompt":"x"}`), scripted.Say("ok"))
	_, msgs, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{helper(child, toolset(t, library()))}}, "go")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	res, err := w.attempt(t.Context(), build(t, agent.Options{Model: scripted.Always(scripted.Say("Still [^2]."))}),
		map[string]any{"messages": append(msgs, item.UserText("u2", "sure?"))})
	if err != nil {
		t.Fatal(err)
	}
	msgs = conversation(t, res)
	if got := msgs[len(msgs)-1].Content[0].Annotations; len(got) != 1 {
		t.Errorf("annotations %+v", got)
	}
}

func TestAFailingSubAgentIsAFailedResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			script scripted.Script
			args   string
			want   string
		}{
			"error":           {scripted.Fail(broken(model.Auth, 0)), `{"prompt":"x"}`, "no luck today"},
			"silence":         {scripted.Script{}, `{"prompt":"x"}`, "without an answer"},
			"panic":           {scripted.Say("hm").Panic("oh"), `{"prompt":"x"}`, "oh"},
			"timeout":         {scripted.Say("hm").Stall(), `{"prompt":"x"}`, "longer than 1h"},
			"no prompt":       {scripted.Say("hi"), `{}`, "prompt is missing"},
			"endless":         {scripted.Call("", "nothing", `{}`), `{"prompt":"x"}`, "still wants to use tools"},
			"wrong arguments": {scripted.Say("hi"), `{"prompt":7}`, "prompt"},
		} {
			sub := helper(scripted.Always(c.script), nil)
			sub.Timeout = time.Hour
			sub.Options.Policy = agent.Policy{First: -1, Idle: -1, Tries: 1}
			parent := scripted.Sequence(scripted.Call("c1", "helper", c.args), scripted.Say("I see."))
			w, msgs, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{sub}}, "go")
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			// The run goes on, so nobody else would end the turn that the time-out cut off.
			if cut := incomplete(w); name == "timeout" && (len(cut) != 1 || cut[0] != "hm") {
				t.Errorf("what the child had said when it was cut off: %q, want hm", cut)
			}
			if name == "timeout" {
				if end := eventsOf[event.TaskEnded](w)[0]; end.Status != event.TimedOut || end.Error == nil || !strings.Contains(end.Error.Message, c.want) {
					t.Errorf("the child ended with %+v, which does not say why", end)
				}
			}
			if !msgs[2].Failed || !strings.Contains(msgs[2].Text(), c.want) {
				t.Errorf("%s: the parent reads %q", name, msgs[2].Text())
			}
		}
	})
}

func TestSubAgentsAreLimited(t *testing.T) {
	t.Run("depth", func(t *testing.T) {
		m := scripted.Always(scripted.Say("x"))
		o := agent.Options{Model: m}
		for i := range 3 {
			o = agent.Options{Model: m, Subs: []agent.Sub{{Name: fmt.Sprintf("sub%d", i), Options: o}}}
		}
		if _, err := agent.New(o); err != nil {
			t.Error(err)
		}
		o.Limits.Depth = 2
		if _, err := agent.New(o); err == nil || !strings.Contains(err.Error(), "more than 2 deep") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("count", func(t *testing.T) {
		calls := make([]item.ToolCall, 5)
		for i := range calls {
			calls[i] = item.ToolCall{CallID: fmt.Sprint("c", i), Name: "helper", Arguments: `{"prompt":"x"}`}
		}
		parent := scripted.Sequence(scripted.Parallel(calls...), scripted.Say("ok"))
		_, msgs, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{helper(scripted.Always(scripted.Say("hi")), nil)}, Limits: agent.Limits{Count: 3}}, "go")
		if err != nil {
			t.Fatal(err)
		}
		failed := 0
		for _, m := range msgs {
			if m.Failed && strings.Contains(m.Text(), "limit") {
				failed++
			}
		}
		if failed != 2 {
			t.Errorf("%d calls refused, want 2: %q", failed, texts(msgs))
		}
	})
	t.Run("concurrency", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int32
			child := scripted.Script{}.Do(func(context.Context) error {
				n := now.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				return nil
			}).Pause(time.Second).Do(func(context.Context) error { now.Add(-1); return nil }).Say("hi")
			calls := make([]item.ToolCall, 9)
			for i := range calls {
				calls[i] = item.ToolCall{CallID: fmt.Sprint("c", i), Name: "helper", Arguments: `{"prompt":"x"}`}
			}
			parent := scripted.Sequence(scripted.Parallel(calls...), scripted.Say("ok"))
			_, _, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{helper(scripted.Always(child), nil)}, Limits: agent.Limits{Concurrent: 3}}, "go")
			if err != nil || most.Load() != 3 {
				t.Errorf("%d at the same time, want 3; %v", most.Load(), err)
			}
		})
	})
}

func TestCancelReachesAllChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		grandchild := agent.Sub{Name: "deep", Options: agent.Options{Model: scripted.Always(scripted.Say("still").Stall()), Policy: agent.Policy{First: -1, Idle: -1}}}
		child := helper(scripted.Always(scripted.Call("x", "deep", `{"prompt":"go"}`)), nil)
		child.Options.Subs = []agent.Sub{grandchild}
		parent := scripted.Always(scripted.Parallel(
			item.ToolCall{CallID: "c1", Name: "helper", Arguments: `{"prompt":"x"}`}, item.ToolCall{CallID: "c2", Name: "helper", Arguments: `{"prompt":"y"}`}))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		w := newWorld()
		_, err := w.attempt(ctx, build(t, agent.Options{Model: parent, Subs: []agent.Sub{child}}), ask("go"))
		if !errors.Is(err, context.Canceled) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		w.lawful(t)
		ended := eventsOf[event.TaskEnded](w)
		if len(ended) != 4 || slices.ContainsFunc(ended, func(e event.TaskEnded) bool { return e.Status != event.Cancelled }) {
			t.Errorf("tasks ended: %+v", ended)
		}
	})
}

// Two children are given the same call id by their provider, as happens with those that number calls by themselves.
func TestChildrenNeverShareCallIDs(t *testing.T) {
	plan := func(req model.Request) scripted.Script {
		if len(req.Messages) == 1 {
			return scripted.Call("call_0", "say", fmt.Sprintf(`{"s":%q}`, req.Messages[0].Text()))
		}
		return scripted.Say(req.Messages[2].Text())
	}
	parent := scripted.Sequence(scripted.Parallel(
		item.ToolCall{CallID: "call_0", Name: "helper", Arguments: `{"prompt":"x"}`}, item.ToolCall{CallID: "call_1", Name: "helper", Arguments: `{"prompt":"y"}`},
	), scripted.Say("ok"))
	w, msgs, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{helper(scripted.New(plan), toolset(t, echo("say")))}}, "go")
	if err != nil || msgs[2].Text() != "say: x" || msgs[3].Text() != "say: y" {
		t.Errorf("%q, %v", texts(msgs), err)
	}
	seen := map[string]bool{}
	for _, e := range eventsOf[event.ItemStarted](w) {
		if seen[e.Item] {
			t.Errorf("item %s twice", e.Item)
		}
		seen[e.Item] = true
	}
}

// The process dies after its n-th record, for every n. The children go on with their parent: nothing is paid twice, and
// their answers come out as if nothing had happened.
func TestChildrenGoOnAfterACrash(t *testing.T) {
	childPlan := func(req model.Request) scripted.Script {
		if len(req.Messages) == 1 {
			return scripted.Parallel(
				item.ToolCall{CallID: "k", Name: "pay", Arguments: `{"s":"x"}`}, item.ToolCall{CallID: "l", Name: "search", Arguments: fmt.Sprintf(`{"s":%q}`, req.Messages[0].Text())})
		}
		return scripted.Say("found [^" + fmt.Sprint(refs(req.Messages[3].Content)[0]) + "]")
	}
	parentPlan := func(req model.Request) scripted.Script {
		if len(req.Messages) == 1 {
			return scripted.Parallel(
				item.ToolCall{CallID: "c1", Name: "helper", Arguments: `{"prompt":"owl"}`}, item.ToolCall{CallID: "c2", Name: "helper", Arguments: `{"prompt":"elk"}`})
		}
		// Not always 1 and 2: a number that a result had when the process died, before it was recorded, is not given again.
		return scripted.Say(fmt.Sprintf("done [^%d] [^%d]", refs(req.Messages[2].Content)[0], refs(req.Messages[3].Content)[0]))
	}
	for n := 0; ; n++ {
		paid := &effects{}
		pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, _ text) (string, error) { paid.note(c.ID); return "paid", nil })
		o := agent.Options{Model: scripted.New(parentPlan), Subs: []agent.Sub{helper(scripted.New(childPlan), toolset(t, pay, library()))}}
		w := newWorld()
		w.restart(n)
		_, err := w.attempt(t.Context(), build(t, o), ask("go"))
		if err == nil {
			if n < 60 {
				t.Fatalf("the run took only %d records", n)
			}
			return
		}
		w.restart(-1)
		res, err := w.attempt(t.Context(), build(t, o), ask("go"))
		if err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		w.lawful(t)
		if paid.most() > 1 {
			t.Errorf("after %d records: paid twice", n)
		}
		msgs := conversation(t, res)
		if len(msgs) != 5 || msgs[2].Failed || msgs[3].Failed || len(msgs[4].Content[0].Annotations) != 2 {
			t.Errorf("after %d records: %q", n, texts(msgs))
		}
	}
}

// A child that failed just before the crash has failed; its parent is told so, and it does not begin again.
func TestAFailedChildStaysFailedAfterACrash(t *testing.T) {
	for n := 0; ; n++ {
		parent := scripted.New(func(req model.Request) scripted.Script {
			if len(req.Messages) == 1 {
				return scripted.Call("c1", "helper", `{"prompt":"owl"}`)
			}
			return scripted.Say("I see.")
		})
		child := helper(scripted.Always(scripted.Say("hm").Fail(broken(model.Auth, 0))), nil)
		o := agent.Options{Model: parent, Subs: []agent.Sub{child}}
		w := newWorld()
		w.restart(n)
		if _, err := w.attempt(t.Context(), build(t, o), ask("go")); err == nil {
			return
		}
		w.restart(-1)
		res, err := w.attempt(t.Context(), build(t, o), ask("go"))
		if err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		w.lawful(t)
		if msgs := conversation(t, res); !msgs[2].Failed || !strings.Contains(msgs[2].Text(), "no luck today") {
			t.Errorf("after %d records: %q", n, texts(msgs))
		}
	}
}
