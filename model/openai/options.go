package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/known"
)

// Key is an API key. It prints as ***; make one with [NewKey].
type Key = eventstream.Key

// NewKey makes a Key of a secret; of the empty string, no key.
func NewKey(key string) Key { return eventstream.NewKey(key) }

// Options say which model to call and how. Only Model is needed; the zero values of the others talk to
// OpenAI without a key, which suits servers on the own machine once BaseURL is set.
//
// The environment is not read: OPENAI_API_KEY must not travel to another provider by accident.
type Options struct {
	// Model is the provider's name of the model; on Azure, of the deployment.
	Model string
	Key   Key
	// BaseURL is that of the API, with its version ("https://api.deepseek.com/v1"). Empty: OpenAI's. On
	// Azure, the resource's endpoint.
	BaseURL string
	// Provider names the one behind BaseURL in errors and descriptions, decides whose reasoning may be sent
	// back, and which habits to expect. Empty: recognised by the host, or else the host itself.
	Provider string

	// AzureVersion, where set, makes BaseURL an Azure endpoint that is called with this API version.
	AzureVersion string
	// Token, where set, takes the place of Key: it gives the bearer token of each call. On Azure that is what a credential
	// of azidentity answers for the scope https://cognitiveservices.azure.com/.default. It is asked for every call, so it
	// should keep the token while that is valid.
	Token func(context.Context) (Key, error)

	// HTTPClient is used for all calls; nil: one without any time-out, since FirstTimeout and IdleTimeout
	// know better when an answer is late. No redirect to another host is followed.
	HTTPClient *http.Client
	Headers    map[string]string // sent with every call; their values are treated as secrets

	// FirstTimeout limits the wait for an answer to begin, IdleTimeout that for its next piece. Zero: five
	// and three minutes, since models think for long; negative: no limit.
	FirstTimeout time.Duration
	IdleTimeout  time.Duration

	// Limits bound an answer's bytes; what is in it is bounded by who reads it.
	Limits model.Limits

	// Extra is merged into each request object before the request's own Extra. A null removes a field.
	Extra map[string]json.RawMessage

	ContextWindow int  // tokens; only described. 0: what is known of the model
	Thinking      bool // can be asked to think, whatever is known of the model; only described
	TextOnly      bool // takes neither images nor files
	// ThinkOpened says that the model's prompt ends with <think>, so that an answer over Chat Completions begins inside of what
	// was thought, and only </think> is in its text. Servers that separate the two themselves are recognised.
	ThinkOpened bool
	// Tools are the provider's own tools, as its API spells them, offered beside those of every request.
	Tools []json.RawMessage
}

const (
	defaultFirst = 5 * time.Minute
	defaultIdle  = 3 * time.Minute
)

// Names of providers whose habits differ from OpenAI's in what they want to be sent.
const (
	providerOpenAI     = "openai"
	providerAzure      = "azure"
	providerDeepSeek   = "deepseek"
	providerOpenRouter = "openrouter"
	providerQwen       = "qwen"
	providerKimi       = "kimi"
	providerGemini     = "gemini"
)

// hosts recognises providers by the end of their host name.
var hosts = []struct{ suffix, provider string }{
	{"openai.com", providerOpenAI},
	{"openai.azure.com", providerAzure},
	{"cognitiveservices.azure.com", providerAzure},
	{"deepseek.com", providerDeepSeek},
	{"openrouter.ai", providerOpenRouter},
	{"aliyuncs.com", providerQwen},
	{"moonshot.cn", providerKimi},
	{"moonshot.ai", providerKimi},
	{"groq.com", "groq"},
	{"x.ai", "xai"},
	{"mistral.ai", "mistral"},
	{"together.xyz", "together"},
	{"fireworks.ai", "fireworks"},
	{"googleapis.com", providerGemini},
}

func (o Options) provider() string {
	switch {
	case o.Provider != "":
		return o.Provider
	case o.AzureVersion != "":
		return providerAzure
	case o.BaseURL == "":
		return providerOpenAI
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Hostname() == "" {
		return "openai-compatible"
	}
	host := strings.ToLower(u.Hostname())
	for _, h := range hosts {
		if host == h.suffix || strings.HasSuffix(host, "."+h.suffix) {
			return h.provider
		}
	}
	return u.Host
}

func (o Options) info() model.Info {
	provider := o.provider()
	can := known.Of(provider, o.Model)
	return model.Info{
		Provider: provider, Model: o.Model, ContextWindow: cmp.Or(o.ContextWindow, can.Window), Thinking: o.Thinking || can.Thinking, Vision: !o.TextOnly,
	}
}

// secrets are all values that must not show in a message.
func (o Options) secrets() []Key {
	keys := []Key{o.Key}
	for _, v := range o.Headers {
		keys = append(keys, NewKey(v), NewKey(strings.TrimPrefix(v, "Bearer ")))
	}
	if u, err := url.Parse(o.BaseURL); err == nil {
		keys = append(keys, eventstream.KeysIn(u)...)
	}
	return slices.DeleteFunc(keys, Key.IsZero)
}

// endpoint is where requests of one kind go.
func (o Options) endpoint(path string) endpoint.Endpoint {
	e := endpoint.Endpoint{
		Sign: o.sign, Token: o.Token, Client: eventstream.Client(o.HTTPClient, o.Limits),
		Fault: eventstream.Fault{Provider: o.provider(), Secrets: o.secrets()},
	}
	u, err := url.Parse(cmp.Or(o.BaseURL, "https://api.openai.com/v1"))
	if err != nil {
		u = &url.URL{} // which every call refuses
	}
	if o.AzureVersion != "" {
		if path == chatPath || path == embeddingsPath {
			path = "deployments/" + url.PathEscape(o.Model) + "/" + path
		}
		query := u.Query()
		query.Set("api-version", o.AzureVersion)
		u.RawQuery = query.Encode()
		path = "openai/" + path
	}
	e.URL = u.JoinPath(path)
	return e
}

// sign proves who sends a call.
func (o Options) sign(h http.Header) {
	h.Set("Accept", "text/event-stream")
	o.prove(h)
}

// prove adds the key and the headers of the options.
func (o Options) prove(h http.Header) {
	switch {
	case o.Key.IsZero() || o.Token != nil:
	case o.AzureVersion != "":
		h.Set("Api-Key", o.Key.Reveal())
	default:
		h.Set("Authorization", "Bearer "+o.Key.Reveal())
	}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
}

func (o Options) timeouts() (first, idle time.Duration) {
	return cmp.Or(o.FirstTimeout, defaultFirst), cmp.Or(o.IdleTimeout, defaultIdle)
}

// extra joins what the options and the request want added. A request's word wins.
func (o Options) extra(req model.Request) map[string]json.RawMessage {
	all := maps.Clone(o.Extra)
	if all == nil {
		return req.Extra
	}
	maps.Copy(all, req.Extra)
	return all
}

// withoutSecrets is what a model keeps: whoever prints it must not see what it was told in confidence.
func (o Options) withoutSecrets() Options {
	o.Key, o.Headers, o.BaseURL, o.Token = Key{}, nil, "", nil
	return o
}
