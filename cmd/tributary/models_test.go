package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/internal/trial"
)

// river answers with recordings, by what it is asked.
func river(t *testing.T, refuse func(body string) (status int, answer string)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		body := string(raw)
		if refuse != nil {
			if status, answer := refuse(body); status != 0 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, answer)
				return
			}
		}
		if len(body) > 20_000 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"This model's maximum context length is 4000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}`)
			return
		}
		name := "stream"
		for _, c := range []struct{ has, name string }{
			{`"role":"tool"`, "second"}, {`"name":"add"`, "call"}, {`"name":"clock"`, "bare"}, {"response_format", "shape"}, {"image_url", "picture"}, {"prime", "think"},
		} {
			if strings.Contains(body, c.has) {
				name = c.name
				break
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if strings.Contains(body, "a hundred") { // an answer without end
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"one \"}}]}\n\n")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
			return
		}
		answer, err := os.ReadFile(filepath.Join("testdata/check", name+".sse"))
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(answer)
	}))
	t.Cleanup(server.Close)
	return server
}

// withModel is a configuration with one model.
func withModel(t *testing.T, url, more string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tributary.yaml")
	text := fmt.Sprintf("models:\n  - {name: mine, provider: acme, model: river-1, base_url: %q, %s}\n", url+"/v1", more)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const able = "supports_thinking: true, supports_reasoning_effort: true, context_window: 4000, price: {input: 1, output: 10}"

func TestModelsCheckSaysWhatWorks(t *testing.T) {
	config := withModel(t, river(t, nil).URL, able)
	code, out, notes := invoke(t, "--config", config, "--data", t.TempDir(), "models", "check", "mine")
	if code != 0 {
		t.Fatalf("exit %d, %s%s", code, out, notes)
	}
	for _, want := range []string{
		`stream                   works`, `2 pieces, the first after`, `add{"a":19,"b":23}`, `"The sum is 42."`, `clock{}`, `17 bytes of thoughts`,
		`{"name":"Rhine","km":1230}`, `"Red."`, `refused: This model's maximum context length is 4000 tokens.`, `after it was asked to`, `0.000125`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if n := strings.Count(out, " works "); n != len(trial.Names()) {
		t.Errorf("%d checks of %d work:\n%s", n, len(trial.Names()), out)
	}
}

func TestModelsCheckGivesTheProvidersWords(t *testing.T) {
	server := river(t, func(body string) (int, string) {
		if strings.Contains(body, `"tools"`) {
			return http.StatusBadRequest, `{"error":{"message":"tools are not supported by river-1"}}`
		}
		return 0, ""
	})
	code, out, notes := invoke(t, "--config", withModel(t, server.URL, "context_window: 4000"), "--data", t.TempDir(), "models", "check", "--json", "--without", "too long")
	if code != 1 || !strings.Contains(notes, "model mine: 2 checks failed") {
		t.Errorf("exit %d, %s", code, notes)
	}
	states := map[string]string{}
	for line := range strings.Lines(out) {
		var r struct{ Check, State, Note, Model string }
		if err := json.Unmarshal([]byte(line), &r); err != nil || r.Model != "mine" {
			t.Fatalf("%v, %s", err, line)
		}
		states[r.Check] = r.State
		if r.State == "fails" && r.Note != "model mine (river-1) answered 400: tools are not supported by river-1" {
			t.Errorf("%s: %s", r.Check, r.Note)
		}
	}
	want := map[string]string{
		"stream": "works", "tool call": "fails", "second turn": "skipped", "tool without arguments": "fails", "thinking": "skipped",
		"structured output": "works", "picture": "works", "too long": "skipped", "cancel": "works",
	}
	for name, state := range want {
		if states[name] != state {
			t.Errorf("%s: %s, want %s", name, states[name], state)
		}
	}
}

// A wrong key makes every call fail, so one is enough.
func TestModelsCheckStopsWhereNothingCanSucceed(t *testing.T) {
	calls := 0
	server := river(t, func(string) (int, string) {
		calls++
		return http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided."}}`
	})
	code, out, notes := invoke(t, "--config", withModel(t, server.URL, able), "--data", t.TempDir(), "models", "check")
	if code != 1 || calls != 1 || !strings.Contains(out, "model mine (river-1) answered 401: Incorrect API key provided.") || !strings.Contains(notes, "8 checks not made") {
		t.Errorf("exit %d after %d calls, %s%s", code, calls, out, notes)
	}
	for want, args := range map[string][]string{
		`there is no check "speed"; there are: stream,`:  {"--without", "speed"},
		`there is no model "yours"; the models are mine`: {"yours"},
	} {
		code, _, notes := invoke(t, append([]string{"--config", withModel(t, server.URL, able), "--data", t.TempDir(), "models", "check"}, args...)...)
		if code != 1 || !strings.Contains(notes, want) {
			t.Errorf("%v: exit %d, %s, want %s", args, code, notes, want)
		}
	}
}

func TestModelsAreListedForProgramsToo(t *testing.T) {
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
	code, out, notes := invoke(t, "--data", t.TempDir(), "models", "--json")
	if code != 0 {
		t.Fatal(notes)
	}
	var names []string
	for line := range strings.Lines(out) {
		var m modelLine
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		names = append(names, m.Name)
		if m.Name == "openai" && (m.Elsewhere != "OPENAI_BASE_URL" || !m.Default) || m.Name == "gemini" && m.Problem != "GEMINI_API_KEY is not set" {
			t.Errorf("%+v", m)
		}
	}
	if strings.Join(names, " ") != "openai anthropic gemini offline" {
		t.Errorf("listed are %v", names)
	}
	if code, out, _ := invoke(t, "--data", t.TempDir(), "models"); code != 0 || !strings.Contains(out, "the default, ready, at the address in OPENAI_BASE_URL") {
		t.Errorf("exit %d, %s", code, out)
	}
}
