package tasks

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/journal"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/stream"
)

// serveSocket is events over a WebSocket: one event per message. A mistake in the request is answered in HTTP,
// before the connection becomes a socket. The socket is closed with
//
//	1000  the task has ended, and every event was sent
//	1001  the server is closing; connect again with after=
//	1008  the client sent a message, which nobody reads, or may no longer read
//	1011  the stream cannot be continued; connect again with after=
//
// A client that does not take its messages, or answers no pings, is dropped without a word.
func (s *Service) serveSocket(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	at, after, err := s.findPlace(w, r, who)
	if err != nil {
		return err
	}
	rd := s.opt.Feeds.Reader(at.key(true), at.project, feed.Start{Last: after})
	defer rd.Close()
	// The first look shows whether the position is good.
	data, bell, first := rd.Poll(r.Context())
	switch {
	case errors.Is(first, journal.ErrLost):
		return s.explainLost(w, r, at)
	case first != nil && first != io.EOF:
		return first
	}
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was checked, as that of every request; see package server
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil {
		return nil // it has been answered
	}
	sock := &socket{conn: conn, terms: s.opt.Terms, request: r, run: at.run, rd: rd, bell: bell, asked: time.Now()}
	sock.serve(r.Context(), data, first)
	return nil
}

// socket is one reader behind a WebSocket.
type socket struct {
	conn    *websocket.Conn
	terms   *stream.Terms
	request *http.Request // who asked
	run     string
	rd      *feed.Reader
	bell    <-chan struct{}
	timer   *time.Timer
	wrote   time.Time
	asked   time.Time // when the client was last known to have the right to read
}

func (k *socket) serve(ctx context.Context, data []byte, err error) {
	ctx, leave := context.WithCancel(ctx)
	talking, talked := context.WithCancel(context.Background()) // ends when the client sends a message
	defer talked()
	listening := make(chan struct{})
	// The library's own CloseRead waits for itself when the client sends something.
	go func() {
		defer close(listening)
		if _, _, err := k.conn.Reader(ctx); err != nil {
			leave()
			return
		}
		talked()
	}()
	defer func() {
		leave()
		_ = k.conn.CloseNow() // after a close that was answered it does nothing
		<-listening
	}()
	k.timer = time.NewTimer(min(feed.LookEvery, k.terms.Heartbeat))
	defer k.timer.Stop()
	for {
		switch {
		case err == io.EOF:
			_ = k.conn.Close(websocket.StatusNormalClosure, "the task has ended")
			return
		case err != nil:
			if !errors.Is(err, context.Canceled) {
				k.terms.Log.Error("a socket was cut", "run", k.run, "err", err)
			}
			_ = k.conn.Close(websocket.StatusInternalError, "the stream cannot be continued; connect again with after=")
			return
		case len(data) > 0:
			if !k.write(ctx, data) {
				return // the client has gone or does not read; its cursor lets it resume
			}
		default:
			if !k.wait(ctx, talking) {
				return
			}
		}
		data, k.bell, err = k.rd.Poll(ctx)
	}
}

// write sends each line as a message.
func (k *socket) write(ctx context.Context, lines []byte) bool {
	k.wrote = time.Now()
	ctx, cancel := context.WithDeadline(ctx, k.wrote.Add(k.terms.WriteTimeout))
	defer cancel()
	for line := range bytes.Lines(lines) {
		if k.conn.Write(ctx, websocket.MessageText, line[:len(line)-1]) != nil {
			return false
		}
	}
	return true
}

// wait waits for the bell with pings, until the client leaves or talks. It reports whether to go on.
func (k *socket) wait(ctx, talking context.Context) bool {
	for {
		select {
		case <-k.bell:
			return true
		case now := <-k.timer.C:
			if now.Sub(k.wrote) >= k.terms.Heartbeat && !k.ping(ctx, talking) {
				return false
			}
			k.timer.Reset(min(feed.LookEvery, k.terms.Heartbeat))
			if now.Sub(k.asked) >= stream.AskAgain {
				k.asked = now
				if _, err := k.terms.Identify(k.request); err != nil {
					_ = k.conn.Close(websocket.StatusPolicyViolation, "you may no longer read this")
					return false
				}
			}
			if k.rd.Look(now) {
				return true
			}
		case <-ctx.Done():
			return false
		case <-talking.Done():
			_ = k.conn.Close(websocket.StatusPolicyViolation, "nobody reads messages here")
			return false
		case <-k.terms.Closing:
			_ = k.conn.Close(websocket.StatusGoingAway, "the server is closing; connect again with after=")
			return false
		}
	}
}

func (k *socket) ping(ctx, talking context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, k.terms.WriteTimeout)
	defer cancel()
	// Once the client has said something nobody reads on, so its answer to a ping would be waited for in vain.
	defer context.AfterFunc(talking, cancel)()
	err := k.conn.Ping(ctx)
	k.wrote = time.Now()
	return err == nil || talking.Err() != nil
}
