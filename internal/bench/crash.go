package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"
)

// clocks counts the runs that have said a token in this process.
var clocks atomic.Int64

// crashed measures how soon a server that was killed goes on with what it did: from its start until the last of many runs says its next token.
// Each says ten a second, as real models do, and the token after a pause is not waited for: a run is begun again at once.
func crashed(ctx context.Context, b *bench) ([]row, error) {
	var rows []row
	for _, runs := range []int{200, 1000} {
		runs = b.count(runs)
		r, err := b.crash(ctx, runs)
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) crash(ctx context.Context, runs int) (row, error) {
	dir := filepath.Join(b.dir, newThread())
	first, err := b.startIn("tributary", dir)
	if err != nil {
		return row{}, err
	}
	long := pace{N: 100_000, DelayMS: 100}
	for range runs {
		if _, err := begun(ctx, first, onTask, long); err != nil {
			return row{}, errors.Join(err, first.kill())
		}
	}
	if err := first.saying(ctx, runs); err != nil {
		return row{}, errors.Join(err, first.kill())
	}
	time.Sleep(3 * time.Second) // they have something to lose
	if err := first.kill(); err != nil {
		return row{}, err
	}
	began := time.Now()
	second, err := b.startIn("tributary", dir)
	if err != nil {
		return row{}, err
	}
	up := time.Since(began)
	if err := second.saying(ctx, runs); err != nil {
		return row{}, errors.Join(err, second.kill())
	}
	took, cpu := time.Since(began), second.cpu()
	what := fmt.Sprintf("%s runs of 10 tokens/s, killed; from the start of the next process until all say a token", thousands(runs))
	return row{what, fmt.Sprintf("%s, %s CPU each", short(took), short(cpu/time.Duration(runs))), short(up) + " until it listens", atMost(took.Seconds(), 2, "2 s")}, second.kill()
}

// saying waits until a number of runs have said a token since the process began.
func (p *process) saying(ctx context.Context, runs int) error {
	for until := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, raw, err := ask(ctx, http.DefaultClient, p.addr, request{method: http.MethodGet, path: "/saying"})
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(string(raw))
		if err != nil || n >= runs {
			return err
		}
		if time.Now().After(until) {
			return fmt.Errorf("only %d of %d runs say anything after a minute", n, runs)
		}
	}
}

// kill ends a process as the machine would.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	_ = p.cmd.Wait() // it was killed
	return err
}
