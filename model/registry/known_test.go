package registry_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

// What is known of a model counts until the settings say otherwise.
func TestWhatIsKnownOfAModelCanBeOverruled(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		config                                registry.Config
		thinks, effort, temperature, pictures bool
		window                                int
	}{
		{registry.Config{Provider: "openai-responses", Model: "gpt-5-mini"}, true, true, false, true, 400_000},
		{registry.Config{Provider: "openai", Model: "o3-mini"}, true, true, false, false, 200_000},
		{registry.Config{Provider: "openai", Model: "gpt-4o"}, false, true, true, true, 128_000},
		{registry.Config{Provider: "deepseek", Model: "deepseek-reasoner"}, true, false, false, false, 131_072},
		{registry.Config{Provider: "kimi", Model: "kimi-k2-thinking"}, true, false, false, false, 262_144},
		{registry.Config{Provider: "azure", Model: "gpt-5", BaseURL: "https://x.openai.azure.com"}, true, true, false, true, 400_000},
		{registry.Config{Provider: "vllm", Model: "mine"}, false, true, true, true, 0},
		{registry.Config{Provider: "openai", Model: "gpt-5", Thinking: &no, ReasoningEffort: &no, Temperature: &yes, Vision: &no, ContextWindow: 7}, false, false, true, false, 7},
		{registry.Config{Provider: "vllm", Model: "mine", Thinking: &yes, Temperature: &no}, true, true, false, true, 0},
	} {
		c.config.Name, c.config.Key = "m", registry.NewSecret("k")
		e := open(t, registry.Options{Models: []registry.Config{c.config}}).Models()[0]
		if e.Thinking != c.thinks || e.ReasoningEffort != c.effort || e.Temperature != c.temperature || e.Vision != c.pictures || e.ContextWindow != c.window {
			t.Errorf("%s: got thinking %v, effort %v, temperature %v, vision %v, window %d; want %+v", c.config.Model, e.Thinking, e.ReasoningEffort, e.Temperature, e.Vision, e.ContextWindow, c)
		}
	}
}

// recorder keeps the requests that come, and answers with nothing.
func recorder(t *testing.T, requests *[]*http.Request, bodies *[]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*requests, *bodies = append(*requests, r), append(*bodies, string(body))
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestATemperatureIsNotSentWhereItIsRefused(t *testing.T) {
	var requests []*http.Request
	var bodies []string
	url := recorder(t, &requests, &bodies)
	warm := 0.5
	for name, sent := range map[string]bool{"gpt-5-mini": false, "o4-mini": false, "gpt-4o": true} {
		r := open(t, registry.Options{Models: []registry.Config{{Name: "m", Provider: "openai", Model: name, BaseURL: url}}})
		_, _ = drain(t.Context(), r.Models()[0].Model(), model.Request{Messages: question, Temp: &warm})
		if got := strings.Contains(bodies[len(bodies)-1], "temperature"); got != sent {
			t.Errorf("%s: temperature sent: %v, want %v", name, got, sent)
		}
	}
}

func TestProviderToolsAndCachingAreConfigured(t *testing.T) {
	var requests []*http.Request
	var bodies []string
	url := recorder(t, &requests, &bodies)
	ask := func(c registry.Config) (string, http.Header) {
		t.Helper()
		c.Name, c.BaseURL, c.Key = "m", url, registry.NewSecret("k")
		r := open(t, registry.Options{Models: []registry.Config{c}})
		_, _ = drain(t.Context(), r.Models()[0].Model(), model.Request{System: "Be brief.", Messages: question})
		return bodies[len(bodies)-1], requests[len(requests)-1].Header
	}
	for _, c := range []struct {
		config registry.Config
		want   string
	}{
		{registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5"}, `"cache_control":{"type":"ephemeral","ttl":"5m"}`},
		{registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Cache: "1h"}, `"cache_control":{"type":"ephemeral","ttl":"1h"}`},
		{registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Tools: []any{"web_search"}}, `"tools":[{"type":"web_search_20250305","name":"web_search"}]`},
		{registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Tools: []any{map[string]any{"type": "x", "max_uses": 2}}}, `"tools":[{"max_uses":2,"type":"x"}]`},
		{registry.Config{Provider: "openai-responses", Model: "gpt-5", Tools: []any{"web_search", "code_execution"}}, `"tools":[{"type":"web_search"},{"type":"code_interpreter","container":{"type":"auto"}}]`},
		{registry.Config{Provider: "gemini", Model: "gemini-2.5-flash", Tools: []any{"web_search"}}, `"tools":[{"googleSearch":{}}]`},
	} {
		if body, _ := ask(c.config); !strings.Contains(body, c.want) || !json.Valid([]byte(body)) {
			t.Errorf("%+v: got %s, want %s", c.config, body, c.want)
		}
	}
	if body, _ := ask(registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Cache: "off"}); strings.Contains(body, "cache_control") {
		t.Errorf("caching is off, and yet %s", body)
	}
	if _, h := ask(registry.Config{Provider: "anthropic", Model: "claude-sonnet-4-5", Tools: []any{"code_execution"}}); h.Get("Anthropic-Beta") != "code-execution-2025-08-25" {
		t.Errorf("code is to be run, and the header is %q", h.Get("Anthropic-Beta"))
	}
	if _, h := ask(registry.Config{Provider: "anthropic", Model: "m", Tools: []any{"code_execution"}, Headers: map[string]string{"anthropic-beta": "mine"}}); h.Get("Anthropic-Beta") != "mine" {
		t.Errorf("the header is %q", h.Get("Anthropic-Beta"))
	}
	for want, c := range map[string]registry.Config{
		`provider_tools: groq has no tool "web_search" that is known here; give it as an object`:           {Provider: "groq", Tools: []any{"web_search"}},
		`provider_tools: gemini has no tool "x" that is known here, only code_execution, web_fetch, web_s`: {Provider: "gemini", Tools: []any{"x"}},
		"provider_tools: tool 1 must be a name":                                                            {Provider: "gemini", Tools: []any{7}},
		`cache must be 5m, 1h or off, not "forever"`:                                                       {Provider: "anthropic", Cache: "forever"},
	} {
		c.Name, c.Model = "m", "m"
		if _, err := registry.New(registry.Options{Models: []registry.Config{c}, Getenv: env()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The variables for addresses count with and without settings, and a base_url counts before them.
func TestAddressesInTheEnvironment(t *testing.T) {
	var requests []*http.Request
	var bodies []string
	url := recorder(t, &requests, &bodies)
	for _, c := range []struct {
		variable string
		config   registry.Config
		path     string
	}{
		{"OPENAI_BASE_URL", registry.Config{}, "/chat/completions"},
		{"OPENAI_BASE_URL", registry.Config{Provider: "openai", Model: "m"}, "/chat/completions"},
		{"OPENAI_BASE_URL", registry.Config{Provider: "openai-responses", Model: "m"}, "/responses"},
		{"ANTHROPIC_BASE_URL", registry.Config{}, "/v1/messages"},
		{"ANTHROPIC_BASE_URL", registry.Config{Provider: "anthropic", Model: "m"}, "/v1/messages"},
		{"GEMINI_BASE_URL", registry.Config{}, "/models/gemini-2.5-flash:streamGenerateContent"},
		{"GEMINI_BASE_URL", registry.Config{Provider: "gemini", Model: "m"}, "/models/m:streamGenerateContent"},
	} {
		var settings []registry.Config
		name := strings.ToLower(strings.TrimSuffix(c.variable, "_BASE_URL"))
		if c.config.Provider != "" {
			c.config.Name = name
			settings = append(settings, c.config)
		}
		r := open(t, registry.Options{Models: settings, Getenv: env(c.variable, url)})
		e, _ := r.Lookup(name)
		if !e.Usable() || e.Elsewhere != c.variable {
			t.Errorf("%s: %+v", c.variable, e)
			continue
		}
		_, _ = drain(t.Context(), e.Model(), model.Request{Messages: question})
		if got := requests[len(requests)-1].URL.Path; got != c.path {
			t.Errorf("%s with %q: asked at %s, want %s", c.variable, c.config.Provider, got, c.path)
		}
	}
	before := len(requests)
	r := open(t, registry.Options{Getenv: env("OPENAI_BASE_URL", "http://127.0.0.1:1"), Models: []registry.Config{{Name: "m", Provider: "openai", Model: "m", BaseURL: url}}})
	if _, _ = drain(t.Context(), r.Models()[0].Model(), model.Request{Messages: question}); len(requests) != before+1 {
		t.Error("the variable counts before the settings")
	}
	if _, err := registry.New(registry.Options{Getenv: env("GEMINI_BASE_URL", "localhost:1")}); err == nil || !strings.Contains(err.Error(), "GEMINI_BASE_URL is not an http address") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsNameTheModelAndNotTheHost(t *testing.T) {
	server := newChat(t)
	server.status = http.StatusTooManyRequests
	for _, c := range []struct{ name, want string }{{"fast", "model fast (llama-9) answered 429: "}, {"llama-9", "model llama-9 answered 429: "}} {
		r := open(t, registry.Options{Models: []registry.Config{{Name: c.name, Provider: "openai", Model: "llama-9", BaseURL: server.URL + "/v1"}}})
		_, err := drain(t.Context(), r.Models()[0].Model(), model.Request{Messages: question})
		if got := fmt.Sprint(err); !strings.HasPrefix(got, c.want) || strings.Contains(got, "127.0.0.1") {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}
