package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

type modelsCmd struct{}

// Run lists the models in the order in which they are chosen from.
func (modelsCmd) Run(e *env) error {
	reg, err := e.config.models()
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tPROVIDER\tMODEL\tTHINKING\tVISION\tSTATE")
	usual, _, _ := reg.Resolve("", "") // none, if no model can be used
	for _, m := range reg.Models() {
		state := "ready"
		switch {
		case !m.Usable():
			state = "not usable: " + m.Problem
		case m.Name == usual.Name:
			state = "the default, ready"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", m.Name, m.Provider, m.Info.Model, yes(m.Thinking), yes(m.Vision), state)
	}
	return w.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}

// chooser picks a model for each run of the built-in agent: what the request asks for, else what its assistant is
// configured with, else the first that can be used.
type chooser struct{ models *registry.Registry }

var _ tributary.Models = chooser{}

// wishes are the settings of a run that concern its model.
type wishes struct {
	ModelName string `json:"model_name"`
	Model     string `json:"model"`
	Thinking  *bool  `json:"thinking_enabled"`
	Effort    string `json:"reasoning_effort"`
}

// Choose implements tributary.Models.
func (c chooser) Choose(_ context.Context, cfg tributary.Config) (tributary.Choice, error) {
	var w wishes
	if len(cfg.Configurable) > 0 {
		if err := json.Unmarshal(cfg.Configurable, &w); err != nil {
			return tributary.Choice{}, run.Invalidf("config.configurable", "model settings: %v", err)
		}
	}
	requested, agents := split(w, cfg.Inherited)
	entry, warning, err := c.models.Resolve(requested, agents)
	if err != nil {
		var unknown *registry.UnknownError
		var unusable *registry.UnusableError
		if errors.As(err, &unknown) || errors.As(err, &unusable) {
			err = run.Invalidf("config.configurable.model_name", "%v", err)
		}
		return tributary.Choice{}, err
	}
	choice := tributary.Choice{Model: entry.Model(), Fallbacks: c.models.FallbacksOf(entry)}
	if warning != (registry.Warning{}) {
		choice.Warnings = append(choice.Warnings, event.Warned(warning))
	}
	return think(choice, w, entry), nil
}

// split tells the request's wish from the assistant's.
func split(w wishes, inherited []string) (requested, agents string) {
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
func think(c tributary.Choice, w wishes, e registry.Entry) tributary.Choice {
	switch {
	case w.Thinking == nil || !*w.Thinking:
	case !e.Thinking:
		c.Warnings = append(c.Warnings, event.Warned{Code: "no_thinking", Message: fmt.Sprintf("model %q cannot think; it answers without", e.Name)})
	default:
		c.Thinking = model.Thinking{On: true, Effort: w.Effort}
	}
	if w.Effort != "" && c.Thinking.On && !e.ReasoningEffort {
		c.Thinking.Effort = ""
		c.Warnings = append(c.Warnings, event.Warned{Code: "no_reasoning_effort", Message: fmt.Sprintf("model %q cannot be told how hard to think", e.Name)})
	}
	return c
}
