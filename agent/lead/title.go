package lead

import (
	"context"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// The bounds of a title.
const (
	titleWords = 6
	titleRunes = 60
)

// titles gives the thread a name after its first exchange: the beginning of what was asked. It costs one small step, and no
// model call that people would wait for.
func titles(*assembly) (agent.Middleware, string) {
	return agent.Middleware{
		Name: "title", Fields: []graph.AnyField{Title},
		After: agent.Hook{
			Due: func(s *agent.Step) bool {
				answer, ok := s.Answer()
				return ok && len(answer.ToolCalls) == 0 && Title.Get(s.Scope) == "" && titleOf(s.Messages) != ""
			},
			Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
				return graph.Update(Title.Set(titleOf(s.Messages))), nil
			},
		},
	}, ""
}

// titleOf is the beginning of the first thing that the person said.
func titleOf(msgs []item.Message) string {
	for _, m := range msgs {
		if m.Role != item.User {
			continue
		}
		words := strings.Fields(strings.ToValidUTF8(clip(m.Text(), 1000), ""))
		cut := len(words) > titleWords
		text := strings.Join(words[:min(len(words), titleWords)], " ")
		if r := []rune(text); len(r) >= titleRunes {
			text, cut = string(r[:titleRunes-1]), true
		}
		text = strings.TrimRight(text, " ,;:.?!，。？！；：")
		if cut && text != "" {
			text += "…"
		}
		if text != "" {
			return text
		}
	}
	return ""
}
