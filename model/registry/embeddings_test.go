package registry

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestEmbeddingsAreFoundAsModelsAre(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"data":[{"embedding":[%d]}]}`, len(r.Header.Get("Authorization")+r.Header.Get("X-Team")))
	}))
	defer srv.Close()
	env := map[string]string{"OPENAI_API_KEY": "sk-12345", "TEAM": "blue", "OPENAI_BASE_URL": srv.URL}
	o := Options{Getenv: func(name string) string { return env[name] }, HTTPClient: srv.Client(), ReadFile: func(string) ([]byte, error) { return nil, errors.New("not there") }}
	e, problem, err := Embeddings(Config{Provider: "openai", Model: "small", Headers: map[string]string{"X-Team": "$TEAM"}}, o)
	if err != nil || problem != "" {
		t.Fatal(problem, err)
	}
	v, err := e.Embed(t.Context(), []string{"a"})
	if want := float32(len("Bearer sk-12345blue")); err != nil || v[0][0] != want {
		t.Errorf("got %v, %v; want %v for the key and the header", v, err, want)
	}
	for _, tc := range []struct {
		c       Config
		problem string
		mistake string
	}{
		{Config{Provider: "qwen", Model: "text-embedding-v4"}, "DASHSCOPE_API_KEY is not set", ""},
		{Config{Provider: "openai", Model: "small", KeyFile: "/k"}, "key file cannot be read", ""},
		{Config{Provider: "openai", Model: "small", Headers: map[string]string{"A": "$NONE"}}, "NONE, for the header A, is not set", ""},
		{Config{Provider: "ollama", Model: "nomic-embed-text"}, "", ""},
		{Config{Provider: "mine", BaseURL: "http://localhost:1/v1", Model: "m"}, "", ""},
		{Config{Provider: "mine", Model: "m"}, "", "no base_url"},
		{Config{Model: "m"}, "", "no provider"},
		{Config{Provider: "openai"}, "", "which model"},
		{Config{Provider: "anthropic", Model: "m"}, "", "no embeddings"},
		{Config{Provider: "openai", Model: "m", BaseURL: "ftp://x"}, "", "not an http address"},
		{Config{Provider: "openai", Model: "m", Extra: map[string]any{"a": func() {}}}, "", "extra"},
		{Config{Provider: "openai", Model: "m", MaxConcurrent: -1}, "", "must not be negative"},
	} {
		e, problem, err := Embeddings(tc.c, o)
		if tc.mistake != "" {
			if err == nil || !strings.Contains(err.Error(), tc.mistake) {
				t.Errorf("%v: got %v, want %q", tc.c, err, tc.mistake)
			}
			continue
		}
		if err != nil || !strings.Contains(problem, tc.problem) || (problem == "") != (tc.problem == "") || (e == nil) != (problem != "") {
			t.Errorf("%v: got %v, %q, %v; want %q", tc.c, e, problem, err, tc.problem)
		}
	}
}
