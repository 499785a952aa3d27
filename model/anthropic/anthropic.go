package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
	"github.com/tributary-ai/tributary/model/internal/request"
)

// Key is a secret that prints as ***.
type Key = eventstream.Key

// NewKey makes a Key of a secret; of the empty string, no key.
func NewKey(secret string) Key { return eventstream.NewKey(secret) }

// Options say which model to ask, and how. Only Model must be set.
type Options struct {
	Model string // the provider's name for it
	Key   Key    // sent as X-Api-Key; nothing is read from the environment
	// BaseURL is where v1/messages is found; empty for Anthropic's own.
	BaseURL string
	// Provider is the name in errors, events and reasoning items; empty for "anthropic". Servers that offer
	// the same wire sign their own reasoning and should have their own name.
	Provider   string
	HTTPClient *http.Client // nil for the default; it should have no time-out of its own. It is led to no other host
	Headers    map[string]string

	// FirstTimeout bounds the wait for the first event, IdleTimeout that between two readings of the
	// connection. Zero means two minutes and one minute; negative, no limit.
	FirstTimeout, IdleTimeout time.Duration

	// Limits bound an answer's bytes; what is in it is bounded by who reads it.
	Limits model.Limits

	// MaxTokens is asked for when a request does not say; the API has no default. Zero: what the model allows,
	// as far as its name tells.
	MaxTokens int
	// Cache marks the tools, the system prompt and the last message for the provider's prompt cache, which
	// makes long conversations cheaper and single calls dearer: "5m" or "1h"; empty for no marks.
	Cache string
	// Thinking says how the model is asked to think: "adaptive" (it decides, effort guides), "budget" (a
	// number of tokens), or "none". Empty: by the model's name.
	Thinking string
	// Tools are the provider's own tools, as its API spells them, offered beside those of every request.
	Tools []json.RawMessage
	// Extra is merged into every request object as a JSON merge patch, before the request's own.
	Extra map[string]json.RawMessage
	// ContextWindow is the number of tokens that fit; zero for what is usual.
	ContextWindow int
	// Request options of the SDK are applied last. This is how Bedrock and Vertex are reached:
	// bedrock.WithConfig(cfg), vertex.WithGoogleAuth(ctx, region, project).
	Request []option.RequestOption
}

// Model is a Claude model. It is safe for concurrent use.
type Model struct {
	opts     Options
	client   sdk.Client
	fault    eventstream.Fault
	thinking string
}

var (
	_ model.Model     = (*Model)(nil)
	_ model.Describer = (*Model)(nil)
)

const (
	defaultFirst = 2 * time.Minute
	defaultIdle  = time.Minute
)

// New returns the model that the options describe. No connection is made.
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("anthropic: options name no model")
	}
	switch o.Cache {
	case "", "5m", "1h":
	default:
		return nil, errors.New(`anthropic: cache must be "5m", "1h" or empty, not "` + o.Cache + `"`)
	}
	switch o.Thinking {
	case "", adaptive, budget, none:
	default:
		return nil, errors.New(`anthropic: thinking must be "adaptive", "budget", "none" or empty, not "` + o.Thinking + `"`)
	}
	o.Provider = cmp.Or(o.Provider, "anthropic")
	o.FirstTimeout = cmp.Or(o.FirstTimeout, defaultFirst)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdle)
	o.MaxTokens = cmp.Or(o.MaxTokens, maxTokens(o.Model))
	o.ContextWindow = cmp.Or(o.ContextWindow, contextWindow(o.Model))

	req := []option.RequestOption{
		option.WithoutEnvironmentDefaults(), // values come from the caller, not from who happens to be logged in
		option.WithMaxRetries(0),            // only the caller knows whether somebody has read half of the answer
		option.WithoutOpenTelemetry(),       // a call is one span of ours already
	}
	if !o.Key.IsZero() {
		req = append(req, option.WithAPIKey(o.Key.Reveal()))
	}
	fault := eventstream.Fault{Provider: o.Provider, Secrets: []Key{o.Key}}
	if o.BaseURL != "" {
		u, err := url.Parse(o.BaseURL)
		if err != nil || u.Host == "" {
			return nil, errors.New("anthropic: the base URL is not an absolute URL")
		}
		fault.Secrets = append(fault.Secrets, eventstream.KeysIn(u)...)
		for name, values := range u.Query() { // which the SDK would drop
			for _, v := range values {
				req = append(req, option.WithQueryAdd(name, v))
			}
		}
		u.RawQuery = ""
		req = append(req, option.WithBaseURL(strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1")))
	}
	req = append(req, option.WithHTTPClient(eventstream.Client(o.HTTPClient, o.Limits)))
	for name, value := range o.Headers {
		req = append(req, option.WithHeader(name, value))
		if len(value) >= 8 { // shorter ones are flags and versions
			fault.Secrets = append(fault.Secrets, NewKey(value))
		}
	}
	return &Model{
		opts:     o,
		client:   sdk.NewClient(append(append(req, o.Request...), option.WithMiddleware(tell))...),
		fault:    fault,
		thinking: cmp.Or(o.Thinking, thinkingOf(o.Model)),
	}, nil
}

// tell is the last thing that happens to a request before it goes out.
func tell(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	request.Tell(req)
	return next(req)
}

// Describe says which model this is.
func (m *Model) Describe() model.Info {
	return model.Info{
		Provider: m.opts.Provider, Model: m.opts.Model, ContextWindow: m.opts.ContextWindow,
		Thinking: m.thinking != none, Vision: true,
	}
}

// Stream asks the model.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		body, err := m.body(req)
		if err != nil {
			yield(nil, m.fault.BadRequest(err.Error()))
			return
		}
		ctx, watch := eventstream.NewWatch(ctx, m.opts.FirstTimeout, m.opts.IdleTimeout)
		defer watch.Stop()
		var resp *http.Response
		if err := m.client.Post(request.Telling(ctx, req.Sent), "v1/messages", body, &resp); err != nil {
			yield(nil, m.callError(ctx, err))
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if err := m.read(ctx, resp, watch, yield); err != nil {
			yield(nil, err)
		}
	}
}

// read yields the parts of an answer. A nil error means that the answer is complete or that nobody listens.
func (m *Model) read(ctx context.Context, resp *http.Response, watch *eventstream.Watch, yield func(model.Part, error) bool) error {
	if err := m.notAStream(ctx, resp); err != nil {
		return err
	}
	events := eventstream.NewReader(watch.Body(resp.Body)).Limit(m.opts.Limits.EventBytes)
	d := decoder{fault: m.fault}
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return m.fault.Incomplete()
		}
		if err != nil {
			return m.fault.Err(ctx, err)
		}
		watch.Event()
		parts, err := d.decode(ev.Name, ev.Data)
		for _, p := range parts {
			if !yield(p, nil) {
				return nil
			}
		}
		if err != nil || d.finished {
			return err
		}
	}
}

// maxErrorBody is as much of an answer that is no stream as is read to find out why.
const maxErrorBody = 1 << 20

// notAStream recognises the answers of gateways that report errors with status 200.
func (m *Model) notAStream(ctx context.Context, resp *http.Response) error {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if media != "application/json" && media != "text/html" {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return m.fault.Err(ctx, err)
	}
	var object struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &object) == nil && object.Error != nil {
		return m.fault.Payload(body)
	}
	return m.fault.Broken("the answer is "+media+" and no event stream; check the base URL", nil)
}

// callError names why a call was not answered, or answered with an error status.
func (m *Model) callError(ctx context.Context, err error) error {
	var api *sdk.Error
	if errors.As(err, &api) && ctx.Err() == nil {
		var header http.Header
		if api.Response != nil {
			header = api.Response.Header
		}
		return m.fault.Status(api.StatusCode, header, []byte(api.RawJSON()))
	}
	var outer *url.Error
	if errors.As(err, &outer) {
		err = outer.Err // without the URL of the call: people put keys into its query
	}
	return m.fault.Err(ctx, err)
}
