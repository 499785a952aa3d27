package agent

import (
	"context"
	"errors"
	"reflect"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// Structured is [Call] for an answer that is a value: the model is given the schema of T, by its provider's own mechanism where
// there is one, and what it writes is repaired where that is safe and checked. An answer that does not fit is void; the
// model is shown it with what is wrong, and tries again as often as the policy allows. Every try counts.
func Structured[T any](ctx context.Context, s *graph.Scope, m model.Model, req model.Request, opts CallOptions) (T, item.Message, error) {
	var value T
	shape, err := tool.ShapeOf[T]()
	if err != nil {
		return value, item.Message{}, err
	}
	req.Schema, req.SchemaName = shape.Schema(), nameOfType(reflect.TypeFor[T]())
	accept := opts.Accept
	opts.Accept = func(msg item.Message) error {
		if accept != nil {
			if err := accept(msg); err != nil {
				return err
			}
		}
		if msg.Text() == "" {
			return errors.New("there is no answer; write one JSON object")
		}
		value, err = shape.Read(msg.Text())
		return err
	}
	msg, err := Call(ctx, s, m, req, opts)
	return value, msg, err
}

// nameOfType is a name that providers accept for a schema.
func nameOfType(t reflect.Type) string {
	if t.Name() == "" {
		return "answer"
	}
	return t.Name()
}
