package httpapi_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
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
	// Every word that it names can be said, in either place, and nothing else.
	ask := func(settings map[string]any) (status int, field string) {
		body, err := json.Marshal(settings)
		if err != nil {
			t.Fatal(err)
		}
		res, text := w.call("POST", "/runs/wait", `{"assistant_id":"agent","input":{"messages":[{"role":"user","content":"hi"}]},`+string(body[1:]))
		var problem struct{ Field string }
		_ = json.Unmarshal([]byte(text), &problem) // an answer has none
		return res.StatusCode, problem.Field
	}
	if len(got.Config.Properties["model_name"].Enum) == 0 {
		t.Fatalf("no model is named: %s", text)
	}
	for name, p := range got.Config.Properties {
		good, bad := []any{}, []any{[]string{"x"}, map[string]any{"x": 1}}
		for _, word := range p.Enum {
			good = append(good, word)
		}
		switch p.Type {
		case "integer":
			good, bad = append(good, 7), append(bad, "seven", true, 1.5)
		case "boolean":
			good, bad = append(good, true, false), append(bad, "yes", 1)
		default:
			if bad = append(bad, 1, true); p.Enum != nil {
				bad = append(bad, "no-such-word")
			} else {
				good = append(good, "medium")
			}
		}
		for status, values := range map[int][]any{200: good, 422: bad} {
			for _, v := range values {
				for place, settings := range map[string]map[string]any{"context": {"context": map[string]any{name: v}}, "configurable": {"config": map[string]any{"configurable": map[string]any{name: v}}}} {
					if got, field := ask(settings); got != status || status == 422 && !strings.HasSuffix(field, name) {
						t.Errorf("%s: %v in %s: got %d about %q, want %d", name, v, place, got, field, status)
					}
				}
			}
		}
	}
}
