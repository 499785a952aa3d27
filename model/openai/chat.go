package openai

import (
	"context"
	"iter"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/request"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// ChatModel calls a model over Chat Completions, the wire that nearly every server speaks.
type ChatModel struct {
	caller
	opts    Options
	service openai.ChatCompletionService
}

var (
	_ model.Model     = (*ChatModel)(nil)
	_ model.Describer = (*ChatModel)(nil)
)

// Chat returns a model that is called over Chat Completions.
func Chat(o Options) *ChatModel {
	return &ChatModel{caller: newCaller(o), opts: o.withoutSecrets(), service: openai.NewChatCompletionService(o.requestOptions()...)}
}

// Stream makes one call. See [model.Model] for what it yields.
func (m *ChatModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		params, err := m.params(req)
		if err != nil {
			yield(nil, err)
			return
		}
		post := func(ctx context.Context, opts ...option.RequestOption) error {
			_, err := m.service.New(ctx, params, opts...)
			return err
		}
		m.stream(request.Telling(ctx, req.Sent), post, answer.NewChat(m.fault, m.original()), yield)
	}
}
