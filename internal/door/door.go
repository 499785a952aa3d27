// Package door lets the packages of this module that put something around a runtime, such as a server, reach the parts it
// is made of. Programs outside of the module can neither see nor use it: the library's own interface has no type of an
// internal package, and no method that is not for everybody.
//
// # Laws
//
//   - Package tributary hangs the door when it is initialised, once; nobody else does.
//   - The parts belong to the runtime and are closed with it.
package door

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/catalogue"
	"github.com/tributary-ai/tributary/internal/custom"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/skill"
	"github.com/tributary-ai/tributary/internal/workspace"
	"github.com/tributary-ai/tributary/memory"
)

// ErrNoModel says that nobody can write.
var ErrNoModel = errors.New("there is no language model")

// Parts are what a runtime is made of.
type Parts struct {
	Engine  *run.Engine
	Journal *journal.Journal
	Store   *catalogue.Store
	Graphs  Graphs
	Log     *slog.Logger
	// Write has the runtime's model write a text, outside of any run. ErrNoModel where there is but the offline one, which
	// cannot write.
	Write func(ctx context.Context, owner, system, text string) iter.Seq2[string, error]
	// Folder opens the folder of a thread, which may be as full as Quota says; nil where agents have no files.
	Folder func(who run.Identity, thread string) (*os.Root, error)
	Quota  workspace.Quota
	// Memory is what is remembered of people; nil: nothing is.
	Memory *memory.Book
	// Agents are the custom agents, and Skills the skills; nil where the built-in agent is not the lead agent, which alone knows them.
	Agents *custom.Agents
	Skills *skill.Skills
}

// Graphs finds a runtime's graphs by name.
type Graphs interface {
	// Names lists them in order.
	Names() []string
	// Graph builds a graph as a run of that person's with that request would get it; run.ErrNotFound if there is none of the name.
	Graph(ctx context.Context, who run.Identity, name string, req run.Request) (*graph.Graph, error)
}

var parts func(runtime any) Parts

// Hang says how the parts of a *tributary.Runtime are found, which cannot be named here: package tributary stands above.
func Hang(of func(runtime any) Parts) { parts = of }

// Open returns the parts of a *tributary.Runtime, and panics for anything else.
func Open(runtime any) Parts { return parts(runtime) }
