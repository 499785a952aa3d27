package guard

import (
	"context"
	"encoding/json"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/admission"
)

// Engine is the engine as routes know it.
type Engine struct {
	*run.Engine
	g *Guard
}

// Engine puts the guard before an engine.
func (g *Guard) Engine(e *run.Engine) Engine { return Engine{e, g} }

// Start starts a run, if its owner may have one more. When it is stored it no longer counts as a request under way: following it or
// waiting for its end may take hours.
func (e Engine) Start(ctx context.Context, who run.Identity, thread string, req run.Request) (run.Run, error) {
	defer admission.Release(ctx)
	if err := e.g.mayStart(ctx, who, thread, &req); err != nil {
		return run.Run{}, err
	}
	r, err := e.Engine.Start(ctx, who, thread, req)
	if err != nil {
		return r, err
	}
	if r.Status == run.Pending {
		e.g.queued(ctx, who, r.Thread)
	}
	action := "create"
	if resumes(req.Command) {
		action = "approve"
	}
	e.g.did(ctx, who, action, "run", r.ID, "thread", r.Thread, "assistant", r.Assistant)
	return r, nil
}

// Prepare prepares an order, whose run the guard will be asked about.
func (e Engine) Prepare(ctx context.Context, who run.Identity, o run.Order) (*run.Draft, error) {
	d, err := e.Engine.Prepare(ctx, who, o)
	if err != nil {
		return nil, err
	}
	return d.Through(e.Start), nil
}

// Order prepares an order and starts it.
func (e Engine) Order(ctx context.Context, who run.Identity, o run.Order) (run.Run, error) {
	d, err := e.Prepare(ctx, who, o)
	if err != nil {
		return run.Run{}, err
	}
	return d.Start(ctx)
}

// DeleteThread deletes a thread, and stops what runs on it.
func (e Engine) DeleteThread(ctx context.Context, who run.Identity, id string) error {
	err := e.Engine.DeleteThread(ctx, who, id)
	if err == nil {
		e.g.did(ctx, who, "delete", "thread", id)
	}
	return err
}

func (g *Guard) mayStart(ctx context.Context, who run.Identity, thread string, req *run.Request) error {
	if err := g.room(ctx, who); err != nil {
		return err
	}
	if req.Multitask == run.Enqueue || req.Multitask == "" {
		if err := g.mayQueue(ctx, who, thread); err != nil {
			return err
		}
	}
	if req.CreateThread {
		if err := g.takeThread(ctx, who); err != nil { // it may be there already: then we count again earlier
			return err
		}
	}
	return g.takeRun(ctx, who)
}

// resumes reports that a command answers what a run asked: it lets something happen that waited for a person.
func resumes(command json.RawMessage) bool {
	var c struct {
		Resume json.RawMessage `json:"resume"`
	}
	return len(command) > 0 && json.Unmarshal(command, &c) == nil && len(c.Resume) > 0
}

// Cancel stops a run.
func (e Engine) Cancel(ctx context.Context, who run.Identity, id string, action run.Action) (run.Run, error) {
	r, err := e.Engine.Cancel(ctx, who, id, action)
	if err == nil {
		e.g.did(ctx, who, "cancel", "run", id, "thread", r.Thread, "how", string(action))
	}
	return r, err
}

// CancelTask stops a sub-agent.
func (e Engine) CancelTask(ctx context.Context, who run.Identity, id, task string) (run.Run, error) {
	r, err := e.Engine.CancelTask(ctx, who, id, task)
	if err == nil {
		e.g.did(ctx, who, "cancel", "task", task, "run", id)
	}
	return r, err
}

// Speak says something to the agents of a run.
func (e Engine) Speak(ctx context.Context, who run.Identity, id string, words event.Spoken) (run.Run, error) {
	r, err := e.Engine.Speak(ctx, who, id, words)
	if err == nil {
		e.g.did(ctx, who, "speak", "run", id, "to", words.To)
	}
	return r, err
}

// Storage is what the guard looks at of a store.
type Storage interface {
	run.Threads
	run.Runs
	run.Assistants
	run.Items
	run.Crons
}

// Store is a store with the guard before it. It is embedded beside the rest of what the store can do.
type Store struct {
	Storage
	g *Guard
}

// Store puts the guard before a store.
func (g *Guard) Store(s Storage) Store { return Store{s, g} }

// CreateThread makes a thread, if its owner may have one more.
func (s Store) CreateThread(ctx context.Context, who run.Identity, t run.Thread) (run.Thread, error) {
	if err := s.g.room(ctx, who); err != nil {
		return run.Thread{}, err
	}
	if err := s.g.takeThread(ctx, who); err != nil {
		return run.Thread{}, err
	}
	t, err := s.Storage.CreateThread(ctx, who, t)
	return t, s.done(ctx, who, err, "create", "thread", t.ID)
}

// CopyThread copies a thread, if its owner may have one more.
func (s Store) CopyThread(ctx context.Context, who run.Identity, id, newID string) (run.Thread, error) {
	if err := s.g.room(ctx, who); err != nil {
		return run.Thread{}, err
	}
	if err := s.g.takeThread(ctx, who); err != nil {
		return run.Thread{}, err
	}
	t, err := s.Storage.CopyThread(ctx, who, id, newID)
	return t, s.done(ctx, who, err, "create", "thread", t.ID)
}

// SaveState changes a thread's state.
func (s Store) SaveState(ctx context.Context, who run.Identity, thread string, status run.ThreadStatus, saves []graph.Save) error {
	if err := s.g.room(ctx, who); err != nil {
		return err
	}
	return s.done(ctx, who, s.Storage.SaveState(ctx, who, thread, status, saves), "change", "thread", thread)
}

// DeleteThread deletes a thread.
func (s Store) DeleteThread(ctx context.Context, who run.Identity, id string) ([]string, error) {
	runs, err := s.Storage.DeleteThread(ctx, who, id)
	return runs, s.done(ctx, who, err, "delete", "thread", id)
}

// DeleteRun deletes a run.
func (s Store) DeleteRun(ctx context.Context, who run.Identity, id string) error {
	return s.done(ctx, who, s.Storage.DeleteRun(ctx, who, id), "delete", "run", id)
}

// CreateAssistant makes an assistant.
func (s Store) CreateAssistant(ctx context.Context, who run.Identity, a run.Assistant) (run.Assistant, error) {
	if err := s.g.room(ctx, who); err != nil {
		return run.Assistant{}, err
	}
	a, err := s.Storage.CreateAssistant(ctx, who, a)
	return a, s.done(ctx, who, err, "create", "assistant", a.ID)
}

// DeleteAssistant deletes an assistant.
func (s Store) DeleteAssistant(ctx context.Context, who run.Identity, id string) error {
	return s.done(ctx, who, s.Storage.DeleteAssistant(ctx, who, id), "delete", "assistant", id)
}

// CreateCron makes a cron, if its owner may have one more.
func (s Store) CreateCron(ctx context.Context, who run.Identity, c run.Cron) (run.Cron, error) {
	if err := s.g.takeCron(ctx, who); err != nil {
		return run.Cron{}, err
	}
	c, err := s.Storage.CreateCron(ctx, who, c)
	return c, s.done(ctx, who, err, "create", "cron", c.ID)
}

// DeleteCron deletes a cron.
func (s Store) DeleteCron(ctx context.Context, who run.Identity, id string) error {
	return s.done(ctx, who, s.Storage.DeleteCron(ctx, who, id), "delete", "cron", id)
}

// PutItem remembers something.
func (s Store) PutItem(ctx context.Context, who run.Identity, it run.Item) error {
	if err := s.g.room(ctx, who); err != nil {
		return err
	}
	return s.Storage.PutItem(ctx, who, it)
}

// DeleteItem forgets something. Its name may say much, so it is not written down.
func (s Store) DeleteItem(ctx context.Context, who run.Identity, namespace []string, key string) error {
	return s.done(ctx, who, s.Storage.DeleteItem(ctx, who, namespace, key), "delete", "item", "")
}

func (s Store) done(ctx context.Context, who run.Identity, err error, action, kind, id string) error {
	if err == nil {
		s.g.did(ctx, who, action, kind, id)
	}
	return err
}
