// Package runs serves LangGraph's runs: it starts them, on a thread or on one of their own, and lets clients follow them,
// wait for what they leave behind, and stop them.
//
// # Laws
//
//   - A request is checked whole before anything is stored.
//   - What a client reads as a position is one: it is answered with what comes after it, or with an error, and never with
//     something else.
//   - A connection that ends stops no run, unless whoever made it asked for that.
package runs

import (
	"context"
	"net/http"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	run.Assistants
	run.Runs
	graph.Checkpointer
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
}

// Engine executes runs.
type Engine interface {
	Start(ctx context.Context, who run.Identity, thread string, req run.Request) (run.Run, error)
	Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error)
	Wait(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// Options are what the routes need; all but the flags is required.
type Options struct {
	Store   Store
	Engine  Engine
	Journal *journal.Journal
	Graphs  state.Graphs
	States  *state.Reader
	Feeds   *feed.Feeds
	Threads *feed.Threads
	Terms   *stream.Terms
	// Find finds the thread that a request's path names, if it is the caller's.
	Find func(r *http.Request, who run.Identity) (run.Thread, error)
	// Removing is told of a run before it is deleted, and what it returns is called after.
	Removing func(ctx context.Context, who run.Identity, r run.Run) (removed func(), err error)
	// Webhooks says that the ends of runs are told to those who ask for it.
	Webhooks bool
	// Ordinal numbers the frames of a stream 0, 1, 2 …, as LangGraph's JS server does.
	Ordinal bool
}

// Service serves runs.
type Service struct{ opt Options }

// New makes the service.
func New(opt Options) *Service { return &Service{opt} }

// Mount adds its routes.
func (s *Service) Mount(t *edge.Routes) {
	t.Handle("GET /threads/{thread_id}/stream", s.streamThread)

	t.Handle("POST /threads/{thread_id}/runs", s.createRun)
	t.Handle("POST /threads/{thread_id}/runs/stream", s.createStream)
	t.Handle("POST /threads/{thread_id}/runs/wait", s.createWait)
	t.Handle("GET /threads/{thread_id}/runs", s.listRuns)
	t.Handle("GET /threads/{thread_id}/runs/{run_id}", s.getRun)
	t.Handle("DELETE /threads/{thread_id}/runs/{run_id}", s.deleteRun)
	t.Handle("GET /threads/{thread_id}/runs/{run_id}/join", s.joinWait)
	t.Handle("GET /threads/{thread_id}/runs/{run_id}/stream", s.joinStream)
	t.Handle("POST /threads/{thread_id}/runs/{run_id}/cancel", s.cancelRun)

	t.Handle("POST /runs", s.createRun)
	t.Handle("POST /runs/stream", s.createStream)
	t.Handle("POST /runs/wait", s.createWait)
	t.Handle("POST /runs/batch", s.createBatch)
	t.Handle("POST /runs/cancel", s.cancelRuns)
	t.Handle("GET /runs/{run_id}", s.getRun)
	t.Handle("GET /runs/{run_id}/join", s.joinWait)
	t.Handle("GET /runs/{run_id}/stream", s.joinStream)
	t.Handle("POST /runs/{run_id}/cancel", s.cancelRun)
}

// runNotFound says that there is no such run, where the error is that something is missing. Others pass.
func runNotFound(err error) error { return edge.NotFound(err, "Run not found") }
