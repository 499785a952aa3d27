package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tributary-ai/tributary/httpapi"
	"github.com/tributary-ai/tributary/internal/folder"
	"github.com/tributary-ai/tributary/internal/loglimit"
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
	limitMemory(os.DirFS("/"), log)

	identify, err := identity(config.Addr, os.Getenv("TRIBUTARY_API_KEY"))
	if err != nil {
		return err
	}
	// Listening first: a taken port must be found out before anything is touched.
	listener, err := httpapi.Listen(e.ctx, config.Addr)
	if err != nil {
		return listening{config.Addr, err}
	}
	rt, err := e.open(config, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h, err := newHandler(config, rt, identify, log)
	if err != nil {
		return errors.Join(err, listener.Close(), rt.Close(e.ctx))
	}
	for _, path := range openToOthers(config) {
		log.Warn("other users of this machine may look into what is not theirs; take their rights away with chmod go-rwx", "path", path)
	}
	address := filepath.Join(config.Data, addressFile)
	if err := folder.Write(address, []byte("http://"+listener.Addr().String()+"\n")); err != nil {
		log.Warn("chat cannot find this server while it runs", "err", err)
	}
	defer os.Remove(address) // one that is left behind by a crash is not believed: the folder is free then
	return serve(e, log, config, listener, h, rt)
}

// listening is an address that cannot be listened on.
type listening struct {
	addr string
	err  error
}

func (l listening) Error() string { return fmt.Sprintf("listen on %s: %v", l.addr, l.err) }
func (l listening) Unwrap() error { return l.err }

func newHandler(config Config, rt *runtime, identify func(*http.Request) (owner string, err error), log *slog.Logger) (*httpapi.Handler, error) {
	secret, err := webhookSecret(config.Data, log)
	if err != nil {
		return nil, err
	}
	opt := httpapi.Options{
		Identify: identify, Hosts: config.Hosts, Origins: config.Origins, Limits: httpapi.Limits(config.Limits),
		WebhookSecret: secret, WebhookAllow: config.Webhooks.Allow, Version: versionText(),
	}
	usual, _, _ := rt.models.Resolve("", "") // none, if no model can be used
	opt.Convert, opt.Speak, opt.Ask = markdownOf, config.Speech.speak(), rt.hands.ask()
	opt.Page, opt.Model, opt.ToolsOff = ui.Files(), usual.Name, rt.hands.off()
	opt.Tools = rt.hands.box()
	opt.Documents, opt.Models = found(rt.index), choosable(rt.models, usual.Name)
	if config.AccessLog {
		opt.Access = log
	}
	if config.AuditLog == nil && identify != nil || config.AuditLog != nil && *config.AuditLog {
		opt.Audit = log
	}
	return httpapi.New(rt.Runtime, opt)
}

// serve answers requests until ctx ends. Then: streams are closed, so that their readers reconnect when the next
// process is up; requests under way are answered; runs finish or are handed over; the folder is closed last.
func serve(e *env, log *slog.Logger, config Config, listener net.Listener, handler *httpapi.Handler, rt *runtime) error {
	h := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 120 * time.Second, MaxHeaderBytes: 64 << 10,
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
	handler.Closing()
	if stop := h.Shutdown(ctx); stop != nil {
		err = errors.Join(err, h.Close())
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return errors.Join(err, rt.Close(ctx))
}
