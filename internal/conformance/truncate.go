package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server"
)

// truncation says what to empty. System assistants stay.
type truncation struct {
	Runs, Threads, Assistants, Store, Checkpoint bool
}

func (w *world) truncate(rw http.ResponseWriter, r *http.Request) {
	var t truncation
	if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, 4096)).Decode(&t); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	ctx := r.Context()
	var err error
	if t.Runs || t.Threads || t.Checkpoint {
		err = w.emptyThreads(ctx, t)
	}
	if t.Assistants && err == nil {
		err = w.emptyAssistants(ctx)
	}
	if t.Store && err == nil {
		err = w.emptyStore(ctx)
	}
	if err != nil {
		http.Error(rw, err.Error(), http.StatusInternalServerError)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write([]byte(`{"ok":true}`)) // a client that has gone needs no answer
}

const some = 500

// emptyThreads removes threads with all that is theirs; or only their runs, which takes the checkpoints along.
func (w *world) emptyThreads(ctx context.Context, t truncation) error {
	for offset := 0; ; offset += some {
		if t.Threads {
			offset = 0
		}
		threads, _, err := w.db.SearchThreads(ctx, server.Local, run.ThreadQuery{Limit: some, Offset: offset, Asc: true})
		if err != nil || len(threads) == 0 {
			return err
		}
		for _, th := range threads {
			if err := w.emptyThread(ctx, th.ID, t.Threads); err != nil && !errors.Is(err, run.ErrNotFound) {
				return err
			}
		}
	}
}

func (w *world) emptyThread(ctx context.Context, id string, whole bool) error {
	runs, err := w.db.ThreadRuns(ctx, server.Local, id, "", 1000, 0)
	if err != nil {
		return err
	}
	for _, r := range runs {
		if r.Status.Ended() {
			continue
		}
		if _, err := w.engine.Cancel(ctx, server.Local, r.ID, run.StopRun); err != nil && !errors.Is(err, run.ErrNotFound) {
			return err
		}
		if _, err := w.engine.Wait(ctx, server.Local, r.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
			return err
		}
	}
	if whole {
		_, err := w.db.DeleteThread(ctx, server.Local, id)
		return err
	}
	for _, r := range runs {
		if err := w.db.DeleteRun(ctx, server.Local, r.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
			return err
		}
	}
	return nil
}

func (w *world) emptyAssistants(ctx context.Context) error {
	for {
		found, _, err := w.db.SearchAssistants(ctx, server.Local, run.AssistantQuery{Limit: some})
		if err != nil {
			return err
		}
		removed := 0
		for _, a := range found {
			if a.Owner == "" {
				continue
			}
			if err := w.db.DeleteAssistant(ctx, server.Local, a.ID); err != nil && !errors.Is(err, run.ErrNotFound) {
				return err
			}
			removed++
		}
		if removed == 0 {
			return nil
		}
	}
}

func (w *world) emptyStore(ctx context.Context) error {
	for {
		items, err := w.db.SearchItems(ctx, server.Local, run.ItemQuery{Limit: some})
		if err != nil || len(items) == 0 {
			return err
		}
		for _, it := range items {
			if err := w.db.DeleteItem(ctx, server.Local, it.Namespace, it.Key); err != nil {
				return err
			}
		}
	}
}
