package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// most is how many problems are told at once. A model that got more wrong than this needs to start over anyway.
const most = 5

// explain says in a model's terms why a value does not fit: every field by its path, with what was given and
// what is wanted. The validator has already judged; what this walk finds no words for is told in its words.
func (a *arguments) explain(v any, judgement error) error {
	problems := complain(nil, a.schema, v, "")
	if len(problems) == 0 {
		_, reason, found := strings.Cut(judgement.Error(), "validating root: ")
		if !found {
			reason = judgement.Error()
		}
		problems = []string{reason}
	}
	if len(problems) > most {
		problems = append(problems[:most], fmt.Sprintf("and %d more", len(problems)-most))
	}
	return errors.New("the arguments do not fit the tool: " + strings.Join(problems, "; "))
}

func complain(out []string, s *jsonschema.Schema, v any, path string) []string {
	if s == nil {
		return out
	}
	if wanted := typesOf(s); len(wanted) > 0 && !fitsAny(v, wanted) {
		return append(out, fmt.Sprintf("%s must be %s, not %s", orArguments(path), strings.Join(wanted, " or "), shown(v)))
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return sameJSON(e, v) }) {
		return append(out, fmt.Sprintf("%s must be one of %s, not %s", orArguments(path), listed(s.Enum), shown(v)))
	}
	switch v := v.(type) {
	case map[string]any:
		return complainObject(out, s, v, path)
	case []any:
		for i, el := range v {
			out = complain(out, s.Items, el, fmt.Sprintf("%s[%d]", path, i))
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum {
			out = append(out, fmt.Sprintf("%s must be at least %v, not %v", orArguments(path), *s.Minimum, v))
		}
		if s.Maximum != nil && v > *s.Maximum {
			out = append(out, fmt.Sprintf("%s must be at most %v, not %v", orArguments(path), *s.Maximum, v))
		}
	}
	return out
}

func complainObject(out []string, s *jsonschema.Schema, v map[string]any, path string) []string {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			out = append(out, fmt.Sprintf("%s is missing%s", join(path, name), described(s.Properties[name])))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property, known := s.Properties[name]
		switch {
		case known:
			out = complain(out, property, v[name], join(path, name))
		case closed(s):
			out = append(out, fmt.Sprintf("%s is not a field; the fields are %s", join(path, name),
				strings.Join(fieldsOf(s), ", ")))
		default:
			out = complain(out, s.AdditionalProperties, v[name], join(path, name))
		}
	}
	return out
}

// closed reports that an object takes no other fields than those named: additionalProperties is false, which
// the library spells {"not": {}}.
func closed(s *jsonschema.Schema) bool {
	return s.AdditionalProperties != nil && s.AdditionalProperties.Not != nil && len(s.PatternProperties) == 0
}

func fieldsOf(s *jsonschema.Schema) []string {
	names := slices.Sorted(maps.Keys(s.Properties))
	if len(names) == 0 {
		return []string{"none"}
	}
	return names
}

func described(s *jsonschema.Schema) string {
	if s == nil || s.Description == "" {
		return ""
	}
	return " (" + s.Description + ")"
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orArguments(path string) string {
	if path == "" {
		return "the whole"
	}
	return path
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

func fitsAny(v any, types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool { return fits(v, t) })
}

func fits(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == float64(int64(v))
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	}
	return false
}

// shown is a value as the model wrote it, short enough to be read in a sentence.
func shown(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("a %T", v)
	}
	const limit = 40
	if r := []rune(string(b)); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return string(b)
}

func listed(values []any) string {
	var out []string
	for _, v := range values {
		out = append(out, shown(v))
	}
	return strings.Join(out, ", ")
}

func sameJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(x) == string(y)
}
