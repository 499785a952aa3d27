package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/custom"
)

func TestCustomAgentsAreMadeChangedAndDeleted(t *testing.T) {
	owner := "anna"
	kept := custom.New(t.TempDir())
	w := serve(t, tributary.Options{}, httpapi.Options{Agents: kept, Identify: func(*http.Request) (string, error) { return owner, nil }})
	step := func(method, path, body string, status int, want ...string) {
		t.Helper()
		res, text := w.call(method, path, body)
		if res.StatusCode != status {
			t.Errorf("%s %s %s: got %d, want %d: %s", method, path, body, res.StatusCode, status, text)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s %s: %q is not in %s", method, path, part, text)
			}
		}
	}
	step("GET", "/agents", "", 200, `{"agents":[]}`)
	step("GET", "/agents/check?name=Writer", "", 200, `"available":true`, `"name":"writer"`)
	step("POST", "/agents", `{"name":"Writer","description":"Writes.","soul":"You write.","skills":[],"tool_groups":["web"],"model_settings":{"temperature":0.5}}`, 201,
		`"name":"writer"`, `"skills":[]`, `"model":null`, `"thinking_enabled":null`)
	step("POST", "/agents", `{"name":"writer"}`, 409, `"field":"name"`)
	step("GET", "/agents/check?name=writer", "", 200, `"available":false`)
	step("GET", "/agents/WRITER", "", 200, `"soul":"You write."`, `"temperature":0.5`)
	step("GET", "/agents", "", 200, `"name":"writer"`, `"soul":null`)
	step("PUT", "/agents/writer", `{"skills":null,"model":"gpt-5"}`, 200, `"skills":null`, `"model":"gpt-5"`, `"soul":"You write."`, `"tool_groups":["web"]`)
	step("PUT", "/agents/writer", `{"model_settings":{"max_tokens":7},"tool_groups":[]}`, 200, `"temperature":0.5`, `"max_tokens":7`, `"tool_groups":[]`)
	step("PUT", "/agents/writer", `{"model_settings":null,"model":null}`, 200, `"model_settings":null`, `"model":null`)
	step("PUT", "/agents/writer", `{"solu":"x"}`, 422, `"field":"solu"`)
	step("PUT", "/agents/writer", `{"reasoning_effort":"much"}`, 422, `"field":"reasoning_effort"`)
	step("PUT", "/agents/nobody", `{"soul":"x"}`, 404)
	for _, name := range []string{"user-a", "project-a", "a b", "", "a_b", "../x", "agent"} {
		body, err := json.Marshal(map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		step("POST", "/agents", string(body), 422, `"field":"name"`)
	}
	owner = "bert"
	step("GET", "/agents", "", 200, `{"agents":[]}`)
	step("GET", "/agents/writer", "", 404)
	step("PUT", "/agents/writer", `{"soul":"mine"}`, 404)
	step("DELETE", "/agents/writer", "", 404)
	owner = "anna"
	if a, err := kept.Get("anna", "writer"); err != nil || a.Soul != "You write." {
		t.Errorf("the folder has %+v, %v", a, err)
	}
	step("DELETE", "/agents/writer", "", 204)
	step("GET", "/agents/writer", "", 404)
}

func TestWithoutCustomAgentsThereAreNoRoutesForThem(t *testing.T) {
	w := serve(t, tributary.Options{}, httpapi.Options{})
	if res, text := w.call("GET", "/agents", ""); res.StatusCode != 404 {
		t.Errorf("got %d: %s", res.StatusCode, text)
	}
}
