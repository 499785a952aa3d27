package middleware_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestLimitSubsRefusesThoseTooMany(t *testing.T) {
	answer := func(from, n int) scripted.Script {
		var calls []item.ToolCall
		for i := range n {
			calls = append(calls, item.ToolCall{CallID: fmt.Sprint("t", from+i), Name: "task", Arguments: `{"prompt":"x"}`}, item.ToolCall{CallID: fmt.Sprint("s", from+i), Name: "say", Arguments: `{"s":"x"}`})
		}
		return scripted.Parallel(calls...)
	}
	m := scripted.Sequence(answer(0, 4), answer(4, 1), answer(5, 3), scripted.Say("ok"), answer(8, 1), scripted.Say("ok"))
	o := agent.Options{
		Model: m, Tools: toolset(t, echo("say")),
		Subs:       []agent.Sub{{Name: "task", Description: "Does a task.", Options: agent.Options{Model: scripted.Always(scripted.Say("done"))}}},
		Middleware: chain(middleware.LimitSubs(middleware.SubOptions{AtOnce: 3, Total: 6})),
	}
	th := newThread(t)
	th.say(o, "go")
	msgs := th.say(o, "a new question")
	var refused []string
	for _, m := range msgs {
		if m.Failed {
			refused = append(refused, m.CallID)
		}
	}
	if want := []string{"t3", "t7"}; !slices.Equal(refused, want) {
		t.Errorf("refused %q, want %q", refused, want)
	}
}
