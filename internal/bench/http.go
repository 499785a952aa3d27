package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// beside runs a measurement on tributary and on the bare server, each in a fresh process.
func beside(b *bench, measure func(p *process, bare bool) error) error {
	for _, bare := range []bool{false, true} {
		kind := "tributary"
		if bare {
			kind = "bare"
		}
		p, err := b.start(kind)
		if err != nil {
			return err
		}
		if err := errors.Join(measure(p, bare), p.stop()); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

var wires = []dialect{onTask, onLangGraph}

// creation measures how many runs are accepted a second while they are executed too.
func creation(ctx context.Context, b *bench) ([]row, error) {
	const connections = 64
	type result struct {
		n         int
		took, cpu time.Duration
	}
	var accepted, finished, bare result
	long := b.scale(5 * time.Second)
	one := pace{N: 1}
	task := func() request {
		r := onTask.create(one)
		r.body = encoded(map[string]any{"assistant": "bench", "input": one})
		return r
	}
	err := beside(b, func(p *process, isBare bool) (err error) {
		if isBare {
			bare.n, bare.took, bare.cpu, err = post(ctx, p, func() request {
				return request{method: "POST", path: "/run", body: encoded(bareRequest{one, "task"})}
			}, connections, long)
			return err
		}
		err = b.profiled(ctx, p, "creation", func() (err error) {
			accepted.n, accepted.took, accepted.cpu, err = post(ctx, p, func() request { return accept(one) }, connections, long)
			return err
		})
		if err != nil {
			return err
		}
		finished.n, finished.took, finished.cpu, err = post(ctx, p, task, connections, long)
		return err
	})
	line := func(what string, r result, aim float64) row {
		return row{
			what:  what,
			ours:  fmt.Sprintf("%s, %s CPU each", perSecond(r.n, r.took), short(r.cpu/time.Duration(max(r.n, 1)))),
			limit: fmt.Sprintf("%s, %s CPU each: decode and answer", perSecond(bare.n, bare.took), short(bare.cpu/time.Duration(max(bare.n, 1)))),
			bar:   atLeast(float64(r.n)/r.took.Seconds(), aim, thousands(int(aim))+"/s"),
		}
	}
	return []row{
		line("`POST /threads/{new}/runs`: thread and run on disk, and one token said by each meanwhile, 64 connections", accepted, 2000),
		line("`POST /tasks`, `stream: false`: the same, answered when the run has ended", finished, 0),
	}, err
}

// unpacedStreams measures runs that say all they have to say at once.
func unpacedStreams(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, d := range wires {
		for _, n := range []int{1, 50, 200, 1000} {
			l := load{streams: n, pace: pace{N: b.count(1000)}}
			if n == 1 {
				l.pace.N = b.count(50_000)
			}
			var ours, bare outcome
			err := beside(b, func(p *process, isBare bool) (err error) {
				if isBare {
					bare, err = carry(ctx, p, onBare(d), l)
					return err
				}
				return b.profiled(ctx, p, fmt.Sprintf("unpaced-%s-%d", d.name, n), func() (err error) {
					ours, err = carry(ctx, p, d, l)
					return err
				})
			})
			if err != nil {
				return nil, err
			}
			aim := "–"
			if n == 200 {
				aim = atMost(ours.perFrame().Seconds(), cpuAim[d.name].Seconds(), short(cpuAim[d.name])+" CPU")
			}
			rows = append(rows, row{
				what:  fmt.Sprintf("%s, %s × %s tokens, %d bytes a frame", d.name, streams(n), thousands(l.pace.N), ours.bytes/int64(ours.frames)),
				ours:  fmt.Sprintf("%s, %s CPU per event, %s at most", ours.rate(), short(ours.perFrame()), mebibytes(ours.peak)),
				limit: fmt.Sprintf("%s, %s; we take %s the CPU", bare.rate(), short(bare.perFrame()), times(ours.perFrame(), bare.perFrame())),
				bar:   aim,
			})
		}
	}
	return rows, nil
}

var cpuAim = map[string]time.Duration{"task": 10 * time.Microsecond, "langgraph": 20 * time.Microsecond}

// pacedStreams measures runs that speak at the pace of a model.
func pacedStreams(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	seconds := b.scale(10 * time.Second).Seconds()
	for _, d := range wires {
		for _, c := range []struct {
			n      int
			spread time.Duration
		}{{1, 0}, {50, time.Second}, {200, time.Second}, {200, 0}, {1000, time.Second}} {
			l := load{streams: c.n, pace: pace{N: int(20 * seconds), DelayMS: 50}, spread: c.spread, lags: true}
			var ours, bare outcome
			err := beside(b, func(p *process, isBare bool) (err error) {
				if isBare {
					bare, err = carry(ctx, p, onBare(d), l)
					return err
				}
				return b.profiled(ctx, p, fmt.Sprintf("paced-%s-%d", d.name, c.n), func() (err error) {
					ours, err = carry(ctx, p, d, l)
					return err
				})
			})
			if err != nil {
				return nil, err
			}
			what := fmt.Sprintf("%s, %s × 20/s", d.name, streams(c.n))
			if c.spread == 0 && c.n > 1 {
				what += ", all started at once"
			}
			aim := "–"
			if c.n >= 200 {
				aim = atMost(ours.perFrame().Seconds(), 2*bare.perFrame().Seconds(), "2 × the CPU") + "; " + atMost(ours.lags.at(0.99).Seconds(), 20e-3, "p99 20 ms")
			}
			rows = append(rows, row{
				what:  what,
				ours:  fmt.Sprintf("%v, slip %s, %s CPU per event, %s at most", ours.lags, short(ours.slip), short(ours.perFrame()), mebibytes(ours.peak)),
				limit: fmt.Sprintf("%v, slip %s, %s; we take %s the CPU", bare.lags, short(bare.slip), short(bare.perFrame()), times(ours.perFrame(), bare.perFrame())),
				bar:   aim,
			})
		}
	}
	return rows, nil
}

// firstAndLast measures how long a reader waits for the first frame, and for the end after the last one.
func firstAndLast(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, d := range wires {
		var idle [2]outcome // ours, bare
		err := beside(b, func(p *process, isBare bool) error {
			at, on := 0, d
			if isBare {
				at, on = 1, onBare(d)
			}
			l := load{streams: 1, pace: pace{N: 5}, lags: true}
			for range b.count(200) {
				o, err := carry(ctx, p, on, l)
				if err != nil {
					return err
				}
				idle[at].first = append(idle[at].first, o.first...)
				idle[at].firstToken = append(idle[at].firstToken, o.firstToken...)
				idle[at].closes = append(idle[at].closes, o.closes...)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		ours, bare := idle[0], idle[1]
		rows = append(rows,
			row{d.name + ", first event, idle", ours.first.String(), bare.first.String(), atMost(ours.first.at(0.5).Seconds(), 5e-3, "5 ms")},
			row{d.name + ", first token, idle", ours.firstToken.String(), bare.firstToken.String(), "–"},
			row{d.name + ", end of the stream after its last event", ours.closes.String(), bare.closes.String(), atMost(ours.closes.at(0.5).Seconds(), 2e-3, "2 ms")},
		)
	}
	return rows, nil
}

// fanOut measures one run with a thousand readers.
func fanOut(ctx context.Context, b *bench) ([]row, error) {
	const readers = 1000
	var rows []row
	for _, d := range wires {
		for _, p := range []pace{{N: b.count(2000)}, {N: b.count(2000), DelayMS: 1}, {N: b.count(200), DelayMS: 50}} {
			var ours, bare audience
			err := beside(b, func(s *process, isBare bool) (err error) {
				if isBare {
					bare, err = gather(ctx, s, onBare(d), readers, p)
					return err
				}
				return b.profiled(ctx, s, fmt.Sprintf("fanout-%s-%g", d.name, p.DelayMS), func() (err error) {
					ours, err = gather(ctx, s, d, readers, p)
					return err
				})
			})
			if err != nil {
				return nil, err
			}
			what, aim := fmt.Sprintf("%s, %s tokens at once", d.name, thousands(p.N)), "–"
			if p.DelayMS > 0 {
				what = fmt.Sprintf("%s, %s tokens, %g/s", d.name, thousands(p.N), 1000/p.DelayMS)
			} else {
				aim = atMost(ours.perMillion(), 2, "2 CPU s per million")
			}
			say := func(a audience) string {
				return fmt.Sprintf("%.2f CPU s per million, %s", a.perMillion(), perSecond(a.deliveries, a.took))
			}
			rows = append(rows, row{what, say(ours), say(bare) + "; we take " + times(ours.cpu, bare.cpu), aim})
		}
	}
	return rows, nil
}

// resume measures how fast one reader gets a history of 5000 events.
func resume(ctx context.Context, b *bench) ([]row, error) {
	const events = 5000
	var rows []row
	for _, d := range wires {
		var ours, bare audience
		err := beside(b, func(p *process, isBare bool) (err error) {
			long := b.scale(5 * time.Second)
			if isBare {
				join := request{method: "GET", path: fmt.Sprintf("/history/%d?wire=%s", events, d.name)}
				bare, err = replay(ctx, p, onBare(d), join, events, long)
				return err
			}
			join, err := begun(ctx, p, d, pace{N: events})
			if err != nil {
				return err
			}
			if _, err := watch(ctx, p.addr, d, join, false); err != nil { // until the run has ended
				return err
			}
			return b.profiled(ctx, p, "resume-"+d.name, func() (err error) {
				ours, err = replay(ctx, p, d, join, events, long)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		rate := float64(ours.deliveries) / ours.took.Seconds()
		say := func(a audience) string {
			return fmt.Sprintf("%s, %.2f CPU s per million", perSecond(a.deliveries, a.took), a.perMillion())
		}
		rows = append(rows, row{
			fmt.Sprintf("%s, %s tokens from disk, from the beginning", d.name, thousands(events)), say(ours), say(bare) + ", from memory",
			atLeast(rate, 200_000, "200,000/s"),
		})
	}
	return rows, nil
}

func streams(n int) string {
	if n == 1 {
		return "1 stream"
	}
	return thousands(n) + " streams"
}
