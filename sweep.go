package tributary

import (
	"context"
	"time"
)

const (
	sweepEvery = 30 * time.Second
	sweepCount = 200 // threads a time, so that no sweep holds the writer for long
)

// sweeper deletes what has expired: threads of stateless runs, threads and items with a time to live. First of all it
// deletes the folders of threads that are gone.
type sweeper struct {
	stop chan struct{}
	done chan struct{}
}

func startSweeper(r *Runtime) *sweeper {
	s := &sweeper{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		r.sweepFolders(r.over)
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				r.sweep(context.Background())
			case <-s.stop:
				return
			}
		}
	}()
	return s
}

func (s *sweeper) close() {
	close(s.stop)
	<-s.done
}

func (r *Runtime) sweep(ctx context.Context) {
	for {
		runs, err := r.db.Sweep(ctx, time.Now(), sweepCount)
		if err != nil {
			r.log.Error("sweep", "err", err)
			return
		}
		for _, id := range runs {
			r.journal.Drop(id)
		}
		if len(runs) < sweepCount {
			return
		}
	}
}
