package registry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/registry"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func open(t *testing.T, o registry.Options) *registry.Registry {
	t.Helper()
	if o.Getenv == nil {
		o.Getenv = env()
	}
	r, err := registry.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestWithoutSettingsTheEnvironmentDecides(t *testing.T) {
	for _, c := range []struct {
		env            []string
		want, provider string
	}{
		{nil, "offline", "offline"},
		{[]string{"OPENAI_API_KEY", "k"}, "openai", "openai"},
		{[]string{"ANTHROPIC_API_KEY", "k"}, "anthropic", "anthropic"},
		{[]string{"GEMINI_API_KEY", "k"}, "gemini", "gemini"},
		{[]string{"GEMINI_API_KEY", "k", "ANTHROPIC_API_KEY", " "}, "gemini", "gemini"},
	} {
		r := open(t, registry.Options{Getenv: env(c.env...)})
		e, warning, err := r.Resolve("", "")
		if err != nil || e.Name != c.want || e.Info.Provider != c.provider || warning != (registry.Warning{}) || e.Model() == nil {
			t.Errorf("%v: got %+v, %+v, %v", c.env, e, warning, err)
		}
		if len(r.Models()) != 4 {
			t.Errorf("%v: %d models are listed, want 4", c.env, len(r.Models()))
		}
	}
	for _, e := range open(t, registry.Options{}).Models() {
		want := map[string]string{"openai": "OPENAI_API_KEY is not set", "anthropic": "ANTHROPIC_API_KEY is not set", "gemini": "GEMINI_API_KEY is not set"}[e.Name]
		if e.Problem != want || e.Usable() != (want == "") {
			t.Errorf("%s: problem %q, want %q", e.Name, e.Problem, want)
		}
	}
}

func TestTheOfflineModelAnswers(t *testing.T) {
	e, _, err := open(t, registry.Options{}).Resolve("", "")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for part, err := range e.Model().Stream(t.Context(), model.Request{Messages: []item.Message{item.UserText("u", "count to three")}}) {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := part.(model.Text); ok {
			text.WriteString(p.Text)
		}
	}
	if text.Len() == 0 {
		t.Error("it says nothing")
	}
}

func TestMistakesInTheSettingsAreNamed(t *testing.T) {
	good := registry.Config{Name: "a", Provider: "ollama", Model: "llama3"}
	for want, models := range map[string][]registry.Config{
		"model 1 has no name":                      {{Provider: "ollama", Model: "m"}},
		`model "a": there are two`:                 {good, good},
		`provider "opnai" is not known`:            {{Name: "a", Provider: "opnai", Model: "m"}},
		"it has no provider":                       {{Name: "a", Model: "m"}},
		"which model of the provider":              {{Name: "a", Provider: "ollama"}},
		"base_url is not an http address":          {{Name: "a", Provider: "ollama", Model: "m", BaseURL: "localhost:11434"}},
		"azure needs a base_url":                   {{Name: "a", Provider: "azure", Model: "m"}},
		"price.output must be a number":            {{Name: "a", Provider: "ollama", Model: "m", Price: registry.Price{Output: -1}}},
		"max_concurrent must not be negative":      {{Name: "a", Provider: "ollama", Model: "m", MaxConcurrent: -1}},
		"context_window must not be negative":      {{Name: "a", Provider: "ollama", Model: "m", ContextWindow: -1}},
		"first_timeout: 30ns is too short":         {{Name: "a", Provider: "ollama", Model: "m", FirstTimeout: 30}},
		`extra: f`:                                 {{Name: "a", Provider: "ollama", Model: "m", Extra: map[string]any{"f": func() {}}}},
		`its fallback "b" is not another model`:    {{Name: "a", Provider: "ollama", Model: "m", Fallbacks: []string{"b"}}},
		`its fallback "a" is not another model`:    {{Name: "a", Provider: "ollama", Model: "m", Fallbacks: []string{"a"}}},
		"when_thinking_enabled: f: json: unsuppor": {{Name: "a", Provider: "ollama", Model: "m", WhenThinking: map[string]any{"f": make(chan int)}}},
	} {
		if _, err := registry.New(registry.Options{Models: models, Getenv: env()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestKeysAreFoundWhereTheSettingsSay(t *testing.T) {
	files := func(name string) ([]byte, error) {
		switch name {
		case "good":
			return []byte("file-key\n"), nil
		case "empty":
			return []byte(" \n"), nil
		}
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
	}
	for name, c := range map[string]struct {
		config  registry.Config
		problem string
	}{
		"usual variable":     {registry.Config{Provider: "groq"}, ""},
		"other variable":     {registry.Config{Provider: "groq", KeyEnv: "MINE"}, ""},
		"missing variable":   {registry.Config{Provider: "groq", KeyEnv: "NONE"}, "NONE is not set"},
		"missing usual":      {registry.Config{Provider: "xai"}, "XAI_API_KEY is not set"},
		"azure":              {registry.Config{Provider: "azure", BaseURL: "https://x.openai.azure.com"}, "AZURE_OPENAI_API_KEY is not set"},
		"file":               {registry.Config{Provider: "xai", KeyFile: "good"}, ""},
		"empty file":         {registry.Config{Provider: "xai", KeyFile: "empty"}, "empty"},
		"missing file":       {registry.Config{Provider: "xai", KeyFile: "none"}, "file does not exist"},
		"given":              {registry.Config{Provider: "xai", Key: registry.NewSecret("k")}, ""},
		"no key needed":      {registry.Config{Provider: "vllm"}, ""},
		"own server":         {registry.Config{Provider: "openai", BaseURL: "http://localhost:1/v1"}, ""},
		"compatible":         {registry.Config{Provider: "acme", BaseURL: "http://localhost:1/v1"}, ""},
		"header":             {registry.Config{Provider: "vllm", Headers: map[string]string{"X-A": "$MINE"}}, ""},
		"header of nothing":  {registry.Config{Provider: "vllm", Headers: map[string]string{"X-A": "$NONE"}}, "NONE, for the header X-A, is not set"},
		"header as it is":    {registry.Config{Provider: "vllm", Headers: map[string]string{"X-A": "b"}}, ""},
		"anthropic, no key":  {registry.Config{Provider: "anthropic"}, "ANTHROPIC_API_KEY is not set"},
		"gemini, key":        {registry.Config{Provider: "gemini", KeyEnv: "MINE"}, ""},
		"anthropic, own URL": {registry.Config{Provider: "anthropic", KeyEnv: "MINE", BaseURL: "http://localhost:1"}, ""},
	} {
		c.config.Name, c.config.Model = "m", "m"
		r := open(t, registry.Options{Models: []registry.Config{c.config}, ReadFile: files, Getenv: env("GROQ_API_KEY", "k", "MINE", "k")})
		e := r.Models()[0]
		if (c.problem == "") != e.Usable() || !strings.Contains(e.Problem, c.problem) || e.Usable() != (e.Model() != nil) {
			t.Errorf("%s: problem %q, want %q", name, e.Problem, c.problem)
		}
	}
}

func TestResolution(t *testing.T) {
	r := open(t, registry.Options{Models: []registry.Config{
		{Name: "keyless", Provider: "xai", Model: "m"},
		{Name: "first", Provider: "ollama", Model: "m"},
		{Name: "second", Provider: "vllm", Model: "m"},
	}})
	for _, c := range []struct {
		requested, agent string
		want, warning    string
		err              any
	}{
		{"", "", "first", registry.UnusableModel, nil},
		{"second", "", "second", "", nil},
		{"second", "first", "second", "", nil},
		{"", "second", "second", "", nil},
		{"", "nonesuch", "first", registry.UnknownModel, nil},
		{"", "keyless", "first", registry.UnusableModel, nil},
		{"nonesuch", "second", "", "", new(*registry.UnknownError)},
		{"keyless", "second", "", "", new(*registry.UnusableError)},
	} {
		e, warning, err := r.Resolve(c.requested, c.agent)
		if e.Name != c.want || warning.Code != c.warning || (c.err == nil) != (err == nil) || c.err != nil && !errors.As(err, c.err) {
			t.Errorf("Resolve(%q, %q): got %q, %+v, %v", c.requested, c.agent, e.Name, warning, err)
		}
	}
	_, _, err := r.Resolve("nonesuch", "")
	if got := err.Error(); got != `there is no model "nonesuch"; the models are first, second` {
		t.Error(got)
	}
	none := open(t, registry.Options{Models: []registry.Config{{Name: "a", Provider: "xai", Model: "m"}, {Name: "b", Provider: "groq", Model: "m"}}})
	_, _, err = none.Resolve("", "")
	if got := fmt.Sprint(err); got != "no model can be used: a: XAI_API_KEY is not set; b: GROQ_API_KEY is not set" {
		t.Error(got)
	}
}

func TestFallbacksThatCannotBeUsedAreLeftOut(t *testing.T) {
	r := open(t, registry.Options{Models: []registry.Config{
		{Name: "a", Provider: "ollama", Model: "m", Fallbacks: []string{"b", "c"}}, {Name: "b", Provider: "xai", Model: "m"}, {Name: "c", Provider: "vllm", Model: "m"},
	}})
	e, _ := r.Lookup("a")
	if got := r.FallbacksOf(e); len(got) != 1 || got[0].(model.Describer).Describe().Provider != "vllm" {
		t.Errorf("got %v", got)
	}
}

// chat is a server that speaks Chat Completions and keeps what it is asked.
type chat struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []map[string]any
	auth   []string
	hold   chan struct{} // if set, answers wait for it
	busy   chan struct{}
	status int
}

func newChat(t *testing.T) *chat {
	c := &chat{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body map[string]any
		_ = json.Unmarshal(data, &body)
		c.mu.Lock()
		c.bodies = append(c.bodies, body)
		c.auth = append(c.auth, r.Header.Get("Authorization"))
		c.mu.Unlock()
		if c.hold != nil {
			c.busy <- struct{}{}
			<-c.hold
		}
		if c.status != 0 {
			w.WriteHeader(c.status)
			fmt.Fprintf(w, `{"error":{"message":"the key %s is wrong at %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.URL)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}`, "\n\n",
			`data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "\n\n",
			`data: {"choices":[],"usage":{"prompt_tokens":1000,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":400}}}`, "\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(c.Close)
	return c
}

// drain reads an answer and returns its last usage.
func drain(ctx context.Context, m model.Model, req model.Request) (item.Usage, error) {
	var u item.Usage
	for part, err := range m.Stream(ctx, req) {
		if err != nil {
			return u, err
		}
		if p, ok := part.(model.Usage); ok {
			u = p.Usage
		}
	}
	return u, nil
}

var question = []item.Message{item.UserText("u", "hi")}

func TestSettingsReachTheProvider(t *testing.T) {
	server := newChat(t)
	yes, no := true, false
	r := open(t, registry.Options{Getenv: env("K", "sk-canary"), Models: []registry.Config{{
		Name: "mine", Provider: "acme", Model: "m-1", BaseURL: server.URL + "/v1", KeyEnv: "K", Thinking: &yes, ReasoningEffort: &no, ContextWindow: 1234,
		Price: registry.Price{Input: 2, Output: 8, CacheRead: 0.5}, Extra: map[string]any{"seed": 7},
		WhenThinking: map[string]any{"thinking": map[string]any{"type": "enabled"}, "top_k": 1},
	}}})
	e, _, err := r.Resolve("mine", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := (model.Info{Provider: "acme", Model: "m-1", ContextWindow: 1234, Thinking: true, Vision: true}); e.Info != want {
		t.Errorf("info %+v", e.Info)
	}
	u, err := drain(t.Context(), e.Model(), model.Request{
		Messages: question, Thinking: model.Thinking{On: true, Effort: "high"}, Extra: map[string]json.RawMessage{"top_k": json.RawMessage("5")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(600*2 + 400*0.5 + 10*8); u.CostMicros != want {
		t.Errorf("cost %d, want %d", u.CostMicros, want)
	}
	if _, err := drain(t.Context(), e.Model(), model.Request{Messages: question}); err != nil {
		t.Fatal(err)
	}
	thought, plain := server.bodies[0], server.bodies[1]
	if thought["thinking"] == nil || thought["top_k"] != 5.0 || thought["seed"] != 7.0 || thought["reasoning_effort"] != nil {
		t.Errorf("with thinking: %v", thought)
	}
	if plain["thinking"] != nil || plain["top_k"] != nil || plain["seed"] != 7.0 {
		t.Errorf("without: %v", plain)
	}
	if server.auth[0] != "Bearer sk-canary" {
		t.Error("the key was not sent")
	}
}

func TestConcurrentCallsAreLimited(t *testing.T) {
	server := newChat(t)
	server.hold, server.busy = make(chan struct{}), make(chan struct{})
	r := open(t, registry.Options{Models: []registry.Config{{Name: "m", Provider: "acme", Model: "m", BaseURL: server.URL, MaxConcurrent: 2}}})
	m := r.Models()[0].Model()
	done := make(chan error)
	for range 5 {
		go func() {
			_, err := drain(context.Background(), m, model.Request{Messages: question})
			done <- err
		}()
	}
	for range 2 {
		<-server.busy
	}
	// Whoever waits for a turn can be cancelled while it waits.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := drain(ctx, m, model.Request{Messages: question}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third call went through: %v", err)
	}
	server.mu.Lock()
	if n := len(server.bodies); n != 2 {
		t.Errorf("%d calls at the same time, want 2", n)
	}
	server.mu.Unlock()
	go func() {
		for range 3 {
			<-server.busy
		}
	}()
	close(server.hold)
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// A reader that breaks out of the loop gives its turn back.
func TestBreakingOffFreesTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		yes := true
		r := open(t, registry.Options{Models: []registry.Config{{Name: "m", Provider: "offline", Model: "offline", MaxConcurrent: 1, Thinking: &yes}}})
		m := r.Models()[0].Model()
		for range 3 {
			for range m.Stream(t.Context(), model.Request{Messages: question}) {
				break
			}
		}
	})
}

func TestSecretsArePrintedNowhere(t *testing.T) {
	const canary = "canary-5ecret"
	server := newChat(t)
	server.status = http.StatusUnauthorized
	address := strings.Replace(server.URL, "http://", "http://user:"+canary+"@", 1) + "/v1?sig=" + canary
	c := registry.Config{
		Name: "m", Provider: "acme", Model: "m", Key: registry.NewSecret(canary), BaseURL: address, Headers: map[string]string{"X-Token": canary},
	}
	r := open(t, registry.Options{Models: []registry.Config{c}})
	e := r.Models()[0]
	_, err := drain(t.Context(), e.Model(), model.Request{Messages: question})
	if err == nil {
		t.Fatal("no error")
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	logger.Info("x", "config", c, "configs", []registry.Config{c}, "entry", e, "err", err, "registry", r)
	encoded, _ := json.Marshal(map[string]any{"c": c, "cs": []registry.Config{c}, "e": e})
	prints := []string{log.String(), string(encoded), err.Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		for _, v := range []any{c, &c, []registry.Config{c}, e, r, err, e.Model(), struct{ C registry.Config }{c}} {
			prints = append(prints, fmt.Sprintf(verb, v))
		}
	}
	if i := slices.IndexFunc(prints, func(s string) bool { return strings.Contains(s, canary) }); i >= 0 {
		t.Errorf("a secret is printed: %.300s", prints[i])
	}
}

func TestCost(t *testing.T) {
	p := registry.Price{Input: 3, Output: 15}
	for _, c := range []struct {
		price registry.Price
		usage item.Usage
		want  int64
	}{
		{p, item.Usage{}, 0},
		{p, item.Usage{InputTokens: 1_000_000, OutputTokens: 1_000_000}, 18_000_000},
		{p, item.Usage{InputTokens: 100, CachedTokens: 50}, 300},
		{registry.Price{Input: 3, CacheRead: 0.3, CacheWrite: 3.75}, item.Usage{InputTokens: 1000, CachedTokens: 600, CacheWriteTokens: 200}, 600 + 180 + 750},
		{registry.Price{}, item.Usage{InputTokens: 7}, 0},
		{p, item.Usage{InputTokens: 1, CachedTokens: 5}, 15}, // a provider that counts differently is not paid by us
	} {
		if got := c.price.Cost(c.usage); got != c.want {
			t.Errorf("%+v of %+v: got %d, want %d", c.price, c.usage, got, c.want)
		}
	}
}
