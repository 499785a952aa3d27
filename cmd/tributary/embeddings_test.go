package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tributary-ai/tributary/internal/checkup"
)

// embeddingServer knows what is meant by a question about boats, and fails while fault is not 0.
func embeddingServer(t *testing.T, fault *atomic.Int32) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := fault.Load(); n != 0 {
			http.Error(w, `{"error":{"message":"no"}}`, int(n))
			return
		}
		var in struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer canary" {
			t.Errorf("asked %s, %v, %v", r.URL, r.Header, err)
		}
		var data []string
		for i := len(in.Input) - 1; i >= 0; i-- { // in an order of its own
			v := "[0,1]"
			switch {
			case strings.Contains(in.Input[i], "ferry") || in.Input[i] == "price of a berth":
				v = "[1,0]"
			case strings.Contains(in.Input[i], "couchette"):
				v = "[-1,0]"
			}
			data = append(data, fmt.Sprintf(`{"index":%d,"embedding":%s}`, i, v))
		}
		fmt.Fprintf(w, `{"data":[%s]}`, strings.Join(data, ","))
	}))
	t.Cleanup(srv.Close)
	return srv
}

func TestSearchWithEmbeddings(t *testing.T) {
	var fault atomic.Int32
	srv := embeddingServer(t, &fault)
	dir := filepath.Join(t.TempDir(), "travel")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"train.md": "# Price of a berth\n\nThe price of a berth, or couchette: a berth has a price of thirty euros.\n",
		"ferry.md": "# Crossing\n\nOn the ferry the price of a berth is what the company says on the day, and a little more in summer.\n",
		"other.md": "# Other things\n\nEverything else has no price at all, as far as anybody knows or has ever said.\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("EMBED_KEY", "canary")
	settings := filepath.Join(t.TempDir(), "tributary.yaml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "docs: [%s]\nembeddings: {model: small, provider: mine, base_url: %s/v1, api_key_env: EMBED_KEY, wait: 5m}\n", dir, srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	search := func() string {
		t.Helper()
		var out bytes.Buffer
		if code := command(t.Context(), []string{"--data", t.TempDir(), "--config", settings, "docs", "search", "price of a berth"}, strings.NewReader(""), &out, &out); code != 0 {
			t.Fatalf("code %d: %s", code, &out)
		}
		return out.String()
	}
	if got := search(); !strings.Contains(got, "1. Crossing") || !strings.Contains(got, "2. Price of a berth") {
		t.Errorf("with embeddings:\n%s\nwant the ferry first", got)
	}
	fault.Store(http.StatusInternalServerError)
	got := search()
	if !strings.Contains(got, "1. Price of a berth") || strings.Count(got, "embedding model cannot be used") != 1 || strings.Contains(got, "canary") {
		t.Errorf("with a service that fails:\n%s\nwant the order of the words, and one line about it", got)
	}
	if err := os.Unsetenv("EMBED_KEY"); err != nil {
		t.Fatal(err)
	}
	if got := search(); !strings.Contains(got, "1. Price of a berth") || !strings.Contains(got, "without embeddings: EMBED_KEY is not set") {
		t.Errorf("without a key:\n%s", got)
	}
}

func TestTheDoctorSaysWhetherEmbeddingsWork(t *testing.T) {
	var fault atomic.Int32
	srv := embeddingServer(t, &fault)
	t.Setenv("EMBED_KEY", "canary")
	c := Config{Embeddings: EmbeddingsConfig{Model: "small", Provider: "mine", BaseURL: srv.URL + "/v1", KeyEnv: "EMBED_KEY"}}
	check := func(c Config, state checkup.State, says string) {
		t.Helper()
		found := lookAtEmbeddings(t.Context(), c)
		if len(found) != 1 || found[0].State != state || !strings.Contains(fmt.Sprint(found), says) {
			t.Errorf("found %v, want one that is %v and says %q", found, state, says)
		}
	}
	check(Config{}, checkup.OK, "no model for embeddings")
	check(c, checkup.OK, "mine/small answers")
	fault.Store(http.StatusUnauthorized)
	check(c, checkup.Warning, "cannot be used")
	c.Embeddings.KeyEnv = "NOT_SET_AT_ALL"
	check(c, checkup.Warning, "NOT_SET_AT_ALL is not set")
}

func TestSettingsOfEmbeddingsAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"{provider: openai}":               "which model",
		"{model: m, provider: anthropic}":  "no embeddings",
		"{model: m, provider: unheard-of}": "no base_url",
		"{model: m, wait: -1s}":            "embeddings.wait",
		"{model: m, batch: -1}":            "embeddings.batch",
		"{model: m, modell: m}":            `no setting "modell"`,
	} {
		if _, err := configured(t, "embeddings: "+text+"\n"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, err := configured(t, "embeddings: {model: nomic-embed-text, provider: ollama, wait: 500ms}\n"); err != nil {
		t.Error(err)
	}
}
