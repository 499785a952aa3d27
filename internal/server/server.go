package server

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/companion"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/admission"
	"github.com/tributary-ai/tributary/internal/server/agents"
	"github.com/tributary-ai/tributary/internal/server/chat"
	"github.com/tributary-ai/tributary/internal/server/companions"
	"github.com/tributary-ai/tributary/internal/server/documents"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/folders"
	"github.com/tributary-ai/tributary/internal/server/guard"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
	"github.com/tributary-ai/tributary/internal/server/mcp"
	memories "github.com/tributary-ai/tributary/internal/server/memory"
	"github.com/tributary-ai/tributary/internal/server/models"
	"github.com/tributary-ai/tributary/internal/server/openapi"
	"github.com/tributary-ai/tributary/internal/server/page"
	"github.com/tributary-ai/tributary/internal/server/skills"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/server/tasks"
	"github.com/tributary-ai/tributary/internal/server/teams"
	"github.com/tributary-ai/tributary/internal/server/tools"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/memory"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	langgraph.Store
	tasks.Store
}

// Graphs finds the graph of an assistant, to describe it and to edit its state. One that is an assistants.Describer too
// knows what its graphs can be configured with.
type Graphs = tasks.Graphs

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
	// ParkAfter is how long a stream is silent before its connection is taken over from net/http, which would hold more
	// than twice the memory for it. Default: until its first heartbeat. Negative: for ever.
	ParkAfter time.Duration
	// Hosts are names under which the server may be addressed beside addresses and localhost; a request for
	// any other is refused, so that no page in a browser can reach it by a name of its own. "*" for all.
	Hosts []string
	// Origins are the browser origins that may call; "*" for all. Default: those on this machine.
	Origins []string
	// Prefix is the path below which the server is mounted, as in "/agents", for links that it gives. Requests come without it.
	Prefix string
	// NoTasks, NoLangGraph, NoMCP, NoChat and NoDocs leave dialects and the description of all routes out.
	NoTasks, NoLangGraph, NoMCP, NoChat, NoDocs bool
	// Scheduler fires crons; without one they cannot be made.
	Scheduler *run.Scheduler
	// Webhooks says that the ends of runs are told to those who ask for it; without it no run can. The
	// engine must have a handler for run.WebhookKind.
	Webhooks bool
	// LargeBytes is how many bytes of requests with large bodies are taken in at once; who does not find room within ten
	// seconds is answered with 503. Requests up to 64 KiB are not counted. Default 64 MiB.
	LargeBytes int64
	// Limits are what each owner may have at once; they hold where the store can count (run.Counts).
	Limits run.Limits
	// Access gets a line for each request, and Audit one for each change: who did what. Nil for none.
	Access, Audit *slog.Logger
	// LikeJS copies habits of LangGraph's JS server that its own test-suite compares and no client needs: frames are
	// numbered 0, 1, 2 …, and what is not found is told as plain text.
	LikeJS bool
	// Probe finds out whether work can be taken on, by a small write. Default: the store's own Probe, if it has one.
	Probe func(context.Context) error
	// Folder opens the folder of a thread, which may be as full as Quota says; nil where there are none, and no routes for them.
	Folder func(who run.Identity, thread string) (*os.Root, error)
	Quota  workspace.Quota
	// Convert makes a text of an uploaded file that models cannot read, as Markdown; ok is false for one that needs none.
	Convert func(name string, file io.ReaderAt, size int64) (markdown string, ok bool, err error)
	// Page is the built page for people, as package ui has it; without it browsers are sent to the description of the API.
	Page fs.FS
	// Documents is the search in local documents; without it there is no route for it.
	Documents documents.Search
	// Agents are the custom agents; without them there are no routes for them.
	Agents agents.Agents
	// Memory is what is remembered of people; without it there are no routes for it.
	Memory *memory.Book
	// Skills are the skills; without them there are no routes for them.
	Skills skills.Skills
	// Models are those that a run may ask for; nil if that is not known, and then there is no route for it.
	Models []models.Model
	// Model is the name of the model that answers where a request names none, for people to know; empty if that is not known.
	Model string
	// Write has a model write a text outside of any run; nil, or an error that is chat.ErrNoModel, where nobody can.
	Write chat.Write
	// Speak reads texts aloud; nil where nobody does.
	Speak chat.Speak
	// Ask asks MCP servers of requests for their tools; nil where that is not done.
	Ask chat.Ask
	// Tools are those that agents have, and where more come from; nil if that is not known, and then there are no routes for them.
	Tools *tools.Box
	// ToolsOff are groups of tools that agents do not have, each with the reason.
	ToolsOff map[string]string
	Version  string
	Log      *slog.Logger
}

// Server answers HTTP requests. Goroutines that outlive the request they serve write streams that were parked (see package stream), and
// end with [Server.Closing].
type Server struct {
	opt       Options
	terms     *stream.Terms
	routes    *edge.Routes
	started   time.Time
	guard     *guard.Guard
	health    *health
	closing   chan struct{}
	closeOnce sync.Once
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
	if opt.ParkAfter == 0 {
		opt.ParkAfter = opt.Heartbeat
	}
	if opt.LargeBytes <= 0 {
		opt.LargeBytes = 64 << 20
	}
	if opt.ToolsOff == nil {
		opt.ToolsOff = map[string]string{}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if p, ok := opt.Store.(prober); ok && opt.Probe == nil {
		opt.Probe = p.Probe
	}
	s := &Server{opt: opt, started: time.Now(), closing: make(chan struct{})}
	counts, _ := opt.Store.(run.Counts)
	s.guard = guard.New(guard.Options{Limits: opt.Limits, Counts: counts, Audit: opt.Audit})
	s.routes = edge.NewRoutes(edge.Options{
		Identify: opt.Identify, Prefix: opt.Prefix, PlainNotFound: opt.LikeJS, Gate: admission.New(opt.LargeBytes, admissionWait),
		Connections: s.guard.Connections(), Log: opt.Log,
	})
	if err := s.mount(); err != nil {
		return nil, err
	}
	return s, nil
}

// mount is the table of contents; each dialect adds its own routes.
func (s *Server) mount() error {
	s.routes.Section("server", "Open to everybody")
	s.mountHealth()
	s.routes.Open("GET /info", s.info, edge.Doc{Summary: "What it is, and how busy", Answer: jsonvalue.Object{
		{"version", ""}, {"flags", map[string]bool{}}, {"active_runs", 0}, {"uptime_s", 0}, {"model", ""}, {"tools_off", map[string]string{}},
	}})
	var home http.HandlerFunc
	if s.opt.Page != nil {
		p, err := page.New(s.opt.Page)
		if err != nil {
			return err
		}
		p.Mount(s.routes)
		home = p.ServeDocument
	}
	if !s.opt.NoDocs {
		openapi.Mount(s.routes, s.opt.Version, home)
	}

	engine, store := s.guard.Engine(s.opt.Engine), guarded{s.guard.Store(s.opt.Store), s.opt.Store, s.opt.Store, s.opt.Store}
	feeds := feed.New(s.opt.Journal)
	s.terms = &stream.Terms{
		Heartbeat: s.opt.Heartbeat, WriteTimeout: s.opt.WriteTimeout, ParkAfter: s.opt.ParkAfter,
		Identify: s.opt.Identify, Closing: s.closing, Log: s.opt.Log,
	}
	known := skills.Options{Skills: s.opt.Skills, Did: s.guard.Did}
	if s.opt.Folder != nil {
		f := folders.New(folders.Options{Threads: store, Open: s.opt.Folder, Quota: s.opt.Quota, Convert: s.opt.Convert})
		f.Mount(s.routes)
		known.File = f.File
	}
	if !s.opt.NoTasks {
		tasks.New(tasks.Options{
			Store: store, Engine: engine, Journal: s.opt.Journal, Graphs: s.opt.Graphs, Feeds: feeds, Terms: s.terms,
		}).Mount(s.routes)
	}
	if !s.opt.NoMCP {
		mcp.New(mcp.Options{
			Store: store, Engine: engine, Journal: s.opt.Journal, Folder: s.opt.Folder, Closing: s.closing, Version: s.opt.Version, Log: s.opt.Log,
		}).Mount(s.routes)
	}
	if !s.opt.NoTasks {
		teams.New(teams.Options{Store: store, Engine: engine, Feeds: feeds, Terms: s.terms}).Mount(s.routes)
	}
	if !s.opt.NoChat {
		chat.New(chat.Options{Store: store, Engine: engine, Graphs: s.opt.Graphs.Names, Feeds: feeds, Terms: s.terms}).Mount(s.routes)
		chat.MountDesk(s.routes, chat.Desk{Write: s.opt.Write, Model: s.opt.Model, Documents: s.opt.Documents, Speak: s.opt.Speak, Ask: s.opt.Ask})
	}
	if s.opt.Documents != nil {
		documents.Mount(s.routes, s.opt.Documents)
	}
	if s.opt.Agents != nil {
		agents.New(agents.Options{Agents: s.opt.Agents, Did: s.guard.Did}).Mount(s.routes)
	}
	if s.opt.Memory != nil {
		memories.New(memories.Options{Book: s.opt.Memory, Did: s.guard.Did}).Mount(s.routes)
	}
	if s.opt.Skills != nil {
		skills.New(known).Mount(s.routes)
	}
	if s.opt.Models != nil {
		models.Mount(s.routes, s.opt.Models)
	}
	if s.opt.Tools != nil {
		tools.Mount(s.routes, *s.opt.Tools)
	}
	if s.opt.NoLangGraph {
		return nil
	}
	lg := langgraph.Options{
		Store: store, Engine: engine, Journal: s.opt.Journal, Graphs: s.opt.Graphs, Feeds: feeds, Terms: s.terms,
		Webhooks: s.opt.Webhooks, Ordinal: s.opt.LikeJS,
	}
	if s.opt.Scheduler != nil {
		lg.Kick = s.opt.Scheduler.Kick
	}
	langgraph.Mount(s.routes, lg)
	companions.Mount(s.routes, &companion.Companion{Store: s.opt.Store, Graphs: s.opt.Graphs, Write: s.opt.Write, NoModel: chat.ErrNoModel})
	return nil
}

// admissionWait is how long a large request waits for room.
const admissionWait = 10 * time.Second

// guarded is the store as routes know it: what is changed goes through the guard.
type guarded struct {
	guard.Store
	graph.Checkpointer
	run.Pieces
	outcomes
}

type outcomes interface {
	Outcomes(ctx context.Context, thread, ns, checkpoint string) ([]graph.Outcome, error)
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) error {
	return edge.Answer(w, http.StatusOK, map[string]any{
		"version":     s.opt.Version,
		"flags":       map[string]bool{"assistants": true, "crons": s.opt.Scheduler != nil, "langsmith": false},
		"active_runs": s.opt.Engine.Active(),
		"uptime_s":    int(time.Since(s.started).Seconds()),
		"model":       s.opt.Model,
		"tools_off":   s.opt.ToolsOff,
	})
}

// Routes lists the routes that know who asks, as "METHOD /path/{name}".
func (s *Server) Routes() []string { return s.routes.Patterns() }

// Closing ends all streams, so that their readers reconnect elsewhere or later; call it before
// http.Server.Shutdown, which waits for them, except for those that were parked: Closing waits for these itself.
func (s *Server) Closing() {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.terms.Close()
	})
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.opt.Access != nil {
		rec := newRecord(w, r)
		defer rec.write(s.opt.Access)
		w = rec
	}
	defer func() {
		if p := recover(); p != nil {
			if p == http.ErrAbortHandler {
				panic(p)
			}
			s.opt.Log.Error("a handler panicked", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			s.routes.Fail(w, r, errors.New("panic"))
		}
	}()
	if !s.hostAllowed(r.Host) {
		s.routes.Fail(w, r, edge.Refuse(http.StatusForbidden, "this server does not answer to the host "+r.Host))
		return
	}
	if !s.cross(w, r) {
		return
	}
	s.routes.ServeHTTP(w, r)
}
