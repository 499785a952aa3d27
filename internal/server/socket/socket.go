// Package socket talks with a client over a WebSocket: what a source gives goes out, one message a line, and what the client
// says is carried out in between. Every dialect that has a socket has this one.
//
// # Laws
//
//   - A mistake in the request is answered in HTTP: the connection becomes a socket when the first bytes are known.
//   - Everything is written by one goroutine, so that what is said in answer to a message stands before whatever that
//     message caused.
//   - A client that does not take its messages, or answers no pings, is dropped without a word; a position lets it
//     come back. A silent one costs nothing but itself: nobody waits for it.
//   - The socket is closed with
//     1000 (there is nothing more to say),
//     1001 (the server is closing; come back),
//     1008 (the client talks where nobody listens, or may no longer read),
//     1011 (it cannot be continued; come back).
//   - The source is closed when the socket is.
package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// Talk is what a socket is for. Terms and Source are required.
type Talk struct {
	Terms *stream.Terms
	// Source gives lines. It is asked again after each message of the client's.
	Source stream.Source
	// Hear carries out a message of the client's, and says what there is to say. It is called between two polls of the
	// source, which it may change. An error ends the socket. Nil: nobody listens.
	Hear func(ctx context.Context, message []byte, say Say) error
	// Limit is how long a message of the client's may be.
	Limit int64
	// Ended and Again tell people why the socket was closed: there is no more, or how to come back.
	Ended, Again string
}

// Say sends lines, each as a message. An error means that the client is gone.
type Say func(lines []byte) error

// Serve talks until there is nothing more to say, the client leaves or the server closes. An error means that the
// request was not answered yet.
func (t *Talk) Serve(w http.ResponseWriter, r *http.Request) error {
	defer t.Source.Close()
	data, bell, err := t.Source.Poll(r.Context()) // shows whether the position is good
	if err != nil && err != io.EOF {
		return err
	}
	conn, refused := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was checked, as that of every request; see package server
		CompressionMode:    websocket.CompressionDisabled,
	})
	if refused != nil {
		return nil // it has been answered
	}
	if t.Limit > 0 {
		conn.SetReadLimit(t.Limit)
	}
	now := time.Now()
	s := &socket{
		Talk: t, conn: conn, request: r, heard: make(chan []byte), ponged: make(chan error, 1),
		timer: time.NewTimer(min(feed.LookEvery, t.Terms.Heartbeat)), wrote: now, asked: now,
	}
	defer s.timer.Stop()
	ctx, leave := context.WithCancel(r.Context())
	listening := make(chan struct{})
	go func() {
		defer close(listening)
		defer leave()
		s.listen(ctx)
	}()
	s.talk(ctx, data, bell, err)
	leave()
	_ = conn.CloseNow() // after a close that was answered it does nothing
	<-listening
	if s.pinging {
		<-s.ponged
	}
	return nil
}

// socket is one conversation. One goroutine listens; the one that serves the request talks. A third waits for the answer
// to a ping, when there is one to wait for.
type socket struct {
	*Talk
	conn    *websocket.Conn
	request *http.Request // who asked
	heard   chan []byte   // what the client says
	ponged  chan error    // how a ping ended
	pinging bool
	timer   *time.Timer
	wrote   time.Time
	asked   time.Time // when the client was last known to have the right to read
}

// listen hears what the client says until it leaves.
func (s *socket) listen(ctx context.Context) {
	for {
		var message []byte
		var err error
		if s.Hear == nil { // that it talks is all there is to know
			_, _, err = s.conn.Reader(ctx)
		} else {
			_, message, err = s.conn.Read(ctx)
		}
		if err != nil {
			return
		}
		select {
		case s.heard <- message:
		case <-ctx.Done():
			return
		}
		if s.Hear == nil {
			<-ctx.Done()
			return
		}
	}
}

func (s *socket) talk(ctx context.Context, data []byte, bell <-chan struct{}, err error) {
	begun := false
	for {
		switch {
		case err == io.EOF, begun && feed.Gone(err):
			// What was removed while somebody read it has nothing more to say either.
			s.close(websocket.StatusNormalClosure, s.Ended)
			return
		case err != nil:
			s.cut(ctx, err)
			return
		case len(data) > 0:
			begun = true
			if s.say(ctx, data) != nil {
				return // the client has gone or does not read
			}
			select { // who has much to say listens too
			case message := <-s.heard:
				if !s.hear(ctx, message) {
					return
				}
			default:
			}
		default:
			if !s.wait(ctx, bell) {
				return
			}
		}
		data, bell, err = s.Source.Poll(ctx)
	}
}

// cut ends what cannot be continued.
func (s *socket) cut(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return // the client has gone
	}
	s.Terms.Log.Error("a socket was cut", "path", s.request.URL.Path, "err", err)
	s.close(websocket.StatusInternalError, "the stream cannot be continued; "+s.Again)
}

func (s *socket) close(code websocket.StatusCode, why string) {
	_ = s.conn.Close(code, why) // whether it hears that or has gone is the client's affair
}

// say sends each line as a message.
func (s *socket) say(ctx context.Context, lines []byte) error {
	s.wrote = time.Now()
	ctx, cancel := context.WithDeadline(ctx, s.wrote.Add(s.Terms.WriteTimeout))
	defer cancel()
	for line := range bytes.Lines(lines) {
		if err := s.conn.Write(ctx, websocket.MessageText, bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			return err
		}
	}
	return nil
}

// wait waits for the bell, or for something that the client says. It reports whether to go on.
func (s *socket) wait(ctx context.Context, bell <-chan struct{}) bool {
	for {
		select {
		case <-bell:
			return true
		case message := <-s.heard:
			return s.hear(ctx, message)
		case err := <-s.ponged:
			s.pinging = false
			if err != nil {
				return false
			}
		case now := <-s.timer.C:
			if now.Sub(s.wrote) >= s.Terms.Heartbeat && !s.pinging {
				s.ping(ctx, now)
			}
			s.timer.Reset(min(feed.LookEvery, s.Terms.Heartbeat))
			if now.Sub(s.asked) >= stream.AskAgain {
				s.asked = now
				if _, err := s.Terms.Identify(s.request); err != nil {
					s.close(websocket.StatusPolicyViolation, "you may no longer read this")
					return false
				}
			}
			if s.Source.Look(now) {
				return true
			}
		case <-ctx.Done():
			return false
		case <-s.Terms.Closing:
			s.close(websocket.StatusGoingAway, "the server is closing; "+s.Again)
			return false
		}
	}
}

func (s *socket) hear(ctx context.Context, message []byte) bool {
	if s.Hear == nil {
		s.close(websocket.StatusPolicyViolation, "nobody reads messages here")
		return false
	}
	var gone error
	err := s.Hear(ctx, message, func(lines []byte) error {
		gone = errors.Join(gone, s.say(ctx, lines))
		return gone
	})
	if err != nil && gone == nil {
		s.cut(ctx, err)
	}
	return err == nil && gone == nil
}

// ping asks whether the client is there. The answer is heard by the one that listens, who may have to hand over a
// message first; so nobody who talks waits for it.
func (s *socket) ping(ctx context.Context, now time.Time) {
	s.pinging, s.wrote = true, now
	go func() {
		ctx, cancel := context.WithTimeout(ctx, s.Terms.WriteTimeout)
		defer cancel()
		s.ponged <- s.conn.Ping(ctx)
	}()
}
