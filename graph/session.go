package graph

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"

	"github.com/tributary-ai/tributary/item"
)

// session is what all engines of a run share.
type session struct {
	Execution
	mu    sync.Mutex
	begun map[string]int        // how often each graph below the root was entered, by namespace
	spent map[string]item.Usage // what sub-agents have cost so far, by task
	said  map[string]bool       // messages that readers were told of, by id

	locals locals
	folder folder
}

func newSession(x Execution) *session {
	return &session{Execution: x, begun: map[string]int{}, spent: map[string]item.Usage{}, folder: folder{open: x.Folder}}
}

var silence = slog.New(slog.DiscardHandler)

func (x *session) log() *slog.Logger {
	if x.Log == nil {
		return silence
	}
	return x.Log
}

// folder is the thread's folder, opened when somebody first needs it.
type folder struct {
	mu     sync.Mutex
	open   func() (*os.Root, error) // nil: there is none
	root   *os.Root
	closed bool
}

func (f *folder) get() (*os.Root, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.open == nil:
		return nil, errors.New("this run has no folder: graph.Execution was given none")
	case f.closed:
		return nil, errors.New("the folder is closed: the run has stopped")
	case f.root != nil:
		return f.root, nil
	}
	root, err := f.open()
	f.root = root
	return root, err
}

func (f *folder) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.root != nil {
		f.root.Close()
	}
}

// record writes a batch, and marks an error as one of writing, after which nothing may be written.
func (x *session) record(ctx context.Context, b Batch) error {
	err := x.Recorder.Record(ctx, b)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return &recordError{err}
}

type recordError struct{ err error }

func (e *recordError) Error() string { return "record: " + e.err.Error() }
func (e *recordError) Unwrap() error { return e.err }
