package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/middleware"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/bench/cost"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

// everything is the whole chain as an agent would have it, with nothing that goes wrong.
func everything() []agent.Middleware {
	skills := middleware.SkillOptions{List: func(context.Context, *agent.Step) ([]middleware.Skill, error) {
		return []middleware.Skill{{Name: "report", Description: "Writes reports.", Path: "/skills/report"}}, nil
	}}
	return []agent.Middleware{
		middleware.Sanitise(middleware.SanitiseOptions{}),
		middleware.Outputs(middleware.OutputOptions{}),
		middleware.SkillTools(skills),
		middleware.ToolErrors(middleware.ErrorOptions{}),
		middleware.Authorise(middleware.AuthOptions{May: middleware.Rules{DenyNames: []string{"x"}}.May}),
		middleware.AuditShell(middleware.AuditOptions{}),
		middleware.Summarise(middleware.SummaryOptions{Model: scripted.Always(scripted.Say("short")), Trigger: 1 << 20}),
		middleware.Skills(skills),
		middleware.Uploads(middleware.UploadOptions{}),
		middleware.Remind(middleware.ReminderOptions{Memory: func(context.Context, *agent.Step) (middleware.Remembered, error) {
			return middleware.Remembered{Text: "Likes tea."}, nil
		}}),
		middleware.ViewImages(middleware.ImageOptions{}),
		middleware.Durable(middleware.DurableOptions{Text: func(*agent.Step) string { return "" }}),
		middleware.Pursue(middleware.GoalOptions{Model: scripted.Always(scripted.Say("short"))}),
		middleware.Defer(middleware.DeferOptions{Tools: many(30, "mail")}),
		middleware.LimitSubs(middleware.SubOptions{}),
		middleware.StopLoops(middleware.LoopOptions{}),
		middleware.Budget(middleware.BudgetOptions{Tokens: 1 << 30}),
		middleware.Usage(middleware.UsageOptions{}),
		middleware.RetryEmpty(middleware.EmptyOptions{}),
		middleware.ExplainStops(middleware.StopOptions{}),
	}
}

// conversing returns a function that makes one run of so many rounds of model and tool, behind so many messages.
func conversing(t testing.TB, list []agent.Middleware, messages, rounds int) func() {
	t.Helper()
	var in []item.Message
	for i := range messages / 2 {
		in = append(in, item.UserText(fmt.Sprint("u", i), "What do you think of rivers <system-reminder>?"), item.AssistantText(fmt.Sprint("a", i), "They flow."))
	}
	in = append(in, item.UserText("last", "And of lakes?"))
	input, err := json.Marshal(map[string]any{"messages": in})
	if err != nil {
		t.Fatal(err)
	}
	used := item.Usage{InputTokens: 100, OutputTokens: 10} // or the model would count all words of the request
	m := scripted.New(func(req model.Request) scripted.Script {
		if n := len(req.Messages) - len(in); n >= 2*rounds {
			return scripted.Words("ok").Usage(used)
		} else {
			return scripted.Call("", "say", fmt.Sprintf(`{"s":"%d"}`, n)).Usage(used)
		}
	})
	g := graphOf(t, agent.Options{Model: m, Tools: toolset(t, echo("say")), Middleware: list})
	return func() {
		mem := graph.NewMemory()
		if _, err := g.Run(context.Background(), graph.Execution{Thread: "t", Run: "r", Input: input, Checkpoints: mem, Recorder: mem}); err != nil {
			t.Fatal(err)
		}
	}
}

// What the whole chain costs a model call beyond the bare loop: in a whole run, and what one call more costs in a run that is longer. Only
// the first may depend on how long the thread is, since a run looks at each message once.
func TestTheWholeChainCostsLittle(t *testing.T) {
	const rounds = 10
	over := func(messages, rounds int) float64 {
		bare, whole := cost.Of(1, conversing(t, nil, messages, rounds)), cost.Of(1, conversing(t, everything(), messages, rounds))
		return whole.Allocs - bare.Allocs
	}
	few, many := over(20, rounds), over(2000, rounds)
	if each := few / (rounds + 1); each > 200 {
		t.Errorf("at 20 messages the chain allocates %.0f times a model call beyond the bare loop, want at most 200", each)
	}
	fewMore, manyMore := (over(20, 2*rounds)-few)/rounds, (over(2000, 2*rounds)-many)/rounds
	if manyMore > fewMore*1.5+20 { // with one for each message it would be thousands more
		t.Errorf("a further call costs %.0f allocations at 2,000 messages and %.0f at 20, want the same", manyMore, fewMore)
	}
	t.Logf("at 20 messages %.0f allocations a call, %.0f for a further one; at 2,000 messages %.0f and %.0f", few/(rounds+1), fewMore, many/(rounds+1), manyMore)
}

func TestEachMessageIsLookedAtOnceInARun(t *testing.T) {
	var mu sync.Mutex
	looks := map[string]int{}
	list := everything()
	for i := range list {
		if list[i].Name == "summary" {
			list[i] = middleware.Summarise(middleware.SummaryOptions{Trigger: 1 << 20, Tokens: func(m item.Message) int {
				mu.Lock()
				defer mu.Unlock()
				looks[m.ID]++
				return middleware.Tokens(m)
			}})
		}
	}
	conversing(t, list, 100, 20)()
	for id, n := range looks {
		if n != 1 {
			t.Errorf("message %s was looked at %d times", id, n)
		}
	}
	if len(looks) < 140 {
		t.Errorf("%d messages were looked at, want those of the thread and of the run", len(looks))
	}
}

// BenchmarkWholeChain is read by internal/bench.
func BenchmarkWholeChain(b *testing.B) {
	const rounds = 20
	for _, messages := range []int{20, 1000} {
		for _, c := range []struct {
			name string
			list []agent.Middleware
		}{{"bare", nil}, {"whole", everything()}} {
			b.Run(fmt.Sprintf("messages=%d/chain=%s", messages, c.name), func(b *testing.B) {
				run := conversing(b, c.list, messages, rounds)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				start := cpu(b)
				for b.Loop() {
					run()
				}
				used := cpu(b) - start
				runtime.ReadMemStats(&after)
				calls := float64(b.N) * (rounds + 1)
				b.ReportMetric(float64(used.Nanoseconds())/calls, "ns/call")
				b.ReportMetric(float64(after.Mallocs-before.Mallocs)/calls, "allocs/call")
			})
		}
	}
}

// cpu is the processor time that the process has used: on a machine that others use too, it says more than the clock.
func cpu(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
