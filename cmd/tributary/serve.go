package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/loglimit"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
	"github.com/tributary-ai/tributary/internal/server/webhook"
	"github.com/tributary-ai/tributary/ui"
)

type serveCmd struct {
	Addr       string   `help:"Address to listen on. Default 127.0.0.1:8123." placeholder:"HOST:PORT" env:"TRIBUTARY_ADDR"`
	Docs       []string `help:"Folder that the search tool looks into. May be repeated." type:"existingdir" placeholder:"DIR"`
	Durability string   `help:"Durability of tokens: process or disk." placeholder:"MODE"`
	LogLevel   string   `help:"debug, info, warn or error." default:"info" enum:"debug,info,warn,error"`
}

// Run serves until the process is told to stop: construct, connect, listen, wait, and then stop in the order in
// which nothing is lost.
func (c serveCmd) Run(e *env) error {
	config := e.config
	if c.Addr != "" {
		config.Addr = c.Addr
	}
	if c.Durability != "" {
		config.Durability = c.Durability
	}
	if len(c.Docs) > 0 {
		config.Docs = c.Docs
	}
	if config.Durability != "process" && config.Durability != "disk" {
		return fmt.Errorf("--durability must be process or disk, not %q", config.Durability)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return err
	}
	log := loglimit.Logger(slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: level})))
	slog.SetDefault(log)

	identify, err := identity(config.Addr, os.Getenv("TRIBUTARY_API_KEY"))
	if err != nil {
		return err
	}
	// Listening first: a taken port must be found out before anything is touched.
	listener, err := server.Listen(e.ctx, config.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", config.Addr, err)
	}
	rt, err := e.open(config, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	f, err := newFront(config, rt, identify, log)
	if err != nil {
		return errors.Join(err, listener.Close(), rt.Close(e.ctx))
	}
	address := filepath.Join(config.Data, addressFile)
	if err := os.WriteFile(address, []byte("http://"+listener.Addr().String()+"\n"), 0o600); err != nil {
		log.Warn("chat cannot find this server while it runs", "err", err)
	}
	defer os.Remove(address) // one that is left behind by a crash is not believed: the folder is free then
	return serve(e, log, config, listener, f, rt)
}

// front is the server with what works beside it.
type front struct {
	*server.Server
	crons *run.Scheduler
}

func newFront(config Config, rt *runtime, identify func(*http.Request) (run.Identity, error), log *slog.Logger) (*front, error) {
	secret, err := webhookSecret(config.Data)
	if err != nil {
		return nil, err
	}
	parts := rt.Parts()
	f := &front{}
	hooks, err := webhook.New(webhook.Options{Secret: secret, Run: parts.Store.Run, Report: langgraph.Report(parts.Store, parts.Graphs)})
	if err != nil {
		return nil, err
	}
	parts.Engine.Handle(run.WebhookKind, hooks.Handler())
	f.crons = run.OpenScheduler(parts.Engine, parts.Store, log)
	usual, _, _ := rt.models.Resolve("", "") // none, if no model can be used
	f.Server, err = server.New(server.Options{
		Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs, Identify: identify,
		Scheduler: f.crons, Webhooks: true,
		Hosts: config.Hosts, Origins: config.Origins, Page: ui.Files(), Model: usual.Name, Version: versionText(), Log: log,
	})
	if err != nil {
		f.crons.Close()
	}
	return f, err
}

// webhookSecret is the key with which webhooks are signed. There is no default: each data folder makes its own, and
// receivers are told it by whoever runs the server.
func webhookSecret(dir string) ([]byte, error) {
	path := filepath.Join(dir, "webhook.secret")
	secret, err := os.ReadFile(path)
	if err == nil || !errors.Is(err, os.ErrNotExist) {
		return bytes.TrimSpace(secret), err
	}
	secret = []byte(rand.Text())
	return secret, os.WriteFile(path, append(secret, '\n'), 0o600)
}

// serve answers requests until ctx ends. Then: streams are closed, so that their readers reconnect when the next
// process is up; requests under way are answered; runs finish or are handed over; the folder is closed last.
func serve(e *env, log *slog.Logger, config Config, listener net.Listener, f *front, rt *runtime) error {
	h := &http.Server{
		Handler: f, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	fmt.Fprintf(e.stdout, "tributary %s listens on http://%s\n", versionText(), listener.Addr())
	log.Info("listening", "addr", listener.Addr().String(), "data", config.Data)
	if usual, _, err := rt.models.Resolve("", ""); err != nil {
		log.Warn("the built-in agent has no model to ask; tributary models lists them", "err", err)
	} else {
		log.Info("the built-in agent asks", "model", usual.Name)
	}

	var err error
	select {
	case err = <-failed:
	case <-e.ctx.Done():
		log.Info("shutting down: runs may finish for a while, the rest goes on at the next start; interrupt again to stop now", "drain", config.Drain)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.ctx), config.Drain)
	defer cancel()
	f.crons.Close()
	f.Closing()
	if stop := h.Shutdown(ctx); stop != nil {
		err = errors.Join(err, h.Close())
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, rt.Close(ctx))
}

// identity says who calls. Without a key everybody is the local user, so nobody else may be able to call.
func identity(addr, key string) (func(*http.Request) (run.Identity, error), error) {
	if key == "" {
		host, _, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, fmt.Errorf("address %q: give a host and a port, as in 127.0.0.1:8123", addr)
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			return nil, fmt.Errorf("%s can be reached from other machines, so callers must show a key: set TRIBUTARY_API_KEY, or listen on 127.0.0.1", addr)
		}
		return nil, nil
	}
	return func(r *http.Request) (run.Identity, error) {
		given := r.Header.Get("X-Api-Key")
		if given == "" {
			if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "bearer") {
				given = strings.TrimSpace(token)
			}
		}
		if subtle.ConstantTimeCompare([]byte(given), []byte(key)) != 1 {
			return run.Identity{}, errors.New("an API key is required: send it as x-api-key")
		}
		return server.Local, nil
	}, nil
}
