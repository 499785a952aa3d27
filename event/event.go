package event

import (
	"encoding/json"
	"time"

	"github.com/tributary-ai/tributary/item"
)

// Envelope is an event with where and when it happened.
type Envelope struct {
	Seq    uint64    // place in the run's journal, from 1
	Epoch  int       // the lease under which it was written; a position is (Epoch, Seq), see package journal
	Run    string    // the run that wrote it
	Thread string    // the thread the run belongs to
	Task   string    // whose output it concerns: empty for the run's root task, else a sub-agent's task id
	NS     string    // graph namespace: empty for the root graph, else "node:execution" parts joined by "|"
	Node   string    // node of that graph, empty for what concerns the whole graph
	Step   int       // the graph's step; -1 for the input
	At     time.Time // UTC, in whole microseconds
	Event  Event
}

// Event is one of the kinds below.
type Event interface {
	// Kind is the event's name in its JSON form.
	Kind() string
	// Promised reports whether the event must be on disk, and not only out of this process, before anybody sees it.
	Promised() bool
	visit(Visitor) error
}

// Visit calls the visitor's method for the kind of e.
func Visit(e Event, v Visitor) error { return e.visit(v) }

// Error is a failure as it is told to people: a stable code, and a sentence without secrets.
type Error struct {
	// Code is a word for programs: "model_auth", "recursion_limit", "panic", "internal", …
	Code string `json:"code"`
	// Name is the class of error that a foreign client shows ("CustomError"); Code where it is empty.
	Name    string `json:"name,omitempty"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// Status is how a run or a task ended.
type Status string

const (
	Success     Status = "success"
	Failed      Status = "error"
	Interrupted Status = "interrupted" // stopped to ask a person; see InterruptRaised
	Cancelled   Status = "cancelled"
	TimedOut    Status = "timeout"
)

// RunQueued is the first event of a run that could not start at once: it waits for the run before it in its thread,
// for its time, or for a free worker.
type RunQueued struct{}

// RunStarted says that a run began to work. It is the run's first event, unless it had to wait.
type RunStarted struct {
	Assistant string          `json:"assistant,omitempty"` // id of the assistant
	Graph     string          `json:"graph"`               // name of its graph
	Attempt   int             `json:"attempt"`             // always 1
	Metadata  json.RawMessage `json:"metadata,omitempty"`  // the run's metadata, an object
}

// AttemptStarted says that the run goes on after a crash, a restart or a lost lease. A turn that was open is voided when its
// node makes another or ends without one; until then people still see it, and if neither happens it ends incomplete.
//
// After the loss of power, events that readers have seen may be gone, and others bear their numbers; wires that resume
// by a number alone must not use those again.
type AttemptStarted struct {
	Attempt int    `json:"attempt"` // 2, 3, …
	Cause   string `json:"cause"`   // "crash", "lease_lost", "drain", or [LostPower]
}

// LostPower is the cause of an attempt before which the machine went down.
const LostPower = "power"

// RunEnded is the last event of a run; there is exactly one.
type RunEnded struct {
	Status Status     `json:"status"`
	Reason string     `json:"reason,omitempty"` // for people: why it was cancelled, which limit it hit
	Error  *Error     `json:"error,omitempty"`  // with status error or timeout
	Usage  item.Usage `json:"usage"`            // sum over the run's turns
}

// NodeStarted says that a node of the graph began to execute.
type NodeStarted struct {
	Execution string   `json:"execution"`          // id of this execution; the same when it is repeated after a crash
	Triggers  []string `json:"triggers,omitempty"` // what made it due: edges, as "node" or "branch:to:node"
	Path      []string `json:"path,omitempty"`     // "pull", node for edges; "push", index, node for sends
	// Input is what a send handed to the node; empty where it reads the state.
	Input json.RawMessage `json:"input,omitempty"`
}

// NodeEnded says that a node finished, and what it wrote.
type NodeEnded struct {
	Execution string `json:"execution"`
	// Update is the object of fields that it wrote, as written (before reducers); null if it wrote none,
	// and a list of objects if it wrote a field more than once.
	Update     json.RawMessage `json:"update,omitempty"`
	Error      *Error          `json:"error,omitempty"`
	Interrupts []string        `json:"interrupts,omitempty"` // ids of the interrupts it raised; it will run again
	// Cached says that the node did not run again: its result was kept from before a crash or an interrupt.
	Cached bool `json:"cached,omitempty"`
}

// Source says what made a checkpoint.
type Source string

const (
	FromInput  Source = "input"
	FromLoop   Source = "loop"
	FromUpdate Source = "update"
	FromFork   Source = "fork"
)

// CheckpointSaved says that the graph's state was saved after a step. The values are in the store, under
// the checkpoint's id, and never change.
type CheckpointSaved struct {
	ID      string   `json:"id"`
	Parent  string   `json:"parent,omitempty"`
	Source  Source   `json:"source"`
	Next    []string `json:"next,omitempty"`    // nodes that are due, in order
	Changed []string `json:"changed,omitempty"` // fields whose values differ from the parent's
	// Left are the updates that were made of what cut-off turns had said, by the node that was cut off: {"agent": {…}}.
	Left json.RawMessage `json:"left,omitempty"`
}

// Ask says what sort of answer an interrupt waits for.
type Ask string

const (
	AskOther         Ask = "other"
	AskPlanReview    Ask = "plan_review"
	AskClarification Ask = "clarification"
	AskToolApproval  Ask = "tool_approval"
)

// InterruptRaised says that a node asks a person; the run will end interrupted, and a later run resumes with
// the answer.
type InterruptRaised struct {
	ID        string          `json:"id"`
	Execution string          `json:"execution"`
	Value     json.RawMessage `json:"value"` // what is asked, as the node put it
	Ask       Ask             `json:"ask,omitempty"`
	Options   []string        `json:"options,omitempty"` // answers offered
}

// Custom is what a node or a tool chose to tell.
type Custom struct {
	Name string          `json:"name,omitempty"`
	Data json.RawMessage `json:"data"`
}

// Warned tells of something that went otherwise than asked, without stopping the run: a model that cannot think, an
// unknown model replaced by the default.
type Warned struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// TaskStarted says that a sub-agent or expert began. The envelope's Task is its own id.
type TaskStarted struct {
	Parent  string `json:"parent,omitempty"`  // task that called it; empty for the root task
	CallID  string `json:"call_id,omitempty"` // the tool call that opened it; equal to the task's id
	Agent   string `json:"agent,omitempty"`
	Title   string `json:"title,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // 2, 3, … when the same work is tried again
}

// TaskEnded is the last event of a sub-agent.
type TaskEnded struct {
	Status Status     `json:"status"`
	Error  *Error     `json:"error,omitempty"`
	Usage  item.Usage `json:"usage"` // sum over its own turns and those of its children
}

// TurnStarted says that a model is being called. The turn's id is the id of the message that it produces.
type TurnStarted struct {
	Turn      string `json:"turn"`
	Execution string `json:"execution,omitempty"` // the node execution that calls
	Agent     string `json:"agent,omitempty"`
	Provider  string `json:"provider,omitempty"`
	Model     string `json:"model,omitempty"`
	Replaces  string `json:"replaces,omitempty"` // the turn whose place this one takes, which is void at the latest when this one has something to show
	Attempt   int    `json:"attempt,omitempty"`  // 1 for the first try
}

// ContextPrepared says what the model of a turn is shown. The request itself is kept beside the journal, to the byte, under
// its digest: requests of a conversation repeat each other, and what they have in common is stored once. Read it with
// tributary events --request, or at /tasks/{id}/requests/{turn}.
type ContextPrepared struct {
	Turn string `json:"turn"`
	// Request is the digest under which the request is kept; empty if requests are not kept.
	Request string `json:"request,omitempty"`
	Bytes   int    `json:"bytes,omitempty"` // its length
	// Messages is how many messages the model is shown.
	Messages int `json:"messages"`
	// Omitted are messages of the thread that it is not shown, Injected those that it is shown and that the thread does not
	// have, or has in another form.
	Omitted  []Span   `json:"omitted,omitempty"`
	Injected []Span   `json:"injected,omitempty"`
	Tools    []string `json:"tools,omitempty"` // the names of those that it is offered
}

// Span is a stretch of a conversation: messages that follow each other.
type Span struct {
	First string `json:"first,omitempty"` // the id of its first message, where it has one
	Count int    `json:"count"`
}

// TurnEnded says that the model finished, or, with finish "incomplete", that it was cut off and no later try takes its
// place: what it had said by then stays.
type TurnEnded struct {
	Turn   string      `json:"turn"`
	Finish item.Finish `json:"finish"`
	Usage  item.Usage  `json:"usage"`
	Model  string      `json:"model,omitempty"` // as the provider named it
	// FirstMicros and TotalMicros are the times from the request to the first piece and to the end.
	FirstMicros int64 `json:"first_us,omitempty"`
	TotalMicros int64 `json:"total_us,omitempty"`
}

// TurnVoided says that what streamed of this turn is void, because a later try takes its place: its stream broke, or the
// process died. A turn that ended incomplete may be voided too, when its work is done anew: by a later attempt
// of the run, or by its sub-agent, which began again.
type TurnVoided struct {
	Turn  string `json:"turn"`
	Cause string `json:"cause"` // "crash", or the error's code
	Error *Error `json:"error,omitempty"`
	// WaitMicros is how long is waited before the next try, or was, if the turn had shown something: that stays until the next
	// try begins. 0 if not at all.
	WaitMicros int64 `json:"wait_us,omitempty"`
	// Usage is what the broken call is known to have cost.
	Usage item.Usage `json:"usage,omitzero"`
}

// ItemStarted says that an item of a task's output begins, empty.
type ItemStarted struct {
	Item   string    `json:"item"`
	Turn   string    `json:"turn,omitempty"` // the turn that produces it; empty for tool results
	Type   item.Type `json:"type"`
	CallID string    `json:"call_id,omitempty"` // of tool calls and tool results
	Name   string    `json:"name,omitempty"`    // the tool's
	// Index is the place of a tool call among the calls of its turn, from 0.
	Index int `json:"index,omitempty"`
}

// ItemEnded says that an item is complete, or was cut off, and repeats the whole of what there is. It is a promise: a tool result
// whose ItemEnded is in the journal is never produced again.
type ItemEnded struct {
	Item   item.Item   `json:"item"`
	Status item.Status `json:"status"`
	// Update is what a tool writes into the agent's state beside its result, an object of fields; empty for most.
	Update json.RawMessage `json:"update,omitempty"`
}

// BlockStarted opens a block of an item. A reasoning item's summaries are its blocks.
type BlockStarted struct {
	Item  string         `json:"item"`
	Block int            `json:"block"` // index in the item, from 0
	Type  item.BlockType `json:"type"`
	Ref   int            `json:"ref,omitempty"`
}

// TextDelta is a piece of a text block.
type TextDelta struct {
	Item  string `json:"item"`
	Block int    `json:"block,omitempty"`
	Text  string `json:"text"`
}

// ImageDelta is a coarser version of an image that is still being made; each replaces the one before.
type ImageDelta struct {
	Item    string `json:"item"`
	Block   int    `json:"block"`
	Partial int    `json:"partial"`
	URL     string `json:"url"`
}

// AnnotationAdded marks a stretch of a text block that was streamed already.
type AnnotationAdded struct {
	Item       string          `json:"item"`
	Block      int             `json:"block"`
	Annotation item.Annotation `json:"annotation"`
}

// BlockEnded says that a block is complete, and repeats the whole of it.
type BlockEnded struct {
	Item  string     `json:"item"`
	Block int        `json:"block"`
	Value item.Block `json:"value"`
}

// ArgumentsDelta is a piece of a tool call's arguments.
type ArgumentsDelta struct {
	Item string `json:"item"`
	Text string `json:"text"`
}

// ToolProgressed says how a tool call is coming on. Each replaces the one before, and the end of the result ends them all. What
// a tool has to show of its result it does not tell here: that streams as blocks of the result's item.
type ToolProgressed struct {
	Item   string `json:"item"` // the tool result that is open
	CallID string `json:"call_id"`
	Name   string `json:"name"` // the tool's
	// Message says what is being done now; Done and Total how far it is, Total 0 where nobody knows. Data is anything else.
	Message string          `json:"message,omitempty"`
	Done    float64         `json:"done,omitempty"`
	Total   float64         `json:"total,omitempty"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// TeamFormed says that a team of experts begins its work.
type TeamFormed struct {
	Team    string   `json:"team"`
	Title   string   `json:"title,omitempty"`
	Lead    string   `json:"lead,omitempty"`
	Members []Member `json:"members"`
}

// Member is an expert of a team.
type Member struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
}

// PlanUpdated is the whole plan as it stands now; it replaces the one before with the same id.
type PlanUpdated struct {
	Plan  string     `json:"plan"`
	Team  string     `json:"team,omitempty"`
	Title string     `json:"title,omitempty"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is a line of a plan: a phase, a research step, a todo.
type PlanStep struct {
	ID        string   `json:"id"`
	Title     string   `json:"title"`
	Detail    string   `json:"detail,omitempty"`
	Status    string   `json:"status"` // pending, running, done, failed, skipped
	Kind      string   `json:"kind,omitempty"`
	DependsOn []string `json:"depends_on,omitempty"`
	Member    string   `json:"member,omitempty"` // the expert who has it
	Attempt   int      `json:"attempt,omitempty"`
	Result    string   `json:"result,omitempty"`
}

// Spoken is what a person said to the agents of a run while they work. Whoever it is for reads it in its next turn.
type Spoken struct {
	// ID is unique in the run: words that are said again with the same id were said once.
	ID string `json:"id"`
	// To is whom they are for, a member of a team; empty for all.
	To   string `json:"to,omitempty"`
	Text string `json:"text"`
}

// TeamDissolved is the last event of a team, also after an error or a cancel.
type TeamDissolved struct {
	Team    string `json:"team"`
	Outcome Status `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
}

// Unknown is an event that this version cannot take apart: its kind is not known, or it holds an item whose type is
// not. It is kept and passed on as it came.
type Unknown struct {
	Name string          // its kind
	Data json.RawMessage // its JSON object
}
