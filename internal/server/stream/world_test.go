package stream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// speech is a source that says what a test tells it to.
type speech struct {
	mu     sync.Mutex
	said   []string
	err    error // after what was said
	bell   chan struct{}
	closed chan struct{}
}

func newSpeech(first ...string) *speech {
	return &speech{said: first, bell: make(chan struct{}), closed: make(chan struct{})}
}

// say adds what is said next, or why there is no more.
func (s *speech) say(text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		s.said = append(s.said, text)
	}
	s.err = err
	close(s.bell)
	s.bell = make(chan struct{})
}

func (s *speech) Poll(ctx context.Context) ([]byte, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case len(s.said) > 0:
		data := []byte(s.said[0])
		s.said = s.said[1:]
		return data, nil, nil
	case s.err == errPanic:
		panic(s.err)
	case s.err != nil:
		return nil, nil, s.err
	}
	return nil, s.bell, nil
}

var errPanic = errors.New("a projector panics")

func (s *speech) Look(time.Time) bool { return false }
func (s *speech) Close()              { close(s.closed) } // a second time is a panic

// stage is a server with one stream, at /, and something short at /other.
type stage struct {
	t        *testing.T
	terms    *Terms
	closing  chan struct{}
	server   *http.Server
	served   chan error
	returned chan struct{} // for each handler of the stream that returns
}

// perform lets a handler answer requests that come through a listener, with streams that are parked at once.
func perform(t *testing.T, l net.Listener, handler func(*Terms, http.ResponseWriter, *http.Request) error, change ...func(*Terms)) *stage {
	s := &stage{t: t, closing: make(chan struct{}), served: make(chan error, 1), returned: make(chan struct{}, 10)}
	s.terms = &Terms{
		Heartbeat: 5 * time.Second, WriteTimeout: 30 * time.Second, ParkAfter: 1, Closing: s.closing, Log: slog.New(slog.DiscardHandler),
		Identify: func(*http.Request) (run.Identity, error) { return run.Identity{}, nil },
	}
	for _, f := range change {
		f(s.terms)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		defer func() { s.returned <- struct{}{} }()
		if err := handler(s.terms, w, r); err != nil {
			t.Errorf("the handler returned %v", err)
		}
	})
	mux.HandleFunc("/other", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s from %s", body, r.RemoteAddr)
	})
	s.server = &http.Server{Handler: mux}
	go func() { s.served <- s.server.Serve(l) }()
	t.Cleanup(s.close)
	return s
}

// follow is the usual handler.
func follow(src Source) func(*Terms, http.ResponseWriter, *http.Request) error {
	return func(t *Terms, w http.ResponseWriter, r *http.Request) error { return t.Follow(w, r, src) }
}

// end is what a server does that wants to go.
func (s *stage) end() {
	select {
	case <-s.closing:
	default:
		close(s.closing)
	}
	s.terms.Close()
}

func (s *stage) close() {
	s.end()
	if err := s.server.Close(); err != nil {
		s.t.Error(err)
	}
	if err := <-s.served; err != http.ErrServerClosed {
		s.t.Error(err)
	}
}

func (s *stage) parked() int {
	s.terms.lot.mu.Lock()
	defer s.terms.lot.mu.Unlock()
	return len(s.terms.lot.parked)
}

// overTCP is perform on this machine's network, and a connection to it.
func overTCP(t *testing.T, handler func(*Terms, http.ResponseWriter, *http.Request) error, change ...func(*Terms)) (*stage, *client) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := perform(t, l, handler, change...)
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(time.Minute)) // for a test that hangs
	return s, newClient(t, conn)
}

// pipes is a listener whose connections have no network in between, so that time can be made to pass.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.done) }); return nil }
func (p *pipes) Addr() net.Addr { return noAddr{} }

// overPipe is perform without a network, for tests in a bubble.
func overPipe(t *testing.T, handler func(*Terms, http.ResponseWriter, *http.Request) error, change ...func(*Terms)) (*stage, *client) {
	p := &pipes{conns: make(chan net.Conn, 1), done: make(chan struct{})}
	s := perform(t, p, handler, change...)
	here, there := net.Pipe()
	p.conns <- there
	return s, newClient(t, here)
}

// client reads answers byte by byte, as they are on the wire.
type client struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

func newClient(t *testing.T, conn net.Conn) *client {
	t.Cleanup(func() { _ = conn.Close() })
	return &client{conn, t, bufio.NewReader(conn)}
}

func (c *client) ask(request string) {
	c.t.Helper()
	if _, err := io.WriteString(c, strings.ReplaceAll(request, "\n", "\r\n")); err != nil {
		c.t.Fatal(err)
	}
}

const get = "GET / HTTP/1.1\nHost: localhost\nX-User: me\n\n"

// answer reads an answer's head.
func (c *client) answer() *http.Response {
	c.t.Helper()
	res, err := http.ReadResponse(c.in, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		c.t.Fatalf("the status is %s", res.Status)
	}
	return res
}

// hear reads exactly a text.
func (c *client) hear(from io.Reader, want string) {
	c.t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(from, got); err != nil || string(got) != want {
		c.t.Fatalf("heard %.100q, %v; want %.100q", got[:n], err, want)
	}
}
