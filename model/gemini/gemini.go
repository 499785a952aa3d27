package gemini

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
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
	Model string // the provider's name for it, with or without "models/"
	Key   Key    // sent as X-Goog-Api-Key; nothing is read from the environment
	// Token, where set, gives the bearer token of each call, as Vertex AI wants it. It is asked for every
	// call, so it should keep the token while it is valid; an oauth2.TokenSource does.
	Token func(context.Context) (Key, error)
	// Project and Location choose Vertex AI. Location alone is not enough; Project alone means "global".
	Project, Location string
	// BaseURL is where models/… is found, with the version; empty for Google's own.
	BaseURL    string
	Provider   string       // the name in errors, events and reasoning items; empty for "gemini"
	HTTPClient *http.Client // nil for the default; it should have no time-out of its own. It is led to no other host
	// Limits bound an answer's bytes; what is in it is bounded by who reads it.
	Limits  model.Limits
	Headers map[string]string

	// FirstTimeout bounds the wait for the first chunk, IdleTimeout that between two readings of the
	// connection. Zero means three minutes and two, since a model that thinks sends nothing; negative, no limit.
	FirstTimeout, IdleTimeout time.Duration

	// Array asks for the answer as a JSON array instead of server-sent events, for proxies that hold those up.
	Array bool
	// Tools are the provider's own tools, such as {"googleSearch": {}}, offered beside those of every request.
	Tools []json.RawMessage
	// Extra is merged into every request object as a JSON merge patch, before the request's own.
	Extra map[string]json.RawMessage
	// ContextWindow is the number of tokens that fit; zero for what is usual.
	ContextWindow int
}

// Model is a Gemini model. It is safe for concurrent use.
type Model struct {
	opts  Options
	at    endpoint.Endpoint
	whole endpoint.Endpoint // for answers that are not streamed
}

var (
	_ model.Model     = (*Model)(nil)
	_ model.Describer = (*Model)(nil)
)

const (
	defaultBase  = "https://generativelanguage.googleapis.com/v1beta"
	defaultFirst = 3 * time.Minute
	defaultIdle  = 2 * time.Minute
)

// New returns the model that the options describe. No connection is made.
func New(o Options) (*Model, error) {
	o.Model = strings.TrimPrefix(o.Model, "models/")
	if o.Model == "" {
		return nil, errors.New("gemini: options name no model")
	}
	if o.Location != "" && o.Project == "" {
		return nil, errors.New("gemini: a location needs a project")
	}
	o.Provider = cmp.Or(o.Provider, "gemini")
	o.FirstTimeout = cmp.Or(o.FirstTimeout, defaultFirst)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdle)
	m := &Model{opts: o, at: endpoint.Endpoint{
		Sign: o.sign, Token: o.Token, Client: eventstream.Client(o.HTTPClient, o.Limits),
		Fault: eventstream.Fault{Provider: o.Provider, Secrets: []Key{o.Key}},
	}}
	if err := m.locate(); err != nil {
		return nil, err
	}
	for _, value := range o.Headers {
		if len(value) >= 8 { // shorter ones are flags and versions
			m.at.Fault.Secrets = append(m.at.Fault.Secrets, NewKey(value))
		}
	}
	unstreamed := m.whole.URL
	m.whole = m.at
	m.whole.URL = unstreamed
	return m, nil
}

// sign proves who sends a call.
func (o Options) sign(h http.Header) {
	if !o.Key.IsZero() {
		h.Set("X-Goog-Api-Key", o.Key.Reveal())
	}
	for name, value := range o.Headers {
		h.Set(name, value)
	}
}

// locate makes the URLs of calls, with a stream and without.
func (m *Model) locate() error {
	o := &m.opts
	base, path := defaultBase, o.Model
	if !strings.Contains(path, "/") { // tuned models and endpoints are given with their path
		path = "models/" + url.PathEscape(path)
	}
	if o.Project != "" {
		o.Location = cmp.Or(o.Location, "global")
		host := o.Location + "-aiplatform.googleapis.com"
		if o.Location == "global" {
			host = "aiplatform.googleapis.com"
		}
		base = "https://" + host + "/v1"
		if strings.HasPrefix(path, "models/") {
			path = "publishers/google/" + path
		}
		if !strings.HasPrefix(path, "projects/") {
			path = "projects/" + url.PathEscape(o.Project) + "/locations/" + url.PathEscape(o.Location) + "/" + path
		}
	}
	u, err := url.Parse(cmp.Or(o.BaseURL, base))
	if err != nil || u.Host == "" {
		return errors.New("gemini: the base URL is not an absolute URL")
	}
	m.at.Fault.Secrets = append(m.at.Fault.Secrets, eventstream.KeysIn(u)...)
	m.whole.URL = u.JoinPath(path + ":generateContent")
	m.at.URL = u.JoinPath(path + ":streamGenerateContent")
	query := u.Query()
	m.whole.URL.RawQuery = query.Encode()
	if !o.Array {
		query.Set("alt", "sse")
	}
	m.at.URL.RawQuery = query.Encode()
	return nil
}

// Describe says which model this is.
func (m *Model) Describe() model.Info {
	window := m.opts.ContextWindow
	major, minor := generation(m.opts.Model)
	if window == 0 && major > 0 {
		window = 1 << 20
	}
	return model.Info{
		Provider: m.opts.Provider, Model: m.opts.Model, ContextWindow: window,
		Thinking: major > 2 || major == 2 && minor >= 5, Vision: true,
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
		if err := m.read(ctx, resp.Body, watch, fault, yield); err != nil {
			yield(nil, err)
		}
	}
}

// tracked remembers whether the body ended as it should, whatever the framing makes of it.
type tracked struct {
	io.Reader
	ended bool
}

func (s *tracked) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.ended = s.ended || err == io.EOF
	return n, err
}

// payloads returns a function that reads the next chunk of an answer, in either framing.
func payloads(r io.Reader, max int) func() ([]byte, error) {
	in := bufio.NewReaderSize(r, 16) // larger reads go past its buffer
	for {
		head, err := in.Peek(1)
		if err != nil {
			return func() ([]byte, error) { return nil, err }
		}
		switch head[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // the last three are a byte-order mark
			_, _ = in.Discard(1)
		case '[', '{':
			return eventstream.NewArray(in).Limit(max).Next
		default:
			events := eventstream.NewReader(in).Limit(max)
			return func() ([]byte, error) {
				ev, err := events.Next()
				return ev.Data, err
			}
		}
	}
}

// read yields the parts of an answer. A nil error means that the answer is complete or that nobody listens.
func (m *Model) read(ctx context.Context, body io.Reader, watch *eventstream.Watch, fault eventstream.Fault, yield func(model.Part, error) bool) error {
	src := &tracked{Reader: watch.Body(body)}
	next := payloads(src, m.opts.Limits.EventBytes)
	d := decoder{fault: fault}
	for {
		chunk, err := next()
		if err != nil {
			if failure := m.ended(ctx, err, src.ended, d.stop != "", fault); failure != nil {
				return failure
			}
			for _, p := range d.finish() {
				if !yield(p, nil) {
					return nil
				}
			}
			return nil
		}
		watch.Event()
		parts, err := d.decode(chunk)
		for _, p := range parts {
			if !yield(p, nil) {
				return nil
			}
		}
		if err != nil {
			return err
		}
	}
}

// ended says why an answer ends: nil if it is complete. clean says that the body ended as it should, done that the model
// has said that it is done.
func (m *Model) ended(ctx context.Context, err error, clean, done bool, fault eventstream.Fault) error {
	if done && ctx.Err() == nil {
		return nil // how the connection ends no longer matters
	}
	failure := fault.Err(ctx, err)
	var named *model.Error
	switch {
	case !errors.As(failure, &named): // the caller went away
		return failure
	case done:
		return nil
	case clean && named.Class != model.Broken && named.Class != model.TooMuch:
		return fault.Incomplete()
	}
	return failure
}
