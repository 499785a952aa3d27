package search

import (
	"context"
	"errors"
	"time"
)

// share is the part of its time that watching may spend on looking: one twentieth.
const share = 20

// Watch brings the index up to date whenever the sources change, until the context ends. It looks at names, sizes and times
// of the files every so often, less often where that takes long, and reads what is new. What goes wrong is logged, once for
// each thing that it says; the index stays as it was.
func (ix *Index) Watch(ctx context.Context, every time.Duration) {
	said := ""
	wait := every
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		began := time.Now()
		changes, err := ix.again(ctx)
		wait = max(every, share*time.Since(began))
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			if err.Error() != said && ix.opts.Log != nil {
				ix.opts.Log.Warn("documents cannot be brought up to date", "err", err)
			}
			said = err.Error()
		default:
			said = ""
			if changes != (Changes{}) && ix.opts.Log != nil {
				ix.opts.Log.Info("documents changed", "added", changes.Added, "changed", changes.Changed, "removed", changes.Removed)
			}
		}
	}
}

// again is a refresh that nobody waits for: it tells of no progress, and trusts that files without a time, which are part
// of the program, are as they were.
func (ix *Index) again(ctx context.Context) (Changes, error) {
	ix.refreshing.Lock()
	defer ix.refreshing.Unlock()
	changes, err := ix.refreshOnce(ctx, pass{timeless: true})
	return changes, errors.Join(err, ix.keepVectors(ctx))
}
