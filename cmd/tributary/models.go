package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/tributary-ai/tributary/httpapi"
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

// choosable are the models of a registry as clients are told of them.
func choosable(r *registry.Registry, usual string) []httpapi.Model {
	list := []httpapi.Model{}
	for _, e := range r.Models() {
		list = append(list, httpapi.Model{
			Name: e.Name, Provider: e.Provider, Model: e.Info.Model, Thinking: e.Thinking, ReasoningEffort: e.ReasoningEffort, Vision: e.Vision,
			Default: e.Name == usual, Usable: e.Usable(),
		})
	}
	return list
}
