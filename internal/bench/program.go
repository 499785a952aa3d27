package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/tributary-ai/tributary"
)

// program measures the real binary: how large it is, how soon it answers, and what it holds while nobody asks.
func program(ctx context.Context, b *bench) ([]row, error) {
	binary := filepath.Join(b.dir, "tributary")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/tributary")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build: %w: %s", err, out)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	threads := b.count(10_000)
	full := filepath.Join(b.dir, "full")
	if err := fill(ctx, full, threads); err != nil {
		return nil, err
	}
	// The first start on a folder also indexes the documents; that is told for itself.
	first, _, err := boot(ctx, realServer(binary, filepath.Join(b.dir, "empty")))
	if err != nil {
		return nil, err
	}
	if _, _, err := boot(ctx, realServer(binary, full)); err != nil {
		return nil, err
	}
	var empty, filled, bare samples
	var idle, bareIdle int64
	for range b.count(10) {
		for _, s := range []struct {
			cmd  func() *exec.Cmd
			into *samples
			rss  *int64
		}{
			{realServer(binary, filepath.Join(b.dir, "empty")), &empty, nil},
			{realServer(binary, full), &filled, &idle},
			{func() *exec.Cmd { return exec.Command(self, "-serve", "bare") }, &bare, &bareIdle},
		} {
			took, rss, err := boot(ctx, s.cmd)
			if err != nil {
				return nil, err
			}
			*s.into = append(*s.into, took)
			if s.rss != nil {
				*s.rss = max(*s.rss, rss)
			}
		}
	}
	return []row{
		{"from exec to the first answer, new folder, documents indexed", short(first), short(bare.at(0.5)), "–"},
		{"the same, folder in use", empty.wide(), bare.wide(), "–"},
		{fmt.Sprintf("the same with %s threads on disk", thousands(threads)), filled.wide(), bare.wide(), atMost(filled.at(0.5).Seconds(), 0.3, "300 ms")},
		{"memory after the first answer, nobody asks", mebibytes(idle), mebibytes(bareIdle), atMost(float64(idle), 60e6, "60 MB")},
		{"binary, stripped, static", fmt.Sprintf("%.1f MB", float64(info.Size())/1e6), "–", "–"},
	}, nil
}

func realServer(binary, dir string) func() *exec.Cmd {
	return func() *exec.Cmd {
		return exec.Command(binary, "--data", dir, "serve", "--addr", "127.0.0.1:0", "--log-level", "error")
	}
}

// fill makes threads with a conversation each.
func fill(ctx context.Context, dir string, threads int) error {
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: dir, Graphs: map[string]tributary.Builder{"talk": tributary.Fixed(talk("Rivers gather small streams on their way down to the sea.", 10))},
	})
	if err != nil {
		return err
	}
	const workers = 32
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < threads && errs[w] == nil; i += workers {
				_, errs[w] = rt.Chat(ctx, tributary.Request{Thread: newThread(), Assistant: "talk", Text: "What do you think of rivers?"})
			}
		})
	}
	wg.Wait()
	return errors.Join(append(errs, rt.Close(ctx))...)
}

// boot starts a server, asks it whether it is there until it says so, looks at its memory and stops it.
func boot(ctx context.Context, command func() *exec.Cmd) (took time.Duration, rss int64, err error) {
	began := time.Now()
	p, err := launch(command(), func(line string) string { return line[strings.LastIndexAny(line, " /")+1:] })
	if err != nil {
		return 0, 0, err
	}
	conn, err := connect(ctx, p.addr, request{method: "GET", path: "/ok"}, false)
	if err == nil {
		var head [12]byte
		_, err = conn.Read(head[:])
		took = time.Since(began)
		if err == nil && string(head[9:]) != "200" {
			err = fmt.Errorf("GET /ok: %s", head)
		}
		err = errors.Join(err, conn.Close())
	}
	time.Sleep(300 * time.Millisecond) // what it does after its start belongs to being idle
	rss = p.rss()
	err = errors.Join(err, p.cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	if stopped := p.stop(); !errors.As(stopped, &exit) { // the bare one dies of the signal
		err = errors.Join(err, stopped)
	}
	return took, rss, err
}
