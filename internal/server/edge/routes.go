package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/admission"
)

// Handler is a route that knows who asks and may fail. An error means that nothing was written.
type Handler func(w http.ResponseWriter, r *http.Request, who run.Identity) error

// Options are the settings of [Routes]. Identify and Log are required.
type Options struct {
	// Identify says who asks; an error is answered with 401.
	Identify func(*http.Request) (run.Identity, error)
	// Prefix is the path below which the routes are mounted, for links; requests come without it.
	Prefix string
	// PlainNotFound tells what is not found as plain text, as LangGraph's JS server does.
	PlainNotFound bool
	// Gate bounds the bytes of large requests; nil for no bound.
	Gate *admission.Gate
	// Connections bounds the streams and sockets of each owner; nil for no bound.
	Connections *admission.Connections
	Log         *slog.Logger
}

// Routes is the table of routes, to which each dialect adds its own, with what they do.
type Routes struct {
	opt      Options
	mux      *http.ServeMux
	sections []Section
}

// Section is a part of the table with a name.
type Section struct {
	Name, About string
	Routes      []Route
}

// Route is a route with its description.
type Route struct {
	Pattern string // "METHOD /path/{name}"; the name of what is sent
	Open    bool   // everybody may call it
	Sent    bool   // it is sent by us, to an address that somebody gave
	Doc
}

// NewRoutes makes an empty table. Whatever it does not know is answered with 404.
func NewRoutes(opt Options) *Routes {
	t := &Routes{opt: opt, mux: http.NewServeMux()}
	t.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Fail(w, r, Refuse(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path))
	})
	return t
}

// Path is where clients find a path of ours.
func (t *Routes) Path(path string) string { return t.opt.Prefix + path }

// Section begins a part of the table: what is added next belongs to it.
func (t *Routes) Section(name, about string) {
	t.sections = append(t.sections, Section{Name: name, About: about})
}

func (t *Routes) add(r Route) {
	last := &t.sections[len(t.sections)-1]
	last.Routes = append(last.Routes, r)
}

// Handle adds a route, as "METHOD /path/{name}".
func (t *Routes) Handle(pattern string, h Handler, doc Doc) {
	t.add(Route{Pattern: pattern, Doc: doc})
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		who, err := t.opt.Identify(r)
		if err != nil {
			t.Fail(w, r, Refuse(http.StatusUnauthorized, err.Error()))
			return
		}
		if a, ok := w.(asked); ok {
			a.Asked(who)
		}
		if doc.lasts() {
			ctx, leave, err := t.opt.Connections.Open(r.Context(), who.Owner)
			if err != nil {
				t.Fail(w, r, err)
				return
			}
			defer leave()
			r = r.WithContext(ctx)
		}
		if err := t.admit(w, withoutEmpty(r), who, h); err != nil {
			t.Fail(w, r, err)
		}
	})
}

// asked is a writer that wants to know who asks, for the log.
type asked interface{ Asked(who run.Identity) }

// lasts reports that the connection may stay open for long: a stream or a socket.
func (d *Doc) lasts() bool {
	return d.Stream || slices.Contains(d.Status, http.StatusSwitchingProtocols)
}

// admit lets a request in when there is room for its body, and answers it. What has no length may be as long as any.
func (t *Routes) admit(w http.ResponseWriter, r *http.Request, who run.Identity, h Handler) error {
	size := r.ContentLength
	if size < 0 {
		size = MaxBody
	}
	if size <= admission.Small || size > MaxBody { // too large: it is not read
		return h(w, r, who)
	}
	ctx, release, err := t.opt.Gate.Enter(r.Context(), size)
	if err != nil {
		w.Header().Set("Connection", "close") // nobody reads the body
		return err
	}
	defer release()
	return h(w, r.WithContext(ctx), who)
}

// Open adds a route that everybody may call, whoever that is.
func (t *Routes) Open(pattern string, h func(w http.ResponseWriter, r *http.Request) error, doc Doc) {
	t.add(Route{Pattern: pattern, Open: true, Doc: doc})
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			t.Fail(w, r, err)
		}
	})
}

// Alias has a path and all below it be served under another name too, as the clients of somebody else's server know it. What is served is the
// route itself, so it is described once.
func (t *Routes) Alias(name, path string) {
	h := func(w http.ResponseWriter, r *http.Request) {
		same := r.WithContext(r.Context())
		at := *r.URL
		at.Path, at.RawPath = path+strings.TrimPrefix(at.Path, name), ""
		if raw := r.URL.RawPath; raw != "" {
			at.RawPath = path + strings.TrimPrefix(raw, name)
		}
		same.URL = &at
		t.mux.ServeHTTP(w, same)
	}
	t.mux.HandleFunc(name, h)
	t.mux.HandleFunc(name+"/", h)
}

// Sends adds what we send to others, as the body of a POST.
func (t *Routes) Sends(name string, doc Doc) { t.add(Route{Pattern: name, Sent: true, Doc: doc}) }

// Sections lists all that there is.
func (t *Routes) Sections() []Section { return t.sections }

// Patterns lists the routes that know who asks.
func (t *Routes) Patterns() []string {
	var patterns []string
	for _, s := range t.sections {
		for _, r := range s.Routes {
			if !r.Open && !r.Sent {
				patterns = append(patterns, r.Pattern)
			}
		}
	}
	return patterns
}

// ServeHTTP answers a request by its route.
func (t *Routes) ServeHTTP(w http.ResponseWriter, r *http.Request) { t.mux.ServeHTTP(w, r) }

// Fail answers a request with an error. The cause of a 5xx goes to the log and not to the client; what is lost is told to both.
func (t *Routes) Fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		return // nobody is there to be told
	}
	status, field := StatusOf(err)
	msg := err.Error()
	damage, damaged := damageOf(err)
	switch {
	case status == http.StatusServiceUnavailable && damaged:
		w.Header().Set("Retry-After", "60") // somebody has to do something first
		t.opt.Log.Error("stored data is damaged", "method", r.Method, "path", r.URL.Path, "err", err)
		msg = damage
	case status == http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "1")
		t.opt.Log.Warn("not available", "method", r.Method, "path", r.URL.Path, "err", err)
		msg = run.ErrUnavailable.Error()
	case status == http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "5")
	case status >= 500:
		t.opt.Log.Error("request failed", "method", r.Method, "path", r.URL.Path, "err", err)
		msg = "internal error"
	}
	if status == http.StatusNotFound && t.opt.PlainNotFound {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(msg)) // a client that has gone needs no answer
		return
	}
	_ = Answer(w, status, Problem{Error: http.StatusText(status), Detail: msg, Field: field}) // strings always encode
}
