package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/tributary-ai/tributary/item"
)

// Output is what a function tool may return: text, which is what models and people both see, or a result
// with a view for each.
type Output interface{ string | item.ToolResult }

// Func makes a tool of a function. The schema of its arguments is inferred from In, a struct: a field is named
// by its json tag, described to the model by its jsonschema tag, and optional if it is marked omitempty.
//
// Func panics if In has no such schema, since that is a mistake in the program and not in its input.
func Func[In any, Out Output](name, description string, fn func(context.Context, In) (Out, error)) Tool {
	return FuncOfCall(name, description, func(ctx context.Context, _ Call, in In) (Out, error) { return fn(ctx, in) })
}

// FuncOfCall is [Func] for a function that also wants to know about the call: its id, whose it is, and where
// to report progress.
func FuncOfCall[In any, Out Output](name, description string, fn func(context.Context, Call, In) (Out, error)) Tool {
	schema, err := schemaOf[In]()
	if err != nil {
		panic(fmt.Sprintf("tool %s: arguments of type %T: %v", name, *new(In), err))
	}
	args, err := compile(schema)
	if err != nil {
		panic(fmt.Sprintf("tool %s: arguments of type %T: %v", name, *new(In), err))
	}
	return &function{
		spec: Spec{Name: name, Description: description, Schema: schema},
		args: args,
		call: func(ctx context.Context, call Call) (item.ToolResult, error) {
			var in In
			if err := json.Unmarshal(call.Arguments, &in); err != nil {
				return item.ToolResult{}, fmt.Errorf("the arguments do not fit: %w", err)
			}
			out, err := fn(ctx, call, in)
			return result(out), err
		},
	}
}

func schemaOf[In any]() (json.RawMessage, error) {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		return nil, err
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("must be a struct, so that the schema is an object")
	}
	return json.Marshal(schema)
}

func result[Out Output](out Out) item.ToolResult {
	switch out := any(out).(type) {
	case string:
		return Text(out)
	case item.ToolResult:
		return out
	}
	panic("unreachable: Output has two members")
}

// Text is a result that says the same to models and people.
func Text(s string) item.ToolResult {
	return item.ToolResult{Content: item.Text(s), Blocks: item.Text(s)}
}

type function struct {
	spec Spec
	args *arguments
	call func(context.Context, Call) (item.ToolResult, error)
}

func (f *function) Spec() Spec { return f.spec }

func (f *function) Call(ctx context.Context, call Call) (item.ToolResult, error) {
	if len(call.Arguments) == 0 {
		call.Arguments = json.RawMessage("{}")
	}
	return f.call(ctx, call)
}

func (f *function) arguments() (*arguments, error) { return f.args, nil }

// Repeatable marks a tool as one that may be called again with the same call id.
func Repeatable(t Tool) Tool { return repeatable{t} }

type repeatable struct{ Tool }

func (r repeatable) Spec() Spec {
	spec := r.Tool.Spec()
	spec.Repeatable = true
	return spec
}

func (r repeatable) arguments() (*arguments, error) { return argumentsOf(r.Tool) }
