package openai

import (
	"context"
	"iter"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// ResponsesModel calls a model over the Responses API, which keeps reasoning between turns and has the provider's
// own tools. Nothing is stored at the provider unless an Extra asks for it: reasoning comes back encrypted
// and is sent along.
//
// The wire has no stop sequences; a request that has some is refused with [model.BadRequest].
type ResponsesModel struct{ caller }

var (
	_ model.Model     = (*ResponsesModel)(nil)
	_ model.Describer = (*ResponsesModel)(nil)
)

// Responses returns a model that is called over the Responses API.
func Responses(o Options) *ResponsesModel {
	return &ResponsesModel{newCaller(o, responsesPath)}
}

// Stream makes one call. See [model.Model] for what it yields.
func (m *ResponsesModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		body, err := m.request(req)
		if err != nil {
			yield(nil, err)
			return
		}
		m.stream(ctx, body, req, answer.NewResponses(m.fault), yield)
	}
}
