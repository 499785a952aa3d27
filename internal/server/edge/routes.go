package edge

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/tributary-ai/tributary/internal/run"
)

// Handler is a route that knows who asks and may fail. An error means that nothing was written.
type Handler func(w http.ResponseWriter, r *http.Request, who run.Identity) error

// Options are the settings of [Routes]. Identify and Log are required.
type Options struct {
	// Identify says who asks; an error is answered with 401.
	Identify func(*http.Request) (run.Identity, error)
	// PlainNotFound tells what is not found as plain text, as LangGraph's JS server does.
	PlainNotFound bool
	Log           *slog.Logger
}

// Routes is the table of routes, to which each dialect adds its own.
type Routes struct {
	opt      Options
	mux      *http.ServeMux
	patterns []string
}

// NewRoutes makes an empty table. Whatever it does not know is answered with 404.
func NewRoutes(opt Options) *Routes {
	t := &Routes{opt: opt, mux: http.NewServeMux()}
	t.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		t.Fail(w, r, Refuse(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path))
	})
	return t
}

// Handle adds a route, as "METHOD /path/{name}".
func (t *Routes) Handle(pattern string, h Handler) {
	t.patterns = append(t.patterns, pattern)
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		who, err := t.opt.Identify(r)
		if err != nil {
			t.Fail(w, r, Refuse(http.StatusUnauthorized, err.Error()))
			return
		}
		if err := h(w, r, who); err != nil {
			t.Fail(w, r, err)
		}
	})
}

// Open adds a route that everybody may call, whoever that is.
func (t *Routes) Open(pattern string, h func(w http.ResponseWriter, r *http.Request) error) {
	t.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			t.Fail(w, r, err)
		}
	})
}

// Patterns lists the routes that know who asks.
func (t *Routes) Patterns() []string { return slices.Clone(t.patterns) }

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
