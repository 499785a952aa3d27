// Command testing is a clerk who refunds orders. It is here for its tests: main_test.go shows how an agent is tested
// without a provider, a server or a wait.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
)

func main() {
	ctx := context.Background()
	models, err := registry.New(registry.Options{}) // those whose keys are in the environment, else the offline one
	if err != nil {
		log.Fatal(err)
	}
	rt, err := tributary.Open(ctx, tributary.Options{Graphs: map[string]tributary.Builder{
		"clerk": func(ctx context.Context, c tributary.Config) (*graph.Graph, error) {
			choice, err := models.Choose(ctx, model.Wish{Owner: c.Owner, Configurable: c.Configurable, Inherited: c.Inherited})
			if err != nil {
				return nil, err
			}
			return clerk(choice.Model, func(order string, euros int) { log.Printf("%d euros for order %s", euros, order) })
		},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(ctx)
	answer, err := rt.Chat(ctx, tributary.Request{Assistant: "clerk", Text: strings.Join(os.Args[1:], " ")})
	if err != nil {
		log.Print(err)
	}
	fmt.Println(answer)
}

// clerk makes the agent. Its model and what it does to the world are handed to it, so that a test can hand it others.
func clerk(m model.Model, pay func(order string, euros int)) (*graph.Graph, error) {
	tools, err := tool.NewSet(refund(pay))
	if err != nil {
		return nil, err
	}
	return agent.New(agent.Options{Name: "clerk", Model: m, Tools: tools, System: "You refund orders, up to 50 euros each."})
}

type claim struct {
	Order string `json:"order" jsonschema:"number of the order"`
	Euros int    `json:"euros"`
}

func refund(pay func(order string, euros int)) tool.Tool {
	return tool.Func("refund", "Pays money back.", func(_ context.Context, in claim) (string, error) {
		if in.Euros > 50 {
			return "", fmt.Errorf("%d euros are too much; 50 is the most, and a colleague can pay more", in.Euros)
		}
		pay(in.Order, in.Euros)
		return "paid", nil
	})
}
