package lead_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// What a run pays for being assembled.
func BenchmarkAssemble(b *testing.B) {
	for name, settings := range map[string]string{"plain": `{}`, "all": `{"is_plan_mode":true,"subagent_enabled":true}`} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, nil, "", lead.Options{}, testTools()...)
			w.base.Models = testShelf()
			w.run.Configurable = json.RawMessage(settings)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.factory.Graph(b.Context(), w.run, w.base); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// everything is what an installation can have.
func everything() lead.Options {
	var deferred []tool.Tool
	for i := range 20 {
		deferred = append(deferred, tool.Func(fmt.Sprint("mail_", i), "Mails.", func(context.Context, text) (string, error) { return "", nil }))
	}
	return lead.Options{
		Agents: agents{{Name: "cool"}}, Keeper: &keeper{}, Deferred: deferred, Budget: 1 << 30,
		Rules: lead.Rules{List: []lead.Rule{{Tool: "unheard-of", Do: lead.Ask}}},
		May:   middleware.Rules{DenyNames: []string{"unheard-of"}}.May,
		Skills: &middleware.SkillOptions{Tool: "load_skill", List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
			return []middleware.Skill{{Name: "report", Description: "Writes reports.", Path: "/skills/report", Tools: []string{"say"}}}, nil
		}},
		Memory: func(context.Context, *agent.Step) (middleware.Remembered, error) {
			return middleware.Remembered{Text: "Likes tea."}, nil
		},
		Loops: middleware.LoopOptions{ToolWarn: 1000, ToolStop: 2000},
	}
}

// conversing returns a function that makes one run of so many rounds of model and tool behind so many messages: of the lead agent with all that
// it can have, or of the bare loop. Assembling is not in it.
func conversing(t testing.TB, whole bool, messages, rounds int) func() {
	t.Helper()
	var in []item.Message
	for i := range messages / 2 {
		in = append(in, item.UserText(fmt.Sprint("u", i), "What do you think of rivers?"), item.AssistantText(fmt.Sprint("a", i), "They flow."))
	}
	in = append(in, item.UserText("last", "And of lakes?"))
	input, err := json.Marshal(map[string]any{"messages": in})
	if err != nil {
		t.Fatal(err)
	}
	used := item.Usage{InputTokens: 100, OutputTokens: 10} // or the model would count all words of the request
	m := scripted.New(func(req model.Request) scripted.Script {
		n := 0
		for _, m := range req.Messages {
			if m.Role == item.Tool {
				n++
			}
		}
		if n >= rounds {
			return scripted.Words("ok").Usage(used)
		}
		return scripted.Call("", "say", fmt.Sprintf(`{"s":"%d"}`, n)).Usage(used)
	})
	say := tool.Func("say", "Says.", func(_ context.Context, in text) (string, error) { return in.S, nil })
	w := newWorld(t, m, `{"is_plan_mode":true,"subagent_enabled":true}`, everything(), append(testTools(), say)...)
	w.base.Background = nowhere{}
	g, err := w.factory.Graph(t.Context(), w.run, w.base)
	if !whole {
		set, failed := tool.NewSet(say)
		if failed != nil {
			t.Fatal(failed)
		}
		g, err = agent.New(agent.Options{Name: "agent", Model: m, Tools: set})
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		mem := graph.NewMemory()
		if _, err := g.Run(context.Background(), graph.Execution{Thread: "t", Run: "r", Input: input, Checkpoints: mem, Recorder: mem}); err != nil {
			t.Fatal(err)
		}
	}
}

// What all that the lead agent can have costs a model call beyond the bare loop: little over a run of some length, with what a run costs once for its
// tools and what it looks up; and of a further call the same, however long the thread is, since a run looks at each message once.
func TestACallOfTheWholeLeadAgentCostsLittle(t *testing.T) {
	const rounds = 20
	over := func(messages, rounds int) float64 {
		return cost.Of(1, conversing(t, true, messages, rounds)).Allocs - cost.Of(1, conversing(t, false, messages, rounds)).Allocs
	}
	few, many := over(20, rounds), over(400, rounds)
	each, eachMany := (over(20, 2*rounds)-few)/rounds, (over(400, 2*rounds)-many)/rounds
	t.Logf("a further call: %.0f allocations at 20 messages, %.0f at 400; once a run: %.0f and %.0f", each, eachMany, few-each*(rounds+1), many-eachMany*(rounds+1))
	if mean := few / (rounds + 1); mean > 200 {
		t.Errorf("at 20 messages a model call allocates %.0f times beyond the bare loop, want at most 200", mean)
	}
	if eachMany > each*1.5+20 { // with one for each message it would be hundreds more
		t.Errorf("a further call costs %.0f allocations at 400 messages and %.0f at 20, want the same", eachMany, each)
	}
}
