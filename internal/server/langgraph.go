package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/tributary-ai/tributary/internal/run"
)

// langgraphRoutes are the resources of LangGraph's API. What each answers is told in docs/wire/langgraph.md, with the
// choices that had to be made between its servers.
func (s *Server) langgraphRoutes() {
	s.handle("POST /assistants", s.createAssistant)
	s.handle("POST /assistants/search", s.searchAssistants)
	s.handle("POST /assistants/count", s.countAssistants)
	s.handle("GET /assistants/{assistant_id}", s.getAssistant)
	s.handle("PATCH /assistants/{assistant_id}", s.patchAssistant)
	s.handle("DELETE /assistants/{assistant_id}", s.deleteAssistant)
	s.handle("GET /assistants/{assistant_id}/graph", s.drawAssistant)
	s.handle("GET /assistants/{assistant_id}/schemas", s.assistantSchemas)
	s.handle("GET /assistants/{assistant_id}/subgraphs", s.assistantSubgraphs)
	s.handle("GET /assistants/{assistant_id}/subgraphs/{namespace}", s.assistantSubgraphs)
	s.handle("POST /assistants/{assistant_id}/versions", s.assistantVersions)
	s.handle("POST /assistants/{assistant_id}/latest", s.setLatestAssistant)

	s.handle("POST /threads", s.createThread)
	s.handle("POST /threads/search", s.searchThreads)
	s.handle("POST /threads/count", s.countThreads)
	s.handle("POST /threads/prune", s.pruneThreads)
	s.handle("GET /threads/{thread_id}", s.getThread)
	s.handle("PATCH /threads/{thread_id}", s.patchThread)
	s.handle("DELETE /threads/{thread_id}", s.deleteThread)
	s.handle("POST /threads/{thread_id}/copy", s.copyThread)
	s.handle("GET /threads/{thread_id}/state", s.getState)
	s.handle("GET /threads/{thread_id}/state/{checkpoint_id}", s.getState)
	s.handle("POST /threads/{thread_id}/state/checkpoint", s.postCheckpoint)
	s.handle("POST /threads/{thread_id}/state", s.updateState)
	s.handle("PATCH /threads/{thread_id}/state", s.patchThread)
	s.handle("GET /threads/{thread_id}/history", s.getHistory)
	s.handle("POST /threads/{thread_id}/history", s.postHistory)

	s.handle("GET /threads/{thread_id}/stream", s.streamThread)

	s.handle("POST /threads/{thread_id}/runs", s.createRun)
	s.handle("POST /threads/{thread_id}/runs/stream", s.createStream)
	s.handle("POST /threads/{thread_id}/runs/wait", s.createWait)
	s.handle("GET /threads/{thread_id}/runs", s.listRuns)
	s.handle("GET /threads/{thread_id}/runs/{run_id}", s.getRun)
	s.handle("DELETE /threads/{thread_id}/runs/{run_id}", s.deleteRun)
	s.handle("GET /threads/{thread_id}/runs/{run_id}/join", s.joinWait)
	s.handle("GET /threads/{thread_id}/runs/{run_id}/stream", s.joinStream)
	s.handle("POST /threads/{thread_id}/runs/{run_id}/cancel", s.cancelRun)

	s.handle("POST /runs", s.createRun)
	s.handle("POST /runs/stream", s.createStream)
	s.handle("POST /runs/wait", s.createWait)
	s.handle("POST /runs/batch", s.createBatch)
	s.handle("POST /runs/cancel", s.cancelRuns)
	s.handle("GET /runs/{run_id}", s.getRun)
	s.handle("GET /runs/{run_id}/join", s.joinWait)
	s.handle("GET /runs/{run_id}/stream", s.joinStream)
	s.handle("POST /runs/{run_id}/cancel", s.cancelRun)

	s.handle("POST /runs/crons", s.createCron)
	s.handle("POST /threads/{thread_id}/runs/crons", s.createCron)
	s.handle("POST /runs/crons/search", s.searchCrons)
	s.handle("POST /runs/crons/count", s.countCrons)
	s.handle("PATCH /runs/crons/{cron_id}", s.patchCron)
	s.handle("DELETE /runs/crons/{cron_id}", s.deleteCron)

	s.handle("PUT /store/items", s.putItem)
	s.handle("GET /store/items", s.getItem)
	s.handle("DELETE /store/items", s.deleteItem)
	s.handle("POST /store/items/search", s.searchItems)
	s.handle("POST /store/namespaces", s.listNamespaces)
}

// notFound says what is missing in the words of LangGraph's server, which its users know.
func notFound(err error, format string, args ...any) error {
	if errors.Is(err, run.ErrNotFound) {
		return failure(http.StatusNotFound, fmt.Sprintf(format, args...))
	}
	return err
}

func noThread(err error, id string) error { return notFound(err, "Thread with ID %s not found", id) }

func noRun(err error) error { return notFound(err, "Run not found") }

// noAssistant speaks of one that a request names, in its body or path.
func noAssistant(err error, name string) error {
	return notFound(err, "No assistant found for %q. Make sure the assistant ID is for a valid assistant or a valid graph ID.", clip(name))
}
