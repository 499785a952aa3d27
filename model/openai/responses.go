package openai

import (
	"context"
	"iter"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/request"
	"github.com/tributary-ai/tributary/model/openai/internal/answer"
)

// ResponsesModel calls a model over the Responses API, which keeps reasoning between turns and has the provider's
// own tools. Nothing is stored at the provider unless an Extra asks for it: reasoning comes back encrypted
// and is sent along.
//
// The wire has no stop sequences; a request that has some is refused with [model.BadRequest].
type ResponsesModel struct {
	caller
	opts    Options
	service responses.ResponseService
}

var (
	_ model.Model     = (*ResponsesModel)(nil)
	_ model.Describer = (*ResponsesModel)(nil)
)

// Responses returns a model that is called over the Responses API.
func Responses(o Options) *ResponsesModel {
	return &ResponsesModel{caller: newCaller(o), opts: o.withoutSecrets(), service: responses.NewResponseService(o.requestOptions()...)}
}

// Stream makes one call. See [model.Model] for what it yields.
func (m *ResponsesModel) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
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
		m.stream(request.Telling(ctx, req.Sent), post, answer.NewResponses(m.fault), yield)
	}
}
