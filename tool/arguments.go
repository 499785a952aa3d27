package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/kaptinlin/jsonrepair"
)

// arguments checks what a model wrote against a tool's schema. It is not changed once it is there: tools share it.
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

// compiled remembers schemas: many tools are made anew for each run, and their schemas are the same each time.
var compiled struct {
	sync.Mutex
	byText map[string]*arguments
}

// mostCompiled bounds what is remembered, since requests may bring tools of their own.
const mostCompiled = 1024

func compile(schema json.RawMessage) (*arguments, error) {
	if len(bytes.TrimSpace(schema)) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	compiled.Lock()
	a := compiled.byText[string(schema)]
	compiled.Unlock()
	if a != nil {
		return a, nil
	}
	a, err := compileNew(schema)
	if err != nil || len(schema) > 64<<10 {
		return a, err
	}
	compiled.Lock()
	defer compiled.Unlock()
	if compiled.byText == nil || len(compiled.byText) >= mostCompiled {
		compiled.byText = map[string]*arguments{}
	}
	compiled.byText[string(schema)] = a
	return a, nil
}

func compileNew(schema json.RawMessage) (*arguments, error) {
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

// maxRepair bounds what is repaired: the repairer's work may grow with the square of its input, and its stack with how
// deep the input is nested.
const maxRepair = 64 << 10

func (a *arguments) repair(raw json.RawMessage, syntax error) (json.RawMessage, error) {
	asWritten := fmt.Errorf("the arguments are not valid JSON (%w); write them again as one JSON object", syntax)
	if len(raw) > maxRepair {
		return nil, asWritten
	}
	written, cut := object(string(raw))
	// A string that was never closed has lost its end: half a file or half a command must not be taken for the whole.
	if cut {
		return nil, errors.New("the arguments end in the middle of a string, so part of them is missing; write them again, shorter if they were cut off for their length")
	}
	fixed, err := jsonrepair.Repair(written)
	if err != nil {
		return nil, asWritten
	}
	var v any
	if json.Unmarshal([]byte(fixed), &v) != nil || a.resolved.Validate(v) != nil {
		return nil, asWritten
	}
	return json.RawMessage(fixed), nil
}

// object cuts the one object out of what a model wrote around it: a sentence, a fence. An object without its end reaches
// to the end of the text; cut says that this is inside a string. What is a list, and what holds more than one object,
// is left alone, because to take one of several would be to drop the others.
func object(text string) (written string, cut bool) {
	start := strings.IndexByte(text, '{')
	if start < 0 || strings.HasPrefix(strings.TrimSpace(text), "[") {
		return text, false
	}
	end, cut := closing(text[start:])
	if rest := text[start+end:]; strings.Contains(rest, "{") {
		return text, false
	}
	return text[start : start+end], cut
}

// closing finds where the object that text begins with ends. Strings are in double or, as in Python, in single quotes;
// a single quote opens one only where a value or a name may stand, since elsewhere it is an apostrophe.
func closing(text string) (end int, inString bool) {
	depth, quote, before := 0, byte(0), byte(0)
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"', c == '\'' && strings.IndexByte("{[,:(", before) >= 0:
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1, false
			}
		}
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			before = c
		}
	}
	return len(text), quote != 0
}
