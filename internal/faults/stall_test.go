package faults_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/faults"
)

// rawSSE opens a stream over a connection of its own, with a small receive buffer, and leaves reading to the caller.
func rawSSE(ctx context.Context, h *host, path string) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return firstError(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}), err)
	}}
	conn, err := dialer.DialContext(ctx, "tcp", strings.TrimPrefix(h.base(), "http://"))
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n", path)
	return conn, err
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestSoakSlowReaders lets 50 readers of a long answer read nothing, beside readers that read. The others must not notice; the slow
// ones are dropped within 45 seconds, cost at most 1 MiB each, and can resume.
func TestSoakSlowReaders(t *testing.T) {
	ctx := soak(t)
	w := newWorld(t)
	w.warm(ctx)
	const slow = 50
	const words = 30_000
	o := faults.Order{Key: "long", Words: words}
	l := load{runs: 1, order: func(int, string) faults.Order { return o }, wires: mixedWires}
	thread := "00000000-0000-4000-8000-000000000001"
	run, err := w.createRun(ctx, thread, o, "")
	if err != nil {
		t.Fatal(err)
	}
	before := w.mustHold(ctx)
	var conns []net.Conn
	for range slow {
		conn, err := rawSSE(ctx, w.host, "/threads/"+thread+"/runs/"+run+"/stream?stream_mode=messages-tuple,values,custom")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conns = append(conns, conn)
	}
	began := time.Now()
	e := evidence{Case: faults.Case{Run: run, Order: o}, thread: thread}
	for _, d := range l.wires(0) {
		rd := &reader{host: w.host, dialect: d, who: string(d) + " reader", thread: thread, run: run}
		got, err := rd.read(ctx)
		if err != nil {
			t.Fatal(err)
		}
		e.Readings = append(e.Readings, got)
	}
	t.Logf("others read %d events each within %v", len(e.Readings[0].Frames), time.Since(began).Round(time.Millisecond))
	during := w.mustHold(ctx)
	t.Logf("before: %v; with %d readers that do not read: %v", before, slow, during)
	if kept := during.heap - before.heap; kept > slow<<20 {
		t.Errorf("%d bytes are kept for each slow reader", kept/slow)
	}
	for until := began.Add(60 * time.Second); ; {
		if u := w.mustHold(ctx); u.files <= before.files+8 {
			t.Logf("the slow ones were dropped within %v", time.Since(began).Round(time.Second))
			break
		}
		if time.Now().After(until) {
			t.Errorf("slow readers are still connected after a minute")
			break
		}
		wait(ctx, time.Second)
	}
	// A slow one that comes back reads on from where it was.
	var part faults.Reading
	_ = conns[0].SetReadDeadline(time.Now().Add(10 * time.Second))
	in := bufio.NewReader(conns[0])
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	_ = readSSE(res.Body, func(f faults.Frame) bool { part.Frames = append(part.Frames, f); return true }) // it was cut somewhere
	rd := &reader{host: w.host, dialect: faults.LangGraph, who: "slow reader", thread: thread, run: run}
	rd.got = part
	for done := false; !done; {
		if done, err = rd.connection(ctx); err != nil && ctx.Err() != nil {
			t.Fatal(err)
		}
	}
	t.Logf("the slow reader had %d of %d events when it was dropped", len(part.Frames), len(rd.got.Frames))
	rd.got.Who, rd.got.Dialect, rd.got.Ended = "slow reader", faults.LangGraph, true
	e.Readings = append(e.Readings, rd.got)
	_, e.Object, _, err = w.host.call(ctx, "GET", "/tasks/"+run, "")
	if err != nil {
		t.Fatal(err)
	}
	w.judge(ctx, []evidence{e})
	w.allEnded(ctx)
}

// TestSoakIdleReaders connects 10,000 readers to runs whose provider is silent. Each costs at most 20 KiB and gets a heartbeat within 20
// seconds, and an event reaches all of them within a second.
func TestSoakIdleReaders(t *testing.T) {
	ctx := soak(t)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < 10_500 {
		t.Skipf("10,000 connections need as many files; the limit is %d", limit.Cur)
	}
	w := newWorld(t)
	w.warm(ctx)
	thread := "00000000-0000-4000-8000-000000000002"
	run, err := w.createRun(ctx, thread, faults.Order{Key: "idle", Words: 3, Faults: thrice(faults.Fault{Kind: faults.Stall, After: 2})}, "")
	if err != nil {
		t.Fatal(err)
	}
	w.busy(ctx)
	before := w.mustHold(ctx)
	const readers = 10_000
	var hearts, ended atomic.Int64
	var wg sync.WaitGroup
	var conns []net.Conn
	for range readers {
		conn, err := rawSSE(ctx, w.host, "/tasks/"+run+"/events")
		if err != nil {
			t.Fatalf("after %d connections: %v", len(conns), err)
		}
		if conns = append(conns, conn); len(conns)%2500 == 0 {
			t.Logf("%d are connected", len(conns))
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			idle(conn, &hearts, &ended)
		}()
	}
	t.Cleanup(func() {
		for _, c := range conns {
			c.Close()
		}
		wg.Wait()
	})
	began := time.Now()
	for hearts.Load() < readers && time.Since(began) < 20*time.Second {
		wait(ctx, 100*time.Millisecond)
	}
	t.Logf("%d of %d got a heartbeat within %v", hearts.Load(), readers, time.Since(began).Round(100*time.Millisecond))
	if hearts.Load() < readers {
		t.Errorf("%d readers got no heartbeat within 20 seconds", readers-hearts.Load())
	}
	now := w.mustHold(ctx)
	t.Logf("before: %v; with %d readers: %v; %.1f KiB each", before, readers, now, float64(now.rss-before.rss)/readers/1024)
	if each := (now.rss - before.rss) / readers; each > 20<<10 {
		t.Errorf("each reader costs %d bytes", each)
	}
	// Cancelling writes the last events, which go to all.
	code, body, _, err := w.host.call(ctx, "POST", "/tasks/"+run+"/cancel", `{"wait":true}`)
	if err != nil || code != http.StatusOK {
		t.Fatalf("cancel: %d %v %s", code, err, body)
	}
	began = time.Now()
	for ended.Load() < readers && time.Since(began) < 30*time.Second {
		wait(ctx, 10*time.Millisecond)
	}
	t.Logf("the end reached %d readers within %v", ended.Load(), time.Since(began).Round(10*time.Millisecond))
	if ended.Load() < readers {
		t.Errorf("the end did not reach %d readers", readers-ended.Load())
	}
}

// idle reads a stream with as little memory as possible, and counts once that a heartbeat came, and once that the end came.
func idle(conn io.Reader, hearts, ended *atomic.Int64) {
	in := bufio.NewReaderSize(conn, 512)
	beat := false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
		switch {
		case !beat && strings.HasPrefix(string(line), ": "):
			beat = true
			hearts.Add(1)
		case strings.HasPrefix(string(line), `data: {"type":"task.canceled"`):
			ended.Add(1)
			return
		}
	}
}
