package middleware_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestToolErrorsMakesFailuresLookAlike(t *testing.T) {
	fails := tool.Func("fails", "Fails.", func(context.Context, text) (string, error) {
		return "", errors.New("the shop is closed " + strings.Repeat("x", 20_000))
	})
	breaks := agent.Middleware{Name: "breaks", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			if c.Call.Name == "say" {
				panic("a bug")
			}
			return next(ctx, c)
		}
	}}
	m := scripted.Sequence(
		scripted.Call("c1", "fails", `{"s":""}`), scripted.Call("c2", "unheard", `{}`), scripted.Call("c3", "fails", `{"q":1}`),
		scripted.Call("c4", "say", `{"s":""}`), scripted.Say("ok"),
	)
	msgs := newThread(t).say(agent.Options{Model: m, Tools: toolset(t, fails, echo("say")), Middleware: chain(middleware.ToolErrors(middleware.ErrorOptions{}), breaks)}, "go")
	for i, want := range []string{"fails failed: the shop is closed x", "unheard failed: there is no tool", "fails failed: the arguments do not fit", "say failed: What surrounds the tool broke (a bug)"} {
		got := msgs[2+2*i]
		if !got.Failed || !strings.HasPrefix(got.Text(), want) || !strings.HasSuffix(got.Text(), "try another way.") || len(got.Text()) > 5000 {
			t.Errorf("result %d is %d bytes: %.100q, want %q", i, len(got.Text()), got.Text(), want)
		}
	}
}
