package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// chance makes a random world out of one seed. It is used by many goroutines.
type chance struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func (c *chance) n(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rnd.IntN(n)
}

var classes = []model.Class{
	model.Auth, model.BadRequest, model.Refused, model.RateLimit, model.Overloaded, model.Server, model.Network, model.Broken,
}

// script is a random answer: words, thoughts, markers, calls; and then it ends in one of many ways.
func (c *chance) script(names []string) scripted.Script {
	var s scripted.Script
	for range c.n(4) {
		switch c.n(6) {
		case 0:
			s = s.Think("let me see", "perhaps").Sign("sig")
		case 1:
			s = s.Block()
		case 2:
			s = s.Pause(time.Duration(c.n(100)) * time.Millisecond)
		default:
			s = s.Say(fmt.Sprintf("words with [^%d] a marker, ünïcode ", c.n(6)))
		}
	}
	switch c.n(16) {
	case 0:
		return s.Fail(broken(classes[c.n(len(classes))], time.Duration(c.n(3))*time.Second))
	case 1:
		return s.Cut()
	case 2:
		return s.Stall()
	case 3:
		return s.Panic("a bug")
	case 4, 5, 6, 7:
		return s.Say("That is my answer.")
	}
	if len(names) == 0 {
		return s.Say("I have no tools.")
	}
	many := 4
	if c.n(10) == 0 {
		many = 20
	}
	calls := make([]item.ToolCall, 1+c.n(many))
	for i := range calls {
		id := fmt.Sprintf("call_%d", c.n(3)) // providers repeat themselves
		if c.n(4) == 0 {
			id = ""
		}
		name := names[c.n(len(names))]
		args := []string{`{"s":"owl,elk"}`, `{"s":"fox"}`, `{"s":"owl"}`, `{}`, `{"s":`}[c.n(5)]
		if strings.HasPrefix(name, "agent_") && c.n(6) > 0 {
			args = `{"prompt":"help me"}`
		}
		calls[i] = item.ToolCall{CallID: id, Name: name, Arguments: args}
	}
	return s.Parallel(calls...)
}

// agent draws an agent with sub-agents down to some depth.
func (c *chance) agent(t testing.TB, name string, depth int, paid *effects) agent.Options {
	rough := tool.FuncOfCall("rough", "Does anything.", func(ctx context.Context, call tool.Call, in text) (string, error) {
		paid.note(call.ID)
		call.Scope.Progress(tool.Progress{Message: "working"})
		switch c.n(6) {
		case 0:
			panic("a tool's bug")
		case 1:
			return "partly", errors.New("it did not work")
		case 2:
			select {
			case <-time.After(time.Duration(c.n(5)) * time.Second):
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		return in.S, nil
	})
	o := agent.Options{
		Name: name, Tools: toolset(t, rough, library()), MaxSteps: 2 + c.n(4), ToolTimeout: time.Duration(1+c.n(4)) * time.Second,
		Policy: agent.Policy{First: 5 * time.Second, Idle: 5 * time.Second, Tries: 1 + c.n(3)},
		Limits: agent.Limits{Count: 1 + c.n(40), Concurrent: 1 + c.n(20)},
	}
	for i := range c.n(4) {
		o.Middleware = append(o.Middleware, c.middleware(fmt.Sprint("random", i)))
	}
	names := []string{"rough", "search", "unheard-of"}
	if depth > 0 {
		for i := range 1 + c.n(2) {
			sub := agent.Sub{Name: fmt.Sprintf("%s_%d", name, i), Description: "Helps."}
			sub.Options = c.agent(t, sub.Name, depth-1, paid)
			if c.n(3) == 0 {
				sub.Timeout = time.Duration(1+c.n(10)) * time.Second
			}
			o.Subs = append(o.Subs, sub)
			names = append(names, sub.Name, sub.Name)
		}
	}
	o.Model = scripted.New(func(model.Request) scripted.Script { return c.script(names) })
	if c.n(2) == 0 {
		o.Fallbacks = []model.Model{scripted.New(func(model.Request) scripted.Script { return c.script(names) })}
	}
	return o
}

// middleware draws one that does something to a request, a call, the state or the way.
func (c *chance) middleware(name string) agent.Middleware {
	notes := graph.List[string](name + "_notes")
	m := agent.Middleware{Name: name, Fields: []graph.AnyField{notes}}
	note := func(_ context.Context, s *agent.Step) (graph.Command, error) {
		cmd := graph.Update(notes.Add(fmt.Sprint(s.Number)))
		switch c.n(12) {
		case 0:
			return graph.Command{}, errors.New("a hook's bug")
		case 1:
			return cmd.Go(graph.End), nil
		}
		return cmd, nil
	}
	sometimes := func(s *agent.Step) bool { return s.Number%2 == len(name)%2 }
	switch c.n(7) {
	case 0:
		m.Before = agent.Hook{Due: sometimes, Do: note}
	case 1:
		m.After = agent.Hook{Do: note}
	case 2:
		m.Before, m.After = agent.Hook{Do: note}, agent.Hook{Due: sometimes, Do: note}
	case 3:
		m.Model = func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, call *agent.ModelCall) (item.Message, error) {
				call.Request.Messages = append([]item.Message{item.UserText("", "reminder")}, call.Request.Messages...)
				if c.n(5) == 0 {
					return item.AssistantText("", "answered by a middleware"), nil
				}
				msg, err := next(ctx, call)
				if c.n(8) == 0 {
					return next(ctx, call)
				}
				return msg, err
			}
		}
	case 4:
		m.Tool = func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, call *agent.ToolCall) (agent.Outcome, error) {
				if c.n(4) == 0 {
					return call.Refuse("not now"), nil
				}
				out, err := next(ctx, call)
				if c.n(8) == 0 {
					return next(ctx, call)
				}
				out.Writes = append(out.Writes, notes.Add(call.Call.CallID))
				return out, err
			}
		}
	case 5:
		m.Tool = func(next agent.ToolFunc) agent.ToolFunc {
			return func(ctx context.Context, call *agent.ToolCall) (agent.Outcome, error) {
				call.Call.Name, call.Call.Arguments = "rough", `{"s":"changed"}`
				out, err := next(ctx, call)
				out.Result.Content = append(out.Result.Content, item.Text("(checked)")...)
				return out, err
			}
		}
	case 6:
		m.Tools = func(context.Context, *graph.Scope) ([]tool.Tool, error) {
			if c.n(10) == 0 {
				return nil, errors.New("no tools today")
			}
			return []tool.Tool{echo(name + "_tool")}, nil
		}
	}
	return m
}

// Whatever models, tools and middleware do, and whenever the run is cancelled or its process dies, the journal keeps every law, the run
// ends, no effect happens twice for one call, and every child's answer is what its parent was told.
func TestRandomAgentsKeepTheLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		depth := rapid.IntRange(0, 4).Draw(rt, "depth")
		crashes := rapid.SliceOfN(rapid.IntRange(0, 200), 0, 3).Draw(rt, "crashes")
		cancel := rapid.IntRange(0, 60).Draw(rt, "cancel after")
		var failed string
		synctest.Test(t, func(t *testing.T) {
			c := &chance{rnd: rand.New(rand.NewPCG(seed, 1))}
			paid := &effects{}
			o := c.agent(t, "agent", depth, paid)
			w := newWorld()
			var err error
			for _, n := range append(crashes, -1) {
				w.restart(n)
				ctx, stop := context.WithCancel(t.Context())
				if cancel > 30 {
					time.AfterFunc(time.Duration(cancel-30)*100*time.Millisecond, stop)
				}
				_, err = w.attempt(ctx, build(t, o), ask("go"))
				stop()
				if !errors.Is(err, errDead) {
					break
				}
			}
			failed = verdict(w, paid)
		})
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

// verdict says what is wrong with a run that has ended, or nothing.
func verdict(w *world, paid *effects) string {
	if err := lawsOf(w); err != nil {
		return fmt.Sprintf("%v\n%s", err, w.dump())
	}
	if n := paid.most(); n > 1 {
		return fmt.Sprintf("one call had its effect %d times\n%s", n, w.dump())
	}
	f := w.fold()
	for _, id := range f.TaskIDs()[1:] {
		res, ok := f.Result(id)
		task, _ := f.Task(id)
		if !ok || res.Error || task.Status != event.Success {
			continue
		}
		if answer := f.FinalText(id); answer == "" || !strings.HasSuffix(item.JoinText(res.Content), answer) {
			return fmt.Sprintf("task %s said %q and its parent was told %q", id, answer, item.JoinText(res.Content))
		}
	}
	return ""
}
