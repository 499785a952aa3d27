package tributary

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/run"
)

// ThreadStatus says what a thread is up to.
type ThreadStatus string

const (
	ThreadIdle        ThreadStatus = "idle"
	ThreadBusy        ThreadStatus = "busy"        // a run is in flight
	ThreadInterrupted ThreadStatus = "interrupted" // nodes are due: its latest run stopped to ask, or was stopped
	ThreadError       ThreadStatus = "error"       // its latest run failed
)

// Thread is a conversation: what runs of a graph go on with. Its state is read with [Runtime.State].
type Thread struct {
	ID        string
	Owner     string
	Status    ThreadStatus
	Metadata  json.RawMessage // an object; graph_id and assistant_id are those of the latest run
	Error     *event.Error    // of the latest run, where the status is ThreadError
	CreatedAt time.Time
	UpdatedAt time.Time
	StateAt   time.Time // when its state last changed; zero before the first run
	ExpiresAt time.Time // when it may be deleted; zero for never
}

func threadOf(t run.Thread) Thread {
	return Thread{
		ID: t.ID, Owner: t.Owner, Status: ThreadStatus(t.Status), Metadata: t.Metadata, Error: t.Error,
		CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt, StateAt: t.StateAt, ExpiresAt: t.ExpiresAt,
	}
}

// Threads are a runtime's threads. Every call names whose; an empty owner is the local user.
type Threads struct{ r *Runtime }

// Threads returns the runtime's threads.
func (r *Runtime) Threads() Threads { return Threads{r} }

// NewThread is a thread to be created. A run on a thread that does not exist creates it, too.
type NewThread struct {
	ID       string          // made up, if empty
	Metadata json.RawMessage // an object, or empty
	// Graph is the graph whose state the thread is to hold, for those that write it before the first run.
	Graph string
	// TTL is for how long it lives; zero for ever.
	TTL time.Duration
}

// Create creates a thread. [ErrExists] says that the id is taken, by whomever.
func (t Threads) Create(ctx context.Context, owner string, n NewThread) (Thread, error) {
	now := time.Now().UTC()
	th := run.Thread{ID: n.ID, Metadata: n.Metadata, CreatedAt: now}
	if th.ID == "" {
		th.ID = uuid.Must(uuid.NewV7()).String()
	}
	if err := run.ValidID("thread_id", th.ID); err != nil {
		return Thread{}, t.r.told(err)
	}
	if err := wantObject("metadata", n.Metadata); err != nil {
		return Thread{}, err
	}
	if n.TTL < 0 {
		return Thread{}, invalid("ttl", "must not be negative")
	}
	if n.TTL > 0 {
		th.ExpiresAt = now.Add(n.TTL)
	}
	if n.Graph != "" {
		if _, ok := t.r.graphs[n.Graph]; !ok {
			return Thread{}, invalid("graph_id", "there is no graph "+n.Graph)
		}
		meta := map[string]json.RawMessage{}
		if len(n.Metadata) > 0 {
			_ = json.Unmarshal(n.Metadata, &meta) // it is an object
		}
		meta["graph_id"], _ = json.Marshal(n.Graph) // strings can be encoded, and so can what was decoded
		th.Metadata, _ = json.Marshal(meta)
	}
	made, err := t.r.db.CreateThread(ctx, identity(owner), th)
	if err != nil {
		return Thread{}, t.r.told(err)
	}
	return threadOf(made), nil
}

// Get returns a thread.
func (t Threads) Get(ctx context.Context, owner, id string) (Thread, error) {
	th, err := t.r.db.Thread(ctx, identity(owner), id)
	if err != nil {
		return Thread{}, t.r.told(err)
	}
	return threadOf(th), nil
}

// ThreadQuery selects threads. Zero fields do not restrict.
type ThreadQuery struct {
	IDs      []string
	Status   ThreadStatus
	Metadata json.RawMessage // an object; every key must be there with an equal value
	SortBy   string          // thread_id, status, created_at, updated_at; empty for created_at
	Asc      bool
	Page
}

// Search returns a page of an owner's threads, and the number of all that match.
func (t Threads) Search(ctx context.Context, owner string, q ThreadQuery) (threads []Thread, total int, err error) {
	rq := run.ThreadQuery{IDs: q.IDs, Status: run.ThreadStatus(q.Status), Metadata: q.Metadata, SortBy: q.SortBy, Asc: q.Asc}
	if rq.Limit, rq.Offset, err = q.bounds(); err != nil {
		return nil, 0, t.r.told(err)
	}
	if err := wantOne("sort_by", q.SortBy, "thread_id", "status", "created_at", "updated_at"); err != nil {
		return nil, 0, err
	}
	if err := wantObject("metadata", q.Metadata); err != nil {
		return nil, 0, err
	}
	found, total, err := t.r.db.SearchThreads(ctx, identity(owner), rq)
	if err != nil {
		return nil, 0, t.r.told(err)
	}
	for _, th := range found {
		threads = append(threads, threadOf(th))
	}
	return threads, total, nil
}

// ThreadUpdate changes a thread. Zero fields leave it as it is.
type ThreadUpdate struct {
	Metadata json.RawMessage // an object, whose keys are set
	// ExpiresAt is when the thread may be deleted; the zero time for never.
	ExpiresAt *time.Time
}

// Update changes a thread and returns it.
func (t Threads) Update(ctx context.Context, owner, id string, u ThreadUpdate) (Thread, error) {
	if err := wantObject("metadata", u.Metadata); err != nil {
		return Thread{}, err
	}
	th, err := t.r.db.PatchThread(ctx, identity(owner), id, u.Metadata, u.ExpiresAt)
	if err != nil {
		return Thread{}, t.r.told(err)
	}
	return threadOf(th), nil
}

// Copy copies a thread with its state and history, without its runs, to a new id.
func (t Threads) Copy(ctx context.Context, owner, id string) (Thread, error) {
	th, err := t.r.db.CopyThread(ctx, identity(owner), id, uuid.Must(uuid.NewV7()).String())
	if err != nil {
		return Thread{}, t.r.told(err)
	}
	return threadOf(th), nil
}

// Delete deletes a thread with its runs, journals and states. What runs on it is stopped first.
func (t Threads) Delete(ctx context.Context, owner, id string) error {
	return t.r.told(t.r.engine.DeleteThread(ctx, identity(owner), id))
}
