package lead_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

var update = flag.Bool("update", false, "write the golden files anew")

// named is a model of which some can think.
type named struct {
	*scripted.Model
	name     string
	thinking bool
}

func (n named) Describe() model.Info {
	return model.Info{Provider: "test", Model: n.name, Thinking: n.thinking}
}

// shelf is models by name, as a registry has them: a request's wish that cannot be met is refused, an assistant's replaced.
type shelf struct{ models []named }

func (s shelf) Choose(_ context.Context, w model.Wish) (model.Choice, error) {
	var in struct {
		Name     string `json:"model_name"`
		Thinking bool   `json:"thinking_enabled"`
		Effort   string `json:"reasoning_effort"`
	}
	if err := json.Unmarshal(w.Configurable, &in); err != nil {
		return model.Choice{}, err
	}
	c := model.Choice{Model: s.models[0]}
	if in.Name != "" {
		i := slices.IndexFunc(s.models, func(m named) bool { return m.name == in.Name })
		switch {
		case i >= 0:
			c.Model = s.models[i]
		case !slices.Contains(w.Inherited, "model_name"):
			return c, &model.WishError{Setting: "model_name", Reason: fmt.Sprintf("there is no model %q", in.Name)}
		default:
			c.Warnings = []model.Warning{{Code: "unknown_model", Message: in.Name + " does not exist"}}
		}
	}
	if in.Thinking {
		if c.Model.(named).thinking {
			c.Thinking = model.Thinking{On: true, Effort: in.Effort}
		} else {
			c.Warnings = append(c.Warnings, model.Warning{Code: "no_thinking", Message: "it cannot"})
		}
	}
	return c, nil
}

// agents are custom agents by name.
type agents []lead.Definition

func (a agents) Agent(_ context.Context, _, name string) (lead.Definition, error) {
	for _, d := range a {
		if d.Name == name {
			return d, nil
		}
	}
	return lead.Definition{}, lead.ErrNoAgent
}

func (a agents) Agents(context.Context, string) ([]lead.Definition, error) { return a, nil }

func testShelf() shelf {
	m := scripted.Always(scripted.Say("ok"))
	return shelf{[]named{{m, "plain", false}, {m, "thinker", true}}}
}

func testTools() []tool.Tool {
	return []tool.Tool{
		risky{name: "search", risk: tool.Reads}, risky{name: "read_file", risk: tool.Reads, group: "files"},
		risky{name: "write_file", risk: tool.Reads | tool.Writes, group: "files"}, risky{name: "bash", risk: tool.Executes, group: "sandbox"},
	}
}

func yes() *bool { b := true; return &b }
func no() *bool  { b := false; return &b }

// assemble is a factory's work on the parts of these tests.
func assemble(t testing.TB, r lead.Run, opt lead.Options) (lead.Assembled, error) {
	t.Helper()
	w := newWorld(t, nil, "", opt, testTools()...)
	w.base.Models = testShelf()
	w.base.System = "Be kind."
	return w.factory.Assemble(t.Context(), r, w.base)
}

// names are those of tools, middleware or sections that are on.
func on[T any](list []T, name func(T) (string, bool)) string {
	var out []string
	for _, v := range list {
		if n, ok := name(v); ok {
			out = append(out, n)
		}
	}
	return strings.Join(out, " ")
}

func summary(a lead.Assembled) string {
	var warned []string
	for _, w := range a.Warnings {
		warned = append(warned, w.Code)
	}
	return fmt.Sprintf("%s think=%v%s | %s | %s | %s | subs: %s | warned: %s", a.Model.Name, a.Model.Thinking.On, a.Model.Thinking.Effort,
		on(a.Tools, func(t lead.Tool) (string, bool) { return t.Name, t.Off == "" }),
		on(a.Middleware, func(w lead.Ware) (string, bool) { return w.Name, w.Off == "" }),
		on(a.Prompt, func(s lead.Section) (string, bool) { return s.Name, true }),
		on(a.Subagents, func(s lead.Subagent) (string, bool) { return s.Name, true }), strings.Join(warned, " "))
}

// Every row is a run; the golden file says which agent it gets, and why. It is the specification of the factory: read its
// difference as you would read code.
func TestARunGetsTheAgentThatItsSettingsItsCustomAgentAndItsModelMake(t *testing.T) {
	temp := 0.5
	custom := agents{
		{Name: "plainly"},
		{Name: "writer", Description: "Writes.", Soul: "You love commas.", Model: "thinker", Groups: []string{"files"}, Thinking: no()},
		{Name: "reader", Groups: []string{"files:read"}, Model: "gone", Thinking: yes(), Effort: "low", Temp: &temp},
		{Name: "idler", Groups: []string{}},
	}
	asks := lead.Rules{List: []lead.Rule{{Tool: "bash", Do: lead.Deny}, {Risk: tool.Writes, Do: lead.Ask}}}
	var b strings.Builder
	for _, settings := range []string{
		`{}`, `{"model_name":"thinker"}`, `{"model":"thinker","thinking_enabled":false}`, `{"thinking_enabled":true}`,
		`{"model":"thinker","reasoning_effort":"high"}`, `{"model":"nonesuch"}`, `{"model":"plain","model_name":"thinker"}`,
		`{"is_plan_mode":true}`, `{"subagent_enabled":true,"max_concurrent_subagents":9,"max_total_subagents":0}`,
		`{"non_interactive":true}`, `{"disable_clarification":true}`,
		`{"is_plan_mode":true,"subagent_enabled":true,"model":"thinker"}`,
	} {
		for _, name := range []string{"", "plainly", "writer", "reader", "idler"} {
			for i, rules := range []lead.Rules{{}, asks} {
				if i == 1 && name == "reader" {
					continue
				}
				with := settings
				if name != "" {
					with = strings.Replace(with, "{", fmt.Sprintf(`{"agent_name":%q,`, name), 1)
					with = strings.Replace(with, ",}", "}", 1)
				}
				a, err := assemble(t, lead.Run{ID: "run", Configurable: json.RawMessage(with)}, lead.Options{Agents: custom, Rules: rules})
				if err != nil {
					t.Fatalf("%s: %v", with, err)
				}
				fmt.Fprintf(&b, "%s rules=%d\n    %s\n    why: %s; limits %d/%d; prompt %d bytes\n", with, i, summary(a), a.Model.Why, a.Limits.Concurrent, a.Limits.Count, len(a.System()))
				if g, err := agent.New(a.Options()); err != nil || g == nil {
					t.Fatalf("%s: it does not make a graph: %v", with, err)
				}
			}
		}
	}
	golden(t, "assembled.txt", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got == string(want) {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s, line %d:\n got %s\nwant %s\n(write it anew with -update)", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s has %d lines, got %d (write it anew with -update)", path, len(w), len(g))
}

// The order of everything that the lead agent and its sub-agents can have.
func TestTheOrderOfTheMiddleware(t *testing.T) {
	temp := 0.5
	a, err := assemble(t, lead.Run{ID: "run", Configurable: json.RawMessage(`{"agent_name":"all","is_plan_mode":true,"subagent_enabled":true}`)}, lead.Options{
		Agents: agents{{Name: "all", Temp: &temp}}, Rules: lead.Rules{List: []lead.Rule{{Tool: "bash", Do: lead.Ask}}},
		Middleware: []agent.Middleware{{Name: "operators_own"}},
		Skills:     &middleware.SkillOptions{Tool: "load_skill", List: func(context.Context, *agent.Step) ([]middleware.Skill, error) { return nil, nil }},
		May:        middleware.Rules{DenyNames: []string{"x"}}.May, Budget: 1000, Deferred: testTools()[:1],
	})
	if err != nil {
		t.Fatal(err)
	}
	o := a.Options()
	text := "lead\n" + agent.Order(append(o.Middleware, agent.Builtin(o)...))
	for _, s := range o.Team.Members[:1] {
		text += "\nsub-agent\n" + agent.Order(append(s.Options.Middleware, agent.Builtin(s.Options)...))
	}
	golden(t, "order.txt", text)
}

func TestWhatIsWrongInASettingIsRefusedByItsName(t *testing.T) {
	for settings, want := range map[string]string{
		`{"model_name":7}`: "model_name", `{"is_plan_mode":"yes"}`: "is_plan_mode", `{"max_total_subagents":"many"}`: "max_total_subagents",
		`{"agent_name":"nobody"}`: "agent_name", `{"thinking_enabled":1}`: "thinking_enabled", `{"model":"nonesuch"}`: "model_name",
	} {
		w := newWorld(t, nil, settings, lead.Options{})
		w.base.Models, w.run.ID = testShelf(), ""
		_, err := w.factory.Graph(t.Context(), w.run, w.base)
		var wish *model.WishError
		if !errors.As(err, &wish) || wish.Setting != want {
			t.Errorf("%s: got %v, want a mistake in %s", settings, err, want)
		}
	}
}

func TestAContextComesBeforeAConfigurableAndARequestBeforeItsAssistant(t *testing.T) {
	for name, c := range map[string]struct {
		run  lead.Run
		want string
	}{
		"the context":   {lead.Run{Configurable: json.RawMessage(`{"model":"plain"}`), Context: json.RawMessage(`{"model":"thinker"}`)}, "test/thinker: the run asks for it"},
		"the assistant": {lead.Run{Configurable: json.RawMessage(`{"model":"thinker"}`), Inherited: []string{"model"}}, "test/thinker: the run's assistant has it"},
		"both":          {lead.Run{Configurable: json.RawMessage(`{"model":"plain"}`), Inherited: []string{"model"}, Context: json.RawMessage(`{"model":"thinker"}`)}, "test/thinker: the run asks for it"},
		"a gone one":    {lead.Run{Configurable: json.RawMessage(`{"model":"gone"}`), Inherited: []string{"model"}}, "test/plain: the default, since gone cannot be had"},
		"no object":     {lead.Run{Context: json.RawMessage(`"text"`)}, "test/plain: it is the default"},
		"null":          {lead.Run{Configurable: json.RawMessage(`{"model":"thinker"}`), Context: json.RawMessage(`{"model":null}`)}, "test/thinker: the run asks for it"},
	} {
		a, err := assemble(t, c.run, lead.Options{})
		if got := a.Model.Name + ": " + a.Model.Why; err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		}
	}
}

// A prompt that is the same for all turns of a thread can be cached by the provider.
func TestEqualSettingsMakeEqualPrompts(t *testing.T) {
	r := lead.Run{Configurable: json.RawMessage(`{"is_plan_mode":true,"subagent_enabled":true}`)}
	a, err := assemble(t, r, lead.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := assemble(t, r, lead.Options{})
		if err != nil || again.System() != a.System() || summary(again) != summary(a) {
			t.Fatalf("got %q, %v; want %q", again.System(), err, a.System())
		}
	}
	if !strings.Contains(a.System(), "Be kind.") {
		t.Errorf("the operator's words are not in %q", a.System())
	}
}
