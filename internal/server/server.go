package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	run.Threads
	run.Runs
	run.Assistants
	run.Items
	run.Crons
	graph.Checkpointer
	// Outcomes tells what the tasks of a checkpoint did that led to the one after it; nothing, if there is none.
	Outcomes(ctx context.Context, thread, ns, checkpoint string) ([]graph.Outcome, error)
}

// Graphs finds the graph of an assistant, to describe it and to edit its state.
type Graphs interface {
	// Names lists the graphs that there are.
	Names() []string
	// Graph builds a graph as a run with that configuration would get it; run.ErrNotFound if there is none.
	Graph(ctx context.Context, name string, config run.Request) (*graph.Graph, error)
}

// Options are a server's parts and settings. Engine, Journal, Store and Graphs are required.
type Options struct {
	Engine  *run.Engine
	Journal *journal.Journal
	Store   Store
	Graphs  Graphs
	// Identify says who asks; an error is answered with 401. Default: everybody is the one local user,
	// which is only safe on a loopback address.
	Identify func(*http.Request) (run.Identity, error)
	// Heartbeat is how often a silent stream shows that it lives. Default 5 s.
	Heartbeat time.Duration
	// WriteTimeout is how long a reader may refuse to take what is written to it. Default 30 s.
	WriteTimeout time.Duration
	// Hosts are names under which the server may be addressed beside addresses and localhost; a request for
	// any other is refused, so that no page in a browser can reach it by a name of its own.
	Hosts []string
	// Origins are the browser origins that may call; "*" for all. Default: those on this machine.
	Origins []string
	// Scheduler fires crons; without one they cannot be made.
	Scheduler *run.Scheduler
	// Webhooks tells others of the ends of runs; without it no run can ask for that. Its Ended belongs into the
	// engine's options.
	Webhooks *Webhooks
	// LikeJS copies habits of LangGraph's JS server that its own test-suite compares and no client needs: frames are
	// numbered 0, 1, 2 …, and what is not found is told as plain text.
	LikeJS  bool
	Version string
	Log     *slog.Logger
}

// Server answers HTTP requests. It starts no goroutine that outlives the request it serves.
type Server struct {
	opt       Options
	log       *slog.Logger
	mux       *http.ServeMux
	feeds     *feeds
	bells     bells
	gaps      gaps
	counts    counts
	started   time.Time
	closing   chan struct{}
	closeOnce sync.Once

	patterns []string

	answering answerLocks
}

// Local is the one user of a server without accounts.
var Local = run.Identity{Owner: "local"}

// New makes a server.
func New(opt Options) (*Server, error) {
	if opt.Engine == nil || opt.Journal == nil || opt.Store == nil || opt.Graphs == nil {
		return nil, errors.New("a server needs an engine, a journal, a store and graphs")
	}
	if opt.Identify == nil {
		opt.Identify = func(*http.Request) (run.Identity, error) { return Local, nil }
	}
	if opt.Heartbeat <= 0 {
		opt.Heartbeat = 5 * time.Second
	}
	if opt.WriteTimeout <= 0 {
		opt.WriteTimeout = 30 * time.Second
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		opt: opt, log: opt.Log, mux: http.NewServeMux(), feeds: newFeeds(opt.Journal),
		started: time.Now(), closing: make(chan struct{}),
	}
	s.routes()
	return s, nil
}

// routes is the table of contents; each dialect adds its own.
func (s *Server) routes() {
	s.mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) { s.answer(w, http.StatusOK, map[string]bool{"ok": true}) })
	s.mux.HandleFunc("GET /info", s.info)
	s.langgraphRoutes()
	s.protocol2Routes()
	s.docRoutes()
	s.taskRoutes()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, failure(http.StatusNotFound, "there is nothing at "+r.Method+" "+r.URL.Path))
	})
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) {
	s.answer(w, http.StatusOK, map[string]any{
		"version":     s.opt.Version,
		"flags":       map[string]bool{"assistants": true, "crons": s.opt.Scheduler != nil, "langsmith": false},
		"active_runs": s.opt.Engine.Active(),
		"uptime_s":    int(time.Since(s.started).Seconds()),
	})
}

// handler is a route that knows who asks and may fail.
type handler func(w http.ResponseWriter, r *http.Request, who run.Identity) error

// Routes lists the routes that know who asks, as "METHOD /path/{name}".
func (s *Server) Routes() []string { return slices.Clone(s.patterns) }

// handle adds a route.
func (s *Server) handle(pattern string, h handler) {
	s.patterns = append(s.patterns, pattern)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		who, err := s.opt.Identify(r)
		if err != nil {
			s.fail(w, r, failure(http.StatusUnauthorized, err.Error()))
			return
		}
		if err := h(w, r, who); err != nil {
			s.fail(w, r, err)
		}
	})
}

// Closing ends all streams, so that their readers reconnect elsewhere or later; call it before
// http.Server.Shutdown, which waits for them.
func (s *Server) Closing() { s.closeOnce.Do(func() { close(s.closing) }) }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.log.Error("a handler panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			s.fail(w, r, errors.New("panic"))
		}
	}()
	if !s.hostAllowed(r.Host) {
		s.fail(w, r, failure(http.StatusForbidden, "this server does not answer to the host "+r.Host))
		return
	}
	if !s.cross(w, r) {
		return
	}
	s.mux.ServeHTTP(w, r)
}

// hostAllowed keeps DNS rebinding out: a web page can make a name of its own point here, but then the request
// carries that name.
func (s *Server) hostAllowed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.Trim(name, "[]")
	if name == "" || strings.EqualFold(name, "localhost") || net.ParseIP(name) != nil {
		return true
	}
	for _, h := range s.opt.Hosts {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// exposed are the headers that scripts of other origins may read; LangGraph's client reconnects by them.
const exposed = "Content-Location, Location, X-Pagination-Total, X-Pagination-Next, X-Thread-Id"

// cross answers what browsers ask before they let a page call us. It reports whether to go on.
func (s *Server) cross(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	if !s.originAllowed(origin) {
		s.fail(w, r, failure(http.StatusForbidden, "calls from the origin "+origin+" are not allowed; name it in the configuration"))
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Expose-Headers", exposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return true
	}
	h.Set("Access-Control-Allow-Methods", "GET,HEAD,PUT,POST,DELETE,PATCH")
	h.Set("Access-Control-Allow-Headers", r.Header.Get("Access-Control-Request-Headers"))
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return false
}

func (s *Server) originAllowed(origin string) bool {
	for _, o := range s.opt.Origins {
		if o == "*" || strings.EqualFold(o, origin) {
			return true
		}
	}
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" {
		return false
	}
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
