package middleware

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// LoopOptions are settings of [StopLoops]. Zero means what stands behind a member.
type LoopOptions struct {
	// Warn and Stop are how often the same calls may be made with the same arguments before the model is warned (3), and before it
	// is stopped (5), among the last Window answers (20).
	Warn, Stop, Window int
	// ToolWarn and ToolStop are how often one tool may be called, with whatever arguments (30 and 50).
	ToolWarn, ToolStop int
}

// StopLoops notices a model that turns in circles, within what it does about one message of the person. It is warned first; then its
// calls are refused, and it must answer without tools.
func StopLoops(o LoopOptions) agent.Middleware {
	for _, d := range []struct {
		value *int
		usual int
	}{{&o.Warn, 3}, {&o.Stop, 5}, {&o.Window, 20}, {&o.ToolWarn, 30}, {&o.ToolStop, 50}} {
		if *d.value <= 0 {
			*d.value = d.usual
		}
	}
	memos := newMemo[circle]()
	return agent.Middleware{
		Name: "loops",
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				m := memos.of(c.Step.Scope)
				v := m.judge(c.Step.Messages, o)
				switch {
				case v.stop:
					return m.conclude(ctx, c, next, reason{
						code: "loop_stopped", people: "the model turned in circles (" + v.what + ")",
						model: "You have been stopped because you turned in circles: " + v.what + ". Your last calls were not made. Answer now with what you have, and say what you could not find out.",
					})
				case v.warn:
					if err := c.Step.Emit(ctx, event.Warned{Code: "loop_warning", Message: "the model may be turning in circles: " + v.what}); err != nil {
						return item.Message{}, err
					}
					c.Request.Messages = behind(c.Request.Messages, reminded("You may be turning in circles: "+v.what+
						". The result will not change. Try something else, or answer with what you have. If you go on like this you will be stopped."))
				}
				return next(ctx, c)
			}
		},
		Tool: func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
				if v := memos.of(c.Step.Scope).judge(c.Step.Messages, o); v.stop {
					return c.Refuse("This call was not made, because you turn in circles: " + v.what + ". Answer with what you have."), nil
				}
				return next(ctx, c)
			}
		},
	}
}

// circle is what an agent has called since the person last spoke.
type circle struct {
	ending
	mu     sync.Mutex
	in     []item.Message
	recent []uint64 // what the latest answers called
	tools  map[string]int
	now    verdict
}

type verdict struct {
	warn, stop bool
	what       string
}

// judge brings the circle up to date, which looks at each message once.
func (c *circle) judge(msgs []item.Message, o LoopOptions) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !begins(msgs, c.in) {
		c.in = nil
		c.reset()
	}
	for i := len(c.in); i < len(msgs); i++ {
		switch m := &msgs[i]; {
		case m.Role == item.User:
			c.reset()
		case m.Role == item.Assistant && len(m.ToolCalls) > 0:
			c.take(m.ToolCalls, o)
		}
	}
	c.in = msgs
	return c.now
}

func (c *circle) reset() {
	c.recent, c.now = c.recent[:0], verdict{}
	clear(c.tools)
}

func (c *circle) take(calls []item.ToolCall, o LoopOptions) {
	if c.now.stop {
		return
	}
	if c.tools == nil {
		c.tools = map[string]int{}
	}
	c.now = verdict{}
	for _, call := range calls {
		c.tools[call.Name]++
		n := c.tools[call.Name]
		// Warned once at the number, and not again for every call after it.
		c.note(n == o.ToolWarn, n >= o.ToolStop, "%s was called %d times", call.Name, n)
	}
	k := fingerprint(calls)
	if c.recent = append(c.recent, k); len(c.recent) > o.Window {
		c.recent = slices.Delete(c.recent, 0, 1)
	}
	n := 0
	for _, other := range c.recent {
		if other == k {
			n++
		}
	}
	c.note(n >= o.Warn, n >= o.Stop, "%s was called %d times with the same arguments", calls[0].Name, n)
}

func (c *circle) note(warn, stop bool, format string, args ...any) {
	if (warn || stop) && !c.now.stop {
		c.now = verdict{warn, stop, fmt.Sprintf(format, args...)}
	}
}

// fingerprint tells sets of calls apart, whatever order and spaces they were written with.
func fingerprint(calls []item.ToolCall) uint64 {
	var sum uint64
	var compact bytes.Buffer
	for _, c := range calls {
		h := fnv.New64a()
		h.Write([]byte(c.Name))
		h.Write([]byte{0})
		compact.Reset()
		if json.Compact(&compact, []byte(c.Arguments)) == nil {
			h.Write(compact.Bytes())
		} else {
			h.Write([]byte(c.Arguments))
		}
		sum += h.Sum64()
	}
	return sum
}
