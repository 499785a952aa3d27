package socket_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/socket"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// source gives lines until there are no more; then it rings when it is given others, or ends.
type source struct {
	mu     sync.Mutex
	lines  []string
	err    error // after the lines
	bell   chan struct{}
	closed chan struct{}
}

func newSource(err error, lines ...string) *source {
	return &source{lines: lines, err: err, closed: make(chan struct{})}
}

func (s *source) Poll(context.Context) ([]byte, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.lines) > 0 {
		line := s.lines[0] + "\n"
		if s.lines[0] != endless {
			s.lines = s.lines[1:]
		}
		return []byte(line), nil, nil
	}
	s.bell = make(chan struct{})
	return nil, s.bell, s.err
}

// endless is a line that is said for ever.
const endless = "and so on"

func (s *source) Look(time.Time) bool { return false }
func (s *source) Close()              { close(s.closed) }

type world struct {
	t       *testing.T
	src     *source
	closing chan struct{}
	server  *httptest.Server
	served  chan error
}

func serve(t *testing.T, src *source, hear func(context.Context, []byte, socket.Say) error) *world {
	w := &world{t: t, src: src, closing: make(chan struct{}), served: make(chan error, 1)}
	terms := &stream.Terms{
		Heartbeat: 10 * time.Millisecond, WriteTimeout: 100 * time.Millisecond, Closing: w.closing, Log: slog.New(slog.DiscardHandler),
		Identify: func(*http.Request) (run.Identity, error) { return run.Identity{}, nil },
	}
	w.server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		talk := socket.Talk{Terms: terms, Source: src, Hear: hear, Limit: 1 << 10, Ended: "it is over", Again: "come back"}
		err := talk.Serve(rw, r)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusTeapot)
		}
		w.served <- err
	}))
	t.Cleanup(w.server.Close)
	return w
}

func (w *world) dial() *websocket.Conn {
	w.t.Helper()
	conn, _, err := websocket.Dial(w.t.Context(), w.server.URL, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// read reads messages until the socket is closed, or one is as wanted.
func read(t *testing.T, conn *websocket.Conn, until string) (got []string, err error) {
	for {
		_, data, err := conn.Read(t.Context())
		if err != nil {
			return got, err
		}
		if got = append(got, string(data)); string(data) == until {
			return got, nil
		}
	}
}

// over waits until the socket is served to its end.
func (w *world) over() {
	w.t.Helper()
	<-w.served
	<-w.src.closed // or the test hangs
}

func TestASourceIsToldToItsEnd(t *testing.T) {
	w := serve(t, newSource(io.EOF, "one", "two"), nil)
	got, err := read(t, w.dial(), "")
	if fmt.Sprint(got) != "[one two]" || websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("got %v and %v, want one, two and 1000", got, err)
	}
	w.over()
}

func TestABadPositionIsAnsweredInHTTP(t *testing.T) {
	w := serve(t, newSource(errors.New("no such place")), nil)
	_, res, err := websocket.Dial(t.Context(), w.server.URL, nil)
	if err == nil || res == nil || res.StatusCode != http.StatusTeapot {
		t.Errorf("got %v and %v, want the status of whoever serves", res, err)
	}
	w.over()
}

func TestWhatIsHeardIsAnsweredInOrder(t *testing.T) {
	src := newSource(nil)
	w := serve(t, src, func(_ context.Context, message []byte, say socket.Say) error {
		src.mu.Lock()
		src.lines = append(src.lines, "caused by "+string(message))
		src.mu.Unlock()
		return say([]byte("answer to " + string(message)))
	})
	conn := w.dial()
	var want []string
	for i := range 20 {
		if err := conn.Write(t.Context(), websocket.MessageText, fmt.Appendf(nil, "%d", i)); err != nil {
			t.Fatal(err)
		}
		want = append(want, fmt.Sprintf("answer to %d", i), fmt.Sprintf("caused by %d", i))
	}
	got, err := read(t, conn, want[len(want)-1])
	if err != nil || len(got) != len(want) {
		t.Fatalf("got %q and %v, want %q", got, err, want)
	}
	at := map[string]int{}
	for i, line := range got {
		at[line] = i
	}
	for i := range 20 {
		answered, caused := at[fmt.Sprintf("answer to %d", i)], at[fmt.Sprintf("caused by %d", i)]
		if answered > caused {
			t.Errorf("what message %d caused was told at %d, before its answer at %d", i, caused, answered)
		}
	}
	_ = conn.Close(websocket.StatusNormalClosure, "")
	w.over()
}

func TestWhoHasMuchToSayListensToo(t *testing.T) {
	w := serve(t, newSource(nil, endless), func(_ context.Context, message []byte, say socket.Say) error {
		return say([]byte("heard " + string(message)))
	})
	conn := w.dial()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte("stop it")); err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, conn, "heard stop it"); err != nil {
		t.Errorf("got %v, want an answer", err)
	}
	_ = conn.CloseNow()
	w.over()
}

func TestASocketSaysWhyItCloses(t *testing.T) {
	obey := func(_ context.Context, message []byte, say socket.Say) error {
		if string(message) == "break" {
			return errors.New("it broke")
		}
		return say([]byte("well"))
	}
	for name, c := range map[string]struct {
		hear func(context.Context, []byte, socket.Say) error
		say  string
		want websocket.StatusCode
	}{
		"nobody listens":              {nil, "hello?", websocket.StatusPolicyViolation},
		"a message is too long":       {obey, strings.Repeat("a", 2<<10), websocket.StatusMessageTooBig},
		"a message cannot be obeyed":  {obey, "break", websocket.StatusInternalError},
		"the server closes, unspoken": {nil, "", websocket.StatusGoingAway},
		"the server closes":           {obey, "hello", websocket.StatusGoingAway},
	} {
		w := serve(t, newSource(nil), c.hear)
		conn := w.dial()
		if c.say != "" {
			if err := conn.Write(t.Context(), websocket.MessageText, []byte(c.say)); err != nil {
				t.Fatal(err)
			}
		}
		if c.say == "hello" {
			if _, err := read(t, conn, "well"); err != nil {
				t.Fatal(err)
			}
		}
		if c.want == websocket.StatusGoingAway {
			close(w.closing)
		}
		if _, err := read(t, conn, ""); websocket.CloseStatus(err) != c.want {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
		w.over()
	}
}

func TestAClientThatAnswersNoPingIsDropped(t *testing.T) {
	w := serve(t, newSource(nil), func(context.Context, []byte, socket.Say) error { return nil })
	w.dial() // and never reads, so that no ping is answered
	w.over()
}

func TestAClientThatIsThereStays(t *testing.T) {
	src := newSource(nil)
	w := serve(t, src, nil)
	pings := make(chan struct{}, 100)
	conn, _, err := websocket.Dial(t.Context(), w.server.URL, &websocket.DialOptions{
		OnPingReceived: func(context.Context, []byte) bool { pings <- struct{}{}; return true },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	go func() {
		for range 5 {
			<-pings
		}
		src.mu.Lock()
		src.lines = append(src.lines, "still here")
		close(src.bell)
		src.mu.Unlock()
	}()
	if _, err := read(t, conn, "still here"); err != nil {
		t.Errorf("after five pings: %v, want to be told more", err)
	}
	_ = conn.CloseNow()
	w.over()
}
