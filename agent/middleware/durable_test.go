package middleware_test

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
)

func TestDurableTellsAgainWhatASummaryLost(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	o := agent.Options{Model: m, Middleware: chain(
		middleware.Summarise(middleware.SummaryOptions{Model: scripted.Always(scripted.Say("short")), Trigger: 600, Keep: 150}),
		middleware.Durable(middleware.DurableOptions{Text: func(*agent.Step) string { return "- [ ] find the source of the river" }}),
	)}
	th := newThread(t)
	summarised := 0
	for i := range 8 {
		th.say(o, long("river", 100))
		last := m.Requests()[i]
		has := strings.Contains(last.Messages[len(last.Messages)-1].Text(), "find the source")
		if want := strings.Contains(last.Messages[0].Text(), "short"); has != want {
			t.Errorf("turn %d: told again: %v, summarised: %v", i, has, want)
		} else if want {
			summarised++
		}
	}
	if summarised == 0 || summarised == 8 {
		t.Errorf("%d of 8 turns had a summary", summarised)
	}
}
