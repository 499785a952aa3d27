package tributary

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// The statuses of a run that has not ended; the others are those of package event.
const (
	Pending event.Status = "pending"
	Running event.Status = "running"
)

// Run is one execution of a graph on a thread.
type Run struct {
	ID        string
	Thread    string
	Owner     string
	Assistant string // its id
	Graph     string
	Status    event.Status
	Metadata  json.RawMessage // an object, or empty
	CreatedAt time.Time
	UpdatedAt time.Time
	StartedAt time.Time // zero until it first executed
	EndedAt   time.Time // zero until it ended
	// Attempt counts how often it was begun: once, and again after each crash.
	Attempt int
	Error   *event.Error // of one that failed or timed out
	Usage   item.Usage   // of one that has ended
}

// Ended reports whether the run has ended.
func (r Run) Ended() bool { return r.Status != Pending && r.Status != Running }

func runOf(r run.Run) Run {
	return Run{
		ID: r.ID, Thread: r.Thread, Owner: r.Owner, Assistant: r.Assistant, Graph: r.Request.Graph, Status: event.Status(r.Status),
		Metadata: r.Request.Metadata, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		Attempt: r.Attempt, Error: r.Error, Usage: r.Usage,
	}
}

// RunQuery selects runs. Zero fields do not restrict.
type RunQuery struct {
	Thread    string
	Assistant string
	Statuses  []event.Status  // any of them
	Metadata  json.RawMessage // an object; every key must be there with an equal value
	Asc       bool            // oldest first; otherwise newest first
	Page
}

// Page is a part of a list.
type Page struct {
	Limit  int // 0 for 100; at most 1000
	Offset int
}

const (
	usualPage   = 100
	largestPage = 1000
)

func (p Page) bounds() (limit, offset int, err error) {
	switch {
	case p.Limit < 0 || p.Limit > largestPage:
		return 0, 0, run.Invalidf("limit", "must be between 0 and %d, not %d", largestPage, p.Limit)
	case p.Offset < 0:
		return 0, 0, run.Invalidf("offset", "must not be negative")
	case p.Limit == 0:
		return usualPage, p.Offset, nil
	}
	return p.Limit, p.Offset, nil
}

// Run returns a run as it is now.
func (r *Runtime) Run(ctx context.Context, owner, id string) (Run, error) {
	rn, err := r.db.Run(ctx, identity(owner), id)
	if err != nil {
		return Run{}, r.told(err)
	}
	return runOf(rn), nil
}

// Runs returns a page of an owner's runs, and the number of all that match.
func (r *Runtime) Runs(ctx context.Context, owner string, q RunQuery) (runs []Run, total int, err error) {
	rq := run.RunQuery{Thread: q.Thread, Assistant: q.Assistant, Metadata: q.Metadata, Asc: q.Asc}
	for _, s := range q.Statuses {
		rq.Statuses = append(rq.Statuses, run.Status(s))
	}
	if rq.Limit, rq.Offset, err = q.bounds(); err != nil {
		return nil, 0, r.told(err)
	}
	if err := wantObject("metadata", q.Metadata); err != nil {
		return nil, 0, err
	}
	found, total, err := r.db.SearchRuns(ctx, identity(owner), rq)
	if err != nil {
		return nil, 0, r.told(err)
	}
	for _, rn := range found {
		runs = append(runs, runOf(rn))
	}
	return runs, total, nil
}

// Wait returns a run when it has ended. One that was rolled back no longer exists: [ErrNotFound].
func (r *Runtime) Wait(ctx context.Context, owner, id string) (Run, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(r.over, stop)()
	rn, err := r.engine.Wait(ctx, identity(owner), id)
	if err != nil {
		return Run{}, r.told(err)
	}
	return runOf(rn), nil
}

// Cancel asks a run to stop, and keeps what it has done. It returns at once, with the run as it is then; Wait tells when it
// has ended. One that has ended stays as it is.
func (r *Runtime) Cancel(ctx context.Context, owner, id string) (Run, error) {
	return r.cancel(ctx, owner, id, run.StopRun)
}

// Rollback is Cancel, and removes the run with all that it has done.
func (r *Runtime) Rollback(ctx context.Context, owner, id string) (Run, error) {
	return r.cancel(ctx, owner, id, run.RollbackRun)
}

func (r *Runtime) cancel(ctx context.Context, owner, id string, action run.Action) (Run, error) {
	rn, err := r.engine.Cancel(ctx, identity(owner), id, action)
	if err != nil {
		return Run{}, r.told(err)
	}
	return runOf(rn), nil
}

// Words are what a person says to the agents of a run while they work.
type Words struct {
	// ID makes it safe to say something again: words with the same id are said once. Empty for one of the runtime's making.
	ID string
	// To is whom they are for, an expert of a team; empty for all.
	To   string
	Text string
}

// Speak says something to the agents of a run while they work; those of a team listen. When it returns, the words are on disk and an
// [event.Spoken] of the run, and whoever they are for reads them in its next turn, also after a crash. [ErrNotListening] says that
// nobody will.
func (r *Runtime) Speak(ctx context.Context, owner, id string, w Words) error {
	_, err := r.engine.Speak(ctx, identity(owner), id, event.Spoken{ID: w.ID, To: w.To, Text: w.Text})
	return r.told(err)
}

// CancelTask stops one sub-agent of a run, by the id of its task, and lets the run go on without it, also after a crash. One that has
// ended, or has not begun, is not stopped.
func (r *Runtime) CancelTask(ctx context.Context, owner, id, task string) (Run, error) {
	rn, err := r.engine.CancelTask(ctx, identity(owner), id, task)
	if err != nil {
		return Run{}, r.told(err)
	}
	return runOf(rn), nil
}

// wantObject refuses what is not a JSON object, or nothing.
func wantObject(field string, raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return invalid(field, "must be an object")
	}
	return nil
}
