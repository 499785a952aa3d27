package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

type text struct {
	S string `json:"s"`
}

func echo(name string) tool.Tool {
	return tool.Func(name, "Says what it is told.", func(_ context.Context, in text) (string, error) { return name + ": " + in.S, nil })
}

func toolset(t testing.TB, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func build(t testing.TB, o agent.Options) *graph.Graph {
	t.Helper()
	g, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// run makes one run of an agent in a world of its own.
func run(t testing.TB, o agent.Options, question string) (*world, []item.Message, error) {
	t.Helper()
	w := newWorld()
	res, err := w.attempt(context.Background(), build(t, o), ask(question))
	w.lawful(t)
	if err != nil {
		return w, nil, err
	}
	return w, conversation(t, res), nil
}

func texts(msgs []item.Message) []string {
	var out []string
	for _, m := range msgs {
		out = append(out, string(m.Role)+": "+m.Text())
	}
	return out
}

func TestTheAgentCallsToolsUntilItNeedsNone(t *testing.T) {
	m := scripted.Sequence(
		scripted.Say("Looking.").Parallel(
			item.ToolCall{CallID: "c1", Name: "slow", Arguments: `{"s":"one"}`},
			item.ToolCall{CallID: "c2", Name: "fast", Arguments: `{"s":"two"}`},
		),
		scripted.Call("c3", "fast", `{"s":"three"}`),
		scripted.Say("Done."),
	)
	m.Record = true
	fastRan := make(chan struct{})
	slow := tool.Func("slow", "Ends after the other.", func(_ context.Context, in text) (string, error) {
		<-fastRan
		return "slow: " + in.S, nil
	})
	fast := tool.Func("fast", "Ends at once.", func(_ context.Context, in text) (string, error) {
		if in.S == "two" {
			close(fastRan)
		}
		return "fast: " + in.S, nil
	})
	w, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, slow, fast), System: "Be brief."}, "go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"user: go", "assistant: Looking.", "tool: slow: one", "tool: fast: two", "assistant: ", "tool: fast: three", "assistant: Done."}
	if !slices.Equal(texts(msgs), want) {
		t.Errorf("got %q, want %q", texts(msgs), want)
	}
	if id := msgs[2].ID; id != "fco_c1" || msgs[2].CallID != "c1" || msgs[2].Name != "slow" || msgs[2].Failed {
		t.Errorf("result: %+v", msgs[2])
	}
	req := m.Requests()[0]
	if !strings.HasPrefix(req.System, "Be brief.") || len(req.Tools) != 2 || req.Tools[0].Name != "slow" {
		t.Errorf("request: %+v", req)
	}
	if n := len(eventsOf[event.NodeStarted](w)); n != 6 {
		t.Errorf("%d node executions, want 6: three answers, three calls", n)
	}
}

func TestWhateverAToolDoesTheModelReadsAResult(t *testing.T) {
	panics := tool.Func("panics", "Breaks.", func(context.Context, text) (string, error) { panic("oh no") })
	fails := tool.Func("fails", "Fails.", func(context.Context, text) (string, error) { return "", errors.New("the shop is closed") })
	silent := tool.Func("silent", "Says nothing.", func(context.Context, text) (string, error) { return "", nil })
	for _, c := range []struct {
		name, args, want string
		failed           bool
	}{
		{"panics", `{"s":"x"}`, "oh no", true},
		{"fails", `{"s":"x"}`, "the shop is closed", true},
		{"silent", `{"s":"x"}`, "returned nothing", false},
		{"unheard", `{"s":"x"}`, "there is no tool", true},
		{"fails", `{"q":1}`, "do not fit", true},
		{"fails", `{"s":`, "", true},
		{"", ``, "there is no tool", true},
	} {
		t.Run(c.name+c.args, func(t *testing.T) {
			m := scripted.Sequence(scripted.Call("c1", c.name, c.args), scripted.Say("I see."))
			_, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, panics, fails, silent)}, "go")
			if err != nil {
				t.Fatal(err)
			}
			if r := msgs[2]; r.Role != item.Tool || r.Failed != c.failed || !strings.Contains(r.Text(), c.want) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestRepeatedCallIDsAreReissued(t *testing.T) {
	m := scripted.Sequence(scripted.Call("call_0", "say", `{"s":"a"}`), scripted.Call("call_0", "say", `{"s":"b"}`), scripted.Say("ok"))
	_, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, echo("say"))}, "go")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"user: go", "assistant: ", "tool: say: a", "assistant: ", "tool: say: b", "assistant: ok"}
	if !slices.Equal(texts(msgs), want) {
		t.Errorf("got %q", texts(msgs))
	}
	if msgs[2].CallID != "call_0" || msgs[4].CallID == "call_0" || msgs[4].CallID != msgs[3].ToolCalls[0].CallID {
		t.Errorf("ids %q and %q", msgs[2].CallID, msgs[4].CallID)
	}
}

func TestTheLastStepIsMadeWithoutTools(t *testing.T) {
	obedient := scripted.New(func(req model.Request) scripted.Script {
		if req.Choice == "none" {
			return scripted.Say("That is all.")
		}
		return scripted.Call("", "say", `{"s":"more"}`)
	})
	w, msgs, err := run(t, agent.Options{Model: obedient, Tools: toolset(t, echo("say")), MaxSteps: 3}, "go")
	if err != nil || msgs[len(msgs)-1].Text() != "That is all." || obedient.Calls() != 3 {
		t.Errorf("%d calls, %q, %v", obedient.Calls(), texts(msgs), err)
	}
	if warned := eventsOf[event.Warned](w); len(warned) != 1 || warned[0].Code != "step_limit" {
		t.Errorf("warned %+v", warned)
	}

	var ran atomic.Int32
	count := tool.Func("say", "Counts.", func(context.Context, text) (string, error) { ran.Add(1); return "x", nil })
	stubborn := scripted.Always(scripted.Call("", "say", `{"s":"more"}`))
	_, _, err = run(t, agent.Options{Model: stubborn, Tools: toolset(t, count), MaxSteps: 3}, "go")
	if graph.ErrorOf(err).Code != "step_limit" || ran.Load() != 2 {
		t.Errorf("got %v; the tool ran %d times, want 2", err, ran.Load())
	}
}

func TestProgressIsToldUntilTheToolEnds(t *testing.T) {
	var late tool.Scope
	busy := tool.FuncOfCall("busy", "Works.", func(_ context.Context, c tool.Call, _ text) (string, error) {
		c.Scope.Progress(tool.Progress{Message: "halfway", Done: 1, Total: 2})
		c.Scope.Progress(tool.Progress{Data: json.RawMessage(`not json`)})
		late = c.Scope
		return "ok", nil
	})
	m := scripted.Sequence(scripted.Call("c1", "busy", `{"s":""}`), scripted.Say("ok").Do(func(context.Context) error { late.Progress(tool.Progress{Done: 2}); return nil }))
	w, _, err := run(t, agent.Options{Model: m, Tools: toolset(t, busy)}, "go")
	if err != nil {
		t.Fatal(err)
	}
	got := eventsOf[event.ToolProgressed](w)
	want := event.ToolProgressed{Item: "fco_c1", CallID: "c1", Name: "busy", Message: "halfway", Done: 1, Total: 2}
	if len(got) != 2 || !reflect.DeepEqual(got[0], want) || got[1].Data != nil {
		t.Errorf("got %+v, want %+v and one without data", got, want)
	}
}

func TestAToolMayNotTakeForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		patient := tool.Func("wait", "Waits.", func(ctx context.Context, _ text) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		m := scripted.Sequence(scripted.Call("c1", "wait", `{"s":""}`), scripted.Say("ok"))
		_, msgs, err := run(t, agent.Options{Model: m, Tools: toolset(t, patient), ToolTimeout: time.Minute}, "go")
		if err != nil || !msgs[2].Failed || !strings.Contains(msgs[2].Text(), "longer than 1m") {
			t.Errorf("%q, %v", texts(msgs), err)
		}
	})
}

// A tool that ignores its context cannot keep a cancelled run from ending.
func TestADeafToolIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := tool.Func("deaf", "Hears nothing.", func(context.Context, text) (string, error) { <-release; return "at last", nil })
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		began := time.Now()
		w := newWorld()
		_, err := w.attempt(ctx, build(t, agent.Options{Model: scripted.Always(scripted.Call("c1", "deaf", `{"s":""}`)), Tools: toolset(t, deaf)}), ask("go"))
		w.lawful(t)
		if waited := time.Since(began) - time.Minute; !errors.Is(err, context.Canceled) || waited > 100*time.Millisecond {
			t.Errorf("%v, %v after the cancel", err, waited)
		}
		close(release)
		synctest.Wait()
		w.lawful(t) // what it says afterwards is not written
	})
}

// A run that was cancelled in the middle of a call leaves a call without a result. The next run's model is shown one.
func TestDanglingCallsAreShownWithAResult(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	w := newWorld()
	_, err := w.attempt(t.Context(), build(t, agent.Options{Model: m, Tools: toolset(t, echo("say"))}), map[string]any{"messages": []item.Message{
		item.UserText("u1", "go"),
		{ID: "a1", Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "x", Name: "say", Arguments: "{}"}, {CallID: "y", Name: "say", Arguments: "{}"}}},
		{ID: "r1", Role: item.Tool, CallID: "x", Name: "say", Content: item.Text("fine")},
		item.UserText("u2", "go on"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	var roles []string
	for _, m := range m.Requests()[0].Messages {
		roles = append(roles, fmt.Sprintf("%s %s %v", m.Role, m.CallID, m.Failed))
	}
	if want := []string{"user  false", "assistant  false", "tool x false", "tool y true", "user  false"}; !slices.Equal(roles, want) {
		t.Errorf("the model saw %q", roles)
	}
}

func TestWarningsAreToldOnce(t *testing.T) {
	m := scripted.Sequence(scripted.Call("c1", "say", `{"s":"a"}`), scripted.Say("ok"))
	w, _, err := run(t, agent.Options{Model: thoughtless{m}, Tools: toolset(t, echo("say")), Thinking: model.Thinking{On: true},
		Warnings: []event.Warned{{Code: "unknown_model", Message: "there is no x; y answers"}}}, "go")
	var codes []string
	for _, e := range eventsOf[event.Warned](w) {
		codes = append(codes, e.Code)
	}
	if err != nil || !slices.Equal(codes, []string{"unknown_model", "thinking_unsupported"}) {
		t.Errorf("%q, %v", codes, err)
	}
}

// A tool that asks a person stops the run; what ran beside it is not run again when the answer comes.
func TestAskingInOneCallDoesNotRepeatTheOthers(t *testing.T) {
	var ran atomic.Int32
	count := tool.Func("count", "Counts.", func(context.Context, text) (string, error) { ran.Add(1); return "counted", nil })
	asks := tool.Repeatable(tool.FuncOfCall("ask", "Asks a person.", func(_ context.Context, c tool.Call, in text) (string, error) {
		answer, err := tool.Ask[string](c.Scope, tool.Question{Value: in.S, Kind: string(event.AskClarification)})
		return "they say " + answer, err
	}))
	m := scripted.Sequence(scripted.Parallel(
		item.ToolCall{CallID: "c1", Name: "ask", Arguments: `{"s":"which?"}`}, item.ToolCall{CallID: "c2", Name: "count", Arguments: `{"s":""}`},
	), scripted.Say("ok"))
	w := newWorld()
	g := build(t, agent.Options{Model: m, Tools: toolset(t, asks, count)})
	res, err := w.attempt(t.Context(), g, ask("go"))
	w.lawful(t)
	if err != nil || res.Status != event.Interrupted || len(res.Interrupts) != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	next := &world{mem: graph.NewMemory(), left: -1}
	put(next, "", event.RunStarted{Graph: "test", Attempt: 1})
	res, err = g.Run(t.Context(), graph.Execution{
		Thread: "thread", Run: "run2", Checkpoints: w.mem, Recorder: both{w.mem, next},
		Orders: &graph.Orders{Resume: json.RawMessage(`"the red one"`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	next.end(t.Context(), res, nil)
	next.lawful(t)
	msgs := conversation(t, res)
	if want := []string{"user: go", "assistant: ", "tool: they say the red one", "tool: counted", "assistant: ok"}; !slices.Equal(texts(msgs), want) || ran.Load() != 1 {
		t.Errorf("got %q; counted %d times", texts(msgs), ran.Load())
	}
}

// both saves checkpoints in one place and tells events in another, as a second run of a thread does.
type both struct {
	saves  *graph.Memory
	events *world
}

func (b both) Record(ctx context.Context, batch graph.Batch) error {
	if err := b.saves.Record(ctx, graph.Batch{Save: batch.Save}); err != nil {
		return err
	}
	return b.events.Record(ctx, graph.Batch{Events: batch.Events})
}
