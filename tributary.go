package tributary

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/team"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/background"
	"github.com/tributary-ai/tributary/internal/catalogue"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/loglimit"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/secret"
	"github.com/tributary-ai/tributary/internal/skill"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/tool"
)

// DefaultGraph is the name of the built-in graph: a model and tools in a loop until no tool is called.
const DefaultGraph = "agent"

// LeadGraph is a second name of the built-in graph where it is the lead agent; see [Options].Agent.
const LeadGraph = "lead_agent"

// DefaultOwner is whose everything is where nobody says otherwise.
const DefaultOwner = "local"

// Options are a runtime's settings; the zero value gives the built-in agent on a temporary folder.
type Options struct {
	// Dir is the data folder; it belongs to this process while the runtime is open. Empty: a temporary one
	// that Close removes.
	Dir string
	// Disk makes every token survive the loss of power. Without it that is promised of everything else: accepted
	// runs, checkpoints, tool calls and results, interrupts and ends; tokens then survive the death of the
	// process.
	Disk bool

	// Models chooses the built-in agent's model for each run: [OneModel] for a program that has one, or a registry of
	// package model/registry, made from configuration and environment. That one is not built in, so that a program
	// that brings its own model does not carry every provider's client. Nil: the offline model, which needs no key.
	Models model.Models
	// Retry says what is done about models that fail.
	Retry Retry
	// Answers bounds what one answer of a model may hold. Its WireBytes and EventBytes are for those who make models.
	Answers model.Limits
	// Tools and System are given to the built-in agent.
	Tools  []tool.Tool
	System string
	// Files gives the built-in agent tools for the files of its thread: ls, read_file, glob, grep, write_file, str_replace,
	// present_files; see package tool/files.
	Files bool
	// ThreadBytes and ThreadFiles bound what these tools leave in the folder of one thread; 0 means 1 GiB and 20,000 files,
	// below 0 is no limit.
	ThreadBytes int64
	ThreadFiles int

	// Middleware is what the built-in agent does besides, for a run of that configuration. It is asked as a [Builder] is, so an
	// [*InvalidError] or [ErrForbidden] refuses the request.
	Middleware func(ctx context.Context, c Config) ([]agent.Middleware, error)
	// Agent makes the built-in agent of each run: a method Graph of package agent/lead's Factory. Nil: a model and tools in a
	// loop. It is a function, so that a program without the lead agent does not carry it.
	Agent func(context.Context, lead.Run, lead.Base) (*graph.Graph, error)

	// MaxSteps is how often the built-in agent calls its model to answer one message of the user; zero means
	// agent.DefaultMaxSteps. A run may say otherwise with max_steps in its configurable values.
	MaxSteps int
	// OmitRequests says that what models are shown is not kept. It is kept otherwise, to the byte, with its thread.
	OmitRequests bool

	// Memory has the built-in agent remember people between threads; nil: it does not.
	Memory *Memory

	// Team adds the graph "team", a team of experts with the models and the tools of the built-in agent; see package agent/team. A run
	// says in configurable.team how it works: mode, rounds, experts, plan, review and so on.
	Team bool
	// Expert finds a member of a team of whom the request says nothing but the name: an agent of the owner's own. Nil, or an error that is
	// [ErrNotFound]: nobody is known by that name.
	Expert func(ctx context.Context, owner, name string) (team.Expert, error)
	// Graphs are further graphs by name; one named "agent" replaces the built-in.
	Graphs map[string]Builder

	// Node is the name of this process among those that share a store, and stays when it is started again. Empty: "local", which is
	// right for a process that has its folder to itself.
	Node string
	// MaxRuns is how many runs execute at once; 0 means 4096.
	MaxRuns int
	// Lease is how long a run belongs to this process without a sign of life; 0 means 30 s.
	Lease time.Duration
	// MaxAttempts is how many crashes of the process a run may see without having saved anything in between, before it is
	// given up; 0 means 10.
	MaxAttempts int
	// Timeout ends runs that take longer and have no time-out of their own; 0 means 6 h, negative never.
	Timeout time.Duration
	// RecursionLimit is how many steps a run may take where neither the run nor its graph says; 0 means 1000.
	RecursionLimit int

	// Log is told what operators should know. Nothing is logged anywhere else; nil: nothing at all.
	Log *slog.Logger
}

// Builder makes the graph of a run each time it executes, from the run's configuration. It is asked once before the run is
// accepted, too: an [*InvalidError] then refuses the request by the setting that is wrong.
type Builder func(ctx context.Context, c Config) (*graph.Graph, error)

// Config is what a [Builder] may depend on.
type Config struct {
	Owner  string
	Thread string
	Run    string
	// Configurable and Context are objects, or empty. What one of them says and the other does not is in both.
	Configurable json.RawMessage
	// Inherited are the keys of Configurable that come from the assistant and not from the request.
	Inherited []string
	Context   json.RawMessage
	// Secrets are what the request brought in confidence: the member "secrets" of its settings, and the headers of the servers in
	// "mcp_settings". Neither Configurable nor Context has them.
	Secrets Secrets
}

// Fixed is the Builder of a graph that is the same for every run.
func Fixed(g *graph.Graph) Builder {
	return func(context.Context, Config) (*graph.Graph, error) { return g, nil }
}

// Runtime is an engine in this process. It is safe for concurrent use.
type Runtime struct {
	opt     Options
	log     *slog.Logger
	temp    string
	db      *catalogue.Store
	skills  *skill.Skills
	folders *workspace.Folders
	journal *journal.Journal
	engine  *run.Engine
	tools   *tool.Set
	graphs  map[string]Builder
	models  model.Models
	breaker *agent.Breakers // of models, shared by all runs; nil for none
	book    *memory.Book    // nil: nothing is remembered
	sweeper *sweeper
	// background is where work of threads goes on outside of their runs.
	background *background.Desk

	closing sync.Once
	ending  atomic.Bool     // nothing new is taken
	over    context.Context // ends when nothing works any more
	end     context.CancelFunc
	closed  error // what Close answered
}

// Open starts a runtime. Runs that an earlier process left behind go on at once.
func Open(ctx context.Context, opt Options) (*Runtime, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	opt.Log = loglimit.Logger(opt.Log)
	if opt.Models == nil {
		opt.Models = offlineModel()
	}
	r := &Runtime{opt: opt, log: opt.Log, models: opt.Models, graphs: map[string]Builder{}}
	r.over, r.end = context.WithCancel(context.Background())
	if err := r.open(ctx); err != nil {
		return nil, errors.Join(err, r.closeParts())
	}
	return r, nil
}

// open builds from the bottom up; closeParts takes down from the top.
func (r *Runtime) open(ctx context.Context) (err error) {
	if err := r.opt.Retry.Validate(); err != nil {
		return err
	}
	r.breaker = r.opt.Retry.breakers()
	if r.tools, err = tool.NewSet(slices.Concat(r.opt.Tools, r.fileTools(), r.memoryTools())...); err != nil {
		return err
	}
	r.graphs[DefaultGraph] = r.buildAgent
	if r.opt.Agent != nil {
		r.graphs[LeadGraph] = r.buildAgent
	}
	if r.opt.Team {
		r.graphs[TeamGraph] = r.buildTeam
	}
	maps.Copy(r.graphs, r.opt.Graphs)

	dir := r.opt.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "tributary-"); err != nil {
			return err
		}
		r.temp = dir
	}
	r.folders = workspace.New(dir)
	r.skills = skill.New(dir)
	db, err := sqlite.Open(ctx, dir, sqlite.Options{Log: r.log, Gone: r.removeFolders})
	if err != nil {
		return err
	}
	r.db = &catalogue.Store{Backend: db, Agents: custom.New(dir), Taken: func(name string) bool { _, ok := r.graphs[name]; return ok }}
	if r.opt.Agent != nil { // nobody else can run custom agents
		r.db.Graph = LeadGraph
	}
	var defaults []run.Assistant
	for _, name := range slices.Sorted(maps.Keys(r.graphs)) {
		defaults = append(defaults, run.Assistant{Graph: name, CreatedAt: time.Now()})
	}
	if err := run.EnsureDefaults(ctx, r.db, defaults); err != nil {
		return err
	}
	r.book = r.opt.Memory.open(r.db)
	r.journal = journal.Open(r.db, journal.Options{Disk: r.opt.Disk})
	r.background = background.New(r.db)
	r.engine, err = run.Open(ctx, run.Options{
		Store: r.db, Journal: r.journal, Checkpoints: r.db, Build: r.build, Memory: r.storeOf, Folder: r.folder,
		Node: r.opt.Node, Boot: r.boot(), MaxRuns: r.opt.MaxRuns, Lease: r.opt.Lease, MaxAttempts: r.opt.MaxAttempts,
		Timeout: r.opt.Timeout, RecursionLimit: r.opt.RecursionLimit, Requests: !r.opt.OmitRequests, Log: r.log, FollowUps: r.followUps, Handlers: r.followers(),
		Secrets: secret.NewBox(dir),
	})
	if err != nil {
		return err
	}
	r.background.Use(r.engine)
	r.sweeper = startSweeper(r)
	return nil
}

// Close lets runs finish until ctx ends, hands the rest over to the next start, and closes the folder. Those who still
// read get [ErrClosed]. Closing again waits for the first and answers the same.
func (r *Runtime) Close(ctx context.Context) error {
	r.closing.Do(func() {
		r.ending.Store(true)
		err := r.engine.Close(ctx)
		r.closed = errors.Join(err, r.closeParts())
	})
	return r.closed
}

func (r *Runtime) closeParts() error {
	r.end()
	var errs []error
	if r.sweeper != nil {
		r.sweeper.close()
	}
	if r.journal != nil {
		r.journal.Close()
	}
	if r.db != nil {
		errs = append(errs, r.db.Close())
	}
	if r.folders != nil {
		errs = append(errs, r.folders.Close())
	}
	if r.temp != "" {
		errs = append(errs, os.RemoveAll(r.temp))
	}
	return errors.Join(errs...)
}

// build makes the graph of a run.
func (r *Runtime) build(ctx context.Context, rn run.Run) (*graph.Graph, error) {
	b, ok := r.graphs[rn.Request.Graph]
	if !ok {
		return nil, fmt.Errorf("graph %q: %w", rn.Request.Graph, run.ErrNotFound)
	}
	c := Config{Owner: rn.Owner, Thread: rn.Thread, Run: rn.ID, Inherited: rn.Request.Inherited, Secrets: Secrets{rn.Request.Secrets}}
	var err error
	if c.Configurable, c.Context, err = rn.Request.Settings(); err != nil {
		return nil, err
	}
	g, err := b(ctx, c)
	return g, asked(err)
}
