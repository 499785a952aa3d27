package main

import (
	"context"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/tool"
)

// houseStyle keeps a style sheet in the state of the thread and shows it to the model with every request. The hook writes it
// once; the wrap changes what the model sees, and never what the thread holds.
var houseStyle = agent.Middleware{
	Name: "house_style", Fields: []graph.AnyField{style},
	Before: agent.Hook{
		Due: func(s *agent.Step) bool { return style.Get(s.Scope) == "" },
		Do: func(context.Context, *agent.Step) (graph.Command, error) {
			return graph.Update(style.Set("At most ten words. No exclamation marks.")), nil
		},
	},
	Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			c.Request.System += "\n\nHouse style: " + style.Get(c.Step.Scope)
			return next(ctx, c)
		}
	},
}

var style = graph.LastValue[string]("style")

// archive offers a tool to the runs that ask for it in their configurable values, and to no other.
var archive = agent.Middleware{
	Name: "archive",
	Tools: func(_ context.Context, s *graph.Scope) ([]tool.Tool, error) {
		wish, err := graph.Configurable[struct{ Archive bool }](s)
		if err != nil || !wish.Archive {
			return nil, err
		}
		search := tool.Func("archive", "Tells what was printed about a subject.", func(_ context.Context, in subject) (string, error) {
			return "1926: Water of the " + in.Name + " at a record height.", nil
		})
		return []tool.Tool{search}, nil
	},
}

type subject struct {
	Name string `json:"name" jsonschema:"what to look for"`
}

// discreet refuses calls that would carry a name out of the house. The model reads why.
var discreet = agent.Middleware{
	Name: "discreet",
	Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if strings.Contains(c.Call.Arguments, "Mrs Miller") {
				return c.Refuse("Names of informants stay in the house. Write it without."), nil
			}
			return next(ctx, c)
		}
	},
}

// tally counts the words that the editor has said, after each answer.
var tally = agent.Middleware{
	Name: "tally", Fields: []graph.AnyField{words},
	After: agent.Hook{Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
		answer, _ := s.Answer()
		return graph.Update(words.Set(words.Get(s.Scope) + len(strings.Fields(answer.Text())))), nil
	}},
}

var words = graph.LastValue[int]("words")
