// Package langgraph serves LangGraph's API: assistants, threads, runs, crons, the store, and the thread-centric protocol of
// its newer clients. What each route answers is told in docs/wire/langgraph.md, with the choices that had to be made
// between LangGraph's servers.
//
// Each resource has a package of its own, which owns its strings; this one puts them together. Imports among them point
// one way:
//
//	crons, assistants, protocol2 → runs → threads → state
//	items
//
// What is missing is told in the words of LangGraph's server, which its users know.
package langgraph

import (
	"context"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/langgraph/assistants"
	"github.com/tributary-ai/tributary/internal/server/langgraph/crons"
	"github.com/tributary-ai/tributary/internal/server/langgraph/items"
	"github.com/tributary-ai/tributary/internal/server/langgraph/protocol2"
	"github.com/tributary-ai/tributary/internal/server/langgraph/runs"
	"github.com/tributary-ai/tributary/internal/server/langgraph/state"
	"github.com/tributary-ai/tributary/internal/server/langgraph/threads"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// Store is what the routes read and write directly; what concerns executing runs goes through the engine.
type Store interface {
	run.Threads
	run.Runs
	run.Assistants
	run.Items
	run.Crons
	graph.Checkpointer
	// Outcomes tells what the tasks of a checkpoint did that led to the one after it; nothing, if there is none.
	Outcomes(ctx context.Context, thread, ns, checkpoint string) ([]graph.Outcome, error)
}

// Engine executes runs, and deletes threads with what runs on them.
type Engine interface {
	runs.Engine
	threads.Engine
}

// Options are what the routes need. All but Kick and the flags is required.
type Options struct {
	Store   Store
	Engine  Engine
	Journal *journal.Journal
	Graphs  state.Graphs
	Feeds   *feed.Feeds
	Terms   *stream.Terms
	// Kick makes whoever fires crons look at them again; without it none can be made.
	Kick func()
	// Webhooks says that the ends of runs are told to those who ask for it.
	Webhooks bool
	// Ordinal numbers the frames of a stream 0, 1, 2 …, as LangGraph's JS server does.
	Ordinal bool
}

// Mount adds the routes.
func Mount(t *edge.Routes, opt Options) {
	states := state.NewReader(opt.Store, opt.Graphs)
	follow := feed.NewThreads(opt.Journal, opt.Store)
	numbers := protocol2.NewNumbers(opt.Journal, states, opt.Store, follow)

	th := threads.New(threads.Options{Store: opt.Store, Engine: opt.Engine, States: states})
	rn := runs.New(runs.Options{
		Store: opt.Store, Engine: opt.Engine, Journal: opt.Journal, States: states,
		Feeds: opt.Feeds, Threads: follow, Terms: opt.Terms, Find: th.Find, Removing: numbers.Removing,
		Webhooks: opt.Webhooks, Ordinal: opt.Ordinal,
	})

	assistants.New(assistants.Options{Store: opt.Store, Graphs: opt.Graphs, RemoveThreads: th.RemoveOf}).Mount(t)
	th.Mount(t)
	rn.Mount(t)
	crons.New(crons.Options{Store: opt.Store, Runs: rn, Kick: opt.Kick}).Mount(t)
	items.New(opt.Store).Mount(t)
	protocol2.New(protocol2.Options{
		Store: opt.Store, Runs: rn, Journal: opt.Journal, States: states, Threads: follow, Numbers: numbers, Terms: opt.Terms,
	}).Mount(t)
	if opt.Webhooks {
		t.Section("webhooks", "What is sent to the address that a run was given, signed as standardwebhooks.com says")
		t.Sends("run_ended", edge.Doc{Summary: "A run has ended", Body: ended{}})
	}
}
