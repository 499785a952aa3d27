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

	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/internal/endpoint"
	"github.com/tributary-ai/tributary/model/internal/eventstream"
)

// Key is a secret that prints as ***.
type Key = eventstream.Key

// NewKey makes a Key of a secret; of the empty string, no key.
func NewKey(secret string) Key { return eventstream.NewKey(secret) }

// Options say which model to ask, and how. Only Model must be set.
type Options struct {
	Model string // the provider's name for it
	Key   Key    // sent as X-Api-Key; nothing is read from the environment
	// Token, where set, gives the bearer token of each call, as Vertex AI wants it. It is asked for every
	// call, so it should keep the token while it is valid; an oauth2.TokenSource does.
	Token func(context.Context) (Key, error)
	// Project and Location choose Vertex AI. Location alone is not enough; Project alone means "global".
	Project, Location string
	// BaseURL is where v1/messages is found, on Vertex AI v1/projects; empty for Anthropic's own, or Google's.
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
}

// Model is a Claude model. It is safe for concurrent use.
type Model struct {
	opts     Options
	at       endpoint.Endpoint
	whole    endpoint.Endpoint // for answers that are not streamed
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
	if o.Location != "" && o.Project == "" {
		return nil, errors.New("anthropic: a location needs a project")
	}
	o.Provider = cmp.Or(o.Provider, "anthropic")
	o.FirstTimeout = cmp.Or(o.FirstTimeout, defaultFirst)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdle)
	o.MaxTokens = cmp.Or(o.MaxTokens, maxTokens(o.Model))
	o.ContextWindow = cmp.Or(o.ContextWindow, contextWindow(o.Model))

	u, err := o.address(":streamRawPredict")
	if err != nil {
		return nil, err
	}
	unstreamed, err := o.address(":rawPredict")
	if err != nil {
		return nil, err
	}
	fault := eventstream.Fault{Provider: o.Provider, Secrets: append([]Key{o.Key}, eventstream.KeysIn(u)...)}
	for _, value := range o.Headers {
		if len(value) >= 8 { // shorter ones are flags and versions
			fault.Secrets = append(fault.Secrets, NewKey(value))
		}
	}
	m := &Model{
		opts:     o,
		at:       endpoint.Endpoint{URL: u, Sign: o.sign, Token: o.Token, Client: eventstream.Client(o.HTTPClient, o.Limits), Fault: fault},
		thinking: cmp.Or(o.Thinking, thinkingOf(o.Model)),
	}
	m.whole = m.at
	m.whole.URL = unstreamed
	return m, nil
}

// address is where calls go. Vertex AI names in it what is to be done.
func (o *Options) address(do string) (*url.URL, error) {
	base, path := "https://api.anthropic.com", "v1/messages"
	if o.Project != "" {
		o.Location = cmp.Or(o.Location, "global")
		base = "https://" + o.Location + "-aiplatform.googleapis.com"
		if o.Location == "global" {
			base = "https://aiplatform.googleapis.com"
		}
		path = "v1/projects/" + url.PathEscape(o.Project) + "/locations/" + url.PathEscape(o.Location) +
			"/publishers/anthropic/models/" + url.PathEscape(o.Model) + do
	}
	u, err := url.Parse(cmp.Or(o.BaseURL, base))
	if err != nil || u.Host == "" {
		return nil, errors.New("anthropic: the base URL is not an absolute URL")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1") // with or without the version
	return u.JoinPath(path), nil
}

// sign proves who sends a call.
func (o Options) sign(h http.Header) {
	if o.Project == "" {
		h.Set("Anthropic-Version", "2023-06-01")
	}
	if !o.Key.IsZero() {
		h.Set("X-Api-Key", o.Key.Reveal())
	}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
}

// Describe says which model this is.
func (m *Model) Describe() model.Info {
	return model.Info{
		Provider: m.opts.Provider, Model: m.opts.Model, ContextWindow: m.opts.ContextWindow,
		Thinking: m.thinking != none, Vision: true,
	}
}

// Stream asks the model. Who wants the whole answer at once gets it by a call that does not stream.
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		body, err := m.body(req)
		if err != nil {
			yield(nil, m.at.Fault.BadRequest(err.Error()))
			return
		}
		ctx, watch := eventstream.NewWatch(ctx, m.opts.FirstTimeout, m.opts.IdleTimeout)
		defer watch.Stop()
		at := &m.at
		if req.Whole {
			at = &m.whole
		}
		resp, fault, err := at.Post(ctx, body, req.Sent)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = resp.Body.Close() }()
		if err := m.read(ctx, resp, watch, fault, yield); err != nil {
			yield(nil, err)
		}
	}
}

// read yields the parts of an answer, streamed or not: servers do not always do as they are asked. A nil error means that the
// answer is complete or that nobody listens.
func (m *Model) read(ctx context.Context, resp *http.Response, watch *eventstream.Watch, fault eventstream.Fault, yield func(model.Part, error) bool) error {
	body := watch.Body(resp.Body)
	d := decoder{fault: fault}
	if media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media == "application/json" {
		parts, err := m.readWhole(ctx, &d, media, body)
		for _, p := range parts {
			if !yield(p, nil) {
				return nil
			}
		}
		return err
	}
	events := eventstream.NewReader(body).Limit(m.opts.Limits.EventBytes)
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return fault.Incomplete()
		}
		if err != nil {
			return fault.Err(ctx, err)
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

// readWhole reads an answer that is not streamed: a message, or the error of a gateway that reports it with status 200.
func (m *Model) readWhole(ctx context.Context, d *decoder, media string, body io.Reader) ([]model.Part, error) {
	most := m.opts.Limits.WithDefaults().EventBytes
	if most >= 0 {
		body = io.LimitReader(body, int64(most)+1)
	}
	data, err := io.ReadAll(body)
	if err == nil && most >= 0 && len(data) > most {
		err = &model.LimitError{Setting: "event_bytes", Limit: most}
	}
	if err != nil {
		return nil, d.fault.Err(ctx, err)
	}
	var msg message
	err = json.Unmarshal(data, &msg)
	switch {
	case err == nil && len(msg.Error) > 0:
		return nil, d.fault.Payload(data)
	case err != nil || msg.Type != "message":
		return nil, d.fault.Broken("the answer is "+media+" and neither an event stream nor a message; check the base URL", nil)
	case msg.Stop == "":
		return nil, d.fault.Incomplete()
	}
	return d.whole(&msg), nil
}
