// Command team is an editor with a researcher. The editor is an agent that calls the researcher, another agent, like a
// tool, and whose tool "publish" asks the person at the keyboard first. What both say is printed as it comes. Set
// OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY: the offline model, which answers otherwise, calls nobody.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"log"
	"os"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
)

func main() {
	models, err := registry.New(registry.Options{}) // those whose keys are in the environment, else the offline one
	if err != nil {
		log.Fatal(err)
	}
	if err := work(context.Background(), models, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// work has a line published. Each question of the team is answered by a line of the person's.
func work(ctx context.Context, models model.Models, person io.Reader) error {
	rt, err := tributary.Open(ctx, tributary.Options{Graphs: map[string]tributary.Builder{"editor": editor(models)}})
	if err != nil {
		return err
	}
	defer rt.Close(ctx)
	lines := bufio.NewScanner(person)
	events := rt.Stream(ctx, tributary.Request{
		Assistant: "editor", Text: "Publish a line on the Rhine.", Configurable: []byte(`{"archive":true}`),
	})
	for {
		thread, question, err := show(events)
		if err != nil || question == "" {
			return err
		}
		if !lines.Scan() {
			return fmt.Errorf("nobody answers; thread %s waits", thread)
		}
		events = rt.Resume(ctx, tributary.Request{Thread: thread}, tributary.Answer{Interrupt: question, Value: lines.Text()})
	}
}

// show prints a run, and returns the id of its question if it stopped to ask one.
func show(events iter.Seq2[event.Envelope, error]) (thread, question string, err error) {
	who := map[string]string{"": "editor"} // by task
	for env, err := range events {
		if err != nil {
			return "", "", err
		}
		thread = env.Thread
		switch e := env.Event.(type) {
		case event.TaskStarted:
			who[env.Task] = e.Agent
		case event.ItemEnded:
			switch it := e.Item.(type) {
			case item.Message:
				fmt.Printf("%s: %s\n", who[env.Task], it.Text())
			case item.ToolResult:
				fmt.Printf("%s got from %s: %s\n", who[env.Task], it.Name, item.JoinText(it.Content))
			}
		case event.InterruptRaised:
			question = e.ID
			fmt.Printf("%s\n", e.Value)
		}
	}
	return thread, question, nil
}

// editor builds the team for each run, with the model that the run asks for.
func editor(models model.Models) tributary.Builder {
	return func(ctx context.Context, c tributary.Config) (*graph.Graph, error) {
		choice, err := models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: c.Configurable, Inherited: c.Inherited})
		if err != nil {
			return nil, err
		}
		o, err := team(choice)
		if err != nil {
			return nil, err
		}
		return agent.New(o)
	}
}

// team describes both agents.
func team(choice model.Choice) (agent.Options, error) {
	tools, err := tool.NewSet(publish)
	return agent.Options{
		Name: "editor", Model: choice.Model, Fallbacks: choice.Fallbacks, Tools: tools,
		System: "You edit a newspaper. Let the researcher find the facts, then write one line and publish it.",
		Subs: []agent.Sub{{
			Name: "researcher", Description: "Finds facts. Tell it everything that it must know.",
			Options: agent.Options{System: "You find facts and answer in one sentence."}, // and the editor's model
		}},
		Middleware: []agent.Middleware{houseStyle, archive, discreet, tally},
	}, err
}

type page struct {
	Line string `json:"line" jsonschema:"what is to be printed"`
}

// publish prints nothing that a person has not read.
var publish = tool.FuncOfCall("publish", "Prints a line in tomorrow's newspaper.",
	func(_ context.Context, call tool.Call, in page) (string, error) {
		verdict, err := tool.Ask[string](call.Scope, tool.Question{Value: "Print this? " + in.Line, Options: []string{"yes", "no"}})
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(verdict) != "yes" {
			return "", fmt.Errorf("the person in charge says: %s", verdict)
		}
		return "printed", nil
	})
