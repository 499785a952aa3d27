package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

type plan struct {
	Title string   `json:"title"`
	Steps []string `json:"steps"`
}

// planning asks a model for a plan in a node of a graph of its own.
func planning(m model.Model, got *plan) *graph.Graph {
	messages := graph.Messages("messages")
	return graph.New("planner", messages).Node("call", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		p, msg, err := agent.Structured[plan](ctx, s, m, model.Request{Messages: messages.Get(s)}, agent.CallOptions{Policy: agent.Policy{Tries: 3}})
		*got = p
		return graph.Update(messages.Add(msg)), err
	}).Edge(graph.Start, "call")
}

func TestAValueIsReadRepairedAndAskedForAgain(t *testing.T) {
	m := scripted.Sequence(
		scripted.Say(`I would say: {"title": "Trees"}`),
		scripted.Say("Here it is:\n```json\n{\"title\": \"Trees\", \"steps\": [\"look\", \"count\",]}\n```"),
	)
	m.Record = true
	var got plan
	w := newWorld()
	res, err := w.attempt(t.Context(), planning(m, &got), ask("plan it"))
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	if got.Title != "Trees" || !slices.Equal(got.Steps, []string{"look", "count"}) {
		t.Errorf("got %+v", got)
	}
	if voided := eventsOf[event.TurnVoided](w); len(voided) != 1 || voided[0].Cause != string(model.Unfit) {
		t.Errorf("voided %+v", voided)
	}
	if n := len(conversation(t, res)); n != 2 {
		t.Errorf("the thread has %d messages, want the question and the answer that counts", n)
	}
	reqs := m.Requests()
	if len(reqs) != 2 || !json.Valid(reqs[0].Schema) || reqs[0].SchemaName != "plan" {
		t.Fatalf("asked %+v", reqs)
	}
	last := reqs[1].Messages
	if len(last) != 3 || last[1].Text() != `I would say: {"title": "Trees"}` || !strings.Contains(last[2].Text(), "steps") || last[2].Role != item.User {
		t.Errorf("the second try was shown %q", texts(last))
	}
}

func TestAValueThatNeverFitsIsAnError(t *testing.T) {
	m := scripted.Always(scripted.Say("no"))
	m.Record = true
	var got plan
	w := newWorld()
	_, err := w.attempt(t.Context(), planning(m, &got), ask("plan it"))
	w.lawful(t)
	var failure *model.Error
	if !errors.As(err, &failure) || failure.Class != model.Unfit || len(m.Requests()) != 3 {
		t.Errorf("%v after %d calls", err, len(m.Requests()))
	}
}

func TestAMiddlewareMayRefuseAnAnswer(t *testing.T) {
	strict := around("strict", func(c *agent.ModelCall) {
		c.Accept = func(msg item.Message) error {
			if msg.Text() == "" && len(msg.ToolCalls) == 0 {
				return errors.New("it is empty")
			}
			return nil
		}
	})
	m := scripted.Sequence(scripted.Script{}, scripted.Say("Here."))
	w, msgs, err := run(t, agent.Options{Model: m, Middleware: []agent.Middleware{strict}}, "go")
	if want := []string{"user: go", "assistant: Here."}; err != nil || !slices.Equal(texts(msgs), want) {
		t.Errorf("got %q, %v; want %q", texts(msgs), err, want)
	}
	if voided := eventsOf[event.TurnVoided](w); len(voided) != 1 {
		t.Errorf("voided %+v", voided)
	}
}
