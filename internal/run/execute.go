package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bus"
	"github.com/tributary-ai/tributary/internal/journal"
)

// list puts a run on the list of those that execute here.
func (e *Engine) list(id string) (context.Context, *active) {
	// The run outlives the request that created it, and ends by its own context.
	ctx, cancel := context.WithCancelCause(context.Background())
	a := &active{id: id, cancel: cancel, control: &graph.Control{}}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active[id] = a
	if e.draining {
		cancel(errDrain) // claimed in the last moment
	}
	return ctx, a
}

// unlist takes a run off the list. One that was given back may have been taken up again already: that is another entry, and
// stays.
func (e *Engine) unlist(a *active) {
	if a == nil {
		return // it was never on it
	}
	a.cancel(nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.active[a.id] == a {
		delete(e.active, a.id)
	}
}

// launch executes a run that we have claimed.
func (e *Engine) launch(r Run) {
	ctx, a := e.list(r.ID)
	a.late = true
	e.begin(ctx, a, r)
}

// begin executes a run that we hold the lease of, in a goroutine that the engine waits for.
func (e *Engine) begin(ctx context.Context, a *active, r Run) {
	e.mu.Lock()
	a.begun = true
	e.busy++
	if r.Crashes >= suspectAfter && r.Cancel == NoCancel {
		a.suspect = true
		e.suspects++
		e.crashes = r.Crashes
	}
	e.mu.Unlock()
	go func() {
		defer e.retire(a)
		e.execute(ctx, a, r)
	}()
}

// retire lets the next run of a thread start.
func (e *Engine) retire(a *active) {
	e.unlist(a)
	e.acquit(a)
	e.opt.Bus.Publish(bus.Message{Kind: bus.Wake})
	e.leave()
}

// execute runs a graph from where the journal says that it stands to the end of the run.
func (e *Engine) execute(ctx context.Context, a *active, r Run) {
	x := &execution{e: e, r: r, control: a.control, ledger: &ledger{}, newThread: a.newThread}
	// Also if it is to stop at once: how it was left must be written down before it is given back.
	seq, err := x.replay(context.WithoutCancel(ctx), a.opening)
	if errors.Is(err, journal.ErrCorrupt) {
		// What is stored cannot be read any more, so it cannot be continued; but it can be ended, behind all of it.
		e.opt.Log.Error("the journal of a run is damaged", "run", r.ID, "err", err)
		var unreadable error
		if seq, unreadable = e.opt.Journal.Last(ctx, r.ID); unreadable != nil {
			err = unreadable
		}
	}
	if err != nil && !errors.Is(err, journal.ErrCorrupt) {
		e.opt.Log.Error("read the journal of a run", "run", r.ID, "err", err)
		e.giveBackLater(r)
		return
	}
	if a.late && r.Cancel == NoCancel {
		if now, err := e.opt.Store.Run(ctx, Identity{r.Owner}, r.ID); err == nil {
			x.r.Cancel = now.Cancel
		}
	}
	if x.recall != nil {
		x.stopCancelled(ctx, a)
	}
	x.rec = &recorder{saved: func() { e.acquit(a) }, log: a.log, stop: a.cancel, ledger: x.ledger}
	if x.begun = a.log != nil; !x.begun {
		x.rec.log = e.log(r, seq)
	}
	defer x.rec.log.Close()
	x.settle(ctx, x.run(ctx, err))
}

// log opens the journal of a run that we hold the lease of.
func (e *Engine) log(r Run, seq uint64) *journal.Log {
	return e.opt.Journal.Log(journal.Lease{Run: r.ID, Owner: e.worker, Epoch: r.Epoch}, r.Thread, seq)
}

// opened takes what a run was stored with. Readers find it in memory before the run begins, so that none of them looks into the
// store for the first event.
func (a *active) opened(log *journal.Log, opening []event.Envelope) {
	a.log, a.opening = log, opening
	log.Opened(opening)
}

// stopCancelled has the sub-agents stopped when they begin again that somebody cancelled, and that had not ended when the attempt before
// did.
func (x *execution) stopCancelled(ctx context.Context, a *active) {
	tasks, err := x.e.opt.Store.CancelledTasks(ctx, x.r.ID)
	if err != nil {
		x.e.opt.Log.Warn("which sub-agents are cancelled waits for the next heartbeat", "run", x.r.ID, "err", err)
		return
	}
	x.e.mu.Lock()
	defer x.e.mu.Unlock()
	for _, task := range tasks {
		if a.stopped == nil {
			a.stopped = map[string]bool{}
		}
		a.stopped[task] = true
		if x.ledger.isOpen(task) {
			x.control.CancelNext(task)
		}
	}
}

// execution is one attempt at a run.
type execution struct {
	e       *Engine
	r       Run
	rec     *recorder
	control *graph.Control
	ledger  *ledger
	recall  graph.Recall // nil for a first attempt
	result  graph.Result

	overtime  *event.Error // why it is stopped if it takes too long
	begun     bool         // the attempt's first events are stored
	newThread bool
}

// replay reads what earlier attempts wrote, or takes what the run was stored with.
func (x *execution) replay(ctx context.Context, opening []event.Envelope) (seq uint64, err error) {
	if x.r.Epoch == 1 { // nobody had it before
		for _, env := range opening {
			x.ledger.apply(env)
			seq = env.Seq
		}
		return seq, nil
	}
	var events []event.Envelope
	for env, err := range x.e.opt.Journal.Read(ctx, x.r.ID, 0) {
		if err != nil {
			return seq, err
		}
		events = append(events, env)
		x.ledger.apply(env)
		seq = env.Seq
	}
	if x.ledger.started {
		x.recall = recollect(events)
	}
	return seq, nil
}

// run makes one attempt and returns how it went: nil, or why it stopped.
func (x *execution) run(ctx context.Context, unreadable error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.e.opt.Log.Error("a run panicked", "run", x.r.ID, "panic", p, "stack", string(debug.Stack()))
			err = &event.Error{Code: graph.CodePanic, Name: "Panic", Message: fmt.Sprint("panic: ", p)}
		}
	}()
	if err := x.begin(ctx); err != nil {
		return err
	}
	switch {
	case unreadable != nil:
		return &event.Error{Code: "journal_damaged", Message: unreadable.Error()}
	case x.r.Cancel != NoCancel:
		return &cancelled{x.r.Cancel}
	case guilty(x.r, x.e.opt.MaxAttempts):
		return &event.Error{Code: "too_many_attempts", Message: fmt.Sprintf(
			"given up: the server ended %d times while this run stood at the same place; the setting max_attempts says how often that may happen", x.r.Crashes)}
	}
	if d, setting := x.timeout(); d > 0 {
		x.overtime = &event.Error{Code: graph.CodeTimeout, Name: "TimeoutError", Message: fmt.Sprintf("the run took longer than %v, which is %s", d, setting)}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, d, x.overtime)
		defer stop()
	}
	leave, err := x.e.enterLarge(ctx, x.r)
	if err != nil {
		return err
	}
	defer leave()
	x.rec.asked = leave
	if x.result, err = x.graph(ctx); err != nil && ctx.Err() != nil {
		return context.Cause(ctx) // what a node makes of being cancelled is not the reason
	}
	return err
}

// timeout is how long the run may take, and who says so.
func (x *execution) timeout() (time.Duration, string) {
	if x.r.Request.Timeout > 0 {
		return x.r.Request.Timeout, "the timeout of its request"
	}
	return x.e.opt.Timeout, "the setting run_timeout"
}

// handedOver is the cause of an attempt at a run that the worker before gave up on purpose.
const handedOver = "drain"

func started(r *Request, attempt int) event.RunStarted {
	return event.RunStarted{Assistant: r.Assistant, Graph: r.Graph, Attempt: attempt, Metadata: r.Metadata}
}

// begin writes the first events of the attempt.
func (x *execution) begin(ctx context.Context) error {
	if x.begun {
		return nil
	}
	var first []event.Envelope
	attempt := x.ledger.attempt + 1
	if !x.ledger.started {
		first = envelopes(started(&x.r.Request, attempt))
	} else {
		cause := "crash"
		switch {
		case x.r.HandedOver:
			cause = handedOver
		case x.e.lostPower(x.r.LeftBy):
			cause = event.LostPower
		}
		first = envelopes(event.AttemptStarted{Attempt: attempt, Cause: cause})
	}
	begin := Begin{Run: x.r.ID, At: time.Now(), Attempt: attempt}
	return x.rec.append(ctx, journal.Batch{Events: first, Saves: []journal.Save{begin}})
}

func (x *execution) graph(ctx context.Context) (graph.Result, error) {
	if err := x.e.reveal(ctx, &x.r); err != nil {
		return graph.Result{}, err
	}
	g, err := x.e.opt.Build(ctx, x.r)
	if err != nil {
		return graph.Result{}, err
	}
	req := x.r.Request
	exec := graph.Execution{
		Thread: x.r.Thread, Run: x.r.ID,
		Input: req.Input, From: req.Checkpoint, Continue: x.ledger.checkpoints,
		InterruptBefore: req.InterruptBefore, InterruptAfter: req.InterruptAfter, Durability: graph.Durability(req.Durability),
		Checkpoints: x.e.opt.Checkpoints, Recorder: x.rec, Recall: x.recall,
		Log: x.e.opt.Log, Control: x.control, Cache: x.e.states, OmitValues: true, NewThread: x.newThread, Secret: req.Secrets.Secret, Requests: x.e.opt.Requests, Limit: x.e.opt.RecursionLimit,
	}
	if exec.Config, exec.RecursionLimit, err = configOf(x.r); err != nil {
		return graph.Result{}, err
	}
	if exec.Config.Configurable, exec.Context, err = req.Settings(); err != nil { // nodes read what their graph was built from
		return graph.Result{}, err
	}
	if len(req.Command) > 0 && string(req.Command) != "null" {
		exec.Orders = &graph.Orders{}
		if err := json.Unmarshal(req.Command, exec.Orders); err != nil {
			return graph.Result{}, err
		}
	}
	if open := x.e.opt.Folder; open != nil {
		exec.Folder = func() (*os.Root, error) { return open(Identity{x.r.Owner}, x.r.Thread) }
	}
	if x.e.opt.Memory != nil {
		exec.Store = x.e.opt.Memory(Identity{x.r.Owner})
	}
	return g.Run(ctx, exec)
}

func configOf(r Run) (graph.Config, int, error) {
	c := graph.Config{Owner: r.Owner, Assistant: r.Assistant, Metadata: r.Request.Metadata}
	var w struct {
		Tags           []string `json:"tags"`
		RecursionLimit int      `json:"recursion_limit"`
	}
	if len(r.Request.Config) > 0 {
		if err := json.Unmarshal(r.Request.Config, &w); err != nil {
			return c, 0, Invalidf("config", "%v", err)
		}
	}
	c.Tags = w.Tags
	return c, w.RecursionLimit, nil
}

// settle ends the run, unless it is to be continued by somebody.
func (x *execution) settle(ctx context.Context, err error) {
	log := x.e.opt.Log.With("run", x.r.ID, "thread", x.r.Thread)
	switch failed := x.rec.log.Err(); {
	case errors.Is(failed, journal.ErrFenced), errors.Is(err, journal.ErrFenced):
		log.Warn("the run's lease was lost; another worker goes on with it")
		return
	case failed != nil:
		log.Error("the run cannot be written now and will be taken up again", "err", failed)
		x.e.giveBack(x.r)
		return
	case errors.Is(err, errDrain):
		// What is queued must be written while the lease is ours, or it is lost to the fence and done again.
		if err := x.rec.log.Append(context.WithoutCancel(ctx), journal.Batch{Promise: true}); err != nil {
			log.Error("write what is left of a run that is handed over", "err", err)
		}
		x.e.giveBack(x.r)
		return
	}
	ctx = context.WithoutCancel(ctx)
	end, reason := x.end(err), reasonOf(err)
	left, err := x.leave(ctx, end)
	if err == nil {
		end, err = x.rec.end(ctx, end, reason, left, x.followUps)
	}
	if err != nil {
		log.Error("the run's end cannot be written now; it will be taken up again", "err", err)
		if !errors.Is(err, journal.ErrFenced) {
			x.e.giveBack(x.r)
		}
		return
	}
	if end.Rollback {
		x.e.opt.Journal.Drop(x.r.ID)
	}
	if len(end.FollowUps) > 0 {
		x.e.desk.wake()
	}
}

// followUps are what is to be done after the run, which is as it will be stored.
func (x *execution) followUps(end End) []FollowUp {
	r := x.r
	r.Status, r.Error, r.Usage, r.Spent, r.EndedAt, r.UpdatedAt, r.Attempt = end.Status, end.Error, end.Usage, end.Spent, end.At, end.At, end.Attempt
	if end.Rollback {
		r.Cancel = RollbackRun
	}
	return x.e.followUps(r, end.At)
}

// end tells how an attempt that was not cut off ended.
func (x *execution) end(err error) End {
	end := End{
		Run: x.r.ID, Thread: x.r.Thread, At: time.Now(), Attempt: x.ledger.attempt,
		Waiting: len(x.result.Next) > 0, Temporary: x.r.Request.Temporary, Sealed: x.r.Request.Sealed,
	}
	var stop *cancelled
	switch {
	case err == nil && x.result.Status == event.Interrupted:
		end.Status = Interrupted
	case err == nil:
		end.Status = Success
	case errors.As(err, &stop):
		end.Status, end.Waiting = Cancelled, x.ledger.checkpoints
		end.Rollback = stop.action == RollbackRun
	case x.overtime != nil && errors.Is(err, x.overtime):
		end.Status, end.Error = TimedOut, x.overtime
	default:
		end.Status, end.Error = Failed, graph.ErrorOf(err)
	}
	return end
}

func reasonOf(err error) string {
	var stop *cancelled
	if errors.As(err, &stop) {
		return string(stop.action)
	}
	return ""
}
