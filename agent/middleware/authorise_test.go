package middleware_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestRulesJudgeByNameGroupAndRisk(t *testing.T) {
	web := tool.Spec{Name: "fetch", Group: "web", Risk: tool.Reads | tool.Leaves}
	for _, c := range []struct {
		rules middleware.Rules
		spec  tool.Spec
		ok    bool
	}{
		{middleware.Rules{}, web, true},
		{middleware.Rules{DenyNames: []string{"fetch"}}, web, false},
		{middleware.Rules{DenyGroups: []string{"web"}}, web, false},
		{middleware.Rules{DenyGroups: []string{""}}, tool.Spec{Name: "say"}, true},
		{middleware.Rules{DenyRisk: tool.Leaves | tool.Spends}, web, false},
		{middleware.Rules{DenyRisk: tool.Executes}, web, true},
		{middleware.Rules{AllowNames: []string{"say"}}, web, false},
		{middleware.Rules{AllowNames: []string{"say"}, AllowGroups: []string{"web"}}, web, true},
		{middleware.Rules{AllowGroups: []string{"web"}, DenyNames: []string{"fetch"}}, web, false},
		{middleware.Rules{AllowGroups: []string{"web"}}, tool.Spec{Name: "say"}, false},
	} {
		if why, ok, err := c.rules.May(t.Context(), nil, c.spec); ok != c.ok || err != nil || ok != (why == "") {
			t.Errorf("%+v about %s: %v, %q, %v; want %v", c.rules, c.spec.Name, ok, why, err, c.ok)
		}
	}
}

func TestAuthoriseRefusesWhatIsNotAllowed(t *testing.T) {
	var ran []string
	note := func(name string, risk tool.Risk) tool.Tool {
		return described{tool.Func(name, "Notes.", func(context.Context, text) (string, error) { ran = append(ran, name); return "done", nil }), func(s *tool.Spec) { s.Risk = risk }}
	}
	m := scripted.Sequence(scripted.Call("c1", "read", `{"s":""}`), scripted.Call("c2", "write", `{"s":""}`), scripted.Call("c3", "odd", `{"s":""}`), scripted.Say("ok"))
	may := func(ctx context.Context, s *agent.Step, t tool.Spec) (string, bool, error) {
		if t.Name == "odd" {
			return "", true, errors.New("nobody answers")
		}
		return middleware.Rules{DenyRisk: tool.Writes}.May(ctx, s, t)
	}
	th := newThread(t)
	msgs := th.say(agent.Options{
		Model: m, Tools: toolset(t, note("read", tool.Reads), note("write", tool.Writes), note("odd", 0)),
		Middleware: chain(middleware.Authorise(middleware.AuthOptions{May: may})),
	}, "go")
	if want := []string{"read"}; !slices.Equal(ran, want) {
		t.Errorf("these were called: %q, want %q", ran, want)
	}
	if got := msgs[4].Text(); !strings.Contains(got, "not allowed") || !strings.Contains(got, "writes") {
		t.Errorf("the model reads %q", got)
	}
	if !slices.Equal(th.warnings(), []string{"authorisation_failed"}) {
		t.Errorf("warned %q", th.warnings())
	}
}

// A call that a middleware outside changed is another call, about which nobody was asked.
func TestAuthoriseRefusesChangedCalls(t *testing.T) {
	ran := false
	pay := tool.Func("pay", "Pays.", func(context.Context, text) (string, error) { ran = true; return "paid", nil })
	changes := agent.Middleware{Name: "changes", Tool: func(next agent.ToolFunc) agent.ToolFunc {
		return func(ctx context.Context, c *agent.ToolCall) (agent.Outcome, error) {
			c.Call.Name = "pay"
			return next(ctx, c)
		}
	}}
	m := scripted.Sequence(scripted.Call("c1", "say", `{"s":""}`), scripted.Say("ok"))
	rules := middleware.Rules{DenyNames: []string{"pay"}}
	newThread(t).say(agent.Options{Model: m, Tools: toolset(t, pay, echo("say")), Middleware: chain(changes, middleware.Authorise(middleware.AuthOptions{May: rules.May}))}, "go")
	if ran {
		t.Error("the other tool was called")
	}
}
