package subject

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/door"
	"github.com/tributary-ai/tributary/internal/server"
	"github.com/tributary-ai/tributary/turn"
)

// serve is a token's whole way: a node says it, it is written to disk, projected, and written to a reader.
func serve(dialect string) (func() error, error) {
	ctx := context.Background()
	say := make(chan struct{})
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: os.Getenv(DirVariable), Graphs: map[string]tributary.Builder{"talk": tributary.Fixed(talk(say))},
	})
	if err != nil {
		return nil, err
	}
	parts := door.Open(rt)
	srv, err := server.New(server.Options{Engine: parts.Engine, Journal: parts.Journal, Store: parts.Store, Graphs: parts.Graphs})
	if err != nil {
		return nil, err
	}
	path, body := "/runs/stream", `{"assistant_id":"talk","input":{"messages":[{"role":"user","content":"hi"}]},"stream_mode":["messages-tuple"]}`
	mark := "event: messages\n"
	if dialect == "task" {
		path, body = "/tasks", `{"assistant":"talk","input":"hi","stream":true}`
		mark = `"task.text.delta"`
	}
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	rd := &reader{header: http.Header{}, mark: []byte(mark), seen: make(chan int)}
	go srv.ServeHTTP(rd, req) // ends with the process
	return func() error {
		for range few { // one at a time, so that each is a write of its own, and not as many as happen to share one
			say <- struct{}{}
			if n := <-rd.seen; n != 1 {
				return fmt.Errorf("one token was said, and the stream brought %d", n)
			}
		}
		return nil
	}, nil
}

// talk is a graph that says a token whenever it is told to.
func talk(say <-chan struct{}) *graph.Graph {
	g := graph.New("talk", graph.Messages("messages"))
	g.Node("talk", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: message, Agent: "talk", Model: "m"})
		if err != nil {
			return graph.Command{}, err
		}
		for range say {
			if err := w.Text(ctx, 0, " tallest"); err != nil {
				return graph.Command{}, err
			}
		}
		return graph.Command{}, nil
	})
	return g.Edge(graph.Start, "talk").Edge("talk", graph.End)
}

// reader takes what the server writes and tells how many tokens it has seen.
type reader struct {
	header http.Header
	mark   []byte
	new    int
	seen   chan int
}

func (r *reader) Header() http.Header { return r.header }

func (r *reader) WriteHeader(status int) {
	if status != http.StatusOK {
		r.seen <- -status
	}
}

func (r *reader) Write(data []byte) (int, error) {
	r.new += bytes.Count(data, r.mark)
	return len(data), nil
}

// Flush is where a reader would get what was written.
func (r *reader) Flush() {
	if r.new > 0 {
		r.seen <- r.new
		r.new = 0
	}
}
