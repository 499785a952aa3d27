package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/jsonline"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// inFlight is true of runs that have not ended. It is spelt as in the index of those, which SQLite uses for no other
// spelling.
const inFlight = "status IN ('running', 'pending')"

const runColumns = `id, thread_id, owner, assistant, status, request, created, updated, started, ended, not_before,
	attempt, error, usage, worker, epoch, lease_until, cancel, crashes, streak`

var (
	runSelect = "SELECT " + runColumns + ", " + runRows.intact("runs") + ", EXISTS (SELECT 1 FROM threads WHERE threads.id = runs.thread_id) FROM runs"
	insertRun = runRows.insert("worker", "epoch", "lease_until")
	cancelRun = runRows.update("id = ?1 AND owner = ?2 AND cancel = '' AND "+inFlight, "cancel", "?3", "updated", "?4")
	beginRun  = runRows.update("no = ?1", "started", "CASE started WHEN 0 THEN ?2 ELSE started END", "updated", "?2", "attempt", "?3")
	endRun    = runRows.update("no = ?1", "status", "?2", "error", "?3", "usage", "?4", "ended", "?5", "updated", "?5", "attempt", "?6",
		"worker", "''", "lease_until", "0")
)

// forgetCancelled is for a run that has ended.
const forgetCancelled = "DELETE FROM cancelled_tasks WHERE run = ?"

func scanRun(row scanner) (run.Run, error) {
	var r run.Run
	var request []byte
	var intact, hasThread bool
	var failure, usage sql.NullString
	var created, updated, started, ended, notBefore, lease int64
	err := row.Scan(&r.ID, &r.Thread, &r.Owner, &r.Assistant, &r.Status, &request, &created, &updated, &started, &ended,
		&notBefore, &r.Attempt, &failure, &usage, &r.Worker, &r.Epoch, &lease, &r.Cancel, &r.Crashes, &r.Streak, &intact, &hasThread)
	if err != nil {
		return r, err
	}
	if !intact {
		return r, damagedRun(r.ID)
	}
	if !hasThread {
		return r, damaged(errMissing, restore, "thread %q of run %q", r.Thread, r.ID)
	}
	r.CreatedAt, r.UpdatedAt, r.StartedAt, r.EndedAt = fromMicros(created), fromMicros(updated), fromMicros(started), fromMicros(ended)
	r.NotBefore, r.LeaseUntil = fromMicros(notBefore), fromMicros(lease)
	var spent spending
	err = errors.Join(decodeRequest(request, &r.Request), decodeInto(failure, &r.Error), decodeInto(usage, &spent))
	r.Usage, r.Spent = spent.Usage, spent.By
	return r, err
}

func damagedRun(id string) error {
	return damaged(errSum, restore+", or delete the run", "run %q", id)
}

// encodeRequest writes a request as JSON. The input may have megabytes, and was checked where it came in: it is put in as it is
// and copied once.
func encodeRequest(r run.Request) (string, error) {
	input := r.Input
	if len(input) > largeRequest {
		r.Input = nil
	}
	rest, err := json.Marshal(r)
	if err != nil || len(input) <= largeRequest {
		return string(rest), err
	}
	if !jsonline.Valid(input) {
		return "", errors.New("the input of a run is not JSON")
	}
	var b strings.Builder
	const name = `,"input":`
	b.Grow(len(rest) + len(name) + len(input))
	b.Write(rest[:len(rest)-1]) // there is a member before, the assistant
	b.WriteString(name)
	b.Write(input)
	b.WriteByte('}')
	return b.String(), nil
}

// largeRequest is from where on the input of a request is neither encoded nor decoded with the rest.
const largeRequest = 4 << 10

// decodeRequest reads a request. A large input is left where it lies in what was read.
func decodeRequest(stored []byte, r *run.Request) error {
	if len(stored) <= largeRequest {
		return json.Unmarshal(stored, r)
	}
	if end, ok := jsonline.Skip(stored, 0); !ok || end != len(stored) { // of an older version
		return json.Unmarshal(stored, r)
	}
	var input []byte
	rest := []byte{'{'}
	for key, value := range jsonline.Members(stored) {
		if string(key) == "input" {
			input = value
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(append(rest, '"'), key...), `":`...), value...)
	}
	err := json.Unmarshal(append(rest, '}'), r)
	r.Input = input
	return err
}

// CreateRun inserts a run, applying the multitask strategy, in one transaction.
func (db *DB) CreateRun(ctx context.Context, who run.Identity, r run.NewRun) (c run.Created, err error) {
	request, err := encodeRequest(r.Request)
	if err != nil {
		return c, err
	}
	err = db.writeMuch(len(request), true, func(ctx context.Context, tx *tx) error {
		c = run.Created{}
		no, created, err := tx.threadFor(ctx, who, r)
		if err != nil {
			return err
		}
		c.NewThread = created
		if err := tx.mayCreate(ctx, no, r); err != nil {
			return err
		}
		busy := false
		if !created {
			if busy, err = tx.applyStrategy(ctx, no, r, &c); err != nil {
				return err
			}
		}
		opening := &r.Queued
		var notBefore time.Time // always due, whatever becomes of the clock
		if r.Request.Delay > 0 {
			notBefore = r.At.Add(r.Request.Delay)
		}
		nr := run.Run{
			ID: r.ID, Thread: r.Thread, Owner: who.Owner, Assistant: r.Request.Assistant, Status: run.Pending, Request: r.Request,
			CreatedAt: r.At, UpdatedAt: r.At, NotBefore: notBefore,
		}
		if r.Worker != "" && !busy && r.Request.Delay <= 0 {
			nr.Status, nr.Worker, nr.Epoch, nr.LeaseUntil = run.Running, r.Worker, 1, r.At.Add(r.Lease)
			if opening = &r.Started; opening.Last > 0 {
				nr.StartedAt, nr.Attempt = r.At, 1
			}
		} else {
			nr.Epoch = r.Queued.Epoch
		}
		runNo, err := tx.insert(ctx, insertRun, nr.ID, no, nr.Thread, nr.Owner, nr.Assistant, string(nr.Status), request, micros(r.At), micros(r.At),
			micros(nr.StartedAt), 0, micros(notBefore), nr.Attempt, nil, nil, nr.Worker, nr.Epoch, micros(nr.LeaseUntil))
		if err != nil {
			return err
		}
		if err := tx.keepSecrets(ctx, no, &r, created); err != nil {
			return err
		}
		if opening.Last > 0 {
			if err := tx.openJournal(ctx, leased{runNo, no}, opening); err != nil {
				return err
			}
		}
		c.Run = nr
		if created {
			return nil
		}
		n, err := tx.execCount(ctx, occupyThread.sealed, no, micros(r.At), object(r.Request.Config), r.Request.Graph, r.Request.Assistant)
		if err == nil && n == 0 {
			err = damagedThread(r.Thread)
		}
		return err
	})
	return c, err
}

// madeBy is what a thread's metadata say of the run that was created last. The thread of a stateless run says so, and is not
// found by searches.
type madeBy struct {
	Graph     string `json:"graph_id"`
	Assistant string `json:"assistant_id"`
	Temporary bool   `json:"tributary_temporary,omitempty"`
}

// threadFor finds the run's thread, or makes it, occupied by the run, where the request says so.
func (t *tx) threadFor(ctx context.Context, who run.Identity, r run.NewRun) (no int64, created bool, err error) {
	no, err = t.threadNo(ctx, who, r.Thread)
	if !errors.Is(err, run.ErrNotFound) || !r.Request.CreateThread {
		return no, false, err
	}
	// As occupyThread would leave it, which saves writing it twice.
	th := run.Thread{ID: r.Thread, CreatedAt: r.At, Status: run.Busy, Config: r.Request.Config}
	if th.Metadata, err = json.Marshal(madeBy{r.Request.Graph, r.Request.Assistant, r.Request.Temporary}); err != nil {
		return 0, false, err
	}
	_, no, err = t.createThread(ctx, who, th, 1)
	if errors.Is(err, run.ErrExists) { // somebody else's: it does not exist for us
		err = fmt.Errorf("thread %q: %w", r.Thread, run.ErrNotFound)
	}
	return no, true, err
}

// mayCreate refuses a run that there is already, and one whose creator saw another thread than there is.
func (t *tx) mayCreate(ctx context.Context, threadNo int64, r run.NewRun) error {
	if r.Request.Key != "" { // no other id can come twice
		var exists bool
		if err := t.row(ctx, "SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?)", r.ID).Scan(&exists); err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("run %q: %w", r.ID, run.ErrExists)
		}
	}
	seen := r.Request.Unchanged
	if seen == nil {
		return nil
	}
	var same bool
	err := t.row(ctx, "SELECT updated = ? AND state_at = ? FROM threads WHERE no = ?", micros(seen.UpdatedAt), micros(seen.StateAt), threadNo).Scan(&same)
	if err == nil && !same {
		err = fmt.Errorf("thread %q: %w", r.Thread, run.ErrChanged)
	}
	return err
}

// applyStrategy reports whether the new run has to wait, after asking others to stop where it should.
func (t *tx) applyStrategy(ctx context.Context, threadNo int64, r run.NewRun, c *run.Created) (busy bool, err error) {
	busy, err = t.isBusy(ctx, threadNo)
	if err != nil || !busy {
		return false, err
	}
	action := run.StopRun
	switch r.Request.Multitask {
	case run.Reject:
		return true, fmt.Errorf("thread %q: %w", r.Thread, run.ErrBusy)
	case run.Interrupt:
	case run.Rollback:
		action = run.RollbackRun
	case run.Enqueue, "":
		return true, nil
	default:
		return true, run.Invalidf("multitask_strategy", "unknown strategy %q", r.Request.Multitask)
	}
	// One that was asked before has been told already, and perhaps something else.
	rows, err := t.query(ctx, "SELECT id FROM runs WHERE thread = ? AND "+inFlight+" AND cancel = '' ORDER BY no", threadNo)
	c.Stopped, err = collect(rows, err, func(row scanner) (id string, err error) { return id, row.Scan(&id) })
	if err != nil {
		return true, err
	}
	return true, t.exec(ctx, "UPDATE runs SET cancel = ? WHERE thread = ? AND "+inFlight+" AND cancel = ''", string(action), threadNo)
}

// Run returns a run.
func (db *DB) Run(ctx context.Context, who run.Identity, id string) (run.Run, error) {
	r, err := scanRun(db.reads.row(ctx, runSelect+" WHERE id = ? AND owner = ?", id, who.Owner))
	return r, found(err, "run", id)
}

// ThreadRuns lists a thread's runs, newest first.
func (db *DB) ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error) {
	if _, err := db.Thread(ctx, who, thread); err != nil {
		return nil, err
	}
	var noted, there int // the list is found by an index, which may have lost some
	err := db.reads.row(ctx, "SELECT runs, (SELECT count(*) FROM runs r WHERE r.thread = t.no) FROM threads t WHERE id = ?", thread).Scan(&noted, &there)
	if err != nil {
		return nil, found(err, "thread", thread)
	}
	if noted != there {
		return nil, damaged(fmt.Errorf("%d of %d can be found", there, noted), restore+", or delete the thread", "the list of the runs of thread %q", thread)
	}
	var c conditions
	c.add("thread = (SELECT no FROM threads WHERE id = ? AND owner = ?)", thread, who.Owner)
	if status != "" {
		c.add("status = ?", string(status))
	}
	rows, err := db.reads.query(ctx, runSelect+c.where()+" ORDER BY no DESC LIMIT ? OFFSET ?", append(c.args, limit, offset)...)
	return collect(rows, err, scanRun)
}

// runContains is true of runs whose metadata, which is part of the request, has every top-level key of the object in
// the parameter with an equal value.
const runContains = `NOT EXISTS (SELECT 1 FROM json_each(?) want WHERE NOT EXISTS (
	SELECT 1 FROM json_each(request, '$.metadata') have WHERE have.key = want.key AND have.type = want.type AND have.value IS want.value))`

// SearchRuns returns a page of an owner's runs and the number of all that match.
func (db *DB) SearchRuns(ctx context.Context, who run.Identity, q run.RunQuery) ([]run.Run, int, error) {
	var c conditions
	if q.Thread != "" { // the plus leaves the choice of the index to the thread
		c.add("+owner = ?", who.Owner)
		c.add("thread = (SELECT no FROM threads WHERE id = ? AND owner = ?)", q.Thread, who.Owner)
	} else {
		c.add("owner = ?", who.Owner)
	}
	if q.Assistant != "" {
		c.add("assistant = ?", q.Assistant)
	}
	if len(q.Statuses) > 0 {
		statuses, err := json.Marshal(q.Statuses)
		if err != nil {
			return nil, 0, err
		}
		c.add("status IN (SELECT value FROM json_each(?))", string(statuses))
	}
	if len(q.Metadata) > 0 {
		c.add(runContains, string(q.Metadata))
	}
	var total int
	if err := db.reads.row(ctx, "SELECT count(*) FROM runs"+c.where(), c.args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	if q.Limit == 0 {
		return nil, total, nil
	}
	rows, err := db.reads.query(ctx, runSelect+c.where()+
		sortOrder("", q.Asc, nil, "created", "no")+" LIMIT ? OFFSET ?", append(c.args, q.Limit, q.Offset)...)
	list, err := collect(rows, err, scanRun)
	return list, total, err
}

// RunsInFlight lists an owner's runs that have not ended.
func (db *DB) RunsInFlight(ctx context.Context, who run.Identity) ([]run.Run, error) {
	rows, err := db.reads.query(ctx, runSelect+" WHERE +owner = ? AND "+inFlight+" ORDER BY +no", who.Owner)
	return collect(rows, err, scanRun)
}

// DeleteRun removes a run that has ended.
func (db *DB) DeleteRun(ctx context.Context, who run.Identity, id string) error {
	return db.writePlanned(true, func(ctx context.Context, tx *tx) error {
		var l leased
		var status run.Status
		var thread string
		err := tx.row(ctx, "SELECT no, thread, thread_id, status FROM runs WHERE id = ? AND owner = ?", id, who.Owner).Scan(&l.no, &l.threadNo, &thread, &status)
		if err != nil {
			return found(err, "run", id)
		}
		if !status.Ended() {
			return fmt.Errorf("run %q is %s: %w", id, status, run.ErrBusy)
		}
		if err := tx.checkState(ctx, l.threadNo, thread); err != nil {
			return err
		}
		if err := tx.removeRun(ctx, l, " AND "+unused); err != nil {
			return err
		}
		if err := tx.exec(ctx, "DELETE FROM follow_ups WHERE thread = ? AND run = ?", thread, id); err != nil {
			return err
		}
		return tx.exec(ctx, cutOff.sealed, l.threadNo)
	})
}

// unused is true of blobs that no checkpoint of the thread ?1 needs.
const unused = `NOT EXISTS (
	WITH RECURSIVE live (version) AS (
		SELECT v.value FROM checkpoints c, json_each(c.versions) v
			WHERE c.thread = ?1 AND c.ns = blobs.ns AND v.key = blobs.field
		UNION
		SELECT b.base FROM live JOIN blobs b ON b.thread = ?1 AND b.ns = blobs.ns AND b.field = blobs.field AND b.version = live.version
			WHERE b.base <> 0)
	SELECT 1 FROM live WHERE live.version = blobs.version)`

// removeRun deletes a run with its journal and everything that it added to the thread's state: of the blobs those of
// which the condition is true.
func (t *tx) removeRun(ctx context.Context, l leased, blobs string) error {
	t.plan.remove(l.no)
	from, to := runKeys(l.no)
	for _, d := range []struct {
		stmt string
		args []any
	}{
		{"DELETE FROM journal WHERE key BETWEEN ? AND ?", []any{from, to}},
		{"DELETE FROM checkpoints WHERE thread = ? AND run = ?", []any{l.threadNo, l.no}},
		{"DELETE FROM blobs WHERE thread = ?1 AND run = ?2" + blobs, []any{l.threadNo, l.no}},
		{"DELETE FROM kept WHERE thread = ? AND run = ?", []any{l.threadNo, l.no}},
		{"DELETE FROM secrets WHERE thread = ? AND run = ?", []any{l.threadNo, l.no}},
		{forgetCancelled, []any{l.no}},
		{"DELETE FROM runs WHERE no = ?", []any{l.no}},
	} {
		if err := t.exec(ctx, d.stmt, d.args...); err != nil {
			return err
		}
	}
	return t.change(ctx, withoutRun, l.threadNo)
}

// RequestCancel notes the wish; the first one wins.
func (db *DB) RequestCancel(ctx context.Context, who run.Identity, id string, action run.Action) (r run.Run, err error) {
	err = db.write(ctx, true, func(ctx context.Context, tx *tx) error {
		err := tx.change(ctx, cancelRun, id, who.Owner, string(action), micros(now()))
		if err != nil {
			return err
		}
		r, err = scanRun(tx.row(ctx, runSelect+" WHERE id = ? AND owner = ?", id, who.Owner))
		return found(err, "run", id)
	})
	return r, err
}

// spending is how usage is stored: the sum, and who spent it on what.
type spending struct {
	item.Usage
	By []run.Share `json:"by,omitempty"`
}

func (t *tx) beginRun(ctx context.Context, l leased, b run.Begin) error {
	return t.change(ctx, beginRun, l.no, micros(b.At), b.Attempt)
}

// endRun closes a run and gives its thread the status that follows from it.
func (t *tx) endRun(ctx context.Context, l leased, e run.End) error {
	failure, err := encode(e.Error, e.Error == nil)
	if err != nil {
		return err
	}
	usage, err := encode(spending{e.Usage, e.Spent}, e.Usage.IsZero())
	if err != nil {
		return err
	}
	err = t.change(ctx, endRun, l.no, string(e.Status), failure, usage, micros(e.At), e.Attempt)
	if err != nil {
		return err
	}
	if err := t.dropSecrets(ctx, l, &e); err != nil {
		return err
	}
	if err := t.exec(ctx, forgetCancelled, l.no); err != nil {
		return err
	}
	if e.Rollback {
		// Nothing can have been built on it: it was the one run of the thread that executed.
		if err := t.removeRun(ctx, l, ""); err != nil {
			return err
		}
	}
	if err := t.addFollowUps(ctx, e.FollowUps); err != nil {
		return err
	}
	return t.settleThread(ctx, l.threadNo, e, failure)
}

// temporaryLife is how long the thread of a stateless run can still be read after the run.
const temporaryLife = 5 * time.Minute

func (t *tx) settleThread(ctx context.Context, threadNo int64, e run.End, failure any) error {
	status := run.Idle
	busy, err := t.isBusy(ctx, threadNo)
	if err != nil {
		return err
	}
	waiting := e.Waiting
	if e.Rollback { // what is due is now what was due before the run
		waiting, failure = false, nil
		var next sql.NullString
		err := t.row(ctx, "SELECT next FROM checkpoints WHERE thread = ? AND ns = '' ORDER BY id DESC LIMIT 1", threadNo).Scan(&next)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		waiting = next.Valid && next.String != ""
	}
	switch {
	case busy:
		status = run.Busy
	case e.Status == run.Failed && !e.Rollback, e.Status == run.TimedOut && !e.Rollback:
		status = run.ThreadError
	case waiting:
		status = run.ThreadInterrupted
	}
	err = t.change(ctx, settleThread, threadNo, string(status), failure, micros(e.At))
	if err == nil && e.Temporary {
		err = t.change(ctx, expireThread, threadNo, micros(e.At.Add(temporaryLife)))
	}
	return err
}
