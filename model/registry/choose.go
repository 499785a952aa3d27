package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/tributary-ai/tributary/model"
)

var (
	_ model.Models = (*Registry)(nil)
	_ model.Lister = (*Registry)(nil)
)

// wishes are the settings of a run that concern its model.
type wishes struct {
	ModelName string `json:"model_name"`
	Model     string `json:"model"`
	Thinking  *bool  `json:"thinking_enabled"`
	Effort    string `json:"reasoning_effort"`
}

// Choose picks the model of a run: what the request asks for, else what its assistant is configured with, else the
// first that can be used. It reads the settings model_name (or model), thinking_enabled and reasoning_effort.
func (r *Registry) Choose(_ context.Context, wish model.Wish) (model.Choice, error) {
	var w wishes
	if len(wish.Configurable) > 0 {
		var wrong *json.UnmarshalTypeError
		if err := json.Unmarshal(wish.Configurable, &w); errors.As(err, &wrong) && wrong.Field != "" {
			return model.Choice{}, &model.WishError{Setting: wrong.Field, Reason: "got a " + wrong.Value + " where something else is expected"}
		} else if err != nil {
			return model.Choice{}, &model.WishError{Reason: fmt.Sprintf("model settings: %v", err)}
		}
	}
	requested, agents := w.split(wish.Inherited)
	entry, warning, err := r.Resolve(requested, agents)
	if err != nil {
		var unknown *UnknownError
		var unusable *UnusableError
		if errors.As(err, &unknown) || errors.As(err, &unusable) {
			err = &model.WishError{Setting: "model_name", Reason: err.Error()}
		}
		return model.Choice{}, err
	}
	choice := model.Choice{Model: entry.Model(), Fallbacks: r.FallbacksOf(entry)}
	if warning != (Warning{}) {
		choice.Warnings = append(choice.Warnings, warning)
	}
	return w.think(choice, entry), nil
}

// split tells the request's wish from the assistant's.
func (w wishes) split(inherited []string) (requested, agents string) {
	key, name := "model_name", w.ModelName
	if name == "" {
		key, name = "model", w.Model
	}
	if slices.Contains(inherited, key) {
		return "", name
	}
	return name, ""
}

// think asks for thinking where it is wished for and possible.
func (w wishes) think(c model.Choice, e Entry) model.Choice {
	switch {
	case w.Thinking == nil || !*w.Thinking:
	case !e.Thinking:
		c.Warnings = append(c.Warnings, Warning{Code: "no_thinking", Message: fmt.Sprintf("model %q cannot think; it answers without", e.Name)})
	default:
		c.Thinking = model.Thinking{On: true, Effort: w.Effort}
	}
	if w.Effort != "" && c.Thinking.On && !e.ReasoningEffort {
		c.Thinking.Effort = ""
		c.Warnings = append(c.Warnings, Warning{Code: "no_reasoning_effort", Message: fmt.Sprintf("model %q cannot be told how hard to think", e.Name)})
	}
	return c
}

// Settings are JSON Schemas of the settings that Choose reads, by name.
func (r *Registry) Settings() map[string]json.RawMessage {
	name := map[string]any{"type": "string", "description": "which model answers"}
	if names := r.usable(); len(names) > 0 {
		name["enum"] = names
	}
	names, err := json.Marshal(name)
	if err != nil {
		return nil // it is text
	}
	return map[string]json.RawMessage{
		"model_name":       names,
		"thinking_enabled": json.RawMessage(`{"type":"boolean","description":"whether it thinks before it answers"}`),
		"reasoning_effort": json.RawMessage(`{"type":"string","description":"how hard it thinks, as low, medium or high"}`),
	}
}
