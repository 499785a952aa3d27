package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/wire/sse"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/turn"
)

// word is what one delta of the benchmarks says: a token of usual length.
func word(i int) string { return fmt.Sprintf("word%d ", i) }

// chatter says n words without being asked twice.
func chatter(n int, pace time.Duration) *graph.Graph {
	return one("agent", func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		w, err := turn.Start(ctx, s, event.TurnStarted{Turn: "turn_" + s.Execution(), Agent: "chatter", Model: "m"})
		if err != nil {
			return graph.Command{}, err
		}
		for i := range n {
			if pace > 0 {
				time.Sleep(pace)
			}
			if err := w.Text(ctx, 0, word(i)); err != nil {
				return graph.Command{}, err
			}
		}
		m, err := w.End(ctx, item.FinishStop, "m")
		return graph.Update(messages.Add(m)), err
	})
}

// bareFrame is a frame as a bare server would write it.
func bareFrame(i int) []byte {
	data := fmt.Appendf(nil, `{"type":"task.text.delta","task_id":"0192f0c1-6d5e-7b6a-b0f0-2a3b4c5d6e7f","sequence_number":%d,"item_id":"msg_1","output_index":0,"block_index":0,"delta":%q}`, i, word(i))
	return sse.Append(nil, "", data, fmt.Sprint(i))
}

// countFrames reads a stream to its end and returns the number of frames.
func countFrames(b testing.TB, conn net.Conn, path string) int {
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nX-User: me\r\nConnection: close\r\n\r\n", path)
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, 32<<10), nil)
	if err != nil {
		b.Error(err)
		return 0
	}
	mark := []byte("\nid: ")
	buf := make([]byte, 32<<10)
	frames, kept := 0, 0 // kept are the last bytes of the piece before: a mark may be cut
	for {
		n, err := res.Body.Read(buf[kept:])
		frames += bytes.Count(buf[:kept+n], mark)
		rest := min(kept+n, len(mark)-1)
		copy(buf, buf[kept+n-rest:kept+n])
		kept = rest
		if err == io.EOF {
			return frames
		}
		if err != nil {
			b.Error(err)
			return frames
		}
	}
}

// A history of 5000 events is replayed from disk over SSE to one reader; beside it a bare server, which has its
// frames ready and does nothing but write them, 32 at a time as a naive one would.
//
//	go test -run '^$' -bench TaskReplay ./internal/server
func BenchmarkTaskReplay(b *testing.B) {
	const words = 5000
	replay := func(b *testing.B, addr, path string) {
		frames, cpu := 0, cpuSeconds()
		for b.Loop() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				b.Fatal(err)
			}
			frames += countFrames(b, conn, path)
			_ = conn.Close()
		}
		if frames < b.N*words {
			b.Fatalf("got %d frames in %d replays", frames, b.N)
		}
		b.ReportMetric(float64(frames)/b.Elapsed().Seconds(), "events/s")
		b.ReportMetric((cpuSeconds()-cpu)/float64(frames)*1e6, "cpu-µs/event") // with the reader; other load does not count
	}
	b.Run("server=tributary", func(b *testing.B) {
		w := newTasks(b, taskGraphs{"agent": chatter(words, 0)})
		id := w.create(`{"input":"hi"}`)
		replay(b, w.http.Listener.Addr().String(), "/tasks/"+id+"/events")
	})
	b.Run("server=bare", func(b *testing.B) {
		var frames [][]byte
		for i := range words {
			frames = append(frames, bareFrame(i))
		}
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", sse.ContentType)
			for i, f := range frames {
				_, _ = w.Write(f)
				if i%32 == 31 {
					_ = http.NewResponseController(w).Flush()
				}
			}
		}))
		defer h.Close()
		replay(b, h.Listener.Addr().String(), "/")
	})
}

// A thousand readers follow one live run. The servers are processes of their own, so that what is counted is the server
// with its publisher and not the readers. The bare one does the least that a server of live events can do: frames
// that are ready, in one slice that all readers share, one write and one flush for each wake-up.
//
//	go test -run '^$' -bench TaskReaders -benchtime 1x ./internal/server
func BenchmarkTaskReaders(b *testing.B) {
	// The slower the words come, the fewer of them share a write: at the last pace nearly every delivery is a system call.
	for _, pace := range []string{"0s", "1ms", "10ms"} {
		for _, server := range []string{"tributary", "bare"} {
			b.Run("pace="+pace+"/server="+server, func(b *testing.B) {
				var cpu, frames float64
				for b.Loop() {
					c, f := readersOf(b, server, pace)
					cpu, frames = cpu+c, frames+f
				}
				b.ReportMetric(cpu/frames*1e6, "cpu-s/M")
				b.ReportMetric(frames/float64(b.N), "deliveries")
			})
		}
	}
}

const benchReaders = 1000

// readersOf runs one server process with its readers, and returns the CPU time that it took and what it delivered.
func readersOf(b *testing.B, server, pace string) (cpu, frames float64) {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "TRIBUTARY_BENCH_SERVER="+server, "TRIBUTARY_BENCH_PACE="+pace)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewReader(out)
	say := func(s string) { fmt.Fprintln(in, s) }
	hear := func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatalf("the server process: %v", err)
		}
		return strings.TrimSpace(line)
	}
	addr, path := hear(), hear()
	var wg sync.WaitGroup
	counts := make([]int, benchReaders)
	for i := range benchReaders {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		wg.Go(func() {
			counts[i] = countFrames(b, conn, path)
			_ = conn.Close()
		})
	}
	say("go")
	wg.Wait()
	say("end")
	if _, err := fmt.Sscan(hear(), &cpu); err != nil {
		b.Fatal(err)
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		b.Fatal(err)
	}
	for i, n := range counts {
		if n != counts[0] || n < 1000 {
			b.Fatalf("reader %d got %d frames, reader 0 got %d", i, n, counts[0])
		}
		frames += float64(n)
	}
	return cpu, frames
}

// benchServer is the other process: it says where it listens, publishes when it is told to, and says what that took.
func benchServer(kind string) {
	const words = 2000
	pace, err := time.ParseDuration(os.Getenv("TRIBUTARY_BENCH_PACE"))
	if err != nil {
		panic(err)
	}
	in := bufio.NewReader(os.Stdin)
	hear := func() { _, _ = in.ReadString('\n') }
	var start func()
	if kind == "bare" {
		p := newBarePublisher()
		h := httptest.NewServer(p)
		fmt.Printf("%s\n/\n", h.Listener.Addr())
		start = func() { p.publish(words, pace) }
	} else {
		dir, err := os.MkdirTemp("", "bench")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		begin := make(chan struct{})
		chat := chatter(words, pace)
		g := graph.New("agent", messages)
		g.Node("wait", func(context.Context, *graph.Scope) (graph.Command, error) { <-begin; return graph.Command{}, nil })
		g.Subgraph("chat", chat)
		g.Chain("wait", "chat")
		g.Edge(graph.Start, "wait")
		w := openTasks(&testing.B{}, dir, taskGraphs{"agent": g})
		res, _ := w.open("POST", "/tasks", `{"input":"hi","stream":true}`)
		fmt.Printf("%s\n%s\n", w.http.Listener.Addr(), res.Header.Get("Location"))
		_ = res.Body.Close()
		start = func() { close(begin) }
	}
	hear()
	time.Sleep(500 * time.Millisecond) // until all are connected: what that takes is not measured
	before := cpuSeconds()
	start()
	hear()
	fmt.Println(cpuSeconds() - before)
	hear()
}

func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// barePublisher is a server of live events without anything else.
type barePublisher struct {
	mu   sync.Mutex
	buf  []byte
	bell chan struct{}
	done bool
}

func newBarePublisher() *barePublisher { return &barePublisher{bell: make(chan struct{})} }

func (p *barePublisher) publish(n int, pace time.Duration) {
	for i := range n {
		if pace > 0 {
			time.Sleep(pace)
		}
		f := bareFrame(i)
		p.mu.Lock()
		p.buf = append(p.buf, f...)
		p.done = i == n-1
		close(p.bell)
		p.bell = make(chan struct{})
		p.mu.Unlock()
	}
}

func (p *barePublisher) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", sse.ContentType)
	rc := http.NewResponseController(w)
	for at := 0; ; {
		p.mu.Lock()
		data, bell, done := p.buf[at:], p.bell, p.done
		p.mu.Unlock()
		at += len(data)
		if len(data) > 0 {
			_, _ = w.Write(data)
		}
		if rc.Flush() != nil || done {
			return
		}
		<-bell
	}
}
