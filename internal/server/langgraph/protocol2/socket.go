package protocol2

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/internal/server/edge"
	"github.com/tributary-ai/tributary/internal/server/jsonvalue"
	"github.com/tributary-ai/tributary/internal/server/socket"
	"github.com/tributary-ai/tributary/internal/wire/protocol2"
)

// maxSubscriptions is how many streams of events one socket may carry.
const maxSubscriptions = 256

// allChannels is what a socket follows; its subscriptions choose among it.
var allChannels = []string{"values", "updates", "messages", "tools", "lifecycle", "input", "checkpoints", "tasks", "custom"}

// socketEvents is the same protocol over one WebSocket: commands come in, answers and events go out.
func (s *Service) socketEvents(w http.ResponseWriter, r *http.Request, who run.Identity) error {
	thread, err := edge.PathThread(r)
	if err != nil {
		return err
	}
	if r.Header.Get("Upgrade") == "" {
		return edge.Refuse(http.StatusUpgradeRequired, "connect with a WebSocket, or POST a filter")
	}
	k := &channelSocket{s: s, r: r, who: who, thread: thread, subs: map[string]protocol2.Filter{}}
	k.src = s.channelReader(who, thread, protocol2.Filter{Channels: allChannels}, true)
	k.src.wants = k.wants
	talk := socket.Talk{
		Terms: s.opt.Terms, Source: k, Hear: k.hear, Limit: edge.MaxBody, Ended: "there is no more", Again: "connect again and subscribe with since",
	}
	return talk.Serve(w, r)
}

// channelSocket is a connection. It follows the thread for all subscriptions together, so that every event is told once
// and in order; a new one is first told what it missed.
type channelSocket struct {
	s      *Service
	r      *http.Request
	who    run.Identity
	thread string
	src    *channelReader
	subs   map[string]protocol2.Filter
	last   int
}

// quiet is a bell that never rings.
var quiet = make(chan struct{})

// Poll reads nothing before there is a subscription.
func (k *channelSocket) Poll(ctx context.Context) ([]byte, <-chan struct{}, error) {
	if len(k.subs) == 0 {
		return nil, quiet, nil
	}
	return k.src.Poll(ctx)
}

// Look makes the next poll ask the store.
func (k *channelSocket) Look(now time.Time) bool { return len(k.subs) > 0 && k.src.Look(now) }

// Close ends the reading.
func (k *channelSocket) Close() { k.src.Close() }

func (k *channelSocket) wants(e *protocol2.Event) bool {
	for _, f := range k.subs {
		if f.Match(e) {
			return true
		}
	}
	return false
}

// hear carries out one message.
func (k *channelSocket) hear(ctx context.Context, data []byte, say socket.Say) error {
	refuse := func(message string) error {
		return write(say, jsonvalue.Object{{"type", "error"}, {"id", nil}, {"error", "invalid_argument"}, {"message", message}})
	}
	if err := edge.CheckJSON(data); err != nil {
		return refuse("Protocol commands must be valid JSON: " + err.Error())
	}
	var c command
	if json.Unmarshal(data, &c) != nil || c.check() != nil {
		return refuse("Protocol commands must include an integer id and string method.")
	}
	if strings.HasPrefix(c.Method, "subscription.") {
		return k.change(ctx, &c, say)
	}
	o, err := k.s.obey(k.r.WithContext(ctx), k.who, k.thread, &c)
	if err != nil {
		k.s.opt.Terms.Log.Error("command failed", "method", c.Method, "err", err)
		o = jsonvalue.Object{{"type", "error"}, {"id", *c.ID}, {"error", "unknown_error"}, {"message", "internal error"}}
	}
	return write(say, o)
}

// change adds or removes a subscription.
func (k *channelSocket) change(ctx context.Context, c *command, say socket.Say) error {
	switch c.Method {
	case "subscription.subscribe":
		return k.subscribe(ctx, c, say)
	case "subscription.unsubscribe":
		var p struct {
			ID string `json:"subscription_id"`
		}
		if err := readParams(c.Params, &p); err != nil {
			return fail(say, c, err)
		}
		if _, ok := k.subs[p.ID]; !ok {
			return fail(say, c, &commandError{"no_such_subscription", "No subscription " + edge.Clip(p.ID) + "."})
		}
		delete(k.subs, p.ID)
		return k.succeed(ctx, say, c, jsonvalue.Object{})
	}
	return fail(say, c, &commandError{"unknown_command", "Unknown protocol command: " + edge.Clip(c.Method)})
}

// subscribe answers, and then tells what matches of what the others have been told already.
func (k *channelSocket) subscribe(ctx context.Context, c *command, say socket.Say) error {
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
		return fail(say, c, err)
	}
	k.last++
	id := "sub-" + strconv.Itoa(k.last)
	through := uint64(math.MaxUint64) // what was told already, which the first subscription is told as all others are
	first := k.src.proj == nil
	if !first {
		through = k.src.proj.Seq()
	}
	missed := 0
	count := func(lines []byte) error { missed += bytes.Count(lines, []byte{'\n'}); return nil }
	if err := k.replay(ctx, f, through, count); err != nil {
		return err
	}
	if err := k.succeed(ctx, say, c, jsonvalue.Object{{"subscription_id", id}, {"replayed_events", missed}}); err != nil {
		return err
	}
	if !first {
		if err := k.replay(ctx, f, through, say); err != nil {
			return err
		}
	}
	k.subs[id] = f
	return nil
}

// replay tells the events up to a number that match.
func (k *channelSocket) replay(ctx context.Context, f protocol2.Filter, through uint64, say socket.Say) error {
	if through == 0 {
		return nil
	}
	past := k.s.channelReader(k.who, k.thread, f, true)
	defer past.Close()
	past.wants = func(e *protocol2.Event) bool { return e.Seq <= through && f.Match(e) }
	for {
		data, bell, err := past.Poll(ctx)
		if err != nil {
			return err
		}
		if err := say(data); err != nil {
			return err
		}
		if bell != nil || past.proj.Seq() >= through {
			return nil
		}
	}
}

func (k *channelSocket) succeed(ctx context.Context, say socket.Say, c *command, result jsonvalue.Object) error {
	through, err := k.s.opt.Numbers.through(ctx, k.who, k.thread)
	if err != nil {
		return err
	}
	return write(say, jsonvalue.Object{
		{"type", "success"}, {"id", *c.ID}, {"result", result}, {"meta", jsonvalue.Object{{"thread_id", k.thread}, {"applied_through_seq", through}}},
	})
}

func fail(say socket.Say, c *command, err error) error {
	o, err := commandFailed(*c.ID, err)
	if err != nil {
		return err
	}
	return write(say, o)
}

func write(say socket.Say, o jsonvalue.Object) error {
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	return say(data)
}
