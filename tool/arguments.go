package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	jsonrepair "github.com/RealAlexandreAI/json-repair"
	"github.com/google/jsonschema-go/jsonschema"
)

// arguments checks what a model wrote against a tool's schema.
type arguments struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// argued is implemented by tools that have compiled their schema already.
type argued interface{ arguments() (*arguments, error) }

func argumentsOf(t Tool) (*arguments, error) {
	if t, ok := t.(argued); ok {
		return t.arguments()
	}
	return compile(t.Spec().Schema)
}

func compile(schema json.RawMessage) (*arguments, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	a := &arguments{schema: &jsonschema.Schema{}}
	if err := json.Unmarshal(schema, a.schema); err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	var err error
	if a.resolved, err = a.schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("schema of the arguments: %w", err)
	}
	return a, nil
}

// check returns the arguments as valid JSON that satisfies the schema, or an error that tells the model what
// to write instead. Models err in the same few ways (a fence around the object, a Python literal, a comma too
// many, the object inside a string), so what is not JSON is repaired first, and used if it then fits.
func (a *arguments) check(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return a.repair(raw, err)
	}
	if s, ok := v.(string); ok { // the object, encoded twice
		var inner any
		if json.Unmarshal([]byte(s), &inner) == nil && a.resolved.Validate(inner) == nil {
			return json.RawMessage(s), nil
		}
	}
	if err := a.resolved.Validate(v); err != nil {
		return nil, a.explain(v, err)
	}
	return raw, nil
}

func (a *arguments) repair(raw json.RawMessage, syntax error) (json.RawMessage, error) {
	asWritten := fmt.Errorf("the arguments are not valid JSON (%w); write them again as one JSON object", syntax)
	// A string that was never closed has lost its end: half a file or half a command must not be taken for the whole.
	if cutInString(raw, syntax) {
		return nil, errors.New("the arguments end in the middle of a string, so part of them is missing; write them again, shorter if they were cut off for their length")
	}
	fixed, err := jsonrepair.RepairJSON(string(raw))
	if err != nil {
		return nil, asWritten
	}
	var v any
	if json.Unmarshal([]byte(fixed), &v) != nil || a.resolved.Validate(v) != nil {
		return nil, asWritten
	}
	return json.RawMessage(fixed), nil
}

// cutInString reports that the text is the beginning of JSON and stops inside a string.
func cutInString(raw []byte, err error) bool {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(syntax.Error(), "unexpected end") {
		return false
	}
	inString := false
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] == '"':
			inString = !inString
		case raw[i] == '\\' && inString:
			i++
		}
	}
	return inString
}
