package run

import (
	"context"
	"errors"
)

// DeleteThread deletes a thread with all that is its. What runs on it is stopped first: whoever deletes a conversation
// does not want its answer any more.
func (e *Engine) DeleteThread(ctx context.Context, who Identity, id string) error {
	for range 3 { // a run may be created in between
		runs, err := e.opt.Store.DeleteThread(ctx, who, id)
		for _, r := range runs {
			e.opt.Journal.Drop(r)
		}
		if !errors.Is(err, ErrBusy) {
			return err
		}
		if err := e.stopAll(ctx, who, id); err != nil {
			return err
		}
	}
	return ErrBusy
}

// stopAll cancels what is in flight on a thread and waits until it has ended.
func (e *Engine) stopAll(ctx context.Context, who Identity, thread string) error {
	const most = 1000
	for _, status := range []Status{Pending, Running} {
		runs, err := e.opt.Store.ThreadRuns(ctx, who, thread, status, most, 0)
		if err != nil {
			return err
		}
		for _, r := range runs {
			if _, err := e.Cancel(ctx, who, r.ID, StopRun); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
			if _, err := e.Wait(ctx, who, r.ID); err != nil && !errors.Is(err, ErrNotFound) {
				return err
			}
		}
	}
	return nil
}
