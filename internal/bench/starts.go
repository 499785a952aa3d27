package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// startsAtOnce is how many runs are started in the same moment.
const startsAtOnce = 200

// starts measures how long the first event takes where many runs start in the same moment, and what a start costs.
func starts(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, d := range wires {
		var first [2]samples // ours, bare
		var each counts
		err := beside(b, func(p *process, isBare bool) error {
			at, on := 0, d
			if isBare {
				at, on = 1, onBare(d)
			}
			crowd := func(pc pace) (outcome, error) {
				return carry(ctx, p, on, load{streams: startsAtOnce, pace: pc, lags: true})
			}
			if _, err := crowd(pace{N: 1}); err != nil { // what only the first crowd pays for
				return err
			}
			err := b.profiled(ctx, p, "starts-"+on.name, func() error {
				for range b.count(20) {
					o, err := crowd(pace{N: 20, DelayMS: 50})
					if err != nil {
						return err
					}
					first[at] = append(first[at], o.first...)
				}
				return nil
			})
			if err != nil || isBare {
				return err
			}
			before, err := p.counts(ctx)
			if err != nil {
				return err
			}
			const crowds = 10
			for range crowds {
				if _, err := crowd(pace{N: 1}); err != nil {
					return err
				}
			}
			after, err := p.counts(ctx)
			each = after.since(before).each(crowds * startsAtOnce)
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			row{d.name + ", first event, 200 starts at once", first[0].wide(), first[1].wide(), atMost(first[0].at(0.99).Seconds(), 50e-3, "p99 50 ms")},
			row{d.name + ", a run of one token, of 200 at once", each.String(), "–", "–"})
	}
	return rows, nil
}

// counts is what a server has used.
type counts struct {
	CPU     time.Duration
	Mallocs float64
	Bytes   float64 // allocated
	Written float64 // bytes handed to the disk
	Commits float64
}

func (c counts) since(b counts) counts {
	return counts{c.CPU - b.CPU, c.Mallocs - b.Mallocs, c.Bytes - b.Bytes, c.Written - b.Written, c.Commits - b.Commits}
}

func (c counts) each(n int) counts {
	f := float64(n)
	return counts{c.CPU / time.Duration(n), c.Mallocs / f, c.Bytes / f, c.Written / f, c.Commits / f}
}

func (c counts) String() string {
	return fmt.Sprintf("%s CPU, %.0f allocations of %.1f kB, %.1f kB to the disk, %.2f commits", short(c.CPU), c.Mallocs, c.Bytes/1e3, c.Written/1e3, c.Commits)
}

// used is what this process has used; commits says how many transactions there were.
func used(commits func() uint64) counts {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return counts{CPU: cpu(), Mallocs: float64(m.Mallocs), Bytes: float64(m.TotalAlloc), Written: writtenBytes(), Commits: float64(commits())}
}

// writtenBytes is what this process has sent to disks.
func writtenBytes() float64 {
	raw, _ := os.ReadFile("/proc/self/io") // 0 where there is none
	for line := range strings.Lines(string(raw)) {
		if n, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			bytes, _ := strconv.ParseFloat(strings.TrimSpace(n), 64)
			return bytes
		}
	}
	return 0
}

// counts asks a server what it has used.
func (p *process) counts(ctx context.Context) (c counts, err error) {
	_, raw, err := ask(ctx, http.DefaultClient, p.addr, request{method: http.MethodGet, path: "/counts"})
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(raw, &c)
}
