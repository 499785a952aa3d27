package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/anthropic"
	"github.com/tributary-ai/tributary/model/gemini"
	"github.com/tributary-ai/tributary/model/offline"
	"github.com/tributary-ai/tributary/model/openai"
)

// provider is how a service is reached.
type provider struct {
	keyEnv  string // its usual variable; empty if it needs no key
	urlEnv  string // the variable that says where it is instead
	baseURL string // its usual address, where the package does not know it
	make    func(settings) (model.Model, error)
	needURL bool
}

// settings are a Config, read and checked.
type settings struct {
	Config
	provider string
	key      Secret
	headers  map[string]string
	extra    map[string]json.RawMessage
	tools    []json.RawMessage
	opened   bool // see [Config.ThinkOpened]
	client   *http.Client
	limits   model.Limits
}

var providers = map[string]provider{
	"openai":           {keyEnv: "OPENAI_API_KEY", urlEnv: "OPENAI_BASE_URL", make: makeChat},
	"openai-responses": {keyEnv: "OPENAI_API_KEY", urlEnv: "OPENAI_BASE_URL", make: makeResponses},
	"azure":            {keyEnv: "AZURE_OPENAI_API_KEY", make: makeChat, needURL: true},
	"anthropic":        {keyEnv: "ANTHROPIC_API_KEY", urlEnv: "ANTHROPIC_BASE_URL", make: makeAnthropic},
	"gemini":           {keyEnv: "GEMINI_API_KEY", urlEnv: "GEMINI_BASE_URL", make: makeGemini},
	"offline":          {make: makeOffline},

	"deepseek":   {keyEnv: "DEEPSEEK_API_KEY", baseURL: "https://api.deepseek.com/v1", make: makeChat},
	"qwen":       {keyEnv: "DASHSCOPE_API_KEY", baseURL: "https://dashscope.aliyuncs.com/compatible-mode/v1", make: makeChat},
	"kimi":       {keyEnv: "MOONSHOT_API_KEY", baseURL: "https://api.moonshot.cn/v1", make: makeChat},
	"groq":       {keyEnv: "GROQ_API_KEY", baseURL: "https://api.groq.com/openai/v1", make: makeChat},
	"openrouter": {keyEnv: "OPENROUTER_API_KEY", baseURL: "https://openrouter.ai/api/v1", make: makeChat},
	"xai":        {keyEnv: "XAI_API_KEY", baseURL: "https://api.x.ai/v1", make: makeChat},
	"vllm":       {baseURL: "http://localhost:8000/v1", make: makeChat},
	"ollama":     {baseURL: "http://localhost:11434/v1", make: makeChat},
}

// Providers are the names that need no BaseURL, except Azure's, in order.
func Providers() []string { return slices.Sorted(maps.Keys(providers)) }

// azureVersion is the last API version that Azure calls stable.
const azureVersion = "2024-10-21"

func openaiOptions(s settings) openai.Options {
	o := openai.Options{
		Model: s.Model, Key: s.key, BaseURL: s.BaseURL, HTTPClient: s.client, Limits: s.limits, Headers: s.headers,
		FirstTimeout: s.FirstTimeout, IdleTimeout: s.IdleTimeout, Extra: s.extra, ContextWindow: s.ContextWindow,
		Thinking: s.Thinking != nil && *s.Thinking, TextOnly: s.Vision != nil && !*s.Vision, ThinkOpened: s.opened, Tools: s.tools,
	}
	switch s.provider {
	case "openai", "openai-responses": // recognised by the address, which may be another's
	case "azure":
		o.AzureVersion = azureVersion
		if s.APIVersion != "" {
			o.AzureVersion = s.APIVersion
		}
	default:
		o.Provider = s.provider
	}
	return o
}

func makeChat(s settings) (model.Model, error)      { return openai.Chat(openaiOptions(s)), nil }
func makeResponses(s settings) (model.Model, error) { return openai.Responses(openaiOptions(s)), nil }

func makeAnthropic(s settings) (model.Model, error) {
	// Prompts grow at their end only, so their beginning is worth remembering.
	cache := cmp.Or(s.Cache, "5m")
	if cache == "off" {
		cache = ""
	}
	return anthropic.New(anthropic.Options{
		Model: s.Model, Key: s.key, BaseURL: s.BaseURL, HTTPClient: s.client, Limits: s.limits, Headers: askForBetas(s.headers, s.tools),
		Cache: cache, Tools: s.tools,
		FirstTimeout: s.FirstTimeout, IdleTimeout: s.IdleTimeout, Extra: s.extra, ContextWindow: s.ContextWindow,
	})
}

func makeGemini(s settings) (model.Model, error) {
	return gemini.New(gemini.Options{
		Tools: s.tools,
		Model: s.Model, Key: s.key, BaseURL: s.BaseURL, HTTPClient: s.client, Limits: s.limits, Headers: s.headers,
		FirstTimeout: s.FirstTimeout, IdleTimeout: s.IdleTimeout, Extra: s.extra, ContextWindow: s.ContextWindow,
	})
}

func makeOffline(settings) (model.Model, error) { return offline.New(offline.Options{}), nil }

func checkURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("is not an http address, as in https://example.org/v1")
	}
	return nil
}

// lookup finds how a Config's service is reached.
func lookup(c Config) (provider, error) {
	if c.BaseURL != "" {
		if err := checkURL(c.BaseURL); err != nil {
			return provider{}, fmt.Errorf("base_url %w", err)
		}
	}
	p, ok := providers[c.Provider]
	switch {
	case ok && p.needURL && c.BaseURL == "":
		return p, fmt.Errorf("provider %s needs a base_url", c.Provider)
	case ok:
		return p, nil
	case c.Provider == "":
		return p, fmt.Errorf("it has no provider; known are %v", Providers())
	case c.BaseURL == "":
		return p, fmt.Errorf("provider %q is not known and has no base_url; known are %v", c.Provider, Providers())
	}
	return provider{make: makeChat}, nil
}
