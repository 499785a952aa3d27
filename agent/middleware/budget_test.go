package middleware_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// spender uses 100 tokens with every answer, and calls a tool as long as it may.
func spender(heeds bool) *scripted.Model {
	n := 0
	m := scripted.New(func(req model.Request) scripted.Script {
		use := scripted.Script{}.Usage(item.Usage{InputTokens: 80, OutputTokens: 20})
		if req.Choice == "none" && heeds {
			return use.Say("The budget ran out.")
		}
		n++
		return use.Call("", "say", fmt.Sprintf(`{"s":"%d"}`, n))
	})
	m.Record = true
	return m
}

func TestBudgetThatRunsOutEndsWithALastAnswer(t *testing.T) {
	m := spender(true)
	th := newThread(t)
	o := agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.Budget(middleware.BudgetOptions{Tokens: 1000}))}
	msgs := th.say(o, "go")
	if want := []string{"token_budget_low", "token_budget"}; !slices.Equal(th.warnings(), want) {
		t.Errorf("warned %q, want %q", th.warnings(), want)
	}
	if m.Calls() != 11 || failures(msgs) != 1 || msgs[len(msgs)-1].Text() != "The budget ran out." {
		t.Errorf("%d model calls, %d refused, ended with %q; want 11 and 1", m.Calls(), failures(msgs), msgs[len(msgs)-1].Text())
	}
	for i, req := range m.Requests() {
		last := req.Messages[len(req.Messages)-1].Text()
		if warned := strings.Contains(last, "budget"); warned != (i >= 8) {
			t.Errorf("request %d ends with %q", i, last)
		}
	}
	th.say(agent.Options{Model: scripted.Always(scripted.Say("fresh")), Tools: o.Tools, Middleware: o.Middleware}, "the next question has a budget of its own")
	if len(th.warnings()) > 0 {
		t.Errorf("the next question warned %q", th.warnings())
	}
}

func TestBudgetEndsAModelThatDoesNotHeed(t *testing.T) {
	m := spender(false)
	msgs := newThread(t).say(agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.Budget(middleware.BudgetOptions{Tokens: 500}))}, "go")
	if last := msgs[len(msgs)-1].Text(); m.Calls() != 6 || !strings.HasPrefix(last, "I stop here: the budget of 500 tokens") {
		t.Errorf("%d model calls, ended with %q; want 6", m.Calls(), last)
	}
}

// What sub-agents use counts for those above them.
func TestBudgetCountsSubAgents(t *testing.T) {
	count := middleware.Usage(middleware.UsageOptions{})
	sub := agent.Sub{Name: "helper", Description: "Helps.", Options: agent.Options{
		Model:      scripted.Sequence(scripted.Call("", "say", `{"s":"x"}`).Usage(item.Usage{InputTokens: 900}), scripted.Say("helped")),
		Tools:      toolset(t, echo("say")),
		Middleware: chain(count),
	}}
	m := scripted.Sequence(scripted.Call("c1", "helper", `{"prompt":"x"}`).Usage(item.Usage{InputTokens: 100}), scripted.Say("ok"))
	m.Record = true
	th := newThread(t)
	th.say(agent.Options{Model: m, Subs: []agent.Sub{sub}, Middleware: chain(middleware.Budget(middleware.BudgetOptions{Tokens: 1000}))}, "go")
	if reqs := m.Requests(); reqs[1].Choice != "none" || !slices.Contains(th.warnings(), "token_budget") {
		t.Errorf("choice %q, warned %q", reqs[1].Choice, th.warnings())
	}
}
