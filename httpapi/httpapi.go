package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/agents"
	"github.com/tributary-ai/tributary/internal/server/chat"
	"github.com/tributary-ai/tributary/internal/server/documents"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
	"github.com/tributary-ai/tributary/internal/server/models"
	"github.com/tributary-ai/tributary/internal/server/tools"
	"github.com/tributary-ai/tributary/internal/server/webhook"
)

// Wire is a way to talk to the runtime.
type Wire string

const (
	Tasks     Wire = "tasks"     // the task protocol: /tasks
	LangGraph Wire = "langgraph" // LangGraph's API: /assistants, /threads, /runs, /store
	MCP       Wire = "mcp"       // assistants as tools of the Model Context Protocol: /mcp
	Chat      Wire = "chat"      // DeerFlow 1's API: /api/chat/stream
	Docs      Wire = "docs"      // a description of all routes: /docs, /openapi.json, and / for browsers
)

// Found is what a search in documents found, and Passage a stretch of a document.
type (
	Found   = documents.Found
	Passage = documents.Passage
)

// CustomAgents keep the custom agents of people, and CustomAgent is one.
type (
	CustomAgents = agents.Agents
	CustomAgent  = custom.Agent
)

// Model is a model that a run may ask for.
type Model = models.Model

// MCPServer is a server of the Model Context Protocol as a request names it, and MCPTool one of its tools.
type (
	MCPServer = chat.Server
	MCPTool   = chat.ServerTool
)

// Toolbox says which tools agents have, and ToolServer is an MCP server that they get more from.
type (
	Toolbox    = tools.Box
	ToolServer = tools.Server
)

// Options are the settings of a [Handler]; the zero value serves every wire at the root, to the local user.
type Options struct {
	// Identify says on whose behalf a request is made. An error is answered with 401, in its words. Nil: everybody is the
	// local user, which is safe only where nobody else can reach the listener.
	Identify func(*http.Request) (owner string, err error)
	// Prefix is the path below which the handler is mounted, as in "/agents"; empty for the root.
	Prefix string
	// Wires are those to serve; nil for all.
	Wires []Wire
	// Hosts are the names under which the handler may be addressed, beside localhost and addresses; "*" for all, where
	// something in front of it sees to that.
	Hosts []string
	// Origins are the browser origins that may call; "*" for all. Those on this machine always may.
	Origins []string
	// WebhookSecret signs what is sent to those who want to be told of the end of a run. Empty: no run can ask for that.
	WebhookSecret []byte
	// WebhookAllow names what else than public addresses may be told: ranges ("10.1.0.0/16"), addresses, names of hosts.
	WebhookAllow []string
	// Limits are what each owner may have at once.
	Limits Limits
	// Access, where set, has a line for each request; Audit one for each change: who did what.
	Access, Audit *slog.Logger
	// Documents, where set, is the search behind GET /documents/search.
	Documents func(ctx context.Context, query string, limit int) (Found, error)
	// Convert makes a text of an uploaded file that models cannot read themselves, as Markdown, which is put beside it; ok is false
	// for one that needs none. Nil: files stay as they are.
	Convert func(name string, file io.ReaderAt, size int64) (markdown string, ok bool, err error)
	// Agents, where set, are the custom agents behind /agents. Nil: those of the runtime's folder, if it has the lead agent.
	Agents CustomAgents
	// Models, where set, are what GET /models lists: those that a run may ask for.
	Models []Model
	// Page is the page for people at /, as ui.Files has it; without it browsers are led to the description of the routes. It
	// is served with Docs and at the root only: it looks for what it needs there.
	Page fs.FS
	// Model is the name of the model that answers where nobody chooses one, for the page to tell people.
	Model string
	// Speak, where set, reads texts aloud for the routes /api/tts and /api/podcast/generate, in a format such as "mp3". Where two
	// people talk, second asks for the other voice.
	Speak func(ctx context.Context, text string, second bool, format string) ([]byte, error)
	// Ask, where set, asks an MCP server that a request names for its tools, for the route /api/mcp/server/metadata. An error that
	// is [tributary.ErrForbidden] or a [*tributary.InvalidError] refuses the request.
	Ask func(ctx context.Context, owner string, s MCPServer) ([]MCPTool, error)
	// Tools, where set, is what GET /tools and /mcp/servers tell.
	Tools *Toolbox
	// ToolsOff are groups of tools that agents do not have, or not whole, each with the reason, for /info.
	ToolsOff map[string]string
	// Version is what /info says.
	Version string
}

// Limits are what one owner may have at once. Zero is the default, which a single person does not meet; negative is no limit.
type Limits struct {
	Runs        int64 // in flight, that is running and waiting; default 20,000
	Queued      int64 // runs that wait on one thread; default 1,000
	Threads     int64 // default 1,000,000
	Crons       int64 // default 10,000
	Bytes       int64 // stored, measured once a minute; default none
	Connections int64 // streams and sockets; default 20,000
}

// Handler serves a runtime. It is safe for concurrent use, and owns a few goroutines until it is closed.
type Handler struct {
	prefix string
	server *server.Server
	mount  http.Handler   // the server below the prefix
	crons  *run.Scheduler // nil without LangGraph's wire

	closing sync.Once
}

var _ http.Handler = (*Handler)(nil)

// ask is Ask, with errors as the server knows them.
func (opt *Options) ask() chat.Ask {
	if opt.Ask == nil {
		return nil
	}
	return func(ctx context.Context, owner string, s MCPServer) ([]MCPTool, error) {
		tools, err := opt.Ask(ctx, owner, s)
		if wrong := (*tributary.InvalidError)(nil); errors.As(err, &wrong) {
			err = &run.InvalidError{Field: wrong.Field, Reason: wrong.Reason}
		}
		return tools, err
	}
}

// New makes a handler for a runtime. Close it before the runtime is closed.
func New(rt *tributary.Runtime, opt Options) (*Handler, error) {
	if rt == nil {
		return nil, errors.New("httpapi: there is no runtime to serve")
	}
	if err := opt.check(); err != nil {
		return nil, err
	}
	parts := door.Open(rt)
	h := &Handler{prefix: opt.Prefix}
	o := server.Options{
		Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs, Log: parts.Log,
		Folder: parts.Folder, Quota: parts.Quota, Convert: opt.Convert, Memory: parts.Memory,
		Identify: opt.identify(), Prefix: opt.Prefix, Hosts: opt.Hosts, Origins: opt.Origins, Version: opt.Version,
		NoTasks: !opt.serves(Tasks), NoLangGraph: !opt.serves(LangGraph), NoMCP: !opt.serves(MCP), NoChat: !opt.serves(Chat), NoDocs: !opt.serves(Docs),
		Webhooks: len(opt.WebhookSecret) > 0, Limits: run.Limits(opt.Limits), Access: opt.Access, Audit: opt.Audit, Page: opt.Page, Model: opt.Model, ToolsOff: opt.ToolsOff,
		Speak: opt.Speak, Ask: opt.ask(), Documents: opt.Documents, Agents: opt.Agents, Models: opt.Models, Tools: opt.Tools,
		Write: func(ctx context.Context, who run.Identity, system, text string) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for piece, err := range parts.Write(ctx, who.Owner, system, text) {
					if errors.Is(err, door.ErrNoModel) {
						err = chat.ErrNoModel
					}
					if !yield(piece, err) {
						return
					}
				}
			}
		},
	}
	if o.Webhooks {
		allow, err := outbound.ParseAllow(opt.WebhookAllow)
		if err != nil {
			return nil, fmt.Errorf("httpapi: WebhookAllow: %w", err)
		}
		hooks, err := webhook.New(webhook.Options{
			Secret: opt.WebhookSecret, Run: parts.Store.Run, Report: langgraph.Report(parts.Store, parts.Graphs), Allow: allow,
		})
		if err != nil {
			return nil, err
		}
		parts.Engine.Handle(run.WebhookKind, hooks.Handler())
	}
	if opt.serves(LangGraph) {
		h.crons = run.OpenScheduler(parts.Engine, parts.Store, parts.Log)
		o.Scheduler = h.crons
	}
	if o.Agents == nil && parts.Agents != nil {
		o.Agents = parts.Agents
	}
	if parts.Skills != nil {
		o.Skills = parts.Skills
	}
	var err error
	if h.server, err = server.New(o); err != nil {
		h.Close()
		return nil, err
	}
	h.mount = http.StripPrefix(h.prefix, h.server)
	return h, nil
}

func (o *Options) check() error {
	if o.Prefix != "" && (!strings.HasPrefix(o.Prefix, "/") || strings.HasSuffix(o.Prefix, "/")) {
		return fmt.Errorf(`httpapi: the prefix %q must begin with a slash and not end with one, as in "/agents"`, o.Prefix)
	}
	if o.Prefix != "" && o.Page != nil {
		return errors.New("httpapi: the page can only be served at the root; leave Prefix or Page empty")
	}
	for _, w := range o.Wires {
		if !slices.Contains([]Wire{Tasks, LangGraph, MCP, Chat, Docs}, w) {
			return fmt.Errorf("httpapi: there is no wire %q; there are %s, %s, %s, %s and %s", w, Tasks, LangGraph, MCP, Chat, Docs)
		}
	}
	return nil
}

func (o *Options) serves(w Wire) bool { return o.Wires == nil || slices.Contains(o.Wires, w) }

var errNobody = errors.New("it is not known who asks")

// identify is Identify in the server's words. A program that knows nobody must say so: no name is nobody's name.
func (o *Options) identify() func(*http.Request) (run.Identity, error) {
	if o.Identify == nil {
		return func(*http.Request) (run.Identity, error) { return run.Identity{Owner: tributary.DefaultOwner}, nil }
	}
	return func(r *http.Request) (run.Identity, error) {
		owner, err := o.Identify(r)
		if err == nil && owner == "" {
			err = errNobody
		}
		return run.Identity{Owner: owner}, err
	}
}

// ServeHTTP answers a request, whose path begins with the prefix.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h.prefix != "" && r.URL.Path == h.prefix {
		http.Redirect(w, r, h.prefix+"/", http.StatusSeeOther)
		return
	}
	h.mount.ServeHTTP(w, r)
}

// Routes lists the routes that have an owner, as "METHOD /path/{name}", without the prefix.
func (h *Handler) Routes() []string { return h.server.Routes() }

// Closing ends all streams and starts no more runs by itself. Call it before http.Server.Shutdown, which would wait for the
// streams. It waits until they have ended.
func (h *Handler) Closing() {
	h.closing.Do(func() {
		if h.crons != nil {
			h.crons.Close()
		}
		if h.server != nil {
			h.server.Closing()
		}
	})
}

// Close is Closing, for programs that need no order. Webhooks that are on their way belong to the runtime.
func (h *Handler) Close() { h.Closing() }

// Listen listens for clients of a handler, some of whom will vanish without a word: a laptop that is closed, a network that
// is switched off. They are let go within a minute, where net.Listen would keep what they hold for a quarter of an hour.
func Listen(ctx context.Context, addr string) (net.Listener, error) { return server.Listen(ctx, addr) }
