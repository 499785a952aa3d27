package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// around makes a middleware of a function that sees each request before the model does.
func around(name string, see func(*agent.ModelCall)) agent.Middleware {
	return agent.Middleware{Name: name, Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			see(c)
			return next(ctx, c)
		}
	}}
}

func nodes(w *world) []string {
	var out []string
	for _, env := range w.mem.Events() {
		if _, ok := env.Event.(event.NodeStarted); ok {
			out = append(out, env.Node)
		}
	}
	return out
}

func TestOrderOfMiddlewareIsPrinted(t *testing.T) {
	nothing := func(context.Context, *agent.Step) (graph.Command, error) { return graph.Command{}, nil }
	o := agent.Options{
		Tools: toolset(t, echo("say")),
		Middleware: []agent.Middleware{
			{Name: "todos", Fields: []graph.AnyField{graph.List[string]("todos"), graph.LastValue[int]("done")}, Before: agent.Hook{Do: nothing}, After: agent.Hook{Do: nothing}},
			around("trim", func(*agent.ModelCall) {}),
		},
	}
	got := agent.Order(append(o.Middleware, agent.Builtin(o)...))
	want := ` 1  todos                    before after state: todos, done
 2  trim                     model
 3  warnings                 model
 4  step_limit               model tool
 5  citing                   model
 6  closed_calls             model
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHooksAreNodesInTheOrderOfTheList(t *testing.T) {
	seen := graph.List[string]("seen")
	note := func(name string, due func(*agent.Step) bool) agent.Middleware {
		hook := func(when string) agent.Hook {
			return agent.Hook{Due: due, Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
				return graph.Update(seen.Add(fmt.Sprintf("%s %s %d", name, when, s.Number))), nil
			}}
		}
		m := agent.Middleware{Name: name, Before: hook("before"), After: hook("after")}
		if name == "outer" {
			m.Fields = []graph.AnyField{seen}
		}
		return m
	}
	first := func(s *agent.Step) bool { return s.Number == 0 }
	o := agent.Options{
		Model: scripted.Sequence(scripted.Call("c1", "say", `{"s":"a"}`), scripted.Say("ok")),
		Tools: toolset(t, echo("say")), Middleware: []agent.Middleware{note("outer", nil), note("once", first), note("inner", nil)},
	}
	w := newWorld()
	res, err := w.attempt(t.Context(), build(t, o), ask("go"))
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	wantNodes := []string{"outer.before", "once.before", "inner.before", "agent", "inner.after", "outer.after", "tools",
		"outer.before", "inner.before", "agent", "inner.after", "outer.after"}
	if got := nodes(w); !slices.Equal(got, wantNodes) {
		t.Errorf("got nodes\n%q, want\n%q", got, wantNodes)
	}
	got, err := graph.Decode(res, seen.Field)
	want := []string{"outer before 0", "once before 0", "inner before 0", "inner after 1", "outer after 1",
		"outer before 1", "inner before 1", "inner after 2", "outer after 2"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestAHookMayGoElsewhere(t *testing.T) {
	again := agent.Middleware{Name: "again", After: agent.Hook{
		Due: func(s *agent.Step) bool { a, _ := s.Answer(); return a.Text() == "" },
		Do: func(context.Context, *agent.Step) (graph.Command, error) {
			return graph.Goto(agent.NodeModel), nil
		},
	}}
	end := agent.Middleware{Name: "end", Before: agent.Hook{
		Due: func(s *agent.Step) bool { return s.Number == 2 },
		Do:  func(context.Context, *agent.Step) (graph.Command, error) { return graph.Goto(graph.End), nil },
	}}
	m := scripted.Sequence(scripted.Script{}, scripted.Say("Here it is.").Call("c1", "say", `{"s":"a"}`), scripted.Say("never said"))
	w, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: []agent.Middleware{end, again}}, "go")
	if want := []string{"user: go", "assistant: ", "assistant: Here it is.", "tool: say: a"}; err != nil || !slices.Equal(texts(msgs), want) {
		t.Errorf("got %q, %v; want %q", texts(msgs), err, want)
	}
	if want := []string{"agent", "again.after", "agent", "tools", "end.before"}; !slices.Equal(nodes(w), want) {
		t.Errorf("got nodes %q, want %q", nodes(w), want)
	}
}

func TestAChangedRequestIsAView(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, System: "Be brief.", Tools: toolset(t, echo("say"), echo("hidden")), Middleware: []agent.Middleware{
		around("outer", func(c *agent.ModelCall) {
			c.Request.Messages = append([]item.Message{item.UserText("note", "Remember the date.")}, c.Request.Messages[len(c.Request.Messages)-1:]...)
		}),
		around("inner", func(c *agent.ModelCall) {
			c.Request.Tools = slices.DeleteFunc(slices.Clone(c.Request.Tools), func(t model.Tool) bool { return t.Name == "hidden" })
			if c.Request.Messages[0].ID != "note" {
				t.Error("the inner one does not see what the outer one did")
			}
		}),
	}}
	w := newWorld()
	res, err := w.attempt(t.Context(), build(t, o), map[string]any{"messages": []item.Message{
		item.UserText("u1", "first"), item.AssistantText("a1", "yes"), item.UserText("u2", "second"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := texts(conversation(t, res)), []string{"user: first", "assistant: yes", "user: second", "assistant: ok"}; !slices.Equal(got, want) {
		t.Errorf("the thread has %q, want %q", got, want)
	}
	req := m.Requests()[0]
	if got, want := texts(req.Messages), []string{"user: Remember the date.", "user: second"}; !slices.Equal(got, want) {
		t.Errorf("the model saw %q, want %q", got, want)
	}
	if len(req.Tools) != 1 || req.Tools[0].Name != "say" || !strings.HasPrefix(req.System, "Be brief.\n\nSome tool results") {
		t.Errorf("the model was offered %+v and told %q", req.Tools, req.System)
	}
}

func TestToolsOfAMiddlewareAreOfferedInTheirRunOnly(t *testing.T) {
	m := scripted.New(func(req model.Request) scripted.Script {
		if last := req.Messages[len(req.Messages)-1]; last.Role == item.Tool {
			return scripted.Say(last.Text())
		}
		return scripted.Call("c1", req.Tools[len(req.Tools)-1].Name, `{"s":"x"}`)
	})
	var asked atomic.Int32
	own := agent.Middleware{Name: "own", Tools: func(_ context.Context, s *graph.Scope) ([]tool.Tool, error) {
		asked.Add(1)
		return []tool.Tool{echo("tool_of_" + s.Config().Run)}, nil
	}}
	g := build(t, agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: []agent.Middleware{own}})
	for _, id := range []string{"one", "two"} {
		w := newWorld()
		_, err := g.Run(t.Context(), graph.Execution{Thread: id, Run: id, Recorder: w, Input: json.RawMessage(`{"messages":[{"type":"human","content":"go"}]}`)})
		if err != nil {
			t.Fatal(err)
		}
		var called []string
		for _, e := range eventsOf[event.ItemEnded](w) {
			if r, ok := e.Item.(item.ToolResult); ok {
				called = append(called, fmt.Sprintf("%s %v", r.Name, r.Error))
			}
		}
		if want := []string{"tool_of_" + id + " false"}; !slices.Equal(called, want) {
			t.Errorf("called %q, want %q", called, want)
		}
	}
	if asked.Load() != 2 {
		t.Errorf("the middleware was asked %d times for two runs", asked.Load())
	}
}

// approve asks a person before every call of a tool.
func approve(name string) agent.Middleware {
	return agent.Middleware{Name: "approve", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if c.Spec.Name != name {
				return next(ctx, c)
			}
			raw, err := c.Ask(tool.Question{Value: c.Call.Arguments, Kind: string(event.AskToolApproval), Options: []string{"yes", "no"}})
			if err != nil {
				return agent.Outcome{}, err
			}
			switch string(raw) {
			case `"yes"`:
				return next(ctx, c)
			case `"no"`:
				return c.Refuse("The person said no."), nil
			}
			c.Call.Arguments = string(raw)
			return next(ctx, c)
		}
	}}
}

func TestACallIsApprovedChangedOrRefused(t *testing.T) {
	for answer, want := range map[string]struct {
		told string
		paid int
	}{
		`"yes"`:         {"paid 5", 1},
		`"no"`:          {"The person said no.", 0},
		`{"s":"seven"}`: {"paid seven", 1},
	} {
		paid := &effects{}
		pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, in text) (string, error) {
			paid.note(c.ID)
			return "paid " + in.S, nil
		})
		m := scripted.Sequence(scripted.Call("c1", "pay", `{"s":"5"}`), scripted.Say("ok"))
		g := build(t, agent.Options{Model: m, Tools: toolset(t, pay), Middleware: []agent.Middleware{approve("pay")}})
		w := newWorld()
		res, err := w.attempt(t.Context(), g, ask("go"))
		w.lawful(t)
		if err != nil || res.Status != event.Interrupted || len(paid.done) > 0 {
			t.Fatalf("%+v, %v, paid %v", res, err, paid.done)
		}
		next := &world{mem: graph.NewMemory(), left: -1}
		put(next, "", event.RunStarted{Graph: "test", Attempt: 1})
		res, err = g.Run(t.Context(), graph.Execution{
			Thread: "thread", Run: "run2", Checkpoints: w.mem, Recorder: both{w.mem, next}, Orders: &graph.Orders{Resume: json.RawMessage(answer)},
		})
		if err != nil {
			t.Fatal(err)
		}
		next.end(t.Context(), res, nil)
		next.lawful(t)
		msgs := conversation(t, res)
		if msgs[2].Text() != want.told || len(paid.done) != want.paid {
			t.Errorf("%s: the model was told %q, paid %v; want %+v", answer, msgs[2].Text(), paid.done, want)
		}
		if msgs[1].ToolCalls[0].Arguments != `{"s":"5"}` {
			t.Errorf("%s: what the model wrote became %s", answer, msgs[1].ToolCalls[0].Arguments)
		}
	}
}

func TestAMiddlewareCannotMakeACallTwice(t *testing.T) {
	paid := &effects{}
	pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, _ text) (string, error) { paid.note(c.ID); return "paid", nil })
	twice := agent.Middleware{Name: "twice", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if _, err := next(ctx, c); err != nil {
				return agent.Outcome{}, err
			}
			return next(ctx, c)
		}
	}}
	_, _, err := run(t, agent.Options{Model: scripted.Sequence(scripted.Call("c1", "pay", `{"s":""}`)), Tools: toolset(t, pay), Middleware: []agent.Middleware{twice}}, "go")
	if err == nil || !strings.Contains(err.Error(), "at most once") || paid.most() != 1 {
		t.Errorf("got %v, paid %d times", err, paid.most())
	}
	again := agent.Middleware{Name: "again", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			if _, err := next(ctx, c); err != nil {
				return item.Message{}, err
			}
			return next(ctx, c)
		}
	}}
	_, _, err = run(t, agent.Options{Model: scripted.Always(scripted.Say("hi")), Middleware: []agent.Middleware{again}}, "go")
	if err == nil || !strings.Contains(err.Error(), "after it had answered") {
		t.Errorf("got %v", err)
	}
}

// A middleware may have another tool called than the model wanted. Whether that one may be called again after a crash is for
// its own Spec to say.
func TestAChangedCallIsNotRepeated(t *testing.T) {
	paid := &effects{}
	pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, _ text) (string, error) { paid.note(c.ID); return "paid", nil })
	o := agent.Options{
		Model: scripted.New(func(req model.Request) scripted.Script {
			if len(req.Messages) > 1 {
				return scripted.Say("ok")
			}
			return scripted.Call("c1", "look", `{"s":""}`)
		}),
		Tools: toolset(t, pay, tool.Repeatable(echo("look"))),
		Middleware: []agent.Middleware{{Name: "pays", Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				c.Call.Name = "pay"
				return next(ctx, c)
			}
		}}},
	}
	for n := 0; ; n++ {
		w := newWorld()
		w.restart(n)
		_, err := w.attempt(t.Context(), build(t, o), ask("go"))
		if err == nil {
			break
		}
		w.restart(-1)
		if _, err := w.attempt(t.Context(), build(t, o), ask("go")); err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		w.lawful(t)
		if paid.most() > 1 {
			t.Fatalf("after %d records: paid %d times", n, paid.most())
		}
		paid.done = nil
	}
}

// What a wrap returns does not change what people have read; what it answers in place of the model is shown as an answer is.
func TestWhatWasShownIsWhatTheThreadKeeps(t *testing.T) {
	other := agent.Middleware{Name: "other", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			if c.Step.Messages[len(c.Step.Messages)-1].Text() == "instead" {
				return item.AssistantText("", "The budget is used up."), nil
			}
			_, err := next(ctx, c)
			return item.AssistantText("x", "something else"), err
		}
	}}
	for question, want := range map[string]string{"go": "shown", "instead": "The budget is used up."} {
		w, msgs, err := run(t, agent.Options{Model: scripted.Always(scripted.Say("shown")), Middleware: []agent.Middleware{other}}, question)
		if err != nil || msgs[1].Text() != want || w.fold().FinalText("") != want {
			t.Errorf("%s: the thread has %q, readers saw %q, %v; want %q", question, msgs[1].Text(), w.fold().FinalText(""), err, want)
		}
	}
}

// A tool's update of the state is recorded with its result: whenever the process dies, both are there or neither.
func TestAToolsUpdateIsKeptWithItsResult(t *testing.T) {
	notes := graph.List[string]("notes")
	owner := agent.Middleware{Name: "notes", Fields: []graph.AnyField{notes}}
	pay := tool.FuncOfCall("pay", "Pays.", func(_ context.Context, c tool.Call, in text) (string, error) {
		if err := c.Scope.Update("notes", []string{in.S}); err != nil {
			return "", err
		}
		if err := c.Scope.Update("unheard-of", 1); err != nil {
			return "", err
		}
		return "paid", nil
	})
	look := tool.FuncOfCall("look", "Looks.", func(_ context.Context, c tool.Call, in text) (string, error) {
		if err := c.Scope.Update("notes", 7); err == nil {
			return "", errors.New("a number is no list of texts")
		}
		if err := c.Scope.Update("notes", []string{"not kept"}); err != nil {
			return "", err
		}
		return "", errors.New("failed")
	})
	o := agent.Options{Model: scripted.New(reply), Tools: toolset(t, pay, look), Middleware: []agent.Middleware{owner}}
	for n := 0; ; n++ {
		w := newWorld()
		w.restart(n)
		_, err := w.attempt(t.Context(), build(t, o), ask("go"))
		whole := err == nil
		var res graph.Result
		if !whole {
			w.restart(-1)
		}
		if res, err = w.attempt(t.Context(), build(t, o), ask("go")); !whole && err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		if !whole {
			w.lawful(t)
		}
		got, err := graph.Decode(res, notes.Field)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, m := range conversation(t, res) {
			if m.Role == item.Tool && m.Text() == "paid" {
				want = append(want, strings.TrimPrefix(m.CallID, "call_"))
			}
		}
		if len(got) != len(want) {
			t.Fatalf("after %d records: %d results and the notes %q", n, len(want), got)
		}
		if whole {
			break
		}
	}
}

func TestAnExclusiveCallRunsAlone(t *testing.T) {
	var at, most atomic.Int32
	enter := func() { most.Store(max(most.Load(), at.Add(1))) }
	alone := exclusive{tool.Func("alone", "Runs alone.", func(ctx context.Context, _ text) (string, error) {
		if n := at.Add(100); n != 100 {
			return "", fmt.Errorf("%d others were running", n-100)
		}
		defer at.Add(-100)
		return "alone", nil
	})}
	beside := tool.Func("beside", "Runs beside others.", func(context.Context, text) (string, error) {
		enter()
		defer at.Add(-1)
		return "beside", nil
	})
	var calls []item.ToolCall
	for i := range 20 {
		calls = append(calls, item.ToolCall{CallID: fmt.Sprint("c", i), Name: []string{"beside", "alone"}[i%2], Arguments: `{"s":""}`})
	}
	m := scripted.Sequence(scripted.Parallel(calls...), scripted.Say("ok"))
	_, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, alone, beside)}, "go")
	if err != nil || slices.ContainsFunc(msgs, func(m item.Message) bool { return m.Failed }) || most.Load() >= 100 {
		t.Errorf("got %q, %v; most %d", texts(msgs), err, most.Load())
	}
}

type exclusive struct{ tool.Tool }

func (e exclusive) Spec() tool.Spec {
	s := e.Tool.Spec()
	s.Exclusive = true
	return s
}

func TestTurnsOfARunAreLimitedTogether(t *testing.T) {
	sub := helper(scripted.Always(scripted.Call("", "nothing", `{}`)), nil)
	parent := scripted.Sequence(scripted.Call("c1", "helper", `{"prompt":"x"}`), scripted.Say("I see."))
	_, _, err := run(t, agent.Options{Model: parent, Subs: []agent.Sub{sub}, Limits: agent.Limits{Turns: 7}}, "go")
	if graph.ErrorOf(err).Code != "turn_limit" {
		t.Errorf("got %v", err)
	}
}

func TestEveryMiddlewareHasANameOfItsOwn(t *testing.T) {
	for _, name := range []string{"", "step_limit"} {
		if _, err := agent.New(agent.Options{Model: scripted.Always(scripted.Say("")), Middleware: []agent.Middleware{{Name: name}}}); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
