package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

func serve() error {
	addr := flag.String("addr", "127.0.0.1:2094", "address to listen on")
	likeJS := flag.Bool("like-js", true, "copy the habits of LangGraph's JS server that its own test-suite compares: event ids 0, 1, 2 …, 404 as text")
	app := flag.Bool("app", true, "put an application of its own routes and middleware around the API, as LangGraph's suite expects")
	python := flag.Bool("python", false, "serve the graphs that the integration tests of LangGraph's Python SDK speak to")
	react := flag.Bool("react", false, "serve the graphs that the browser tests of @langchain/react speak to")
	verbose := flag.Bool("v", false, "log requests that fail")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	level := slog.LevelError
	if *verbose {
		level = slog.LevelDebug
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	w, err := open(ctx, options{likeJS: *likeJS, app: *app, python: *python, react: *react, log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	h := &http.Server{Handler: w, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- h.Serve(listener) }()
	fmt.Printf("listening on http://%s\n", listener.Addr())
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	w.server.Closing()
	return errors.Join(err, h.Shutdown(end), w.close(end))
}
