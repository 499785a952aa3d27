package middleware

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/item"
)

// SanitiseOptions are settings of [Sanitise].
type SanitiseOptions struct {
	// Tags are names of further tags that only the program may write, in lower case with hyphens.
	Tags []string
}

// Sanitise shows models what people wrote and what tools returned as text that cannot pass for the program's: tags such as
// <system-reminder> and <referencable-item> are told as text, control characters are left out. The thread keeps what was written.
// The tags that number passages are the agent's own and stay.
func Sanitise(o SanitiseOptions) agent.Middleware {
	views := newMemo[growing]()
	return agent.Middleware{Name: "sanitise", Model: func(next agent.ModelFunc) agent.ModelFunc {
		return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
			c.Request.Messages = views.of(c.Step.Scope).show(c.Request.Messages, o.neutral)
			return next(ctx, c)
		}
	}}
}

func (o SanitiseOptions) neutral(m *item.Message) (content []item.Block, changed bool) {
	if m.Role != item.User && m.Role != item.Tool {
		return nil, false
	}
	for i := range m.Content {
		b := &m.Content[i]
		if m.Role == item.Tool && numbering(b) {
			continue
		}
		text, name := neutral(b.Text, o.Tags...), neutral(b.Name, o.Tags...)
		if text == b.Text && name == b.Name {
			continue
		}
		if !changed {
			content, changed = slices.Clone(m.Content), true
		}
		content[i].Text, content[i].Name = text, name
		if b.Type == item.TextBlock {
			content[i].Foreign = nil // it says the old text
		}
	}
	return content, changed
}

// numbering reports that a block is one of those that the run's references are told with. Blocks of a tool that look the same have
// no number.
func numbering(b *item.Block) bool {
	return b.Ref > 0 && (b.Text == "</referencable-item>" || strings.HasPrefix(b.Text, "<referencable-item>") && b.Text == "<referencable-item>\nID: "+strconv.Itoa(b.Ref))
}
