package graph

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/piece"
	"github.com/tributary-ai/tributary/item"
)

// A running graph reads checkpoints through a [Checkpointer] and writes everything, events and state alike,
// through a [Recorder]. The two are separate because writes of one run form one ordered stream: an event
// and the checkpoint that it speaks of must become durable together, and a crash must leave a prefix.

// ErrNoCheckpoint is returned by Load for a thread or namespace that has none, or for an unknown id.
var ErrNoCheckpoint = errors.New("no such checkpoint")

// ErrNoPiece is returned for a piece of a request that is not kept.
var ErrNoPiece = errors.New("the request is not kept: requests are not recorded, or its thread is gone")

// Checkpointer reads saved states. Values of a checkpoint never change once saved.
type Checkpointer interface {
	// Load returns a checkpoint of a thread's namespace: the one named, or the latest if id is empty.
	Load(ctx context.Context, thread, ns, id string) (*Snapshot, error)
	// List returns up to limit checkpoints of a namespace, newest first, older than the one named by
	// before (all if empty).
	List(ctx context.Context, thread, ns, before string, limit int) ([]*Snapshot, error)
}

// HeadReader is implemented by checkpointers that can tell of a checkpoint without its values, for runs that
// have them in a [Cache].
type HeadReader interface {
	// Head is Load without Values.
	Head(ctx context.Context, thread, ns, id string) (*Snapshot, error)
}

// Recorder takes what a running graph has to say.
type Recorder interface {
	// Record appends the batch to the run's journal. Batches become durable and visible in the order of the
	// calls, each as a whole together with what it saves. Record may return before that, and blocks only
	// when too much is queued; for a Promise it returns when the batch, and so everything before
	// it, is on disk. The graph fills NS, Node, Step and Task of each envelope; the recorder the rest.
	// Nodes of a step, and goroutines of a node, call Record at the same time. A batch may be empty: as a
	// Promise it waits for what was recorded before.
	//
	// An error means that the run is no longer ours or cannot be written; the graph must stop.
	Record(ctx context.Context, b Batch) error
}

// Batch is a unit of recording.
type Batch struct {
	Events  []event.Envelope
	Save    []Save
	Promise bool
}

// Save is something to store together with events: a [Commit], a [Kept] or a [Shown].
type Save interface {
	save()
	Stored() // so that a journal takes it
}

// Commit stores a checkpoint. Its cost is proportional to what changed, not to the size of the state.
type Commit struct {
	Checkpoint Checkpoint
	// Blobs are the fields that changed.
	Blobs []Blob
	// Done tells what the tasks of the parent checkpoint did that led here.
	Done []Outcome
}

// Kept stores what is known of a task of a checkpoint whose step is not complete: a finished branch of a
// parallel step, a pending interrupt, answers given so far, an error. A later Kept of the same task
// replaces it.
type Kept struct {
	Thread     string
	NS         string
	Checkpoint string
	Outcome    Outcome
}

// Shown stores what a model was shown, in pieces that are kept once for a thread. It need not survive the loss of power.
type Shown struct {
	Thread string
	Pieces []piece.Piece
}

func (Commit) save() {}
func (Kept) save()   {}
func (Shown) save()  {}

// Stored marks what a journal stores.
func (Commit) Stored() {}

// Stored marks what a journal stores.
func (Kept) Stored() {}

// Stored marks what a journal stores.
func (Shown) Stored() {}

// Checkpoint is the state of a graph after a step, without the values. Checkpoints of a namespace form a tree.
type Checkpoint struct {
	ID     string // sorts by time
	Parent string // empty for the first
	Thread string
	NS     string // empty for the root graph
	Run    string // the run that saved it; empty for an update from outside
	Step   int    // -1 for the first input
	Source event.Source
	At     time.Time
	// Versions says under which version each field's value is stored, for all fields that have one.
	// A version is unique among the versions of the same field of the same thread and namespace.
	Versions map[string]int64
	// Next are the tasks that are due.
	Next []Task
	// Joins holds, for edges that wait for several nodes, those that have arrived: "join:a+b:target" → sources.
	Joins map[string][]string
	// Metadata is what the run's creator wants to find the checkpoint by, an object or empty.
	Metadata json.RawMessage
}

// Blob is a new version of a field's value.
type Blob struct {
	Field   string
	Version int64
	// Base is the version that Data extends: Data is then a JSON list of the elements appended to it, or an object of the
	// members that it did not have. With 0, Data is the whole value.
	Base int64
	Data json.RawMessage
}

// Task is a node execution that is due at a checkpoint. In its JSON form, what an ordinary edge makes of Path and
// Triggers is left out: there are two or three tasks to every turn of a conversation, for ever.
type Task struct {
	ID       string // derived from checkpoint, node and path, so that a repeated execution has the same
	Node     string
	Path     []string
	Triggers []string
	// Input is what a Send handed over; nil if the node reads the state.
	Input json.RawMessage
}

type taskJSON struct {
	ID       string          `json:"id"`
	Node     string          `json:"node"`
	Path     []string        `json:"path,omitzero"`
	Triggers []string        `json:"triggers,omitzero"`
	Input    json.RawMessage `json:"input,omitempty"`
}

// ordinary is what path and triggers are of a node that an edge made due.
func ordinary(node string) (path, triggers []string) {
	return []string{"pull", node}, []string{"branch:to:" + node}
}

// MarshalJSON writes the short form.
func (t Task) MarshalJSON() ([]byte, error) {
	w := taskJSON(t)
	path, triggers := ordinary(t.Node)
	if slices.Equal(t.Path, path) {
		w.Path = nil
	} else if w.Path == nil {
		w.Path = []string{}
	}
	if slices.Equal(t.Triggers, triggers) {
		w.Triggers = nil
	} else if w.Triggers == nil {
		w.Triggers = []string{}
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads it.
func (t *Task) UnmarshalJSON(data []byte) error {
	var w taskJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	path, triggers := ordinary(w.Node)
	if w.Path == nil {
		w.Path = path
	}
	if w.Triggers == nil {
		w.Triggers = triggers
	}
	*t = Task(w)
	return nil
}

// Outcome is what is known of a task.
type Outcome struct {
	Task string `json:"task"`
	Node string `json:"node,omitempty"`
	// Finished says that the task is done and must not run again.
	Finished bool `json:"finished,omitempty"`
	// Writes are the updates of a finished task in order, and where it wants to go. Where the update of a
	// field is byte for byte what a Blob of the commit stores, Stored names the blob's version instead.
	Writes []FieldWrite     `json:"writes,omitempty"`
	Stored map[string]int64 `json:"stored,omitempty"`
	Goto   []Target         `json:"goto,omitempty"`

	Error      *event.Error `json:"error,omitempty"`
	Interrupts []Interrupt  `json:"interrupts,omitempty"` // not answered yet
	// Resumes are the answers given so far, in the order in which the node asks.
	Resumes []json.RawMessage `json:"resumes,omitempty"`
	// ResumedBy is the run that gave the last answer. A run that died after it had given its answer must
	// not give it again to the next question.
	ResumedBy string `json:"resumed_by,omitempty"`
}

// FieldWrite is one write of a field, encoded.
type FieldWrite struct {
	Field string          `json:"field"`
	Value json.RawMessage `json:"value"`
}

// Target is where a command goes: a node, or a node with an input of its own (a send).
type Target struct {
	Node  string          `json:"node"`
	Send  bool            `json:"send,omitempty"`
	Input json.RawMessage `json:"input,omitempty"`
}

// Interrupt is a question to a person.
type Interrupt struct {
	ID      string          `json:"id"`
	Value   json.RawMessage `json:"value"`
	Ask     event.Ask       `json:"ask,omitempty"`
	Options []string        `json:"options,omitempty"`
	// NS is the namespace of the graph that asks, for interrupts below a subgraph.
	NS string `json:"ns,omitempty"`
}

// Snapshot is a checkpoint with its values.
type Snapshot struct {
	Checkpoint
	// Values holds each field's whole value, encoded. Read-only.
	Values map[string]json.RawMessage
	// Kept is what is known of the tasks in Next.
	Kept []Outcome
	// Done is what the parent's tasks did that led here.
	Done []Outcome
}

// Store is long-term memory that outlives threads: JSON values by namespace and key.
type Store interface {
	Get(ctx context.Context, namespace []string, key string) (value json.RawMessage, ok bool, err error)
	Put(ctx context.Context, namespace []string, key string, value json.RawMessage) error
	Delete(ctx context.Context, namespace []string, key string) error
	Search(ctx context.Context, prefix []string, limit int) ([]StoreItem, error)
}

// StoreItem is a value found in a [Store].
type StoreItem struct {
	Namespace []string
	Key       string
	Value     json.RawMessage
}

// Recall is what the journal already knows of work that an earlier attempt of the same run did. Nodes that
// cause effects ask it before they act.
type Recall interface {
	// ToolResult returns the recorded result of a tool call. started without ended means that the process died
	// while the tool may have been running: its outcome is unknown, and res.Blocks is what it had shown.
	ToolResult(callID string) (res item.ToolResult, started, ended bool)
	// ToolUpdate is what a call that ended wrote into the state beside its result, an object of fields; nil for nothing.
	ToolUpdate(callID string) json.RawMessage
	// ToolResults yields all recorded results, of sub-agents too, in the order in which they were recorded.
	ToolResults() iter.Seq[item.ToolResult]
	// Turn returns the message of the turn that a node execution had ended. If there is none, voided is the
	// last turn of it that was voided, if any.
	Turn(execution string) (msg item.Message, ended bool, voided string)
	// EndedTask returns how a sub-agent ended.
	EndedTask(task string) (event.TaskEnded, bool)
	// TaskUsage is what a sub-agent had used.
	TaskUsage(task string) item.Usage
}

// RecallSpoken is a [Recall] that knows what people have said to the run.
type RecallSpoken interface {
	Spoken() []event.Spoken
}

// NoRecall is the [Recall] of a first attempt.
type NoRecall struct{}

func (NoRecall) ToolResult(string) (res item.ToolResult, started, ended bool) {
	return res, false, false
}
func (NoRecall) ToolUpdate(string) json.RawMessage                         { return nil }
func (NoRecall) ToolResults() iter.Seq[item.ToolResult]                    { return func(func(item.ToolResult) bool) {} }
func (NoRecall) Turn(string) (msg item.Message, ended bool, voided string) { return msg, false, "" }
func (NoRecall) EndedTask(string) (event.TaskEnded, bool)                  { return event.TaskEnded{}, false }
func (NoRecall) TaskUsage(string) item.Usage                               { return item.Usage{} }
