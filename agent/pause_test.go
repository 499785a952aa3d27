package agent_test

import (
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// Anthropic's pause_turn: the provider has worked for long with its own tools and wants the answer back to go on.
func TestAnAnswerThatTheProviderPausedIsContinued(t *testing.T) {
	var asked []model.Request
	m := scripted.New(func(r model.Request) scripted.Script {
		asked = append(asked, r)
		if len(asked) == 1 {
			return scripted.Say("I am searching. ").Finish(item.FinishPause)
		}
		return scripted.Say("Found it.")
	})
	g, err := agent.New(agent.Options{Name: "agent", Model: m})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld()
	res, err := w.attempt(t.Context(), g, ask("find it"))
	if err != nil {
		t.Fatal(err)
	}
	w.lawful(t)
	msgs := conversation(t, res)
	if len(msgs) != 3 || msgs[1].Text() != "I am searching. " || msgs[2].Text() != "Found it." {
		t.Errorf("the thread has %+v", msgs)
	}
	if len(asked) != 2 || len(asked[1].Messages) != 2 || asked[1].Messages[1].Text() != "I am searching. " {
		t.Errorf("the model was asked %+v", asked)
	}
	if warned := eventsOf[event.Warned](w); len(warned) != 0 {
		t.Errorf("people were warned of a pause that ended: %+v", warned)
	}
}

func TestAProviderThatOnlyPausesMeetsTheLimitOfSteps(t *testing.T) {
	m := scripted.Always(scripted.Say("one moment ").Finish(item.FinishPause))
	g, err := agent.New(agent.Options{Name: "agent", Model: m, MaxSteps: 3})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := newWorld().attempt(t.Context(), g, ask("find it")); m.Calls() > 4 {
		t.Errorf("the model was called %d times, %v", m.Calls(), err)
	}
}
