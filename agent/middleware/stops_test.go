package middleware_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestExplainStopsMakesNoHalfCalls(t *testing.T) {
	two := scripted.Call("c1", "say", `{"s":"one"}`).Call("c2", "say", `{"s":"two"}`)
	for finish, c := range map[item.Finish]struct {
		results []string
		warned  []string
	}{
		item.FinishToolCalls: {[]string{"say: one", "say: two"}, nil},
		item.FinishLength:    {[]string{"say: one", "limit of length"}, []string{"model_length"}},
		item.FinishFilter:    {[]string{"filter stopped", "filter stopped"}, []string{"model_filtered", "safety_stop"}},
	} {
		th := newThread(t)
		msgs := th.say(agent.Options{
			Model: scripted.Sequence(two.Finish(finish), scripted.Say("ok")), Tools: toolset(t, echo("say")),
			Middleware: chain(middleware.ExplainStops(middleware.StopOptions{})),
		}, "go")
		for i, want := range c.results {
			if got := msgs[2+i].Text(); !strings.Contains(got, want) {
				t.Errorf("%s: call %d gave %q, want %q", finish, i, got, want)
			}
		}
		if !slices.Equal(th.warnings(), c.warned) {
			t.Errorf("%s: warned %q, want %q", finish, th.warnings(), c.warned)
		}
	}
}
