package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/piece"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// shown puts together what a turn's model was shown.
func shown(t testing.TB, w *world, e event.ContextPrepared) []byte {
	t.Helper()
	root, err := piece.ParseHash(e.Request)
	if err != nil {
		t.Fatal(err)
	}
	body, err := piece.Join(root, func(h piece.Hash) ([]byte, error) { return w.mem.Piece(context.Background(), "thread", h) })
	if err != nil {
		t.Fatal(err)
	}
	if len(body) != e.Bytes {
		t.Errorf("the event speaks of %d bytes, kept are %d", e.Bytes, len(body))
	}
	return body
}

func TestWhatEveryModelCallWasShownIsOnRecord(t *testing.T) {
	m := scripted.Sequence(scripted.Say("half").Cut(), scripted.Call("c1", "say", `{"s":"a"}`), scripted.Say("ok"))
	m.Record = true
	o := agent.Options{
		Model: m, System: "Be brief.", Tools: toolset(t, echo("say")), Policy: agent.Policy{Backoff: 1},
		Middleware: []agent.Middleware{around("date", func(c *agent.ModelCall) {
			c.Request.Messages = append([]item.Message{item.UserText("date", "It is Monday.")}, c.Request.Messages[1:]...)
		})},
	}
	w := newWorld()
	_, err := w.attempt(t.Context(), build(t, o), map[string]any{"messages": []item.Message{
		item.UserText("u0", "old"), item.AssistantText("a0", "answer"), item.UserText("u1", "go"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	told, got := eventsOf[event.ContextPrepared](w), m.Requests()
	turns := eventsOf[event.TurnStarted](w)
	if len(told) != 3 || len(got) != 3 {
		t.Fatalf("%d requests and %d on record", len(got), len(told))
	}
	for i, e := range told {
		want := got[i]
		want.Sent = nil
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if body := shown(t, w, e); !bytes.Equal(body, raw) {
			t.Errorf("call %d: on record is\n%s\nand the model got\n%s", i, body, raw)
		}
		if e.Turn != turns[i].Turn || !slices.Equal(e.Tools, []string{"say"}) || e.Messages != len(want.Messages) {
			t.Errorf("call %d: %+v", i, e)
		}
		if !slices.Equal(e.Omitted, []event.Span{{First: "u0", Count: 1}}) || !slices.Equal(e.Injected, []event.Span{{First: "date", Count: 1}}) {
			t.Errorf("call %d: omitted %v, injected %v", i, e.Omitted, e.Injected)
		}
	}
}

// sender is a model that sends its request somewhere.
type sender struct {
	*scripted.Model
	body string
}

func (s sender) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	req.Sent([]byte(s.body))
	return s.Model.Stream(ctx, req)
}

func TestWhatWasSentIsOnRecordToTheByte(t *testing.T) {
	body := strings.Repeat(`{ "spelled" : "as the provider got it" }`, 500)
	w, _, err := run(t, agent.Options{Model: sender{scripted.Always(scripted.Say("ok")), body}}, "go")
	if err != nil {
		t.Fatal(err)
	}
	e := eventsOf[event.ContextPrepared](w)
	if len(e) != 1 || string(shown(t, w, e[0])) != body || e[0].Omitted != nil || e[0].Injected != nil {
		t.Errorf("on record is %+v", e)
	}
}

func TestNothingIsOnRecordWhereNobodyWantsIt(t *testing.T) {
	w := newWorld()
	_, err := build(t, agent.Options{Model: scripted.Always(scripted.Say("ok"))}).Run(t.Context(), graph.Execution{
		Thread: "thread", Run: "run", Recorder: w, Input: json.RawMessage(`{"messages":[{"type":"human","content":"go"}]}`),
	})
	if err != nil || len(eventsOf[event.ContextPrepared](w)) > 0 {
		t.Errorf("%v, %v", eventsOf[event.ContextPrepared](w), err)
	}
}
