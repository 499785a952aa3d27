package lead

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkForm says what is wrong with a form that a model made.
func checkForm(fields []field) error {
	names := map[string]bool{}
	for _, f := range fields {
		if names[f.Name] {
			return fmt.Errorf("two fields are named %q; rename one", f.Name)
		}
		names[f.Name] = true
		if choosing := f.Type == "select" || f.Type == "multi_select"; choosing != (len(f.Options) > 0) {
			return fmt.Errorf("field %q: a %s needs options, and nothing else has them", f.Name, "select or multi_select")
		}
	}
	return nil
}

const noAnswer = "The person gave no answer. Go on with your best guess, and say what you assumed."

// read makes what the model is told of a person's answer, or says what is wrong with it. Front ends answer with a text, an
// option's id, an object of a form's fields, or one of these within an object.
func (q question) read(raw json.RawMessage) (text, problem string) {
	value := unwrap(raw)
	if q.InputMode == form {
		var values map[string]json.RawMessage
		if json.Unmarshal(value, &values) == nil && values != nil {
			return q.readForm(values)
		}
	}
	said := plainText(value)
	if strings.TrimSpace(said) == "" {
		return noAnswer, ""
	}
	for _, o := range q.Options {
		if said == o.ID || said == o.Label || said == o.Value {
			return "The person chose: " + o.Label, ""
		}
	}
	return "The person answered: " + said, ""
}

// unwrap takes an answer out of the object in which a front end sends it.
func unwrap(raw json.RawMessage) json.RawMessage {
	for range 3 {
		var o map[string]json.RawMessage
		if json.Unmarshal(raw, &o) != nil {
			return raw
		}
		inner, found := raw, false
		for _, key := range []string{"human_input_response", "response", "fields", "values", "value", "text", "answer", "option_id", "message"} {
			if v, ok := o[key]; ok && len(v) > 0 && string(v) != "null" {
				inner, found = v, true
				break
			}
		}
		if !found {
			return raw
		}
		raw = inner
	}
	return raw
}

// plainText is a JSON value as a person would write it.
func plainText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil {
		var parts []string
		for _, v := range list {
			parts = append(parts, plainText(v))
		}
		return strings.Join(parts, ", ")
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

// readForm checks the fields of a form and writes them down, one a line.
func (q question) readForm(values map[string]json.RawMessage) (text, problem string) {
	var b strings.Builder
	b.WriteString("The person filled in the form:")
	for _, f := range q.Fields {
		raw, given := values[f.Name]
		if given = given && plainText(raw) != ""; !given {
			if f.Required {
				return "", fmt.Sprintf("%s is needed", f.label())
			}
			continue
		}
		said, problem := f.read(raw)
		if problem != "" {
			return "", f.label() + " " + problem
		}
		b.WriteString("\n- " + f.label() + ": " + said)
	}
	return b.String(), ""
}

func (f field) label() string {
	if f.Label != "" {
		return f.Label
	}
	return f.Name
}

// read checks one value.
func (f field) read(raw json.RawMessage) (text, problem string) {
	text = plainText(raw)
	switch f.Type {
	case "number":
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return "", "must be a number"
		}
	case "checkbox":
		if _, err := strconv.ParseBool(text); err != nil {
			return "", "must be true or false"
		}
	case "date":
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return "", "must be a date, as in 2026-11-16"
		}
	case "select":
		if !slices.Contains(f.Options, text) {
			return "", "must be one of " + strings.Join(f.Options, ", ")
		}
	case "multi_select":
		chosen := []string{text}
		if list := []string(nil); json.Unmarshal(raw, &list) == nil {
			chosen = list
		}
		for _, c := range chosen {
			if !slices.Contains(f.Options, c) {
				return "", "must be among " + strings.Join(f.Options, ", ")
			}
		}
		text = strings.Join(chosen, ", ")
	}
	return text, ""
}
