// Command tool gives a model a tool of its own. The tool tells how far it is, its errors are read by the model, and Ctrl-C
// cancels it together with the run. Set OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY: the offline model, which
// answers otherwise, does not use it.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	models, err := registry.New(registry.Options{}) // those whose keys are in the environment, else the offline one
	if err != nil {
		log.Fatal(err)
	}
	rt, err := tributary.Open(ctx, tributary.Options{Models: models, Tools: []tool.Tool{level(time.Second)}})
	if err != nil {
		log.Fatal(err)
	}
	defer rt.Close(context.Background())
	if err := ask(ctx, rt, "How high is the water in the Rhein?"); err != nil {
		log.Print(err)
	}
}

// ask prints what happens while a question is answered. When ctx ends, the run is cancelled.
func ask(ctx context.Context, rt *tributary.Runtime, question string) error {
	for env, err := range rt.Stream(ctx, tributary.Request{Text: question, StopWithReader: true}) {
		if err != nil {
			return err
		}
		switch e := env.Event.(type) {
		case event.TextDelta:
			if env.Node == agent.NodeModel { // a tool's result is text too
				fmt.Print(e.Text)
			}
		case event.ToolProgressed:
			fmt.Printf("· %s, %v of %v\n", e.Message, e.Done, e.Total)
		case event.ItemEnded:
			if r, ok := e.Item.(item.ToolResult); ok && r.Error {
				fmt.Println("· failed:", item.JoinText(r.Content))
			}
		case event.RunEnded:
			fmt.Printf("\n%s\n", e.Status)
		}
	}
	return nil
}

type river struct {
	Name string `json:"name" jsonschema:"name of the river, in English"`
}

var gauges = map[string][]float64{"Elbe": {1.9, 2.3}, "Rhine": {3.1, 2.6, 4.4}}

// level is a tool that reads the gauges of a river one by one; each takes a while.
func level(each time.Duration) tool.Tool {
	return tool.FuncOfCall("level", "Tells how high the water of a river is.",
		func(ctx context.Context, call tool.Call, in river) (string, error) {
			heights, ok := gauges[in.Name]
			if !ok {
				return "", fmt.Errorf("there are no gauges at %q; there are some at Elbe and Rhine", in.Name)
			}
			sum := 0.0
			for i, h := range heights {
				call.Scope.Progress(tool.Progress{Message: "reading a gauge", Done: float64(i + 1), Total: float64(len(heights))})
				select {
				case <-time.After(each):
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
				sum += h
			}
			return fmt.Sprintf("%.1f m", sum/float64(len(heights))), nil
		})
}
