package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// serve is the other process: the server that is measured, or the bare one beside it. It says where it listens and
// ends when its input does, so that it cannot outlive whoever started it.
func serve(kind, dir string) error {
	ctx := context.Background()
	mux := http.NewServeMux()
	profileRoutes(mux)
	mux.HandleFunc("GET /saying", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, clocks.Load()) })
	stop := func(context.Context) error { return nil }
	switch kind {
	case "bare":
		newBareServer(mux)
	case "tributary", "teams":
		opt := tributary.Options{Dir: dir, Graphs: map[string]tributary.Builder{"bench": tributary.Fixed(clock())}}
		if kind == "teams" {
			opt.Team, opt.Models = true, tributary.OneModel(clockModel{})
		}
		rt, err := tributary.Open(ctx, opt)
		if err != nil {
			return err
		}
		parts := door.Open(rt)
		srv, err := server.New(server.Options{Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs})
		if err != nil {
			return errors.Join(err, rt.Close(ctx))
		}
		mux.Handle("/", srv)
		mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
			_ = json.NewEncoder(w).Encode(used(parts.Store.Backend.(*sqlite.DB).Commits))
		})
		stop = rt.Close
	default:
		return fmt.Errorf("there is no server of the kind %q", kind)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, stop(ctx))
	}
	h := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = h.Serve(listener) }() // ends with Close below
	fmt.Println(listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
	end, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return errors.Join(h.Close(), stop(end))
}

var (
	tokens  = graph.LastValue[int]("n")
	delayMS = graph.LastValue[float64]("delay_ms")
	startAt = graph.LastValue[int64]("start_at")
)

// clock is the graph that every wire is measured with: n tokens whose text is the time at which they were made, in
// microseconds since the epoch. They come without a pause, or on a schedule whose lateness is not forgiven; start_at,
// if it is given, is when the first is due.
func clock() *graph.Graph {
	agent := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "msg_" + uuid.NewString(), Execution: s.Execution(), Provider: "bench", Model: "clock-1"})
		if err != nil {
			return graph.Command{}, err
		}
		first := true
		err = tick(ctx, pace{tokens.Get(s), delayMS.Get(s), startAt.Get(s)}, func(stamp string) error {
			err := w.Text(ctx, 0, stamp)
			if first && err == nil {
				clocks.Add(1)
			}
			first = false
			return err
		})
		if err != nil {
			return graph.Command{}, err
		}
		m, err := w.End(ctx, item.FinishStop, "clock-1")
		return graph.Update(messages.Set([]item.Message{m})), err
	}
	return graph.New("bench", messages, tokens, delayMS, startAt).Node("agent", agent).Chain(graph.Start, "agent", graph.End)
}

// pace is when tokens are due.
type pace struct {
	N       int     `json:"n"`
	DelayMS float64 `json:"delay_ms"`
	StartAt int64   `json:"start_at"` // µs since the epoch; 0 is now
}

// tick calls emit with the time, n times.
func tick(ctx context.Context, p pace, emit func(stamp string) error) error {
	start := time.Now()
	if p.StartAt > 0 {
		start = time.UnixMicro(p.StartAt)
	}
	for i := range p.N {
		if p.DelayMS > 0 || i == 0 {
			due := start.Add(time.Duration(float64(i) * p.DelayMS * float64(time.Millisecond)))
			if wait := time.Until(due); wait > 0 {
				select {
				case <-time.After(wait):
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		if err := emit(strconv.FormatInt(time.Now().UnixMicro(), 10) + " "); err != nil {
			return err
		}
	}
	return nil
}

// profileRoutes let the parent look at what this process does; see -profile.
func profileRoutes(mux *http.ServeMux) {
	var cpu bytes.Buffer
	mux.HandleFunc("POST /profile/start", func(w http.ResponseWriter, _ *http.Request) {
		runtime.MemProfileRate = 16 << 10
		cpu.Reset()
		if err := pprof.StartCPUProfile(&cpu); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
		}
	})
	mux.HandleFunc("POST /profile/stop", func(w http.ResponseWriter, _ *http.Request) {
		pprof.StopCPUProfile()
		_, _ = w.Write(cpu.Bytes())
	})
	mux.HandleFunc("GET /profile/allocs", func(w http.ResponseWriter, _ *http.Request) {
		_ = pprof.Lookup("allocs").WriteTo(w, 0)
	})
}
