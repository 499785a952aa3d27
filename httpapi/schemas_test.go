package httpapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/model/registry"
)

// What LangGraph's clients offer for configuration is what a run reads.
func TestSchemasTellWhatCanBeConfigured(t *testing.T) {
	models, err := registry.New(registry.Options{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	w := serve(t, tributary.Options{Models: models}, httpapi.Options{})
	_, text := w.call("GET", "/assistants/agent/schemas", "")
	type schema struct {
		Properties map[string]struct {
			Type string
			Enum []string
		}
	}
	var got struct {
		Config  schema `json:"config_schema"`
		Context schema `json:"context_schema"`
	}
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	want := []string{"max_steps", "model_name", "reasoning_effort", "thinking_enabled"}
	for name, s := range map[string]schema{"config_schema": got.Config, "context_schema": got.Context} {
		if names := slices.Sorted(maps.Keys(s.Properties)); !slices.Equal(names, want) {
			t.Errorf("%s has %q, want %q", name, names, want)
		}
	}
	// A model that it names can be asked for, and no other.
	names := got.Config.Properties["model_name"].Enum
	if len(names) == 0 {
		t.Fatalf("no model is named: %s", text)
	}
	for name, status := range map[string]int{names[0]: 200, "no-such-model": 422} {
		body := `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]},"context":{"model_name":"` + name + `"}}`
		if res, text := w.call("POST", "/runs/wait", body); res.StatusCode != status {
			t.Errorf("%s: got %d, want %d: %s", name, res.StatusCode, status, text)
		}
	}
}
