package middleware_test

import (
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestRetryEmptyAsksOnceMore(t *testing.T) {
	for name, c := range map[string]struct {
		answers []scripted.Script
		want    string
		calls   int
		warned  []string
	}{
		"then it answers":      {[]scripted.Script{{}, scripted.Say("Here.")}, "Here.", 2, nil},
		"thoughts and spaces":  {[]scripted.Script{scripted.Think("hm").Say(" \n"), scripted.Say("Here.")}, "Here.", 2, nil},
		"it stays silent":      {[]scripted.Script{{}, {}, scripted.Say("never")}, "", 2, []string{"empty_answer"}},
		"it answers":           {[]scripted.Script{scripted.Say("Here."), scripted.Say("never")}, "Here.", 1, nil},
		"the filter forbade":   {[]scripted.Script{scripted.Script{}.Finish(item.FinishFilter), scripted.Say("never")}, "", 1, []string{"model_filtered"}},
		"it calls a tool only": {[]scripted.Script{scripted.Call("c1", "say", `{"s":"x"}`), scripted.Say("Here.")}, "Here.", 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := scripted.Sequence(c.answers...)
			th := newThread(t)
			msgs := th.say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.RetryEmpty(middleware.EmptyOptions{}))}, "go")
			if got := msgs[len(msgs)-1].Text(); got != c.want || m.Calls() != c.calls || !slices.Equal(th.warnings(), c.warned) {
				t.Errorf("got %q after %d calls, warned %q; want %q, %d, %q", got, m.Calls(), th.warnings(), c.want, c.calls, c.warned)
			}
		})
	}
}
