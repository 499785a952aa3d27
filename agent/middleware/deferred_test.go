package middleware_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func names(tools []model.Tool) []string {
	var out []string
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

func many(n int, of string) []tool.Tool {
	var out []tool.Tool
	for i := range n {
		out = append(out, echo(fmt.Sprint(of, "_", i)))
	}
	return out
}

func TestDeferHidesToolsUntilTheyAreFound(t *testing.T) {
	m := scripted.Sequence(
		scripted.Call("c1", "tool_search", `{"query":"select:mail_3, mail_1"}`),
		scripted.Call("c2", "mail_3", `{"s":"x"}`),
		scripted.Say("ok"), scripted.Say("ok"), scripted.Say("ok"),
	)
	m.Record = true
	o := agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: chain(middleware.Defer(middleware.DeferOptions{Tools: many(20, "mail"), Most: 5}))}
	th := newThread(t)
	msgs := th.say(o, "go")
	th.say(o, "and in the next run")
	reqs := m.Requests()
	if got, want := names(reqs[0].Tools), []string{"say", "tool_search"}; !slices.Equal(got, want) {
		t.Errorf("at first the model is offered %q, want %q", got, want)
	}
	for _, req := range reqs[1:] {
		if got, want := names(req.Tools), []string{"say", "tool_search", "mail_3", "mail_1"}; !slices.Equal(got, want) {
			t.Errorf("then the model is offered %q, want %q", got, want)
		}
	}
	if got := msgs[4].Text(); got != "mail_3: x" || !strings.Contains(msgs[2].Text(), `"properties"`) {
		t.Errorf("the tool said %q, the search %q", got, msgs[2].Text())
	}
	if p := value(th, middleware.PromotedField); !slices.Equal(p.Names, []string{"mail_3", "mail_1"}) || p.Catalog == "" {
		t.Errorf("the state keeps %+v", p)
	}
	// With another list of tools, what was found counts no more.
	o.Middleware = chain(middleware.Defer(middleware.DeferOptions{Tools: many(21, "mail"), Most: 5}))
	th.say(o, "other tools")
	if got, want := names(m.Requests()[4].Tools), []string{"say", "tool_search"}; !slices.Equal(got, want) {
		t.Errorf("with other tools the model is offered %q, want %q", got, want)
	}
}

func TestDeferOffersFewToolsAsTheyAre(t *testing.T) {
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	newThread(t).say(agent.Options{Model: m, Middleware: chain(middleware.Defer(middleware.DeferOptions{Tools: many(3, "mail"), Most: 5}))}, "go")
	if got, want := names(m.Requests()[0].Tools), []string{"mail_0", "mail_1", "mail_2"}; !slices.Equal(got, want) {
		t.Errorf("the model is offered %q, want %q", got, want)
	}
}

func TestToolSearchRanksNamesBeforeDescriptions(t *testing.T) {
	tools := append(many(12, "mail"), described{echo("calendar_add"), func(s *tool.Spec) { s.Description = "Enters a meeting." }},
		described{echo("meeting_room"), func(s *tool.Spec) { s.Description = "Books a room." }})
	for query, want := range map[string]string{"a meeting": "meeting_room", "enter": "calendar_add", "MAIL 7": "mail_7", "nothing at all like it zzz": ""} {
		m := scripted.Sequence(scripted.Call("c1", "tool_search", fmt.Sprintf(`{"query":%q}`, query)), scripted.Say("ok"))
		msgs := newThread(t).say(agent.Options{Model: m, Middleware: chain(middleware.Defer(middleware.DeferOptions{Tools: tools, Most: 2}))}, "go")
		first := strings.Split(msgs[2].Text()+"\n\n", "\n")[2]
		if got, _, _ := strings.Cut(first, ":"); got != want && want != "" || want == "" && msgs[2].Text() != "No tool fits. Try other words, or do without." {
			t.Errorf("%q finds %q, want %q", query, msgs[2].Text(), want)
		}
	}
}
