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
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	run.Runs
	graph.Checkpointer
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
}

// Engine executes runs.
type Engine interface {
	Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error)
	Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error)
	Wait(ctx context.Context, who run.Identity, id string) (run.Run, error)
}

// Options are what the routes need; all but the flags is required.
type Options struct {
	Store   Store
	Engine  Engine
	Journal *journal.Journal
	States  *state.Reader
	Feeds   *feed.Feeds
	Threads *feed.Threads
	Terms   *stream.Terms
	// Find finds the thread that a request's path names, if it is the caller's.
	Find func(r *http.Request, who run.Identity) (run.Thread, error)
	// Removing is told of a run before it is deleted.
	Removing func(ctx context.Context, who run.Identity, r run.Run) error
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
	var (
		create   = edge.Doc{Summary: "Start a run", Body: Body{}, Answer: Run{}, Fails: []int{404}}
		streamed = edge.Doc{Summary: "Start a run and follow it", Body: Body{}, Stream: true, Fails: []int{404}}
		wait     = edge.Doc{Summary: "Start a run and wait for its result", Body: Body{}, Answer: map[string]any{}, Fails: []int{404}}
		get      = edge.Doc{Summary: "Get a run", Answer: Run{}}
		join     = edge.Doc{
			Summary: "Wait for the result of a run", Query: jsonvalue.Object{{"cancel_on_disconnect", false}}, Answer: map[string]any{},
		}
		follow = edge.Doc{
			Summary: "Follow a run", Query: jsonvalue.Object{{"cancel_on_disconnect", false}, {"stream_mode", []string{}}}, Stream: true, Fails: []int{409},
		}
		action = edge.Word{string(run.StopRun), string(run.RollbackRun)}
		cancel = edge.Doc{
			Summary: "Stop a run; with wait, answer when it has ended", Query: jsonvalue.Object{{"wait", false}, {"action", action}}, Status: []int{202, 204},
		}
	)
	t.Section("runs", "What graphs do on a thread")
	t.Handle("POST /threads/{thread_id}/runs", s.createRun, create)
	t.Handle("POST /threads/{thread_id}/runs/stream", s.createStream, streamed)
	t.Handle("POST /threads/{thread_id}/runs/wait", s.createWait, wait)
	t.Handle("GET /threads/{thread_id}/runs", s.listRuns, edge.Doc{
		Summary: "List runs, newest first", Answer: []Run{},
		Query: jsonvalue.Object{{"limit", 0}, {"offset", 0}, {"status", statuses}, {"select", []string{}}},
	})
	t.Handle("GET /threads/{thread_id}/runs/{run_id}", s.getRun, get)
	t.Handle("DELETE /threads/{thread_id}/runs/{run_id}", s.deleteRun, edge.Doc{
		Summary: "Delete a run with what it did", Status: []int{204}, Fails: []int{409},
	})
	t.Handle("GET /threads/{thread_id}/runs/{run_id}/join", s.joinWait, join)
	t.Handle("GET /threads/{thread_id}/runs/{run_id}/stream", s.joinStream, follow)
	t.Handle("POST /threads/{thread_id}/runs/{run_id}/cancel", s.cancelRun, cancel)
	t.Handle("GET /threads/{thread_id}/stream", s.streamThread, edge.Doc{
		Summary: "Follow all runs of a thread", Query: jsonvalue.Object{{"stream_modes", edge.Word{"run_modes", "lifecycle", "state_update"}}},
		Stream: true, Fails: []int{409},
	})
	t.Handle("POST /runs/cancel", s.cancelRuns, edge.Doc{
		Summary: "Stop several runs: those that are named, or all of a status", Query: jsonvalue.Object{{"action", action}},
		Body: cancellation{}, Status: []int{204}, Fails: []int{404},
	})

	t.Section("stateless runs", "Runs on threads of their own")
	t.Handle("POST /runs", s.createRun, create)
	t.Handle("POST /runs/stream", s.createStream, streamed)
	t.Handle("POST /runs/wait", s.createWait, wait)
	t.Handle("POST /runs/batch", s.createBatch, edge.Doc{Summary: "Start several runs", Body: []Body{}, Answer: []Run{}, Fails: []int{404}})
	t.Handle("GET /runs/{run_id}", s.getRun, get)
	t.Handle("GET /runs/{run_id}/join", s.joinWait, join)
	t.Handle("GET /runs/{run_id}/stream", s.joinStream, follow)
	t.Handle("POST /runs/{run_id}/cancel", s.cancelRun, cancel)
}

// runNotFound says that there is no such run, where the error is that something is missing. Others pass.
func runNotFound(err error) error { return edge.NotFound(err, "Run not found") }
