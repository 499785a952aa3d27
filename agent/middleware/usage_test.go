package middleware_test

import (
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestUsageAddsUpTheRunAndTheThread(t *testing.T) {
	u := func(in, out int) item.Usage { return item.Usage{InputTokens: in, OutputTokens: out} }
	th := newThread(t)
	for i, want := range []middleware.Used{
		{Run: u(110, 11), Thread: u(110, 11)},
		{Run: u(110, 11), Thread: u(220, 22)},
		{Run: u(110, 11), Thread: u(330, 33)},
	} {
		m := scripted.Sequence(scripted.Call("", "say", `{"s":"x"}`).Usage(u(10, 1)), scripted.Say("ok").Usage(u(100, 10)))
		msgs := th.say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.Usage(middleware.UsageOptions{}))}, "go")
		want.Through = msgs[len(msgs)-1].ID
		if got := value(th, middleware.UsageField); got != want {
			t.Errorf("run %d: got %+v, want %+v", i, got, want)
		}
	}
}
