package registry

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/known"
)

// Options are what a registry is made of.
type Options struct {
	// Models are the settings; none means the models whose keys are in the environment, and the offline model.
	Models []Config
	// Getenv and ReadFile replace those of package os, for tests.
	Getenv   func(string) string
	ReadFile func(string) ([]byte, error)
	// HTTPClient is used for all calls; nil: each provider's default.
	HTTPClient *http.Client
	// FirstTimeout and IdleTimeout are those of models that have none of their own.
	FirstTimeout, IdleTimeout time.Duration
	// Limits bound the bytes of an answer.
	Limits model.Limits
}

// Registry is a list of models. It does not change, and is safe for concurrent use.
type Registry struct {
	entries []Entry
	index   map[string]int
	implied bool // there were no settings
}

// Entry is a model of the registry.
type Entry struct {
	Name string // what it is called here
	model.Info
	ReasoningEffort bool // can be told how hard to think
	Temperature     bool // takes a temperature
	// Elsewhere is the environment variable that says at which address the model is, where the settings do not.
	Elsewhere     string
	Price         Price
	MaxConcurrent int
	Fallbacks     []string
	// Problem says why the model cannot be used; empty if it can.
	Problem string

	served *served
}

// Usable reports that the model can be called, as far as one can tell without calling it.
func (e Entry) Usable() bool { return e.Problem == "" }

// Model is the model itself; nil if it is not usable.
func (e Entry) Model() model.Model {
	if e.served == nil {
		return nil
	}
	return e.served
}

// New makes a registry.
func New(o Options) (*Registry, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.ReadFile == nil {
		o.ReadFile = os.ReadFile
	}
	r := &Registry{index: map[string]int{}, implied: len(o.Models) == 0}
	if r.implied {
		o.Models = fromEnvironment(o.Getenv)
	}
	for i, c := range o.Models {
		c.FirstTimeout = cmp.Or(c.FirstTimeout, o.FirstTimeout)
		c.IdleTimeout = cmp.Or(c.IdleTimeout, o.IdleTimeout)
		if c.Name == "" {
			return nil, fmt.Errorf("model %d has no name", i+1)
		}
		if _, taken := r.index[c.Name]; taken {
			return nil, fmt.Errorf("model %q: there are two of this name; rename one", c.Name)
		}
		e, err := entry(c, o)
		if err != nil {
			return nil, fmt.Errorf("model %q: %w", c.Name, err)
		}
		r.index[c.Name] = len(r.entries)
		r.entries = append(r.entries, e)
	}
	for _, e := range r.entries {
		for _, f := range e.Fallbacks {
			if _, ok := r.index[f]; !ok || f == e.Name {
				return nil, fmt.Errorf("model %q: its fallback %q is not another model", e.Name, f)
			}
		}
	}
	return r, nil
}

// fromEnvironment describes what works without settings. Models whose keys are missing are listed all the same, so
// that somebody who looks finds out what to do.
func fromEnvironment(getenv func(string) string) []Config {
	or := func(env, usual string) string {
		if v := getenv(env); v != "" {
			return v
		}
		return usual
	}
	openai := Config{Name: "openai", Provider: "openai-responses", Model: or("OPENAI_MODEL", "gpt-5-mini")}
	if getenv("OPENAI_BASE_URL") != "" {
		openai.Provider = "openai" // servers that speak like OpenAI mostly know Chat Completions only
	}
	return []Config{
		openai,
		{Name: "anthropic", Provider: "anthropic", Model: or("ANTHROPIC_MODEL", "claude-sonnet-4-5")},
		{Name: "gemini", Provider: "gemini", Model: or("GEMINI_MODEL", "gemini-2.5-flash")},
		{Name: "offline", Provider: "offline", Model: "offline"},
	}
}

// entry checks one Config. Its error is a mistake in the settings; what the machine lacks is the entry's Problem.
func entry(c Config, o Options) (Entry, error) {
	p, err := lookup(c)
	if err != nil {
		return Entry{}, err
	}
	if c.Model == "" {
		return Entry{}, errors.New("it does not say which model of the provider it is")
	}
	if err := c.check(); err != nil {
		return Entry{}, err
	}
	elsewhere, err := c.locate(p, o)
	if err != nil {
		return Entry{}, err
	}
	s := settings{Config: c, provider: c.Provider, client: o.HTTPClient, limits: o.Limits}
	if s.tools, err = providerTools(c); err != nil {
		return Entry{}, fmt.Errorf("provider_tools: %w", err)
	}
	can := known.Of(c.Provider, c.Model)
	if c.Provider == "openai-responses" {
		can = known.Of("openai", c.Model)
	}
	if c.Vision == nil && can.Blind {
		s.Vision = new(bool)
	}
	if s.opened = can.Opened; c.ThinkOpened != nil {
		s.opened = *c.ThinkOpened
	}
	if s.extra, err = raw(c.Extra); err != nil {
		return Entry{}, fmt.Errorf("extra: %w", err)
	}
	thinking, err := raw(c.WhenThinking)
	if err != nil {
		return Entry{}, fmt.Errorf("when_thinking_enabled: %w", err)
	}
	e := Entry{
		Name: c.Name, Price: c.Price, MaxConcurrent: c.MaxConcurrent, Fallbacks: c.Fallbacks,
		Info:            model.Info{Provider: c.Provider, Model: c.Model, ContextWindow: c.ContextWindow},
		ReasoningEffort: !can.NoEffort, Temperature: !can.NoTemp, Elsewhere: elsewhere,
	}
	set(&e.ReasoningEffort, c.ReasoningEffort)
	set(&e.Temperature, c.Temperature)
	var problem string
	if s.key, problem = key(c, p, o); problem == "" {
		s.headers, problem = headers(c, o)
	}
	inner, err := p.make(s)
	if err != nil {
		return Entry{}, err
	}
	if d, ok := inner.(model.Describer); ok {
		e.Info = d.Describe()
	}
	set(&e.Thinking, c.Thinking)
	set(&e.Vision, c.Vision)
	if e.Problem = problem; problem == "" {
		e.served = newServed(inner, e, thinking)
	}
	return e, nil
}

// locate fills in where the service is. It returns the variable that says so, if one does.
func (c *Config) locate(p provider, o Options) (elsewhere string, err error) {
	if c.BaseURL == "" && p.urlEnv != "" {
		if c.BaseURL = strings.TrimSpace(o.Getenv(p.urlEnv)); c.BaseURL != "" {
			elsewhere = p.urlEnv
			if err := checkURL(c.BaseURL); err != nil {
				return "", fmt.Errorf("%s %w", p.urlEnv, err)
			}
		}
	}
	if c.BaseURL == "" {
		c.BaseURL = p.baseURL
	}
	return elsewhere, nil
}

func set(to *bool, said *bool) {
	if said != nil {
		*to = *said
	}
}

// key finds a model's key, or says why there is none.
func key(c Config, p provider, o Options) (Secret, string) {
	switch {
	case !c.Key.IsZero():
		return c.Key, ""
	case c.KeyFile != "":
		data, err := o.ReadFile(c.KeyFile)
		if err != nil {
			return Secret{}, fmt.Sprintf("the key file cannot be read: %v", err)
		}
		if text := strings.TrimSpace(string(data)); text != "" {
			return NewSecret(text), ""
		}
		return Secret{}, fmt.Sprintf("the key file %s is empty", c.KeyFile)
	case c.KeyEnv != "":
		return keyFrom(o, c.KeyEnv, true)
	case p.keyEnv != "":
		// A server of one's own may need no key, whoever it speaks like.
		return keyFrom(o, p.keyEnv, c.BaseURL == p.baseURL || p.needURL)
	}
	return Secret{}, ""
}

func keyFrom(o Options, env string, needed bool) (Secret, string) {
	k := strings.TrimSpace(o.Getenv(env))
	if k == "" && needed {
		return Secret{}, env + " is not set"
	}
	return NewSecret(k), ""
}

func headers(c Config, o Options) (map[string]string, string) {
	out := map[string]string{}
	for name, value := range c.Headers {
		if env, ok := strings.CutPrefix(value, "$"); ok {
			if value = o.Getenv(env); value == "" {
				return nil, fmt.Sprintf("%s, for the header %s, is not set", env, name)
			}
		}
		out[name] = value
	}
	return out, ""
}

// raw encodes the values of an object.
func raw(object map[string]any) (map[string]json.RawMessage, error) {
	if len(object) == 0 {
		return nil, nil
	}
	out := make(map[string]json.RawMessage, len(object))
	for k, v := range object {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", k, err)
		}
		out[k] = data
	}
	return out, nil
}

// Models lists the models in the order of the settings, those that cannot be used included.
func (r *Registry) Models() []Entry { return append([]Entry(nil), r.entries...) }

// List says of each what people who choose want to know.
func (r *Registry) List() []model.Listed {
	usual, _, _ := r.Resolve("", "") // none, if no model can be used
	list := make([]model.Listed, 0, len(r.entries))
	for _, e := range r.entries {
		list = append(list, model.Listed{Name: e.Name, Info: e.Info, ReasoningEffort: e.ReasoningEffort, Default: e.Name == usual.Name, Problem: e.Problem})
	}
	return list
}

// Lookup finds a model by its name here.
func (r *Registry) Lookup(name string) (Entry, bool) {
	i, ok := r.index[name]
	if !ok {
		return Entry{}, false
	}
	return r.entries[i], true
}

// FallbacksOf are the models to ask when one has failed for good, those that cannot be used left out.
func (r *Registry) FallbacksOf(e Entry) []model.Model {
	var out []model.Model
	for _, name := range e.Fallbacks {
		if f, ok := r.Lookup(name); ok && f.Usable() {
			out = append(out, f.Model())
		}
	}
	return out
}
