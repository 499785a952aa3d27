package main

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/storage/sqlite"
)

// core is a journal on a real database, with runs whose leases we hold.
type core struct {
	db *sqlite.DB
	j  *journal.Journal
}

var owner = run.Identity{Owner: "bench"}

func openCore(ctx context.Context, dir string, disk bool) (*core, error) {
	db, err := sqlite.Open(ctx, dir, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	return &core{db, journal.Open(db, journal.Options{Disk: disk})}, nil
}

func (c *core) close() {
	c.j.Close()
	_ = c.db.Close()
}

// logs opens n runs.
func (c *core) logs(ctx context.Context, n int) ([]*journal.Log, []string, error) {
	var logs []*journal.Log
	var ids []string
	for range n {
		created, err := c.db.CreateRun(ctx, owner, run.NewRun{
			ID: uuid.NewString(), Thread: uuid.NewString(), Request: run.Request{Assistant: "a", Graph: "g", CreateThread: true},
			At: time.Now(), Worker: "w", Lease: time.Hour,
		})
		if err != nil {
			return nil, nil, err
		}
		r := created.Run
		logs = append(logs, c.j.Log(journal.Lease{Run: r.ID, Owner: "w", Epoch: r.Epoch}, r.Thread, 0))
		ids = append(ids, r.ID)
	}
	return logs, ids, nil
}

func token(text string) journal.Batch {
	return journal.Batch{Events: []event.Envelope{{
		Node: "agent", Step: 1, At: time.Now(),
		Event: event.TextDelta{Item: "msg_01a1dd19-0ded-7493-8076-ea3af2d49fd2", Text: text},
	}}}
}

// latencies measures how long after its append an event is visible to a follower, durable, for runs that each
// write 20 events a second.
func latencies(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, n := range []int{1, 200, 1000} {
		var out [2]samples
		for i, disk := range []bool{false, true} {
			s, used, err := paced(ctx, b, n, disk, b.scale(5*time.Second))
			if err != nil {
				return nil, err
			}
			out[i] = s
			if !disk {
				rows = append(rows, row{what: fmt.Sprintf("%d paced runs × 20/s, `process`", n), ours: fmt.Sprintf("%v, %s CPU per event", s, short(used)), limit: bare(n, b.scale(2*time.Second)).String(), bar: "–"})
			} else {
				rows = append(rows, row{what: fmt.Sprintf("%d paced runs × 20/s, `disk`", n), ours: fmt.Sprintf("%v, %s CPU per event", s, short(used)), limit: "–", bar: "–"})
			}
		}
	}
	return rows, nil
}

func paced(ctx context.Context, b *bench, n int, disk bool, long time.Duration) (samples, time.Duration, error) {
	c, err := openCore(ctx, filepath.Join(b.dir, uuid.NewString()), disk)
	if err != nil {
		return nil, 0, err
	}
	defer c.close()
	logs, ids, err := c.logs(ctx, n)
	if err != nil {
		return nil, 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var all samples
	var readers, writers sync.WaitGroup
	for _, id := range ids {
		readers.Add(1)
		go func() {
			defer readers.Done()
			var mine samples
			for env, err := range c.j.Follow(ctx, id, journal.Position{}) {
				if err != nil {
					break
				}
				if _, ok := env.Event.(event.TextDelta); ok {
					mine = append(mine, time.Since(env.At))
				}
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		}()
	}
	start, used := time.Now(), cpu()
	for i, l := range logs {
		writers.Add(1)
		go func() {
			defer writers.Done()
			defer l.Close()
			// Runs are not in step with each other.
			next := start.Add(time.Duration(i) * 50 * time.Millisecond / time.Duration(n))
			for time.Since(start) < long {
				time.Sleep(time.Until(next))
				next = next.Add(50 * time.Millisecond)
				if l.Append(ctx, token("tok")) != nil {
					return
				}
			}
			_ = l.Append(ctx, journal.Batch{Events: []event.Envelope{{Event: event.RunEnded{Status: event.Success}}}, Promise: true})
		}()
	}
	writers.Wait()
	readers.Wait()
	used = cpu() - used
	return all, used / time.Duration(max(len(all), 1)), nil
}

// bare is the same without a journal: a slice under a lock and a channel that is closed to wake the reader.
func bare(n int, long time.Duration) samples {
	type log struct {
		mu   sync.Mutex
		at   []time.Time
		bell chan struct{}
		done bool
	}
	var mu sync.Mutex
	var all samples
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		l := &log{bell: make(chan struct{})}
		wg.Add(2)
		go func() {
			defer wg.Done()
			next := start.Add(time.Duration(i) * 50 * time.Millisecond / time.Duration(n))
			for time.Since(start) < long {
				time.Sleep(time.Until(next))
				next = next.Add(50 * time.Millisecond)
				l.mu.Lock()
				l.at = append(l.at, time.Now())
				close(l.bell)
				l.bell = make(chan struct{})
				l.mu.Unlock()
			}
			l.mu.Lock()
			l.done = true
			close(l.bell)
			l.mu.Unlock()
		}()
		go func() {
			defer wg.Done()
			var mine samples
			for seen := 0; ; {
				l.mu.Lock()
				at, bell, done := l.at[seen:], l.bell, l.done
				l.mu.Unlock()
				for _, t := range at {
					mine = append(mine, time.Since(t))
				}
				seen += len(at)
				if done {
					break
				}
				<-bell
			}
			mu.Lock()
			all = append(all, mine...)
			mu.Unlock()
		}()
	}
	wg.Wait()
	return all
}

// throughput measures how many events 200 runs that do not pause make durable and deliver to a follower each.
func throughput(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, disk := range []bool{false, true} {
		name, aim := "`process`", 60_000
		if disk {
			name, aim = "`disk`", 20_000
		}
		n, took, used, err := unpaced(ctx, b, 200, disk, b.scale(5*time.Second))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			what:  "200 unpaced runs, each followed, " + name,
			ours:  fmt.Sprintf("%s, %s CPU per event", perSecond(n, took), short(used/time.Duration(n))),
			limit: bareThroughput(200, b.scale(time.Second)),
			bar:   atLeast(float64(n)/took.Seconds(), float64(aim), thousands(aim)+"/s"),
		})
	}
	return rows, nil
}

func unpaced(ctx context.Context, b *bench, n int, disk bool, long time.Duration) (events int, took, used time.Duration, err error) {
	c, err := openCore(ctx, filepath.Join(b.dir, uuid.NewString()), disk)
	if err != nil {
		return 0, 0, 0, err
	}
	defer c.close()
	logs, ids, err := c.logs(ctx, n)
	if err != nil {
		return 0, 0, 0, err
	}
	var wg sync.WaitGroup
	counts := make([]int, n)
	for i, id := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for _, err := range c.j.Follow(ctx, id, journal.Position{}) {
				if err != nil {
					return
				}
				counts[i]++
			}
		}()
	}
	start, before := time.Now(), cpu()
	for _, l := range logs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer l.Close()
			for time.Since(start) < long {
				if l.Append(ctx, token("tok")) != nil {
					return
				}
			}
			_ = l.Append(ctx, journal.Batch{Events: []event.Envelope{{Event: event.RunEnded{Status: event.Success}}}, Promise: true})
		}()
	}
	wg.Wait()
	took, used = time.Since(start), cpu()-before
	for _, n := range counts {
		events += n
	}
	return events, took, used, nil
}

// bareThroughput appends to slices and wakes readers, and nothing else.
func bareThroughput(n int, long time.Duration) string {
	var wg sync.WaitGroup
	counts := make([]int, n)
	start := time.Now()
	for i := range n {
		wg.Add(1)
		go func() {
			defer wg.Done()
			var mu sync.Mutex
			var log []event.Envelope
			for time.Since(start) < long {
				mu.Lock()
				log = append(log, token("tok").Events...)
				if len(log) > 10_000 {
					log = log[:0]
				}
				mu.Unlock()
				counts[i]++
			}
		}()
	}
	wg.Wait()
	total := 0
	for _, c := range counts {
		total += c
	}
	return perSecond(total, time.Since(start)) + " into slices"
}

// idleFollowers measures what a thousand readers of runs that say nothing hold.
func idleFollowers(ctx context.Context, b *bench) ([]row, error) {
	c, err := openCore(ctx, filepath.Join(b.dir, uuid.NewString()), false)
	if err != nil {
		return nil, err
	}
	defer c.close()
	const n = 1000
	logs, ids, err := c.logs(ctx, n)
	if err != nil {
		return nil, err
	}
	before := heap()
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, id := range ids {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range c.j.Follow(ctx, id, journal.Position{}) {
				continue
			}
		}()
	}
	time.Sleep(500 * time.Millisecond)
	after, resident := heap(), rss()
	cancel()
	wg.Wait()
	for _, l := range logs {
		l.Close()
	}
	return []row{{
		what:  "1000 idle followers of 1000 live runs",
		ours:  fmt.Sprintf("%.1f KiB each; the process holds %s", float64(after-before)/n/1024, mebibytes(resident)),
		limit: "a goroutine's stack: 2–8 KiB", bar: "–",
	}}, nil
}
