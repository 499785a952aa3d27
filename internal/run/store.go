package run

import (
	"context"
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/item"
)

// Store is what the engine needs of a database. One concrete type implements it together with
// journal.Store and graph.Checkpointer, so that one transaction can hold all three.
type Store interface {
	Threads
	Pieces
	Runs
	Queue
	Assistants
	FollowUps
}

// Threads keeps threads.
type Threads interface {
	// CreateThread inserts a thread; ErrExists if the id is taken, also by somebody else.
	CreateThread(ctx context.Context, who Identity, t Thread) (Thread, error)
	Thread(ctx context.Context, who Identity, id string) (Thread, error)
	SearchThreads(ctx context.Context, who Identity, q ThreadQuery) (threads []Thread, total int, err error)
	// PatchThread sets top-level keys of the metadata, and the expiry where given.
	PatchThread(ctx context.Context, who Identity, id string, metadata json.RawMessage, expires *time.Time) (Thread, error)
	// DeleteThread removes a thread with its runs, journals and checkpoints; ErrBusy while a run executes.
	// It returns the runs that went with it.
	DeleteThread(ctx context.Context, who Identity, id string) (runs []string, err error)
	// CopyThread copies a thread with its checkpoints, not its runs, to a new id.
	CopyThread(ctx context.Context, who Identity, id, newID string) (Thread, error)
	// SaveState stores checkpoints made outside of any run; ErrBusy while a run is in flight.
	SaveState(ctx context.Context, who Identity, thread string, status ThreadStatus, saves []graph.Save) error
	// PruneThread removes all checkpoints but the latest of each namespace.
	PruneThread(ctx context.Context, who Identity, id string) error
	// NoteGap remembers a gap for as long as there is the thread. Of two at the same time the larger counts.
	NoteGap(ctx context.Context, who Identity, thread string, g Gap) error
	// Gaps lists those of a thread in the order of their times; none where there is no such thread.
	Gaps(ctx context.Context, who Identity, thread string) ([]Gap, error)
}

// ThreadQuery selects threads. Zero fields do not restrict.
type ThreadQuery struct {
	IDs      []string
	Status   ThreadStatus
	Metadata json.RawMessage // an object; every key must be there with an equal value
	SortBy   string          // thread_id, status, created_at, updated_at; default created_at
	Asc      bool
	Limit    int
	Offset   int
}

// Runs keeps runs.
type Runs interface {
	// CreateRun inserts a run by the thread's multitask policy, in one transaction: see [Created]. [ErrExists] if the id is taken,
	// [ErrChanged] if the thread is not as the request saw it.
	CreateRun(ctx context.Context, who Identity, r NewRun) (Created, error)
	Run(ctx context.Context, who Identity, id string) (Run, error)
	// ThreadRuns lists the runs of a thread, newest first.
	ThreadRuns(ctx context.Context, who Identity, thread string, status Status, limit, offset int) ([]Run, error)
	// SearchRuns returns a page of an owner's runs over all threads, and the number of all that match.
	SearchRuns(ctx context.Context, who Identity, q RunQuery) (runs []Run, total int, err error)
	// RunsInFlight lists the caller's runs that have not ended, oldest first.
	RunsInFlight(ctx context.Context, who Identity) ([]Run, error)
	// DeleteRun removes an ended run with its journal and checkpoints; ErrBusy if it has not ended.
	DeleteRun(ctx context.Context, who Identity, id string) error
	// Secrets returns what the request of a run brought in confidence, as it was sealed: while the run has not ended, or has ended
	// with a question and its thread has not gone on. [ErrNotFound] if there is nothing.
	Secrets(ctx context.Context, id string) (sealed []byte, err error)
	// RequestCancel notes that a run is to stop. The first request wins; it returns the run as it is then.
	RequestCancel(ctx context.Context, who Identity, id string, action Action) (Run, error)
	// RequestTaskCancel notes that a sub-agent of a run is to stop, unless the run has ended. It returns the run as it is then;
	// [ErrTooMany] if very many were noted before.
	RequestTaskCancel(ctx context.Context, who Identity, id, task string) (Run, error)
	// CancelledTasks lists what was noted so of a run that has not ended.
	CancelledTasks(ctx context.Context, id string) ([]string, error)
}

// RunQuery selects runs. Zero fields do not restrict.
type RunQuery struct {
	Thread    string
	Assistant string
	Statuses  []Status        // any of them
	Metadata  json.RawMessage // an object; every key must be there with an equal value
	Asc       bool            // oldest first; default newest first
	Limit     int
	Offset    int
}

// NewRun is a run to be created.
type NewRun struct {
	ID      string
	Thread  string
	Request Request
	// Secrets are what the request brought in confidence, sealed.
	Secrets []byte
	At      time.Time
	// Worker, if set, takes the run at once where nothing stands in the way, which saves a claim.
	Worker string
	Lease  time.Duration
	// Queued is the beginning of the journal of a run that is not taken at once; it is stored with the run, under
	// the chunk's epoch.
	Queued journal.Chunk
	// Started is the beginning of the journal of a run that the worker takes at once: it is stored with the run, whose
	// first attempt has begun with that.
	Started journal.Chunk
}

// Created is what became of a [NewRun].
type Created struct {
	Run Run // Running if the worker has it already
	// NewThread says that the thread was made for the run, and has no state.
	NewThread bool
	// Stopped are the runs that the strategy asked to stop; the engine must tell their workers.
	Stopped []string
}

// Queue hands runs to workers.
type Queue interface {
	// Claim leases up to n runs that are due: pending ones whose thread is free and running ones whose lease has expired,
	// unless it is the worker's own. Only those that crashed as often as is asked for are taken, and, where no crash is
	// asked for, those that are to be stopped. The oldest come first; of those that crashed more than once, those that did so
	// the least. Each claim raises the run's epoch.
	//
	// A lease that expired is a crash. It is counted once, from 1 if the run has saved a checkpoint, or the outcome of a
	// branch, since the one before.
	Claim(ctx context.Context, worker string, lease time.Duration, n int, crashes Between) ([]Run, error)
	// ClaimPending leases one run that is still pending, whatever its thread does, in order to end it.
	ClaimPending(ctx context.Context, worker string, lease time.Duration, id string) (Run, error)
	// Heartbeat extends the leases of a worker. It returns the runs that the worker still holds, by their ids, with what is wanted of
	// each.
	Heartbeat(ctx context.Context, worker string, lease time.Duration) (held map[string]Wish, err error)
	// Abandon expires the leases of workers whose names begin with a prefix, because they are known to be dead: those of
	// runs and of follow-ups.
	Abandon(ctx context.Context, prefix string) error
	// Release gives a run back before its time, so that another worker takes it at once.
	Release(ctx context.Context, worker, id string, epoch int) error
	// NextDue is when, after a time, the next pending run becomes due; ok is false if there is none.
	NextDue(ctx context.Context, after time.Time) (at time.Time, ok bool, err error)
}

// Wish is what is wanted of a run that executes.
type Wish struct {
	Cancel Action   // how it is to stop, if it is
	Tasks  []string // sub-agents that are to stop
}

// Between is a range with both ends.
type Between struct{ Least, Most int }

// End closes a run. It is saved with its RunEnded, in one transaction.
type End struct {
	Run     string
	Thread  string
	Status  Status
	Error   *event.Error
	Usage   item.Usage
	Spent   []Share
	At      time.Time
	Attempt int
	// Waiting says that the graph has nodes that are due, so the thread is interrupted and not idle.
	Waiting bool
	// Rollback removes the run with its checkpoints and journal.
	Rollback bool
	// Temporary lets the thread go, after readers have had some time, and when its follow-ups are done.
	Temporary bool
	// Sealed says that the run has secrets, which go with its end.
	Sealed bool
	// FollowUps are what is to be done now.
	FollowUps []FollowUp
}

// Begin marks the first execution of a run; it is saved with its RunStarted or AttemptStarted.
type Begin struct {
	Run     string
	At      time.Time
	Attempt int
}

// Stored marks what a journal stores.
func (Begin) Stored() {}

// Stored marks what a journal stores.
func (End) Stored() {}

// Assistants keeps assistants and their versions.
type Assistants interface {
	CreateAssistant(ctx context.Context, who Identity, a Assistant) (Assistant, error)
	Assistant(ctx context.Context, who Identity, id string) (Assistant, error)
	SearchAssistants(ctx context.Context, who Identity, q AssistantQuery) (list []Assistant, total int, err error)
	// PatchAssistant makes a new version with the fields that are set; metadata is merged.
	PatchAssistant(ctx context.Context, who Identity, id string, p AssistantPatch) (Assistant, error)
	DeleteAssistant(ctx context.Context, who Identity, id string) error
	AssistantVersions(ctx context.Context, who Identity, id string, metadata json.RawMessage, limit, offset int) ([]Assistant, error)
	// SetLatestAssistant makes an older version the current one.
	SetLatestAssistant(ctx context.Context, who Identity, id string, version int) (Assistant, error)
}

// AssistantQuery selects assistants. Zero fields do not restrict.
type AssistantQuery struct {
	Graph    string
	Name     string // substring, case does not matter
	Metadata json.RawMessage
	SortBy   string // assistant_id, graph_id, name, created_at, updated_at; default created_at
	Asc      bool
	Limit    int
	Offset   int
}

// AssistantPatch changes an assistant. Nil fields stay as they are.
type AssistantPatch struct {
	Graph       *string
	Name        *string
	Description *string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    json.RawMessage
}

// Items is long-term memory.
type Items interface {
	PutItem(ctx context.Context, who Identity, it Item) error
	Item(ctx context.Context, who Identity, namespace []string, key string, refresh time.Duration) (Item, error)
	// ItemStamp tells one state of an item from another without reading its value: equal stamps are of equal values.
	ItemStamp(ctx context.Context, who Identity, namespace []string, key string) (string, error)
	DeleteItem(ctx context.Context, who Identity, namespace []string, key string) error
	SearchItems(ctx context.Context, who Identity, q ItemQuery) ([]Item, error)
	Namespaces(ctx context.Context, who Identity, q NamespaceQuery) ([][]string, error)
}

// ItemQuery selects items below a namespace.
type ItemQuery struct {
	Prefix []string
	// Filter compares top-level keys of the value: a plain value for equality, or an object of the operators
	// $eq, $ne, $gt, $gte, $lt, $lte.
	Filter json.RawMessage
	Text   string // every word of it must occur in the value
	Limit  int
	Offset int
}

// NamespaceQuery selects namespaces; "*" in a prefix or suffix stands for any one label.
type NamespaceQuery struct {
	Prefix   []string
	Suffix   []string
	MaxDepth int
	Limit    int
	Offset   int
}
