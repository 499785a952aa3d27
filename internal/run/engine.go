package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bus"
	"github.com/tributary-ai/tributary/internal/journal"
)

// Options are an engine's parts and settings. Store, Journal, Checkpoints and Build are required.
type Options struct {
	Store       Store
	Journal     *journal.Journal
	Checkpoints graph.Checkpointer
	// Build makes the graph of a run, from its assistant and configuration, each time it executes, and once before it is
	// accepted: an error then refuses the order.
	Build func(ctx context.Context, r Run) (*graph.Graph, error)
	// Memory is the long-term memory of an identity; nil for none.
	Memory func(who Identity) graph.Store
	// Folder opens the folder of a thread; nil for none.
	Folder func(who Identity, thread string) (*os.Root, error)
	// Secrets seals what requests bring in confidence. Without it a request that brings some is refused.
	Secrets Sealer
	// Requests says that what models are shown is put on record.
	Requests bool
	// FollowUps says what is to be done when a run has ended; nil for nothing. It is asked before the end is stored, which
	// waits for it, so it must not look anything up.
	FollowUps func(r Run) []FollowUp
	// Handlers carry follow-ups out, by kind. Those of other kinds wait until somebody has a handler; see Engine.Handle.
	Handlers map[string]Handler

	Bus bus.Bus
	// Node is the name of this process among those that share the store. The one that is started in its place has the same, and
	// knows by it that its leases are dead. Default [LocalNode].
	Node string
	// Boot names the time for which unsynced writes last: the machine's boot. A run that a worker of another boot left
	// behind may have lost events that readers saw. Empty where every event is synced.
	Boot string
	// MaxRuns is how many runs execute at once. Default 4096.
	MaxRuns int
	// Lease is how long a run is ours without a heartbeat. Default 30 s.
	Lease time.Duration
	// MaxAttempts is how many crashes, one after the other, a run may see without having saved anything in between, before it
	// is given up; see suspect.go. Being handed over by an orderly stop does not count. Default 10.
	MaxAttempts int
	// Timeout ends runs that say nothing else; an attempt has all of it. Default 6 h; negative for never.
	Timeout time.Duration
	// RecursionLimit is how many steps a run may take where neither the run nor its graph says. Default 1000.
	RecursionLimit int
	// StateBytes is how much state of threads is kept in memory for their next runs. Default 64 MiB.
	StateBytes int
	// Poll is how often the queue is looked at without being told to. Default 1 s.
	Poll time.Duration
	Log  *slog.Logger
}

// LocalNode is the name of a process that has its store to itself.
const LocalNode = "local"

func (o *Options) fill() error {
	if o.Store == nil || o.Journal == nil || o.Checkpoints == nil || o.Build == nil {
		return errors.New("an engine needs a store, a journal, checkpoints and a way to build graphs")
	}
	if o.Bus == nil {
		o.Bus = &bus.Local{}
	}
	if o.Node == "" {
		o.Node = LocalNode
	}
	if err := ValidID("node", o.Node); err != nil { // a slash would end it
		return err
	}
	if o.MaxRuns <= 0 {
		o.MaxRuns = 4096
	}
	if o.Lease <= 0 {
		o.Lease = 30 * time.Second
	}
	if o.MaxAttempts <= 0 {
		o.MaxAttempts = 10
	}
	if o.Timeout == 0 {
		o.Timeout = 6 * time.Hour
	}
	if o.RecursionLimit <= 0 {
		o.RecursionLimit = 1000
	}
	if o.StateBytes == 0 {
		o.StateBytes = 64 << 20
	}
	if o.Poll <= 0 {
		o.Poll = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}

// Engine executes runs. It owns one goroutine for the queue, one for the leases, and one for each run; and those of its desk.
type Engine struct {
	opt    Options
	worker string // this process: node/boot/incarnation

	kick        chan struct{} // the queue may have something
	stopping    chan struct{} // no more claims
	drained     chan struct{} // no more heartbeats
	unsubscribe func()
	loops       sync.WaitGroup
	states      *graph.Cache
	desk        *desk
	large       *semaphore.Weighted // bytes of large inputs that are being read

	mu       sync.Mutex
	active   map[string]*active
	busy     int           // runs that execute, and calls that may launch one
	idle     chan struct{} // closed when busy falls to 0; nil if nobody waits
	orphans  []Run         // runs that could not be given back yet
	draining bool
	suspects int // runs that execute and may be why the process crashes
	crashes  int // how often each of them crashed
}

// enter begins something that may launch runs, so that Close waits for it. It is refused while the engine drains.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.draining {
		return false
	}
	e.busy++
	return true
}

func (e *Engine) isDraining() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.draining
}

// leave ends what enter or launch began.
func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy--; e.busy == 0 && e.idle != nil {
		close(e.idle)
		e.idle = nil
	}
}

// active is a run that executes here, or will when it is stored.
type active struct {
	id      string
	cancel  context.CancelCauseFunc
	control *graph.Control
	begun   bool            // it executes; under Engine.mu
	suspect bool            // it may be why the process crashes; under Engine.mu
	stopped map[string]bool // sub-agents that were asked to stop; under Engine.mu
	late    bool            // it was stored before it was on the list, and may have been cancelled in between

	opening   []event.Envelope // what its journal began with when it was stored; nothing for one that was claimed
	log       *journal.Log     // open behind the opening; nil where there is none
	newThread bool             // its thread was made for it
}

// errDrain is a cause with which a run's context is cancelled. Nodes may tell of it, so it is an error for events.
var errDrain = graph.ErrHandOver

// cancelled is the cause of a run that somebody asked to stop.
type cancelled struct{ action Action }

func (c *cancelled) Error() string { return cancelReason }
func (c *cancelled) Name() string  { return "CancelledError" }
func (c *cancelled) Code() string  { return graph.CodeCancelled }

// Open starts an engine and takes up the runs that the process before it left behind.
func Open(ctx context.Context, opt Options) (*Engine, error) {
	if err := opt.fill(); err != nil {
		return nil, err
	}
	e := &Engine{
		opt: opt, worker: opt.Node + "/" + opt.Boot + "/" + uuid.NewString(),
		kick: make(chan struct{}, 1), stopping: make(chan struct{}), drained: make(chan struct{}), active: map[string]*active{},
		states: graph.NewCache(opt.StateBytes), large: semaphore.NewWeighted(largeInputs),
	}
	if err := opt.Store.Abandon(ctx, opt.Node+"/"); err != nil {
		return nil, fmt.Errorf("take over abandoned runs: %w", err)
	}
	e.unsubscribe = opt.Bus.Subscribe(e.hear)
	e.loops.Add(2)
	go e.dispatch()
	go e.keepLeases()
	e.desk = openDesk(e)
	e.wake()
	return e, nil
}

// Start creates a run of a request that is complete: see [Engine.Prepare]. When it returns, the run will end, whatever happens.
func (e *Engine) Start(ctx context.Context, who Identity, thread string, req Request) (Run, error) {
	if err := ValidID("thread_id", thread); err != nil {
		return Run{}, err
	}
	if err := req.validate(); err != nil {
		return Run{}, err
	}
	if err := req.conceal(); err != nil {
		return Run{}, err
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	n := NewRun{ID: newID(), Thread: thread, Request: req, At: at, Lease: e.opt.Lease}
	if req.Key != "" {
		n.ID = keyedID(who, thread, req.Key)
		if was, err := e.opt.Store.Run(ctx, who, n.ID); !errors.Is(err, ErrNotFound) {
			return was, err
		}
	}
	if !e.enter() {
		return Run{}, ErrUnavailable
	}
	defer e.leave()
	if e.Active() < e.opt.MaxRuns {
		n.Worker = e.worker
	}
	var opening []event.Envelope
	var err error
	if n.Secrets, err = e.seal(n.ID, &req); err != nil {
		return Run{}, err
	}
	if n.Queued, _, err = journal.Opening(n.ID, thread, event.Envelope{At: at, Step: -1, Event: event.RunQueued{}}); err != nil {
		return Run{}, err
	}
	if n.Started, opening, err = journal.Opening(n.ID, thread, event.Envelope{At: at, Event: started(&req, 1)}); err != nil {
		return Run{}, err
	}
	var alive context.Context
	var a *active
	if req.Key == "" {
		// On the list before it is stored: a cancel finds it from the first moment.
		alive, a = e.list(n.ID)
	}
	c, err := e.opt.Store.CreateRun(ctx, who, n)
	if errors.Is(err, ErrExists) && req.Key != "" { // another who has the key was faster
		return e.opt.Store.Run(ctx, who, n.ID)
	}
	if err != nil {
		e.unlist(a)
		return Run{}, fmt.Errorf("create run: %w", err)
	}
	for _, id := range c.Stopped {
		e.stopRun(ctx, id, actionOf(req.Multitask))
	}
	if c.Run.Status != Running {
		e.unlist(a)
		e.wake()
		return c.Run, nil
	}
	if a == nil { // of two with one key only the one whose run it is may be on the list
		alive, a = e.list(n.ID)
		a.late = true
	}
	a.newThread = c.NewThread
	a.opened(e.log(c.Run, opening[len(opening)-1].Seq), opening)
	e.begin(alive, a, c.Run)
	return c.Run, nil
}

// lostPower reports whether the machine went down under a worker that did not sync everything.
func (e *Engine) lostPower(worker string) bool {
	_, rest, _ := strings.Cut(worker, "/")
	boot, _, ok := strings.Cut(rest, "/")
	return ok && boot != "" && boot != e.opt.Boot
}

func actionOf(s Strategy) Action {
	if s == Rollback {
		return RollbackRun
	}
	return StopRun
}

// ValidID refuses ids that could not stand in a path or a log line as they are.
func ValidID(field, id string) error {
	const most = 128
	if id == "" || len(id) > most {
		return Invalidf(field, "must have 1 to %d characters", most)
	}
	for _, c := range id {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:", c) {
			return Invalidf(field, "may have letters, digits, and -_.: only")
		}
	}
	return nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// keyedID is the id of the run that a key stands for.
func keyedID(who Identity, thread, key string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(who.Owner+"\x00"+thread+"\x00"+key)).String()
}

// validate refuses what can be known to be wrong before anything is written.
func (r *Request) validate() error {
	if r.Assistant == "" {
		return Invalidf("assistant_id", "is required")
	}
	switch r.Multitask {
	case "":
		r.Multitask = Enqueue
	case Enqueue, Reject, Interrupt, Rollback:
	default:
		return Invalidf("multitask_strategy", "must be enqueue, reject, interrupt or rollback, not %q", r.Multitask)
	}
	for field, raw := range map[string]json.RawMessage{"config": r.Config, "context": r.Context, "metadata": r.Metadata, "command": r.Command} {
		if err := mustBeObject(field, raw); err != nil {
			return err
		}
	}
	if len(r.Command) > 0 {
		var o graph.Orders
		if err := json.Unmarshal(r.Command, &o); err != nil {
			return Invalidf("command", "%v", err)
		}
	}
	if r.Delay < 0 {
		return Invalidf("after_seconds", "must not be negative")
	}
	return nil
}

func mustBeObject(field string, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return Invalidf(field, "must be an object")
	}
	return nil
}

// Cancel asks a run to stop. It returns at once, with the run as it is then; Wait tells when it has ended.
func (e *Engine) Cancel(ctx context.Context, who Identity, id string, action Action) (Run, error) {
	if action != StopRun && action != RollbackRun {
		return Run{}, Invalidf("action", "must be interrupt or rollback, not %q", action)
	}
	r, err := e.opt.Store.RequestCancel(ctx, who, id, action)
	if err != nil {
		return r, fmt.Errorf("cancel: %w", err)
	}
	if !r.Status.Ended() {
		e.stopRun(ctx, id, r.Cancel)
	}
	return r, nil
}

// stopRun makes a noted cancel take effect: a waiting run is ended here, a running one is told.
func (e *Engine) stopRun(ctx context.Context, id string, action Action) {
	if !e.enter() {
		return // the wish is stored: the next process finds it
	}
	defer e.leave()
	r, err := e.opt.Store.ClaimPending(ctx, e.worker, e.opt.Lease, id)
	switch {
	case err == nil:
		e.launch(r)
	case errors.Is(err, ErrNotFound): // it is running, or has ended
		e.opt.Bus.Publish(bus.Message{Kind: bus.Cancel, Run: id, Action: string(action)})
	default:
		// The wish is stored: whoever claims or holds the run will find it.
		e.opt.Log.Warn("cancel waits for the next heartbeat", "run", id, "err", err)
	}
}

// hear takes hints from the bus.
func (e *Engine) hear(m bus.Message) {
	switch m.Kind {
	case bus.Wake:
		e.wake()
	case bus.Cancel:
		e.cancelActive(m.Run, &cancelled{Action(m.Action)})
	case bus.CancelTask:
		if a := e.activeRun(m.Run); a != nil {
			e.cancelTask(a, m.Task)
		}
	case bus.Appended:
		e.opt.Journal.Appended(m.Run, m.Last)
	}
}

func (e *Engine) activeRun(id string) *active {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active[id]
}

// CancelTask asks one sub-agent of a run to stop; its caller is told and goes on. That it has stopped is said by its TaskEnded. The
// wish is stored, and holds also if nobody hears of it now, or the process dies before the sub-agent has stopped. One that has ended,
// or has not begun, is not stopped.
func (e *Engine) CancelTask(ctx context.Context, who Identity, id, task string) (Run, error) {
	if task == "" || len(task) > longestTask {
		return Run{}, Invalidf("task", "must have 1 to %d characters", longestTask)
	}
	r, err := e.opt.Store.RequestTaskCancel(ctx, who, id, task)
	if err != nil {
		return r, fmt.Errorf("cancel: %w", err)
	}
	if !r.Status.Ended() {
		e.opt.Bus.Publish(bus.Message{Kind: bus.CancelTask, Run: id, Task: task})
	}
	return r, nil
}

// longestTask is more than the id of any task has.
const longestTask = 512

// cancelTask stops a sub-agent of a run that executes here, once: a wish is heard from the bus and at each heartbeat, and ids of
// tasks may come again.
func (e *Engine) cancelTask(a *active, task string) {
	e.mu.Lock()
	heard := a.stopped[task]
	if a.stopped == nil {
		a.stopped = map[string]bool{}
	}
	a.stopped[task] = true
	e.mu.Unlock()
	if !heard {
		a.control.CancelTask(task)
	}
}

// Speak says something to the agents of a run while they work. When it returns, the words are on disk, and whoever they are for
// reads them in its next turn, also after a crash. Words with an id that was said before are not said again. A run that does not
// execute now, or whose agents do not listen, refuses with [graph.ErrNobodyListens].
func (e *Engine) Speak(ctx context.Context, who Identity, id string, words event.Spoken) (Run, error) {
	if words.ID == "" {
		words.ID = newID()
	}
	if err := ValidID("id", words.ID); err != nil {
		return Run{}, err
	}
	if strings.TrimSpace(words.Text) == "" || len(words.Text) > longestWords {
		return Run{}, Invalidf("text", "must have 1 to %d characters", longestWords)
	}
	r, err := e.opt.Store.Run(ctx, who, id)
	if err != nil {
		return r, fmt.Errorf("speak: %w", err)
	}
	a := e.activeRun(id)
	if a == nil || r.Status.Ended() {
		return r, graph.ErrNobodyListens
	}
	err = a.control.Speak(ctx, words)
	var told *event.Error
	switch {
	case errors.Is(err, journal.ErrClosed): // it has just ended
		err = graph.ErrNobodyListens
	case errors.As(err, &told) && told.Code == graph.CodeInvalidInput:
		err = Invalidf("to", "%s", told.Message)
	}
	return r, err
}

// longestWords is more than anybody says at once.
const longestWords = 32 << 10

func (e *Engine) cancelActive(id string, cause error) {
	if a := e.activeRun(id); a != nil {
		a.cancel(cause)
	}
}

// Wait returns a run when it has ended. A run that was rolled back no longer exists: ErrNotFound. Of a run that executes here it reads
// what is written from now on, and nothing that was written before.
func (e *Engine) Wait(ctx context.Context, who Identity, id string) (Run, error) {
	c := e.opt.Journal.AtEnd(id) // first, so that no end is missed between a look at the run and this
	defer c.Close()
	if r, err := e.opt.Store.Run(ctx, who, id); err != nil || r.Status.Ended() {
		return r, err
	}
	for {
		_, err := c.Next(ctx)
		if errors.Is(err, io.EOF) || errors.Is(err, journal.ErrGone) {
			return e.opt.Store.Run(ctx, who, id)
		}
		if err != nil {
			return Run{}, err
		}
	}
}

// Active is the number of runs that execute here.
func (e *Engine) Active() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.active)
}

// handOver is how long runs have, at least, to be given back once they are told to stop. Only tests change it.
var handOver = 2 * time.Second

// Close stops claiming, lets the runs that execute here finish, and hands the rest over: they go on where they are at the
// next start, or on another node. It returns when ctx ends: the last part of that time is for handing over, at least some
// seconds if ctx ends at once. A node that does not heed its context by then is left behind, and the error says so; its
// lease ends with the process.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if e.draining {
		e.mu.Unlock()
		e.loops.Wait()
		return nil
	}
	e.draining = true
	e.mu.Unlock()
	close(e.stopping)
	e.unsubscribe()

	err := e.drain(ctx)
	close(e.drained)
	e.loops.Wait()
	return errors.Join(err, e.releaseOrphans(context.WithoutCancel(ctx)), e.desk.close(ctx))
}

// drain waits until no run executes here.
func (e *Engine) drain(ctx context.Context) error {
	idle := e.whenIdle()
	if idle == nil {
		return nil
	}
	finish, cancel := ctx, context.CancelFunc(func() {})
	if end, ok := ctx.Deadline(); ok {
		finish, cancel = context.WithDeadline(ctx, end.Add(-min(time.Until(end)/4, handOver)))
	}
	defer cancel()
	select {
	case <-idle:
		return nil
	case <-finish.Done():
	}
	e.mu.Lock()
	for _, a := range e.active {
		a.cancel(errDrain)
	}
	e.mu.Unlock()
	patience := time.NewTimer(handOver)
	defer patience.Stop()
	select { // nodes heed their context; the lease stays ours until they do
	case <-idle:
		return nil
	case <-patience.C:
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%d runs do not stop and are left behind; they go on at the next start", e.Active())
	}
}

// whenIdle returns a channel that is closed when no run executes or can still begin, or nil if that is so now.
func (e *Engine) whenIdle() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy == 0 {
		return nil
	}
	if e.idle == nil {
		e.idle = make(chan struct{})
	}
	return e.idle
}
