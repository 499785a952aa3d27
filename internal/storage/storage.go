// Package storage says what a runtime needs of a database. Package sqlite is one; package storagetest is what each of them must
// show, also where several processes share it.
//
// One type implements all of it, because one transaction holds a run's events together with the state and the end that they
// speak of.
package storage

import (
	"context"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
)

// Backend keeps everything but files.
type Backend interface {
	journal.Store
	journal.Preparer
	graph.Checkpointer
	graph.HeadReader
	run.Store
	run.Items
	run.Crons
	run.Counts
	// Outcomes tells what the tasks of a checkpoint did that led to the one after it; nothing, if there is none.
	Outcomes(ctx context.Context, thread, ns, checkpoint string) ([]graph.Outcome, error)
	// Probe finds out by a small write whether work can be taken on.
	Probe(ctx context.Context) error
	// Sweep deletes up to n threads that have expired, and returns the runs that went with them.
	Sweep(ctx context.Context, at time.Time, n int) (runs []string, err error)
	Close() error
}
