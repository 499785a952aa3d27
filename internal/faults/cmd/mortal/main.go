// Command mortal is tributary's server with one thing added that can be killed in the middle: a tool that has an effect. Its
// webhooks may reach this machine. With -lead it has the lead agent with all that stands around it, and a model that tells a story.
// The tests of package faults start it; nobody else has a use for it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/faults"
	"github.com/tributary-ai/tributary/internal/outbound"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/server/langgraph"
	"github.com/tributary-ai/tributary/internal/server/webhook"
	"github.com/tributary-ai/tributary/model/registry"
	"github.com/tributary-ai/tributary/tool"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "mortal:", err)
		os.Exit(1)
	}
}

func serve() error {
	data := flag.String("data", "", "data folder")
	provider := flag.String("provider", "", "address of the provider")
	disk := flag.Bool("disk", false, "every token survives the loss of power")
	addr := flag.String("addr", "127.0.0.1:0", "address to listen on")
	leads := flag.Bool("lead", false, "the lead agent plays a story of its own; no provider is asked")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))

	m, err := registry.New(registry.Options{Models: []registry.Config{
		{Name: "mock", Provider: "openai", Model: "mock", BaseURL: *provider + "/v1", Key: registry.NewSecret("mock-key")},
	}})
	if err != nil {
		return err
	}
	mock, _ := m.Lookup("mock")
	opt := tributary.Options{Dir: *data, Disk: *disk, Models: tributary.OneModel(mock.Model()), Tools: []tool.Tool{effect(*data)}, Log: log}
	if *leads {
		if err := withLead(&opt); err != nil {
			return err
		}
	}
	rt, err := tributary.Open(ctx, opt)
	if err != nil {
		return err
	}
	parts := door.Open(rt)
	here, err := outbound.ParseAllow([]string{"127.0.0.0/8", "::1"})
	if err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	hooks, err := webhook.New(webhook.Options{
		Secret: []byte(faults.WebhookSecret), Run: parts.Store.Run, Report: langgraph.Report(parts.Store, parts.Graphs), Allow: here,
	})
	if err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	parts.Engine.Handle(run.WebhookKind, hooks.Handler())
	srv, err := server.New(server.Options{Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs, Webhooks: true, Log: log})
	if err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	listener, err := server.Listen(ctx, *addr)
	if err != nil {
		return errors.Join(err, rt.Close(ctx))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults/stats", stats)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.Handle("/", srv)
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	fmt.Printf("mortal listens on http://%s\n", listener.Addr())

	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	srv.Closing()
	if h.Shutdown(end) != nil {
		err = errors.Join(err, h.Close())
	}
	return errors.Join(err, rt.Close(end))
}

// stats tells what should be the same before and after.
func stats(w http.ResponseWriter, _ *http.Request) {
	debug.FreeOSMemory() // what is resident then is what is held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(w, `{"goroutines":%d,"heap":%d,"stacks":%d}`, runtime.NumGoroutine(), m.HeapAlloc, m.StackInuse)
}

type effectArgs struct {
	What string `json:"what"`
}

// effect appends a line to a file: something that no crash takes back.
func effect(dir string) tool.Tool {
	return tool.FuncOfCall("effect", "has an effect", func(_ context.Context, c tool.Call, _ effectArgs) (string, error) {
		f, err := os.OpenFile(filepath.Join(dir, "effects"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return "", err
		}
		_, err = fmt.Fprintf(f, "%s %s\n", c.Run, c.ID)
		time.Sleep(20 * time.Millisecond) // a moment in which to die between effect and outcome
		return "done", errors.Join(err, f.Close())
	})
}
