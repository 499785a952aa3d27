// Package background has sub-agents of a thread work outside of its runs.
//
//	run of a thread ─task(background)─▶ run of a thread of its own ─RunEnded + follow-up─▶ run of the thread, which tells its agent
//
// # Laws
//
//   - A piece of work is begun once, however often it is asked for: its thread is named after the one that wants it and the call.
//   - It is an ordinary run. It goes on after a crash, can be followed, stopped and read like any other, and its thread goes some
//     time after it has ended.
//   - Its end wakes the thread exactly once: the follow-up is a row in the transaction of the end, and the run that it makes has
//     the key of the work.
//   - A thread that is at work, or waits for a person's answer, is woken when it is done with that: nobody's question is dropped.
//   - It works in the folder of the thread that wants it.
package background

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// Kind is the kind of the follow-ups that wake threads.
const Kind = "background"

// Store is what a desk needs to look up.
type Store interface {
	graph.Checkpointer
	Thread(ctx context.Context, who run.Identity, id string) (run.Thread, error)
	Run(ctx context.Context, who run.Identity, id string) (run.Run, error)
	ThreadRuns(ctx context.Context, who run.Identity, thread string, status run.Status, limit, offset int) ([]run.Run, error)
}

// Desk begins work and wakes threads. It is made before the engine, whose graphs begin work.
type Desk struct {
	store  Store
	ready  chan struct{}
	engine *run.Engine
}

var _ lead.Background = (*Desk)(nil)

// New makes a desk. Whoever asks it before it has an engine waits.
func New(s Store) *Desk { return &Desk{store: s, ready: make(chan struct{})} }

// Use gives the desk its engine, once, and the engine its handler.
func (d *Desk) Use(e *run.Engine) {
	d.engine = e
	close(d.ready)
	// A thread may wait for a person for weeks.
	e.Handle(Kind, run.Handler{Do: d.wake, Wait: 100 * time.Millisecond, MaxWait: time.Minute, Tries: 50_000, PerLane: 1})
}

func (d *Desk) wait(ctx context.Context) (*run.Engine, error) {
	select {
	case <-d.ready:
		return d.engine, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// own matches the names of threads in which work is done.
var own = regexp.MustCompile(`^(.+)\.bg\.[0-9a-f]{32}$`)

// threadOf is where the work of a call is done. A thread that is forked may see the id of a call again, in another run.
func threadOf(thread, run, call string) string {
	sum := sha256.Sum256([]byte(run + " " + call))
	return thread + ".bg." + hex.EncodeToString(sum[:16])
}

// Parent is the thread that wants the work which is done in another; ok is false for a thread in which people talk.
func Parent(thread string) (parent string, ok bool) {
	m := own.FindStringSubmatch(thread)
	if m == nil {
		return thread, false
	}
	return m[1], true
}

// order is what the request of a run remembers of the work: for whom it is done.
type order struct {
	Thread      string `json:"thread"`
	Task        string `json:"task"`
	Agent       string `json:"agent"`
	Description string `json:"description,omitempty"`
}

// words are what is kept in run.Request.Wire, which no client writes.
type words struct {
	Background *order `json:"background,omitempty"`
}

// Start implements [lead.Background].
func (d *Desk) Start(ctx context.Context, w lead.Work) (string, error) {
	e, err := d.wait(ctx)
	if err != nil {
		return "", err
	}
	if _, inside := Parent(w.Thread); inside {
		return "", errors.New("a background task begins no other one")
	}
	who, thread := run.Identity{Owner: w.Owner}, threadOf(w.Thread, w.Run, w.ID)
	if was, err := d.store.ThreadRuns(ctx, who, thread, "", 1, 0); err == nil && len(was) > 0 {
		return thread, nil // begun before a crash
	} else if err != nil && !errors.Is(err, run.ErrNotFound) {
		return "", err
	}
	from, err := d.store.Run(ctx, who, w.Run)
	if err != nil {
		return "", fmt.Errorf("the run that begins it: %w", err)
	}
	req := run.Request{Inherited: from.Request.Inherited, Timeout: w.Timeout, CreateThread: true, Temporary: true, Multitask: run.Reject, Key: "work"}
	if req.Config, err = with(from.Request.Config, w.Agent); err != nil {
		return "", err
	}
	if req.Wire, err = json.Marshal(words{&order{w.Thread, w.ID, w.Agent, w.Description}}); err != nil {
		return "", err
	}
	if req.Input, err = json.Marshal(map[string]any{"messages": []item.Message{item.UserText("in_"+w.ID, w.Prompt)}}); err != nil {
		return "", err
	}
	_, err = e.Order(ctx, who, run.Order{Thread: thread, Request: req, From: &from})
	return thread, err
}

// with is a configuration that says which sub-agent a run is work for; none if the name is empty.
func with(config json.RawMessage, agent string) (json.RawMessage, error) {
	c := map[string]json.RawMessage{}
	inner := map[string]json.RawMessage{}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &c); err != nil {
			return nil, err
		}
	}
	if raw := c["configurable"]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &inner); err != nil {
			return nil, err
		}
	}
	if inner == nil { // it was null
		inner = map[string]json.RawMessage{}
	}
	delete(inner, lead.SubagentKey)
	if agent != "" {
		inner[lead.SubagentKey], _ = json.Marshal(agent) // a text always encodes
	}
	c["configurable"], _ = json.Marshal(inner) // and so does what was decoded
	return json.Marshal(c)
}

// Look implements [lead.Background].
func (d *Desk) Look(ctx context.Context, owner, thread string, t lead.BackgroundTask) (lead.BackgroundTask, error) {
	r, err := d.latest(ctx, owner, thread, t)
	if err == nil && r.Status.Ended() {
		t.Status = event.Status(r.Status)
	}
	return t, err
}

// Cancel implements [lead.Background].
func (d *Desk) Cancel(ctx context.Context, owner, thread string, t lead.BackgroundTask) error {
	e, err := d.wait(ctx)
	if err != nil {
		return err
	}
	r, err := d.latest(ctx, owner, thread, t)
	if err != nil || r.Status.Ended() {
		return err
	}
	_, err = e.Cancel(ctx, run.Identity{Owner: owner}, r.ID, run.StopRun)
	return err
}

// latest is the run in which a task is done. The state, which clients can write, does not lead to other threads.
func (d *Desk) latest(ctx context.Context, owner, thread string, t lead.BackgroundTask) (run.Run, error) {
	if of, ok := Parent(t.Thread); !ok || of != thread {
		return run.Run{}, fmt.Errorf("background task %q: %w", t.ID, run.ErrNotFound)
	}
	runs, err := d.store.ThreadRuns(ctx, run.Identity{Owner: owner}, t.Thread, "", 1, 0)
	if err != nil {
		return run.Run{}, err
	}
	if len(runs) == 0 {
		return run.Run{}, run.ErrNotFound
	}
	return runs[0], nil
}
