package openai

import (
	"context"
	"iter"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// ChatModel calls a model over Chat Completions, the wire that nearly every server speaks.
type ChatModel struct{ caller }

var (
	_ model.Model     = (*ChatModel)(nil)
	_ model.Describer = (*ChatModel)(nil)
)

// Chat returns a model that is called over Chat Completions.
func Chat(o Options) *ChatModel {
	return &ChatModel{newCaller(o, chatPath)}
}

// Stream makes one call. See [model.Model] for what it yields.
func (m *ChatModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		body, err := m.request(req)
		if err != nil {
			yield(nil, err)
			return
		}
		m.stream(ctx, body, req, answer.NewChat(m.fault, m.habits(req)), yield)
	}
}

// habits are what is known of an answer before it comes.
func (m *ChatModel) habits(req model.Request) answer.Habits {
	h := answer.Habits{Literal: m.original(), Opened: m.opts.ThinkOpened}
	for _, t := range req.Tools {
		h.Tools = append(h.Tools, t.Name)
	}
	return h
}
