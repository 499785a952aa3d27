package stream

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

// A client cannot tell that its stream was parked: the answer goes on in valid chunks to its end, and then the connection serves
// the next requests, another stream among them.
func TestParkedStreamIsTheSameAnswer(t *testing.T) {
	long := strings.Repeat("data: long\n\n", 100_000)
	var src *speech
	s, c := overTCP(t, func(t *Terms, w http.ResponseWriter, r *http.Request) error { return t.Follow(w, r, src) })
	for range 3 {
		src = newSpeech("data: first\n\n")
		c.ask(get)
		res := c.answer()
		if res.Header.Get("Content-Type") != "text/event-stream" || len(res.TransferEncoding) != 1 {
			t.Fatalf("the answer is %v %v", res.Header, res.TransferEncoding)
		}
		c.hear(res.Body, "data: first\n\n")
		<-s.returned
		if s.parked() != 1 {
			t.Fatal("the handler has returned, but the stream is not parked")
		}
		src.say("data: second\n\n", nil)
		c.hear(res.Body, "data: second\n\n")
		src.say(long, nil)
		c.hear(res.Body, long)
		src.say("data: last\n\n", io.EOF)
		rest, err := io.ReadAll(res.Body)
		if err != nil || string(rest) != "data: last\n\n" {
			t.Fatalf("the answer ends with %q, %v", rest, err)
		}
		<-src.closed
		c.ask("POST /other HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nhello")
		res = c.answer()
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "hello from "+c.LocalAddr().String() {
			t.Fatalf("the next request was answered with %q, %v", body, err)
		}
		if s.parked() != 0 {
			t.Error("a connection that was given back is still parked")
		}
	}
}

// What was sent before the stream ended is answered after it.
func TestParkedStreamKeepsTheNextRequest(t *testing.T) {
	src := newSpeech("data: first\n\n")
	s, c := overTCP(t, follow(src))
	c.ask(get + "POST /other HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nhello")
	res := c.answer()
	c.hear(res.Body, "data: first\n\n")
	<-s.returned
	src.say("", io.EOF)
	if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
		t.Fatalf("the answer ends with %q, %v", rest, err)
	}
	if body, err := io.ReadAll(c.answer().Body); err != nil || !strings.HasPrefix(string(body), "hello") {
		t.Errorf("the next request was answered with %q, %v", body, err)
	}
}

// A connection whose client wants it closed is closed after the stream, and so is one that waits when the server goes.
func TestParkedConnectionEnds(t *testing.T) {
	for _, c := range []struct{ name, header string }{{"as asked for", "Connection: close\n"}, {"with the server", ""}} {
		t.Run(c.name, func(t *testing.T) {
			src := newSpeech("data: first\n\n")
			s, cl := overTCP(t, follow(src))
			cl.ask("GET / HTTP/1.1\nHost: localhost\n" + c.header + "\n")
			res := cl.answer()
			cl.hear(res.Body, "data: first\n\n")
			<-s.returned
			src.say("", io.EOF)
			if rest, err := io.ReadAll(res.Body); err != nil || len(rest) > 0 {
				t.Fatalf("the answer ends with %q, %v", rest, err)
			}
			if c.header == "" {
				s.end()
			}
			if _, err := cl.in.ReadByte(); err != io.EOF {
				t.Errorf("after the answer: %v", err)
			}
		})
	}
}

// When the server ends a stream that has not said all, it breaks: there is no last chunk. One that has no end just ends.
func TestParkedStreamWhenTheServerCloses(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler func(Source) func(*Terms, http.ResponseWriter, *http.Request) error
		want    error
	}{
		{"of a run", follow, io.ErrUnexpectedEOF},
		{"without an end", func(src Source) func(*Terms, http.ResponseWriter, *http.Request) error {
			return func(t *Terms, w http.ResponseWriter, r *http.Request) error { return t.Play(w, r, src) }
		}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := newSpeech("data: first\n\n")
			s, cl := overTCP(t, c.handler(src))
			cl.ask(get)
			res := cl.answer()
			cl.hear(res.Body, "data: first\n\n")
			<-s.returned
			s.end()
			<-src.closed // before end returned
			if rest, err := io.ReadAll(res.Body); err != c.want || len(rest) > 0 {
				t.Errorf("the answer ends with %q, %v; want %v", rest, err, c.want)
			}
		})
	}
}

// A stream that cannot be continued breaks, and nothing else does.
func TestParkedStreamThatFails(t *testing.T) {
	for _, fault := range []error{errors.New("the disk is gone"), errPanic} {
		t.Run(fault.Error(), func(t *testing.T) {
			src := newSpeech("data: first\n\n")
			s, c := overTCP(t, follow(src))
			c.ask(get)
			res := c.answer()
			c.hear(res.Body, "data: first\n\n")
			<-s.returned
			src.say("data: second\n\n", fault)
			rest, err := io.ReadAll(res.Body)
			if err != io.ErrUnexpectedEOF || string(rest) != "data: second\n\n" {
				t.Errorf("the answer ends with %q, %v", rest, err)
			}
			<-src.closed
		})
	}
}

// That a client has left is noticed although nothing is written to it.
func TestParkedStreamNoticesThatItsClientLeft(t *testing.T) {
	src := newSpeech("data: first\n\n")
	s, c := overTCP(t, follow(src), func(t *Terms) { t.Heartbeat = time.Hour })
	c.ask(get)
	c.hear(c.answer().Body, "data: first\n\n")
	<-s.returned
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	<-src.closed
}

// A parked stream shows that it lives, and breaks when its reader may no longer read. Who asks is told from the address and the
// headers.
func TestParkedStreamAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := newSpeech("data: first\n\n")
		began := time.Now()
		var revoked atomic.Bool
		asked := 0
		s, c := overPipe(t, follow(src), func(terms *Terms) {
			terms.Identify = func(r *http.Request) (run.Identity, error) {
				if r.Header.Get("X-User") != "me" || r.URL.Path != "/" || r.Host != "localhost" || r.Method != "GET" || r.Context().Err() != nil {
					t.Errorf("asked about %+v", r)
				}
				asked++
				if revoked.Load() {
					return run.Identity{}, errors.New("not any more")
				}
				return run.Identity{}, nil
			}
		})
		c.ask(get)
		res := c.answer()
		c.hear(res.Body, "data: first\n\n")
		<-s.returned
		for range 24 {
			c.hear(res.Body, string(heartbeat))
		}
		if took := time.Since(began); took != 2*time.Minute || asked < 1 {
			t.Errorf("24 heartbeats within %v; the right to read was asked for %d times", took, asked)
		}
		revoked.Store(true)
		rest, err := io.ReadAll(res.Body)
		if err != io.ErrUnexpectedEOF || strings.Trim(string(rest), string(heartbeat)) != "" {
			t.Errorf("the answer ends with %q, %v", rest, err)
		}
		if took := time.Since(began); took > 2*time.Minute+AskAgain+10*time.Second {
			t.Errorf("the reader was dropped only after %v", took)
		}
		<-src.closed
	})
}

// A reader that takes nothing is dropped after the write timeout; if the server goes meanwhile, at once.
func TestParkedStreamDropsWhoDoesNotRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		close bool
		want  time.Duration
	}{{"in time", false, 30 * time.Second}, {"when the server goes", true, 0}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src := newSpeech("data: first\n\n")
				s, cl := overPipe(t, follow(src))
				cl.ask(get)
				res := cl.answer()
				cl.hear(res.Body, "data: first\n\n")
				<-s.returned
				began := time.Now()
				src.say("data: second\n\n", nil)
				synctest.Wait() // it is being written
				if c.close {
					s.end()
				}
				<-src.closed
				if took := time.Since(began); took != c.want {
					t.Errorf("the reader was dropped after %v, want %v", took, c.want)
				}
				if rest, err := io.ReadAll(res.Body); err != io.ErrUnexpectedEOF || len(rest) > 0 {
					t.Errorf("the answer ends with %q, %v", rest, err)
				}
			})
		})
	}
}

// wrapped is what a middleware may put around a writer, to see what is written.
type wrapped struct{ http.ResponseWriter }

func (w wrapped) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Some streams stay with net/http, and are whole there.
func TestStreamsThatAreNotParked(t *testing.T) {
	attend := func(src Source) func(*Terms, http.ResponseWriter, *http.Request) error {
		return func(t *Terms, w http.ResponseWriter, r *http.Request) error {
			how, err := t.Attend(w, r, src)
			if how != RunEnded {
				return fmt.Errorf("the stream ended with %d", how)
			}
			return err
		}
	}
	for _, c := range []struct {
		name, request string
		handler       func(Source) func(*Terms, http.ResponseWriter, *http.Request) error
	}{
		{"one whose leaving means something", get, attend},
		{"behind a middleware", get, func(src Source) func(*Terms, http.ResponseWriter, *http.Request) error {
			return func(t *Terms, w http.ResponseWriter, r *http.Request) error { return t.Follow(wrapped{w}, r, src) }
		}},
		{"of HTTP/1.0", "GET / HTTP/1.0\nHost: localhost\n\n", follow},
		{"with a body that nobody reads", "GET / HTTP/1.1\nHost: localhost\nContent-Length: 5\n\nhello", follow},
		{"with a body in chunks", "GET / HTTP/1.1\nHost: localhost\nTransfer-Encoding: chunked\n\n0\n\n", follow},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := newSpeech("data: first\n\n")
			s, cl := overTCP(t, c.handler(src), func(t *Terms) { t.Heartbeat = 5 * time.Millisecond })
			cl.ask(c.request)
			res := cl.answer()
			cl.hear(res.Body, "data: first\n\n"+strings.Repeat(string(heartbeat), 3))
			if s.parked() != 0 || len(s.returned) != 0 {
				t.Error("the stream was parked")
			}
			src.say("data: last\n\n", io.EOF)
			rest, err := io.ReadAll(res.Body)
			if err != nil || !strings.HasSuffix(string(rest), "data: last\n\n") {
				t.Errorf("the answer ends with %q, %v", rest, err)
			}
			<-src.closed
		})
	}
}

// An answer to HEAD has no body that could be parked.
func TestHeadIsNotParked(t *testing.T) {
	src := newSpeech()
	s, c := overTCP(t, follow(src), func(t *Terms) { t.Heartbeat = time.Millisecond })
	c.ask("HEAD / HTTP/1.1\nHost: localhost\n\n")
	head := "HTTP/1.1 200 OK\r\n"
	c.hear(c.in, head)
	src.say("data: last\n\n", io.EOF)
	<-s.returned
	<-src.closed
	if s.parked() != 0 {
		t.Error("it was parked")
	}
}
