package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// What `events --request` prints is what the provider got, byte for byte: for each provider, answering with what it once
// really answered.
func TestEventsShowsWhatTheProviderGot(t *testing.T) {
	for provider, recording := range map[string]string{
		"openai":           "openai/testdata/openai-chat/finish-length.sse",
		"openai-responses": "openai/testdata/openai-responses/url-citations.sse",
		"anthropic":        "anthropic/testdata/text-basic.sse",
		"gemini":           "gemini/testdata/text.chunks.jsonl",
	} {
		t.Run(provider, func(t *testing.T) {
			answer, err := os.ReadFile(filepath.Join("../../model", recording))
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(recording, ".jsonl") {
				lines := strings.Split(strings.TrimSpace(string(answer)), "\n")
				answer = []byte("data: " + strings.Join(lines, "\n\ndata: ") + "\n\n")
			}
			var mu sync.Mutex
			var got []string
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				got = append(got, string(body))
				mu.Unlock()
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = w.Write(answer)
			}))
			defer srv.Close()
			dir := t.TempDir()
			t.Setenv("CANARY_KEY", "canary-4711-secret")
			config := filepath.Join(dir, "config.yaml")
			text := fmt.Sprintf("memory: {model: rules}\nmodels:\n  - name: m\n    provider: %s\n    model: m\n    api_key_env: CANARY_KEY\n    base_url: %s\n", provider, srv.URL)
			if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			data := filepath.Join(dir, "data")
			if code, _, notes := invoke(t, "--config", config, "--data", data, "chat", "Grüße & <tags>"); code != 0 {
				t.Fatal(notes)
			}
			code, out, notes := invoke(t, "--config", config, "--data", data, "events", "--request", "last")
			if code != 0 || len(got) != 1 || out != got[0] {
				t.Errorf("exit %d, %s\non record is\n%s\nand the provider got\n%s", code, notes, out, got)
			}
			if strings.Contains(out, "canary") {
				t.Error("the key is on record")
			}
			if code, _, notes := invoke(t, "--data", data, "events", "--request", "nothing"); code != 1 || !strings.Contains(notes, `no turn "nothing"`) {
				t.Errorf("exit %d, %s", code, notes)
			}
		})
	}
}

func TestRequestsNeedNotBeKept(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("omit_requests: true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	if code, _, notes := invoke(t, "--config", config, "--data", data, "chat", "count to two"); code != 0 {
		t.Fatal(notes)
	}
	if code, _, notes := invoke(t, "--data", data, "events", "--request", "last"); code != 1 || !strings.Contains(notes, "was recorded") {
		t.Errorf("exit %d, %s", code, notes)
	}
}
