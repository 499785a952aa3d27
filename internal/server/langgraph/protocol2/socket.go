package protocol2

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/feed"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/stream"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// maxSubscriptions is how many streams of events one socket may carry.
const maxSubscriptions = 256

// allChannels is what a socket follows; its subscriptions choose among it.
var allChannels = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// socketEvents is the same protocol over one WebSocket: commands come in, answers and events go out.
func (s *Service) socketEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathID(r, "thread_id")
	if err != nil {
		return err
	}
	if r.Header.Get("Upgrade") == "" {
		return edge.Refuse(http.StatusUpgradeRequired, "connect with a WebSocket, or POST a filter")
	}
	// The origin was checked for all routes alike.
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil // Accept has answered
	}
	conn.SetReadLimit(edge.MaxBody)
	ctx, cancel := context.WithCancel(r.Context())
	k := &channelSocket{s: s, r: r, who: who, thread: thread, conn: conn, asks: make(chan *command), subs: map[string]protocol2.Filter{}}
	var following sync.WaitGroup
	following.Go(func() {
		if err := k.follow(ctx); err != nil && ctx.Err() == nil {
			s.opt.Terms.Log.Error("a socket was cut", "thread", thread, "err", err)
			_ = conn.Close(websocket.StatusInternalError, "the stream cannot be continued") // it may be gone already
		}
	})
	k.read(ctx)
	cancel()
	following.Wait()
	_ = conn.CloseNow() // it may be closed already
	return nil
}

// channelSocket is a connection. One goroutine reads and carries out commands. Another follows the thread for all
// subscriptions together, so that every event is told once and in order; a new one is first told what it missed.
type channelSocket struct {
	s      *Service
	r      *http.Request
	who    run.Identity
	thread string
	conn   *websocket.Conn

	writing sync.Mutex    // orders what is written
	asks    chan *command // about subscriptions, for the one that follows

	// Of the one that follows.
	subs map[string]protocol2.Filter
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
		return k.write(ctx, jsonvalue.Object{{"type", "error"}, {"id", nil}, {"error", "invalid_argument"}, {"message", message}})
	}
	if err := edge.CheckJSON(data); err != nil {
		return refuse("Protocol commands must be valid JSON: " + err.Error())
	}
	var c command
	if json.Unmarshal(data, &c) != nil || c.check() != nil {
		return refuse("Protocol commands must include an integer id and string method.")
	}
	if strings.HasPrefix(c.Method, "subscription.") {
		select {
		case k.asks <- &c:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	o, err := k.s.obey(k.r.WithContext(ctx), k.who, k.thread, &c)
	if err != nil {
		k.s.opt.Terms.Log.Error("command failed", "method", c.Method, "err", err)
		o = jsonvalue.Object{{"type", "error"}, {"id", *c.ID}, {"error", "unknown_error"}, {"message", "internal error"}}
	}
	return k.write(ctx, o)
}

// follow tells events until the connection ends.
func (k *channelSocket) follow(ctx context.Context) error {
	src := k.s.channelReader(k.who, k.thread, protocol2.Filter{Channels: allChannels}, true)
	defer src.Close()
	src.wants = func(e *protocol2.Event) bool {
		for _, f := range k.subs {
			if f.Match(e) {
				return true
			}
		}
		return false
	}
	tick := time.NewTicker(feed.LookEvery)
	defer tick.Stop()
	asked := time.Now()
	var bell <-chan struct{}
	for {
		if bell == nil && len(k.subs) > 0 {
			data, b, err := src.Poll(ctx)
			if err != nil {
				return err
			}
			if err := k.sendLines(ctx, data); err != nil {
				return err
			}
			bell = b
		}
		ready := bell
		if bell == nil && len(k.subs) > 0 {
			ready = rung // there may be more at once
		}
		select {
		case c := <-k.asks:
			if err := k.change(ctx, c, src); err != nil {
				return err
			}
		case <-ready:
			bell = nil
		case now := <-tick.C:
			src.Look(now)
			bell = nil
			if now.Sub(asked) >= stream.AskAgain {
				asked = now
				if _, err := k.s.opt.Terms.Identify(k.r); err != nil {
					return k.conn.Close(websocket.StatusPolicyViolation, "not allowed any more")
				}
			}
		case <-k.s.opt.Terms.Closing:
			return k.conn.Close(websocket.StatusGoingAway, "the server is shutting down")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// rung is a bell that has rung.
var rung = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// change adds or removes a subscription.
func (k *channelSocket) change(ctx context.Context, c *command, src *channelReader) error {
	switch c.Method {
	case "subscription.subscribe":
		return k.subscribe(ctx, c, src)
	case "subscription.unsubscribe":
		var p struct {
			ID string `json:"subscription_id"`
		}
		if err := readParams(c.Params, &p); err != nil {
			return k.fail(ctx, c, err)
		}
		if _, ok := k.subs[p.ID]; !ok {
			return k.fail(ctx, c, &commandError{"no_such_subscription", "No subscription " + edge.Clip(p.ID) + "."})
		}
		delete(k.subs, p.ID)
		return k.succeed(ctx, c, jsonvalue.Object{})
	}
	return k.fail(ctx, c, &commandError{"unknown_command", "Unknown protocol command: " + edge.Clip(c.Method)})
}

// subscribe answers, and then tells what matches of what the others have been told already.
func (k *channelSocket) subscribe(ctx context.Context, c *command, src *channelReader) error {
	var body filterBody
	err := readParams(c.Params, &body)
	f, invalid := body.filter()
	if err == nil {
		err = invalid
	}
	if err == nil && len(k.subs) >= maxSubscriptions {
		err = invalidArgument("too many subscriptions on one connection")
	}
	if err != nil {
		return k.fail(ctx, c, err)
	}
	k.last++
	id := "sub-" + strconv.Itoa(k.last)
	if err := k.succeed(ctx, c, jsonvalue.Object{{"subscription_id", id}}); err != nil {
		return err
	}
	if src.proj != nil && src.proj.Seq() > 0 {
		if err := k.replay(ctx, f, src.proj.Seq()); err != nil {
			return err
		}
	}
	k.subs[id] = f
	return nil
}

// replay tells the events up to a number that match.
func (k *channelSocket) replay(ctx context.Context, f protocol2.Filter, through uint64) error {
	past := k.s.channelReader(k.who, k.thread, f, true)
	defer past.Close()
	past.wants = func(e *protocol2.Event) bool { return e.Seq <= through && f.Match(e) }
	for {
		data, bell, err := past.Poll(ctx)
		if err != nil {
			return err
		}
		if err := k.sendLines(ctx, data); err != nil {
			return err
		}
		if bell != nil || past.proj.Seq() >= through {
			return nil
		}
	}
}

func (k *channelSocket) succeed(ctx context.Context, c *command, result jsonvalue.Object) error {
	through, err := k.s.opt.Numbers.through(ctx, k.who, k.thread)
	if err != nil {
		return err
	}
	return k.write(ctx, jsonvalue.Object{
		{"type", "success"}, {"id", *c.ID}, {"result", result}, {"meta", jsonvalue.Object{{"thread_id", k.thread}, {"applied_through_seq", through}}},
	})
}

func (k *channelSocket) fail(ctx context.Context, c *command, err error) error {
	o, err := commandFailed(*c.ID, err)
	if err != nil {
		return err
	}
	return k.write(ctx, o)
}

func (k *channelSocket) sendLines(ctx context.Context, data []byte) error {
	for line := range bytes.Lines(data) {
		if err := k.send(ctx, bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			return err
		}
	}
	return nil
}

func (k *channelSocket) write(ctx context.Context, o jsonvalue.Object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return k.send(ctx, data)
}

func (k *channelSocket) send(ctx context.Context, data []byte) error {
	k.writing.Lock()
	defer k.writing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, k.s.opt.Terms.WriteTimeout)
	defer cancel()
	return k.conn.Write(ctx, websocket.MessageText, data)
}
