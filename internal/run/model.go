package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/secret"
	"github.com/tributary-ai/tributary/item"
)

var (
	// ErrNotFound says that there is no such thing, or that it belongs to somebody else.
	ErrNotFound = errors.New("not found")
	// ErrExists says that something with that id is there already.
	ErrExists = errors.New("exists already")
	// ErrBusy says that the thread has a run in flight, and the request does not want to wait for it.
	ErrBusy = errors.New("the thread is busy with another run")
	// ErrChanged says that the thread is no longer as the caller of [Runs.CreateRun] saw it.
	ErrChanged = errors.New("the thread has changed")
	// ErrTooMany says that an owner has as many of something as one may have.
	ErrTooMany = errors.New("too many")
	// ErrForbidden says that a request wants something that the settings do not allow.
	ErrForbidden = errors.New("not allowed")
	// ErrUnavailable says that the server cannot take work now: it is draining, or its disk is full.
	ErrUnavailable = errors.New("not available now, try again later")
)

// DamageError says that something that was stored is lost: it is missing, or not as it was written. It is not served. What
// is damaged can be restored, so the error is also an [ErrUnavailable].
type DamageError struct {
	Lost   string // what it is
	Remedy string // what to do about it
	Err    error  // how it was found
}

func (e *DamageError) Error() string {
	return e.Lost + " is damaged: " + e.Err.Error() + "; " + e.Remedy
}

func (e *DamageError) Unwrap() []error { return []error{ErrUnavailable, e.Err} }

// InvalidError says which field of a request is wrong, and why.
type InvalidError struct {
	Field  string
	Reason string
}

func (e *InvalidError) Error() string { return e.Field + ": " + e.Reason }

// Invalidf makes an [InvalidError].
func Invalidf(field, format string, args ...any) error {
	return &InvalidError{field, fmt.Sprintf(format, args...)}
}

// Identity is on whose behalf a call is made.
type Identity struct {
	// Owner is stamped on everything that is created, and matched by everything that is read.
	Owner string
}

// Status of a run.
type Status string

const (
	Pending     Status = "pending"
	Running     Status = "running"
	Success     Status = "success"
	Failed      Status = "error"
	Interrupted Status = "interrupted" // stopped to ask a person
	Cancelled   Status = "cancelled"
	TimedOut    Status = "timeout"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool { return s != Pending && s != Running }

// ThreadStatus of a thread.
type ThreadStatus string

const (
	Idle              ThreadStatus = "idle"
	Busy              ThreadStatus = "busy"
	ThreadInterrupted ThreadStatus = "interrupted"
	ThreadError       ThreadStatus = "error"
)

// Thread is a conversation. Its state is in its checkpoints.
type Thread struct {
	ID        string
	Owner     string
	Status    ThreadStatus
	Metadata  json.RawMessage // an object
	Config    json.RawMessage // of the latest run, an object
	Error     *event.Error    // of the latest run, where the status is error
	CreatedAt time.Time
	UpdatedAt time.Time
	// StateAt is when a checkpoint was last saved; zero before the first.
	StateAt time.Time
	// ExpiresAt is when the thread may be swept; zero for never.
	ExpiresAt time.Time
}

// Seen is what a thread was like when somebody looked. Every run that is created or ends, and every change of the state from outside,
// makes it another.
type Seen struct{ UpdatedAt, StateAt time.Time }

// Gap says that a run that is gone had so many of the numbers that the events of its thread are sent with. Clients drop events whose
// numbers they have seen, so nothing else may get them.
type Gap struct {
	At    time.Time // when the run started
	Count uint64
}

// Strategy says what happens to a new run while another is in flight on its thread.
type Strategy string

const (
	Enqueue   Strategy = "enqueue"   // wait for it
	Reject    Strategy = "reject"    // refuse the new one: ErrBusy
	Interrupt Strategy = "interrupt" // stop it, keep what it has done, then go on from there
	Rollback  Strategy = "rollback"  // stop it and remove it with all it has done
)

// Request says what a run is to do. It is stored with the run.
type Request struct {
	// Assistant is the id of an assistant, or the name of a graph for its default one.
	Assistant string `json:"assistant"`
	// Graph is filled from the assistant.
	Graph string `json:"graph,omitempty"`
	// Input is an object of fields, or null to go on from the checkpoint.
	Input json.RawMessage `json:"input,omitempty"`
	// Command resumes, updates or redirects in place of an input: {resume, update, goto}.
	Command json.RawMessage `json:"command,omitempty"`
	// Checkpoint is where to start from; empty for the latest.
	Checkpoint   string          `json:"checkpoint,omitempty"`
	CheckpointNS string          `json:"checkpoint_ns,omitempty"`
	Config       json.RawMessage `json:"config,omitempty"` // an object: configurable, tags, recursion_limit
	// Inherited are the keys of config.configurable that the assistant set and the request did not: a
	// mistake in them is not the caller's.
	Inherited []string        `json:"inherited,omitempty"`
	Context   json.RawMessage `json:"context,omitempty"` // an object
	// Secrets are what config and context brought in confidence; [Engine.Prepare] takes it out of them. They are not stored with
	// the request, but sealed in a place of their own, for as long as the run needs them.
	Secrets secret.Values `json:"-"`
	// Sealed says that there are some.
	Sealed   bool            `json:"sealed,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`

	InterruptBefore []string      `json:"interrupt_before,omitempty"` // nodes, or "*"
	InterruptAfter  []string      `json:"interrupt_after,omitempty"`
	Multitask       Strategy      `json:"multitask,omitempty"` // default Enqueue
	Delay           time.Duration `json:"delay,omitempty"`     // start not before
	Timeout         time.Duration `json:"timeout,omitempty"`   // 0: the engine's
	Durability      string        `json:"durability,omitempty"`

	// CreateThread makes the thread if it is missing. Temporary deletes it when the run has ended.
	CreateThread bool `json:"create_thread,omitempty"`
	Temporary    bool `json:"temporary,omitempty"`

	// Unchanged, if set, is what the thread must still be like: see [ErrChanged].
	Unchanged *Seen `json:"-"`

	// Key, if set, stands for the run: a request whose owner, thread and key are those of an earlier one makes no second run.
	Key string `json:"key,omitempty"`

	Webhook string `json:"webhook,omitempty"`
	// Wire is what the dialect through which the run was created wants to find again: its own words.
	Wire json.RawMessage `json:"wire,omitempty"`
}

// Run is one execution on a thread.
type Run struct {
	ID        string
	Thread    string
	Owner     string
	Assistant string
	Status    Status
	Request   Request
	CreatedAt time.Time
	UpdatedAt time.Time
	StartedAt time.Time // zero until it first ran
	EndedAt   time.Time // zero until it ended
	NotBefore time.Time
	Attempt   int
	Error     *event.Error
	Usage     item.Usage
	Spent     []Share // the same, by who spent it on what

	Worker     string // who has the lease
	Epoch      int    // of the latest lease
	LeaseUntil time.Time
	// LeftBy is, of a run that was just claimed, the worker that had it and never gave it back.
	LeftBy string
	// HandedOver says, of a run that was just claimed, that the worker before gave it up on purpose.
	HandedOver bool
	// Crashes is how often a worker was lost with the run since it last saved something.
	Crashes int
	// Streak is how many of these, up to the last, came one after the other: no worker was lost without it in between.
	Streak int
	// Cancel is set once somebody asked for it.
	Cancel Action
}

// Share is what an agent of a run spent on a model.
type Share struct {
	Agent    string     `json:"agent,omitempty"`
	Provider string     `json:"provider,omitempty"`
	Model    string     `json:"model,omitempty"`
	Turns    int        `json:"turns"`
	Usage    item.Usage `json:"usage"`
}

// Action is how a run is cancelled.
type Action string

const (
	NoCancel     Action = ""
	StopRun      Action = "interrupt" // keep what it has done
	RollbackRun  Action = "rollback"  // remove it with all it has done
	cancelReason        = "cancelled by request"
)

// Assistant is a graph with settings, in versions.
type Assistant struct {
	ID          string
	Owner       string // empty for the system's, which everybody may use and nobody change
	Graph       string
	Version     int
	Name        string
	Description *string
	Config      json.RawMessage
	Context     json.RawMessage
	Metadata    json.RawMessage
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// Item is a value in long-term memory.
type Item struct {
	Namespace []string
	Key       string
	Value     json.RawMessage
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time // zero for never
	// TTL is how long the item was given to live, by which reading it may put its expiry off.
	TTL time.Duration
}
