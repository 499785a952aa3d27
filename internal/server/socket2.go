package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/run"
)

// maxSubscriptions is how many streams of events one socket may carry.
const maxSubscriptions = 256

// socketEvents is the same protocol over one WebSocket: commands come in, answers and events go out.
func (s *Server) socketEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	if r.Header.Get("Upgrade") == "" {
		return failure(http.StatusUpgradeRequired, "connect with a WebSocket, or POST a filter")
	}
	// The origin was checked for all routes alike.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // Accept has answered
	}
	conn.SetReadLimit(maxBody)
	ctx, cancel := context.WithCancel(r.Context())
	k := &channelSocket{s: s, r: r, who: who, thread: thread, conn: conn, open: map[string]context.CancelFunc{}}
	k.reading.Go(func() {
		select {
		case <-s.closing:
			_ = conn.Close(websocket.StatusGoingAway, "the server is shutting down") // it may be gone already
		case <-ctx.Done():
		}
	})
	k.read(ctx)
	cancel()
	k.reading.Wait()
	_ = conn.CloseNow() // it may be closed already
	return nil
}

// channelSocket is a connection. One goroutine reads commands; each subscription has one that follows the thread.
type channelSocket struct {
	s      *Server
	r      *http.Request
	who    run.Identity
	thread string
	conn   *websocket.Conn

	reading sync.WaitGroup
	writing sync.Mutex // orders what is written

	open map[string]context.CancelFunc // subscriptions; belongs to the reading goroutine
	last int
}

func (k *channelSocket) read(ctx context.Context) {
	for {
		_, data, err := k.conn.Read(ctx)
		if err != nil {
			return
		}
		if k.answer(ctx, data) != nil {
			return
		}
	}
}

// answer carries out one message. An error means that the connection is of no more use.
func (k *channelSocket) answer(ctx context.Context, data []byte) error {
	refuse := func(message string) error {
		return k.write(ctx, object{{"type", "error"}, {"id", nil}, {"error", "invalid_argument"}, {"message", message}})
	}
	if err := checkJSON(data); err != nil {
		return refuse("Protocol commands must be valid JSON: " + err.Error())
	}
	var c command
	if json.Unmarshal(data, &c) != nil || c.check() != nil {
		return refuse("Protocol commands must include an integer id and string method.")
	}
	switch c.Method {
	case "subscription.subscribe":
		return k.subscribe(ctx, &c)
	case "subscription.unsubscribe":
		return k.unsubscribe(ctx, &c)
	}
	o, err := k.s.obey(k.r.WithContext(ctx), k.who, k.thread, &c)
	if err != nil {
		k.s.log.Error("command failed", "method", c.Method, "err", err)
		o = object{{"type", "error"}, {"id", *c.ID}, {"error", "unknown_error"}, {"message", "internal error"}}
	}
	return k.write(ctx, o)
}

// subscribe answers, and then tells what matches from the beginning on.
func (k *channelSocket) subscribe(ctx context.Context, c *command) error {
	var body filterBody
	err := readParams(c.Params, &body)
	f, invalid := body.filter()
	if err == nil {
		err = invalid
	}
	if err == nil && len(k.open) >= maxSubscriptions {
		err = invalidArgument("too many subscriptions on one connection")
	}
	if err != nil {
		return k.fail(ctx, c, err)
	}
	k.last++
	id := "sub-" + strconv.Itoa(k.last)
	if err := k.succeed(ctx, c, object{{"subscription_id", id}}); err != nil {
		return err
	}
	own, cancel := context.WithCancel(ctx)
	k.open[id] = cancel
	k.reading.Go(func() {
		defer cancel()
		src := k.s.channelReader(k.who, k.thread, f, true)
		defer src.close()
		if err := k.follow(ctx, own, src); err != nil && own.Err() == nil {
			k.s.log.Error("a subscription was cut", "thread", k.thread, "err", err)
			_ = k.conn.Close(websocket.StatusInternalError, "the stream cannot be continued") // it may be gone already
		}
	})
	return nil
}

func (k *channelSocket) unsubscribe(ctx context.Context, c *command) error {
	var p struct {
		ID string `json:"subscription_id"`
	}
	if err := readParams(c.Params, &p); err != nil {
		return k.fail(ctx, c, err)
	}
	cancel, ok := k.open[p.ID]
	if !ok {
		return k.fail(ctx, c, &commandError{"no_such_subscription", "No subscription " + clip(p.ID) + "."})
	}
	cancel()
	delete(k.open, p.ID)
	return k.succeed(ctx, c, object{})
}

func (k *channelSocket) succeed(ctx context.Context, c *command, result object) error {
	through, err := k.s.through(ctx, k.who, k.thread)
	if err != nil && !errors.Is(err, context.Canceled) {
		k.s.log.Error("count a thread's events", "thread", k.thread, "err", err)
	}
	return k.write(ctx, object{
		{"type", "success"}, {"id", *c.ID}, {"result", result}, {"meta", object{{"thread_id", k.thread}, {"applied_through_seq", through}}},
	})
}

func (k *channelSocket) fail(ctx context.Context, c *command, err error) error {
	o, err := commandFailed(*c.ID, err)
	if err != nil {
		return err
	}
	return k.write(ctx, o)
}

// follow writes a reader's events until its own context ends. It writes with the connection's: a write that is
// cancelled would close the connection.
func (k *channelSocket) follow(ctx, own context.Context, src *channelReader) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	asked := time.Now()
	for {
		data, bell, err := src.poll(own)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(data) {
			if err := k.send(ctx, bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
				return err
			}
		}
		if bell == nil {
			continue
		}
		select {
		case <-bell:
		case now := <-tick.C:
			src.look(now)
			if now.Sub(asked) >= askAgain {
				asked = now
				if _, err := k.s.opt.Identify(k.r); err != nil {
					return k.conn.Close(websocket.StatusPolicyViolation, "not allowed any more")
				}
			}
		case <-own.Done():
			return own.Err()
		}
	}
}

func (k *channelSocket) write(ctx context.Context, o object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return k.send(ctx, data)
}

func (k *channelSocket) send(ctx context.Context, data []byte) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, k.s.opt.WriteTimeout)
	defer cancel()
	return k.conn.Write(ctx, websocket.MessageText, data)
}
