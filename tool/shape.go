package tool

import (
	"encoding/json"
	"fmt"
)

// Shape is the form of a Go type as a JSON schema, and reads what a model wrote in that form: a plan, a verdict, a list of
// queries. The text may have prose around the object, and the small mistakes that models make are repaired.
type Shape[T any] struct {
	schema json.RawMessage
	args   *arguments
}

// ShapeOf infers the shape of a struct, as [Func] does that of its arguments.
func ShapeOf[T any]() (Shape[T], error) {
	schema, err := schemaOf[T]()
	if err != nil {
		return Shape[T]{}, fmt.Errorf("shape of %T: %w", *new(T), err)
	}
	args, err := compile(schema)
	if err != nil {
		return Shape[T]{}, fmt.Errorf("shape of %T: %w", *new(T), err)
	}
	return Shape[T]{schema, args}, nil
}

// Schema is the JSON schema.
func (s Shape[T]) Schema() json.RawMessage { return s.schema }

// Read reads a text. The error is written for the model: what is wrong and what would be right.
func (s Shape[T]) Read(text string) (T, error) {
	var v T
	if written, cut := object(text); !cut && json.Valid([]byte(written)) {
		text = written // so that what is wrong with the object is told, and not that there is prose around it
	}
	raw, err := s.args.check(json.RawMessage(text))
	if err == nil {
		err = json.Unmarshal(raw, &v)
	}
	return v, err
}
