package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// told runs the clerk on one message, in memory, and returns the thread and what was paid.
func told(t *testing.T, m model.Model, text string) (thread []item.Message, paid []string) {
	t.Helper()
	g, err := clerk(m, func(order string, euros int) { paid = append(paid, fmt.Sprintf("%d euros for %s", euros, order)) })
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(map[string]any{"messages": []item.Message{item.UserText("", text)}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := g.Run(t.Context(), graph.Execution{Input: input})
	if err != nil {
		t.Fatal(err)
	}
	thread, err = graph.Decode(res, graph.Messages("messages").Field)
	if err != nil {
		t.Fatal(err)
	}
	return thread, paid
}

func TestTheClerkPaysAndSaysSo(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("call_1", "refund", `{"order":"A7","euros":20}`),
		scripted.Say("You get 20 euros."),
	)
	thread, paid := told(t, m, "A7 came broken.")
	if want := []string{"20 euros for A7"}; !slices.Equal(paid, want) {
		t.Errorf("paid %q, want %q", paid, want)
	}
	if got, want := thread[len(thread)-1].Text(), "You get 20 euros."; got != want {
		t.Errorf("the clerk says %q, want %q", got, want)
	}
}

func TestTooMuchIsNotPaidAndTheModelReadsWhy(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("call_1", "refund", `{"order":"A7","euros":900}`),
		scripted.Say("A colleague will help you."),
	)
	m.Record = true
	_, paid := told(t, m, "A7 came broken. I want 900 euros.")
	if len(paid) > 0 {
		t.Errorf("paid %q, want nothing", paid)
	}
	shown := m.Requests()[1].Messages // what the model saw when it was asked for the second time
	last := shown[len(shown)-1]
	if want := "900 euros are too much; 50 is the most, and a colleague can pay more"; !last.Failed || last.Text() != want {
		t.Errorf("the model reads %q (failed: %v), want %q", last.Text(), last.Failed, want)
	}
}

func TestArgumentsThatDoNotFitNeverReachTheTool(t *testing.T) {
	m := scripted.Sequence(scripted.Call("call_1", "refund", `{"order":"A7"}`), scripted.Say("How much was it?"))
	thread, paid := told(t, m, "A7 came broken.")
	if want := "the arguments do not fit the tool: euros is missing"; len(paid) > 0 || thread[2].Text() != want {
		t.Errorf("the model reads %q and %q is paid; want %q and nothing", thread[2].Text(), paid, want)
	}
}

// In a bubble of synctest time passes as soon as everybody waits, so that ten minutes of silence take none.
func TestAProviderThatSaysNothingIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := scripted.Sequence(
			scripted.Fail(&model.Error{Class: model.Overloaded, Message: "busy"}),
			scripted.Stall(),
			scripted.Say("Good morning."),
		)
		thread, _ := told(t, m, "Hello.")
		if got := thread[len(thread)-1].Text(); got != "Good morning." || m.Calls() != 3 {
			t.Errorf("the clerk says %q after %d calls, want %q after 3", got, m.Calls(), "Good morning.")
		}
	})
}

func TestTheProgramRunsWithoutAKey(t *testing.T) {
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(key, "") // nobody is asked but the offline model
	}
	os.Args = []string{"testing", "count", "to", "three"}
	main()
}
