package langgraph_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/langgraph"
	"github.com/tributary-ai/tributary/item"
)

// contents lists what the messages frames carry, in order.
func contents(t *testing.T, frames []wire.Frame) (ids, texts []string) {
	t.Helper()
	for _, f := range frames {
		if f.Name != "messages" {
			continue
		}
		var pair [2]struct{ ID, Content string }
		if err := json.Unmarshal(f.Data, &pair); err != nil {
			t.Fatal(err)
		}
		ids, texts = append(ids, pair[0].ID), append(texts, pair[0].Content)
	}
	return ids, texts
}

func named(frames []wire.Frame, name string) (data []string) {
	for _, f := range frames {
		if f.Name == name {
			data = append(data, string(f.Data))
		}
	}
	return data
}

func TestModelThatSaysNothingAtItsEndGetsNoLastChunk(t *testing.T) {
	r := serve(t).thread().run(hello("quiet"))
	_, texts := contents(t, r.project(t, langgraph.Options{Modes: langgraph.MessagesTuple}))
	if want := []string{"b", "e"}; !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

// A node that returns the whole conversation must not make clients append every old text to itself.
func TestMessagesOfTheStateAreNotToldAgain(t *testing.T) {
	th := serve(t).thread()
	th.run(hello("historian"))
	r := th.run(run.Request{Graph: "historian", Input: json.RawMessage(`{"messages":[{"type":"human","content":"more","id":"human-2"}]}`)})
	ids, _ := contents(t, r.project(t, langgraph.Options{Modes: langgraph.MessagesTuple}))
	if want := []string{"chronicle-3"}; !slices.Equal(ids, want) {
		t.Errorf("got %q, want %q", ids, want)
	}
}

func TestVoidedTurnIsToldInCustom(t *testing.T) {
	r := serve(t).thread().run(hello("flaky"))
	frames := r.project(t, langgraph.Options{Modes: langgraph.MessagesTuple | langgraph.Custom | langgraph.Values})
	ids, texts := contents(t, frames)
	first, second := ids[0], ids[len(ids)-1]
	want := `{"type":"message_superseded","id":"` + first + `","attempt":1}`
	if got := named(frames, "custom"); !slices.Equal(got, []string{want}) {
		t.Errorf("got %q, want %q", got, want)
	}
	values := named(frames, "values")
	if last := values[len(values)-1]; strings.Contains(last, first) || !strings.Contains(last, second) {
		t.Errorf("values show %s", last)
	}
	if joined := strings.Join(texts, "|"); joined != "||half an ans|||whole|" {
		t.Errorf("texts %q", joined)
	}
	if !strings.Contains(string(frames[3].Data), `"additional_kwargs":{"reasoning_content":"think."}`) {
		t.Errorf("reasoning: %s", frames[3].Data)
	}
}

func TestSubAgentsTokensCarryTheirNamespace(t *testing.T) {
	r := serve(t).thread().run(hello("team"))
	plain := r.project(t, langgraph.Options{Modes: langgraph.MessagesTuple})
	_, texts := contents(t, plain)
	if got, want := strings.Join(texts, ""), "I am below.done below"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(string(plain[1].Data), `"langgraph_checkpoint_ns":"tools:`) {
		t.Errorf("clients tell sub-agents by a namespace that begins with tools: %s", plain[1].Data)
	}
	var inner []string
	for _, f := range r.project(t, langgraph.Options{Modes: langgraph.MessagesTuple | langgraph.Values, Subgraphs: true}) {
		if name, ns, ok := strings.Cut(f.Name, "|"); ok && !slices.Contains(inner, name) && strings.HasPrefix(ns, "tools:") {
			inner = append(inner, name)
		}
	}
	if want := []string{"values", "messages"}; !slices.Equal(inner, want) {
		t.Errorf("below: got %q, want %q", inner, want)
	}
}

// A run that goes on inside a subgraph first tells where each of the graphs stands.
func TestContinuedRunBeginsWithTheStatesItFound(t *testing.T) {
	th := serve(t).thread()
	first := th.run(hello("weather"))
	frames := first.project(t, langgraph.Options{Modes: langgraph.Values | langgraph.Updates})
	if got := named(frames, "values"); got[len(got)-1] != `{"__interrupt__":[]}` {
		t.Errorf("a breakpoint ends with %s", got[len(got)-1])
	}
	frames = th.run(run.Request{Graph: "weather"}).project(t, langgraph.Options{Modes: langgraph.Values | langgraph.Updates, Subgraphs: true})
	var got []string
	for _, f := range frames {
		name, ns, _ := strings.Cut(f.Name, "|")
		node, _, _ := strings.Cut(ns, ":")
		got = append(got, name+" "+node)
	}
	want := []string{"metadata ", "values ", "values inner", "updates inner", "values inner", "updates ", "values "}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !strings.Contains(string(frames[2].Data), `"city":"San Francisco"`) {
		t.Errorf("inner state: %s", frames[2].Data)
	}
}

// counting counts look-ups.
type counting struct {
	langgraph.States
	n int
}

func (c *counting) State(ns, id string) (langgraph.State, error) {
	c.n++
	return c.States.State(ns, id)
}

func TestStatesAreReadOnlyWhereTheyAreShown(t *testing.T) {
	all := stories(t)
	for _, name := range []string{"chat", "tools", "subgraph", "approval", "failing"} {
		c := &counting{States: all[name]}
		project(t, all[name].Events, langgraph.Options{
			Modes: langgraph.MessagesTuple | langgraph.Updates | langgraph.Custom | langgraph.Tools, Subgraphs: true, States: c,
		})
		if c.n > 0 {
			t.Errorf("%s: %d states were read that nobody asked for", name, c.n)
		}
		project(t, all[name].Events, langgraph.Options{Modes: langgraph.All, Subgraphs: true, States: c})
		saved := 0
		for _, env := range all[name].Events {
			if _, ok := env.Event.(event.CheckpointSaved); ok {
				saved++
			}
		}
		if c.n > saved {
			t.Errorf("%s: %d look-ups for %d checkpoints", name, c.n, saved)
		}
	}
}

func TestErrorsOfTheLookUpStopTheStream(t *testing.T) {
	p := langgraph.New(langgraph.Options{Modes: langgraph.Values, States: broken{}})
	_, err := p.Project(nil, &event.Envelope{Seq: 1, Run: "r", Event: event.CheckpointSaved{ID: "c", Source: event.FromLoop, Changed: []string{"x"}}})
	if !errors.Is(err, errDisk) {
		t.Errorf("got %v", err)
	}
}

var errDisk = errors.New("disk on fire")

type broken struct{}

func (broken) State(string, string) (langgraph.State, error) { return langgraph.State{}, errDisk }
func (broken) Base(string) (string, error)                   { return "", errDisk }

func lines(frames []wire.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, f.ID+" "+f.Name+" "+string(f.Data))
	}
	return out
}

func TestEndsOfRuns(t *testing.T) {
	for _, c := range []struct {
		end  event.RunEnded
		want []string
	}{
		{event.RunEnded{Status: event.Success}, nil},
		{event.RunEnded{Status: event.Cancelled, Reason: "rollback"}, nil},
		{event.RunEnded{Status: event.Failed, Error: &event.Error{Code: "node_error", Name: "CustomError", Message: "Boo!"}},
			[]string{`1-2 error {"error":"CustomError","message":"Boo!"}`}},
		{event.RunEnded{Status: event.TimedOut, Error: &event.Error{Code: "timeout", Message: "too long"}},
			[]string{`1-2 error {"error":"timeout","message":"too long"}`}},
		{event.RunEnded{Status: event.Interrupted},
			[]string{`1-2 updates {"__interrupt__":[]}`, `1-2.1 values {"__interrupt__":[]}`}},
	} {
		p := langgraph.New(langgraph.Options{Modes: langgraph.Values | langgraph.Updates})
		if _, err := p.Project(nil, &event.Envelope{Seq: 1, Epoch: 1, Run: "r", Event: event.RunStarted{Attempt: 1}}); err != nil {
			t.Fatal(err)
		}
		frames, err := p.Project(nil, &event.Envelope{Seq: 2, Epoch: 1, Run: "r", Event: c.end})
		if got := lines(frames); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %q, %v, want %q", c.end.Status, got, err, c.want)
		}
	}
}

func TestNewAttemptIsTold(t *testing.T) {
	p := langgraph.New(langgraph.Options{Modes: langgraph.MessagesTuple})
	var frames []wire.Frame
	for i, e := range []event.Event{
		event.RunStarted{Attempt: 1, Graph: "g", Metadata: json.RawMessage(`{"user":"u1","thread_id":"forged"}`)},
		event.AttemptStarted{Attempt: 2, Cause: "crash"},
		event.TurnStarted{Turn: "m", Model: "x"},
		event.ItemStarted{Item: "m", Turn: "m", Type: item.TypeMessage},
		event.TextDelta{Item: "m", Text: "a\u2028\"<b>"},
	} {
		var err error
		if frames, err = p.Project(frames, &event.Envelope{Seq: uint64(i + 1), Epoch: 1, Run: "r", Thread: "t", Node: "n", Step: 1, Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		`1-1 metadata {"run_id":"r","attempt":1}`,
		`1-2 metadata {"run_id":"r","attempt":2}`,
		`1-5 messages [{"id":"m","content":"a\u2028\"<b>","tool_calls":[],"invalid_tool_calls":[],"tool_call_chunks":[],"additional_kwargs":{},"response_metadata":{},"type":"ai"},` +
			`{"tags":[],"user":"u1","graph_id":"g","run_attempt":2,"thread_id":"t","run_id":"r","langgraph_step":1,"langgraph_node":"n","langgraph_triggers":[],"langgraph_path":[],` +
			`"langgraph_checkpoint_ns":"n","checkpoint_ns":"n","ls_model_name":"x","ls_model_type":"chat"}]`,
	}
	if got := lines(frames); !slices.Equal(got, want) {
		t.Errorf("got %s\nwant %s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestModes(t *testing.T) {
	if m, err := langgraph.ParseModes(nil); err != nil || m != langgraph.Values {
		t.Errorf("no modes: %v, %v", m, err)
	}
	if _, err := langgraph.ParseModes([]string{"values", "vlaues"}); err == nil || !strings.Contains(err.Error(), `"vlaues"`) {
		t.Errorf("got %v", err)
	}
	m, err := langgraph.ParseModes([]string{"messages-tuple", "updates"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		"metadata": true, "error": true, "messages": true, "messages|a:1": true, "updates|a:1|b:2": true, "updates": true,
		"messages/partial": false, "values": false, "values|a:1": false, "custom": false, "": false,
	} {
		if m.Shows(name) != want {
			t.Errorf("%q: got %v", name, !want)
		}
	}
}

// delta returns a projector in the middle of a turn, and the next delta.
func delta(modes langgraph.Modes) (*langgraph.Projector, *event.Envelope) {
	p := langgraph.New(langgraph.Options{Modes: modes})
	env := &event.Envelope{
		Epoch: 1, Run: "01a1dc98-a60e-7054-8ded-3b30a2120dbc", Thread: "01a1dc98-a60b-70ee-bace-04b48d2f36e8",
		Node: "agent", Step: 1, At: time.Unix(1794701862, 0),
	}
	for _, e := range []event.Event{
		event.RunStarted{Attempt: 1, Graph: "chat", Assistant: "eb6db400-e3c8-5d06-a834-015cb89efe69"},
		event.NodeStarted{Execution: "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86", Triggers: []string{"branch:to:agent"}, Path: []string{"pull", "agent"}},
		event.TurnStarted{Turn: "msg_26e60487e53d4429ad00724a", Execution: "268ce85d-e90d-57ce-bfd7-c1dcfc9d5d86", Provider: "scripted", Model: "scripted-1"},
		event.ItemStarted{Item: "msg_26e60487e53d4429ad00724a", Turn: "msg_26e60487e53d4429ad00724a", Type: item.TypeMessage},
		event.TextDelta{Item: "msg_26e60487e53d4429ad00724a", Text: " tokens"},
	} {
		env.Seq++
		env.Event = e
		if _, err := p.Project(nil, env); err != nil {
			panic(err)
		}
	}
	return p, env
}

func TestDeltaAllocatesTwice(t *testing.T) {
	p, env := delta(langgraph.MessagesTuple)
	dst := make([]wire.Frame, 0, 1)
	got := testing.AllocsPerRun(100, func() {
		env.Seq++
		if _, err := p.Project(dst, env); err != nil {
			t.Fatal(err)
		}
	})
	if got > 2 { // the frame's bytes and its ID
		t.Errorf("%v allocations", got)
	}
}

// go test -run '^$' -bench Delta -benchmem
func BenchmarkDelta(b *testing.B) {
	p, env := delta(langgraph.MessagesTuple)
	dst := make([]wire.Frame, 0, 1)
	b.ReportAllocs()
	for b.Loop() {
		env.Seq++
		frames, err := p.Project(dst, env)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(frames[0].Data)))
	}
}

func TestAnInputThatTouchesNothingTellsNoEmptyValues(t *testing.T) {
	s := serve(t)
	g := graph.New("bare", topic)
	g.Node("set", func(context.Context, *graph.Scope) (graph.Command, error) {
		return graph.Update(topic.Set("ferns")), nil
	})
	g.Chain(graph.Start, "set", graph.End)
	if err := g.Compile(); err != nil {
		t.Fatal(err)
	}
	s.graphs["bare"] = g
	th := s.thread()
	values := func(input string) (all []string) {
		for _, f := range th.run(run.Request{Graph: "bare", Input: json.RawMessage(input)}).project(t, langgraph.Options{Modes: langgraph.Values}) {
			if f.Name == "values" {
				all = append(all, string(f.Data))
			}
		}
		return all
	}
	if got, want := fmt.Sprint(values(`{}`)), `[{"topic":"ferns"}]`; got != want {
		t.Errorf("first: got %s, want %s", got, want)
	}
	// Where there was something before, that is told, whatever the input touches.
	if got, want := fmt.Sprint(values(`{}`)), `[{"topic":"ferns"} {"topic":"ferns"}]`; got != want {
		t.Errorf("second: got %s, want %s", got, want)
	}
}
