package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary/internal/bench/loadclient"
)

// givenLoad is what the same client measured of LangGraph's JS server.
var givenLoad = map[int]string{
	1:   "1,130–2,250/s, 400–850 µs CPU per event",
	50:  "1,500–1,840/s, 530–590 µs CPU per event",
	200: "1,120/s, 1.0–1.1 ms CPU per event, 3.2 GB",
}

// fiftieth is what the server may spend on an event: a fiftieth of the least that LangGraph's JS server spends.
var fiftieth = map[int]time.Duration{1: 8 * time.Microsecond, 50: 10600 * time.Nanosecond, 200: 20 * time.Microsecond}

const memoryAim = 200e6

// conformanceLoad measures the conformance server with the client that measured LangGraph's.
func conformanceLoad(ctx context.Context, b *bench) ([]row, error) {
	binary := filepath.Join(b.dir, "conformance")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./internal/conformance").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	var rows []row
	for _, n := range []int{1, 50, 200} {
		l := loadclient.Load{Streams: n, Tokens: b.count(1000)}
		if n == 1 {
			l.Tokens = b.count(50_000)
		}
		got, err := loaded(ctx, binary, l)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{
			what:  fmt.Sprintf("%s × %s tokens without pause, %d bytes an event", streams(n), thousands(l.Tokens), got.Bytes/int64(got.Events)),
			ours:  fmt.Sprintf("%s, %s CPU per event, %s at most; first event %v", perSecond(got.Events, got.Took), short(got.perEvent()), mebibytes(got.peak), samples(got.First)),
			limit: givenLoad[n],
			bar: atMost(got.perEvent().Seconds(), fiftieth[n].Seconds(), short(fiftieth[n])+" CPU") + "; " +
				atMost(float64(got.peak), memoryAim, "200 MB"),
		})
	}
	paced, err := pacedLoad(ctx, b, binary)
	if err != nil {
		return nil, err
	}
	idle, err := idleStarts(ctx, b, binary)
	return append(append(rows, paced...), idle...), err
}

// pacedLoad is 200 runs at the pace of a model: started one after the other, and all at once.
func pacedLoad(ctx context.Context, b *bench, binary string) ([]row, error) {
	l := loadclient.Load{Streams: 200, Tokens: int(20 * b.scale(10*time.Second).Seconds()), DelayMS: 50, Spread: time.Second}
	spread, err := loaded(ctx, binary, l)
	if err != nil {
		return nil, err
	}
	l.Spread = 0
	atOnce, err := loaded(ctx, binary, l)
	if err != nil {
		return nil, err
	}
	lags, first, closes := samples(spread.Lags), samples(atOnce.First), samples(append(spread.Closes, atOnce.Closes...))
	return []row{
		{"200 streams × 20/s, started within a second: lateness of a token", fmt.Sprintf("%s, %s at most", lags.wide(), mebibytes(spread.peak)),
			"p50 1 ms, p99 16–20 ms", atMost(lags.at(0.99).Seconds(), 0.005, "p99 5 ms") + "; " + atMost(float64(spread.peak), memoryAim, "200 MB")},
		{"200 streams × 20/s, all started at once: first event", first.wide(), "p50 3.5 s, worst 15.7 s", atMost(first.at(0.5).Seconds(), 0.05, "p50 50 ms")},
		{"the same: lateness of a token", samples(atOnce.Lags).wide(), "–", "–"},
		{"end of the stream after its last event, of all these", closes.wide(), "500 ms", atMost(closes.at(0.5).Seconds(), 0.002, "p50 2 ms")},
	}, nil
}

// idleStarts is one run after the other on a server that has nothing else to do.
func idleStarts(ctx context.Context, b *bench, binary string) ([]row, error) {
	var first, closes samples
	err := conformance(ctx, binary, func(p *process, c *loadclient.Client) error {
		for range b.count(300) {
			r, err := c.Run(ctx, loadclient.Load{Streams: 1, Tokens: 1})
			if err != nil {
				return err
			}
			first, closes = append(first, r.First...), append(closes, r.Closes...)
		}
		return nil
	})
	return []row{
		{"1 stream × 1 token, idle: first event", first.wide(), "20–126 ms", atMost(first.at(0.5).Seconds(), 0.005, "p50 5 ms")},
		{"the same: end of the stream after its last event", closes.wide(), "500 ms", atMost(closes.at(0.5).Seconds(), 0.002, "p50 2 ms")},
	}, err
}

// loadedReport is a report with what the server spent.
type loadedReport struct {
	loadclient.Report
	cpu  time.Duration
	peak int64
}

func (r *loadedReport) perEvent() time.Duration { return r.cpu / time.Duration(max(r.Events, 1)) }

// loaded puts a load on a server of its own.
func loaded(ctx context.Context, binary string, l loadclient.Load) (out loadedReport, err error) {
	err = conformance(ctx, binary, func(p *process, c *loadclient.Client) (err error) {
		peak, before := p.watch(), p.cpu()
		out.Report, err = c.Run(ctx, l)
		out.cpu, out.peak = p.cpu()-before, peak()
		return err
	})
	return out, err
}

// conformance starts the conformance server for a measurement.
func conformance(ctx context.Context, binary string, measure func(*process, *loadclient.Client) error) error {
	cmd := exec.CommandContext(ctx, binary, "-addr", "127.0.0.1:0", "-like-js=false", "-app=false")
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Dir(binary)) // on the disk that is measured
	p, err := launch(cmd, func(line string) string { return line[strings.LastIndexAny(line, " /")+1:] })
	if err != nil {
		return err
	}
	c := loadclient.New("http://" + p.addr)
	err = measure(p, c)
	c.Close()
	return errors.Join(err, p.cmd.Process.Signal(syscall.SIGTERM), p.stop())
}
