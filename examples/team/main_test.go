package main

import (
	"context"
	"fmt"
	"log"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// newsroom is a model that plays both agents: which one it is, it reads in its system prompt.
func newsroom() *scripted.Model {
	editor := []scripted.Script{
		scripted.Call("call_1", "researcher", `{"prompt":"Who measured the Rhine, and how high is it?"}`),
		scripted.Call("call_2", "archive", `{"name":"Rhine"}`),
		scripted.Call("call_3", "publish", `{"line":"Mrs Miller says: the Rhine is high"}`),
		scripted.Call("call_4", "publish", `{"line":"The Rhine is high!"}`),
		scripted.Call("call_5", "publish", `{"line":"The Rhine stands at 3.4 m."}`),
		scripted.Say("It is in tomorrow's newspaper."),
	}
	return scripted.New(func(req model.Request) scripted.Script {
		if strings.Contains(req.System, "You find facts") {
			return scripted.Say("Mrs Miller measured 3.4 m.")
		}
		said := 0
		for _, m := range req.Messages {
			if len(m.ToolCalls) > 0 {
				said++
			}
		}
		return editor[said]
	})
}

func Example() {
	person := strings.NewReader("no exclamation marks\nyes\n")
	if err := work(context.Background(), tributary.OneModel(newsroom()), person); err != nil {
		log.Fatal(err)
	}
	// Output:
	// researcher: Mrs Miller measured 3.4 m.
	// editor got from researcher: Mrs Miller measured 3.4 m.
	// editor got from archive: 1926: Water of the Rhine at a record height.
	// editor got from publish: Names of informants stay in the house. Write it without.
	// "Print this? The Rhine is high!"
	// editor got from publish: the person in charge says: no exclamation marks
	// "Print this? The Rhine stands at 3.4 m."
	// editor got from publish: printed
	// editor: It is in tomorrow's newspaper.
}

func Example_order() {
	o, err := team(model.Choice{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(agent.Order(append(o.Middleware, agent.Builtin(o)...)))
	// Output:
	//  1  house_style              before model state: style
	//  2  archive                  tools
	//  3  discreet                 tool
	//  4  tally                    after state: words
	//  5  warnings                 model
	//  6  step_limit               model tool
	//  7  citing                   model
	//  8  closed_calls             model
}

func TestMiddlewareWritesStateAndChangesOnlyTheView(t *testing.T) {
	m := newsroom()
	m.Record = true
	rt, err := tributary.Open(t.Context(), tributary.Options{Graphs: map[string]tributary.Builder{"editor": editor(tributary.OneModel(m))}})
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(t.Context())
	// A run that does not ask for the archive is not offered it.
	thread, question, err := show(rt.Stream(t.Context(), tributary.Request{Assistant: "editor", Text: "Publish a line on the Rhine."}))
	if err != nil || question == "" {
		t.Fatalf("question %q, %v; want one", question, err)
	}
	for _, req := range m.Requests() {
		editing := strings.Contains(req.System, "You edit")
		if got := strings.Contains(req.System, "House style: At most ten words."); got != editing {
			t.Errorf("house style in the prompt %v, want %v: %q", got, editing, req.System)
		}
		if slices.ContainsFunc(req.Tools, func(t model.Tool) bool { return t.Name == "archive" }) {
			t.Error("the archive was offered to a run that did not ask for it")
		}
	}
	for question != "" {
		answer := tributary.Answer{Interrupt: question, Value: "yes"}
		if _, question, err = show(rt.Resume(t.Context(), tributary.Request{Thread: thread}, answer)); err != nil {
			t.Fatal(err)
		}
	}
	state, err := rt.State(t.Context(), "", thread, tributary.Checkpoint{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprintf("%s %s", state.Values["style"], state.Values["words"]), `"At most ten words. No exclamation marks." 5`; got != want {
		t.Errorf("style and words are %s, want %s", got, want)
	}
	if strings.Contains(string(state.Values["messages"]), "House style") {
		t.Errorf("the thread holds the prompt: %s", state.Values["messages"])
	}
}

func TestTheProgramRunsWithoutAKey(t *testing.T) {
	for _, key := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Setenv(key, "") // nobody is asked but the offline model
	}
	main()
}
