package registry

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/openai"
)

// Secret is a key that prints as ***, whichever verb, encoder or logger it meets.
type Secret = openai.Key

// NewSecret makes a Secret of a key.
func NewSecret(key string) Secret { return openai.NewKey(key) }

// Config describes one model. Name, Provider and Model are needed; the rest depends on the provider.
type Config struct {
	Name string `yaml:"name"` // what it is called here
	// Provider is one of [Providers], or any other name together with a BaseURL that speaks Chat Completions.
	Provider string `yaml:"provider"`
	Model    string `yaml:"model"` // the provider's name for it; on Azure, the deployment's

	// KeyEnv is the environment variable that holds the key, KeyFile the file. With neither, the
	// provider's usual variable is read. Key, for programs that have the key already, comes before both.
	KeyEnv  string `yaml:"api_key_env"`
	KeyFile string `yaml:"api_key_file"`
	Key     Secret `yaml:"-"`

	BaseURL    string `yaml:"base_url"`    // empty: the provider's usual one
	APIVersion string `yaml:"api_version"` // of Azure
	// Headers are sent with every call. A value that begins with $ names an environment variable.
	Headers map[string]string `yaml:"headers"`

	ContextWindow int `yaml:"context_window"` // tokens; 0: what the provider's package knows
	// What the model can do; nil: what the provider's package knows.
	Thinking        *bool `yaml:"supports_thinking"`
	Vision          *bool `yaml:"supports_vision"`
	ReasoningEffort *bool `yaml:"supports_reasoning_effort"`
	Temperature     *bool `yaml:"supports_temperature"`
	// ThinkOpened says that the model's prompt ends with <think>, so that its answer begins inside of what it thought.
	ThinkOpened *bool `yaml:"think_opened"`

	// Tools are the provider's own tools, which it runs itself: names that [ProviderTools] knows, or objects as its API
	// spells them.
	Tools []any `yaml:"provider_tools"`
	// Cache is how long the provider is to remember the beginning of a conversation, where it wants to be asked: "5m", "1h" or
	// "off". Empty: 5m. Only Anthropic is asked; others do it by themselves.
	Cache string `yaml:"cache"`

	Price Price `yaml:"price"`
	// Extra is merged into every request object, WhenThinking into those that ask for thinking.
	Extra        map[string]any `yaml:"extra"`
	WhenThinking map[string]any `yaml:"when_thinking_enabled"`

	// MaxConcurrent is how many calls may be made at the same time; the others wait. 0: no limit.
	MaxConcurrent int `yaml:"max_concurrent"`
	// FirstTimeout bounds the wait for an answer to begin, IdleTimeout that for its next piece; 0: the provider's
	// package decides.
	FirstTimeout time.Duration `yaml:"first_timeout"`
	IdleTimeout  time.Duration `yaml:"idle_timeout"`

	// Fallbacks are the names of models to ask when this one has failed for good.
	Fallbacks []string `yaml:"fallbacks"`
}

// String names the model and nothing else: URLs and headers may hold secrets.
func (c Config) String() string { return fmt.Sprintf("%s (%s %s)", c.Name, c.Provider, c.Model) }

// GoString is String, so that %#v shows no more.
func (c Config) GoString() string { return c.String() }

// LogValue is String, so that a logger shows no more.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// MarshalJSON writes String: settings are read, never stored.
func (c Config) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }

// Price is what a million tokens cost, in whatever currency all prices are given in.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
	// CacheRead and CacheWrite are those of input from and into the provider's cache; 0: as Input.
	CacheRead  float64 `yaml:"cache_read"`
	CacheWrite float64 `yaml:"cache_write"`
}

// Cost is the price of a usage in millionths of the currency.
func (p Price) Cost(u item.Usage) int64 {
	read, write := p.CacheRead, p.CacheWrite
	if read == 0 {
		read = p.Input
	}
	if write == 0 {
		write = p.Input
	}
	plain := max(0, u.InputTokens-u.CachedTokens-u.CacheWriteTokens)
	// A price per million tokens is a price in millionths per token.
	return int64(math.Round(float64(plain)*p.Input + float64(u.CachedTokens)*read + float64(u.CacheWriteTokens)*write + float64(u.OutputTokens)*p.Output))
}

// check names the first setting that cannot be meant.
func (c Config) check() error {
	for _, n := range []struct {
		name  string
		value int
	}{{"max_concurrent", c.MaxConcurrent}, {"context_window", c.ContextWindow}} {
		if n.value < 0 {
			return fmt.Errorf("%s must not be negative, but is %d", n.name, n.value)
		}
	}
	switch c.Cache {
	case "", "5m", "1h", "off":
	default:
		return fmt.Errorf("cache must be 5m, 1h or off, not %q", c.Cache)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"first_timeout", c.FirstTimeout}, {"idle_timeout", c.IdleTimeout}} {
		if d.value > 0 && d.value < time.Millisecond {
			return fmt.Errorf("%s: %v is too short; give a unit, as in 30s", d.name, d.value)
		}
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"input", c.Price.Input}, {"output", c.Price.Output}, {"cache_read", c.Price.CacheRead}, {"cache_write", c.Price.CacheWrite}} {
		if p.value < 0 || math.IsNaN(p.value) || math.IsInf(p.value, 0) {
			return fmt.Errorf("price.%s must be a number of zero or more, not %v", p.name, p.value)
		}
	}
	return nil
}
