package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/conformance/graphs"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
	"github.com/tributary-ai/tributary/internal/server/langgraph/assistants"
	"github.com/tributary-ai/tributary/internal/server/webhook"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	remembered "github.com/tributary-ai/tributary/memory"
)

// webhookSecret signs webhooks; it is known to everybody, as this server has no secrets.
const webhookSecret = "conformance"

type options struct {
	likeJS   bool
	app      bool // put the application of LangGraph's suite around the server
	python   bool // serve the graphs of the tests of LangGraph's Python SDK
	react    bool // serve the graphs of the browser tests of @langchain/react
	log      *slog.Logger
	identify func(*http.Request) (run.Identity, error)
}

// world is a whole server on a folder that goes with it.
type world struct {
	dir     string
	db      *sqlite.DB
	journal *journal.Journal
	engine  *run.Engine
	crons   *run.Scheduler
	server  *server.Server
	handler http.Handler
}

// open builds from the bottom up; close takes down from the top.
func open(ctx context.Context, opt options) (_ *world, err error) {
	w := &world{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(ctx))
		}
	}()
	if opt.log == nil {
		opt.log = slog.New(slog.DiscardHandler)
	}
	if w.dir, err = os.MkdirTemp("", "conformance-"); err != nil {
		return nil, err
	}
	if w.db, err = sqlite.Open(ctx, w.dir, sqlite.Options{}); err != nil {
		return nil, err
	}
	lib := library(graphs.All())
	for _, set := range []struct {
		wanted bool
		make   func() (map[string]graphs.Definition, error)
	}{{opt.python, graphs.Python}, {opt.react, graphs.React}} {
		if !set.wanted {
			continue
		}
		more, err := set.make()
		if err != nil {
			return nil, err
		}
		maps.Copy(lib, more)
	}
	if err := run.EnsureDefaults(ctx, w.db, lib.assistants()); err != nil {
		return nil, err
	}
	w.journal = journal.Open(w.db, journal.Options{})
	here, err := outbound.ParseAllow([]string{"127.0.0.0/8", "::1"})
	if err != nil {
		return nil, err
	}
	hooks, err := webhook.New(webhook.Options{Secret: []byte(webhookSecret), Run: w.db.Run, Report: langgraph.Report(w.db, lib), Allow: here})
	if err != nil {
		return nil, err
	}
	w.engine, err = run.Open(ctx, run.Options{
		Store: w.db, Journal: w.journal, Checkpoints: w.db, Log: opt.log,
		Build: func(ctx context.Context, r run.Run) (*graph.Graph, error) {
			return lib.Graph(ctx, run.Identity{Owner: r.Owner}, r.Request.Graph, r.Request)
		},
		Memory:    func(who run.Identity) graph.Store { return memory{w.db, who} },
		FollowUps: run.Webhook,
		Handlers:  map[string]run.Handler{run.WebhookKind: hooks.Handler()},
	})
	if err != nil {
		return nil, err
	}
	w.crons = run.OpenScheduler(w.engine, w.db, opt.log)
	w.server, err = server.New(server.Options{
		Engine: w.engine, Journal: w.journal, Store: w.db, Graphs: lib, Identify: opt.identify,
		Scheduler: w.crons, Webhooks: true, Memory: remembered.New(remembered.Options{Store: func(owner string) remembered.Store { return memory{w.db, run.Identity{Owner: owner}} }}),
		Origins: []string{"*"}, Version: "conformance", LikeJS: opt.likeJS, Log: opt.log,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /internal/truncate", w.truncate)
	mux.Handle("/", w.server)
	w.handler = mux
	if opt.app {
		w.handler = newCustom(mux)
	}
	return w, nil
}

func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.handler.ServeHTTP(rw, r) }

// close lets runs end until ctx does, and removes the folder.
func (w *world) close(ctx context.Context) error {
	var errs []error
	if w.crons != nil {
		w.crons.Close()
	}
	if w.engine != nil {
		errs = append(errs, w.engine.Close(ctx))
	}
	if w.journal != nil {
		w.journal.Close()
	}
	if w.db != nil {
		errs = append(errs, w.db.Close())
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}

// library finds graphs by name.
type library map[string]graphs.Definition

var (
	_ server.Graphs        = library(nil)
	_ assistants.Describer = library(nil)
)

func (l library) Names() []string { return slices.Sorted(maps.Keys(l)) }

func (l library) Graph(_ context.Context, _ run.Identity, name string, req run.Request) (*graph.Graph, error) {
	d, ok := l[name]
	if !ok {
		return nil, fmt.Errorf("graph %q: %w", name, run.ErrNotFound)
	}
	var c struct {
		Configurable json.RawMessage `json:"configurable"`
	}
	if len(req.Config) > 0 {
		if err := json.Unmarshal(req.Config, &c); err != nil {
			return nil, run.Invalidf("config", "%v", err)
		}
	}
	g, err := d.Build(c.Configurable)
	if err != nil {
		return nil, run.Invalidf("config.configurable", "%v", err)
	}
	return g, nil
}

func (l library) Schemas(name string) (configurable, context json.RawMessage) {
	return l[name].ConfigSchema, l[name].ContextSchema
}

// assistants are the default ones, which every graph has.
func (l library) assistants() []run.Assistant {
	var out []run.Assistant
	for _, name := range l.Names() {
		out = append(out, run.Assistant{Graph: name, Config: l[name].Config, Context: l[name].Context, CreatedAt: time.Now().UTC()})
	}
	return out
}

// memory shows an owner's items to graphs.
type memory struct {
	items run.Items
	who   run.Identity
}

func (m memory) Get(ctx context.Context, namespace []string, key string) (json.RawMessage, bool, error) {
	it, err := m.items.Item(ctx, m.who, namespace, key, 0)
	if errors.Is(err, run.ErrNotFound) {
		return nil, false, nil
	}
	return it.Value, err == nil, err
}

func (m memory) Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error {
	return m.items.PutItem(ctx, m.who, run.Item{Namespace: namespace, Key: key, Value: value})
}

func (m memory) Delete(ctx context.Context, namespace []string, key string) error {
	return m.items.DeleteItem(ctx, m.who, namespace, key)
}

func (m memory) Search(ctx context.Context, prefix []string, limit int) ([]graph.StoreItem, error) {
	found, err := m.items.SearchItems(ctx, m.who, run.ItemQuery{Prefix: prefix, Limit: limit})
	var out []graph.StoreItem
	for _, it := range found {
		out = append(out, graph.StoreItem{Namespace: it.Namespace, Key: it.Key, Value: it.Value})
	}
	return out, err
}
