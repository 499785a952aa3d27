// Package models tells which models can be chosen for a run. It says what they can do, and never how they are reached: no address and
// no key is part of it.
package models

import (
	"net/http"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
)

// Model is a model that a run may ask for.
type Model struct {
	Name            string `json:"name" doc:"what configurable.model_name says to choose it"`
	Provider        string `json:"provider"`
	Model           string `json:"model" doc:"the provider's name for it"`
	Thinking        bool   `json:"thinking" doc:"it can think before it answers: configurable.thinking_enabled"`
	ReasoningEffort bool   `json:"reasoning_effort" doc:"it can be told how hard to think: configurable.reasoning_effort"`
	Vision          bool   `json:"vision" doc:"it can look at pictures"`
	Default         bool   `json:"default" doc:"it answers where nobody chooses"`
	Usable          bool   `json:"usable" doc:"false where something is missing, as a key; the server's log says what"`
}

// Mount adds the route.
func Mount(t *edge.Routes, list []Model) {
	if list == nil {
		list = []Model{}
	}
	t.Section("models", "Which models there are")
	t.Handle("GET /models", func(w http.ResponseWriter, _ *http.Request, _ run.Identity) error {
		return edge.Answer(w, http.StatusOK, jsonvalue.Object{{"models", list}})
	}, edge.Doc{Summary: "List the models that a run can ask for", Answer: jsonvalue.Object{{"models", []Model{}}}})
}
