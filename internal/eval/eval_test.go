package eval_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/eval"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answers is how a model plays the roles that are judged.
type answers struct {
	plans  []string // one after the other
	report string
}

var rivers = []eval.Question{
	{ID: "nile", Text: "How long is the Nile, and where does it end?", Expect: [][]string{{"6650 km", "6,650 km"}, {"Mediterranean"}}, Sources: []string{"nile.md"}},
}

func (a answers) runtime(t *testing.T) *tributary.Runtime {
	t.Helper()
	plans := 0
	play := scripted.New(func(req model.Request) scripted.Script {
		last := req.Messages[len(req.Messages)-1]
		switch {
		case strings.HasPrefix(req.System, "You are the first"):
			return scripted.Call("h1", "handoff_to_planner", `{"research_topic":"How long is the Nile?"}`)
		case strings.HasPrefix(req.System, "You plan research"):
			plans++
			return scripted.Say(a.plans[min(plans, len(a.plans))-1])
		case strings.HasPrefix(req.System, "You find out"):
			if last.Role == item.Tool {
				return scripted.Say("The Nile is 6650 km long. [^1]")
			}
			return scripted.Call("c1", "search", `{"query":"Nile"}`)
		case strings.HasPrefix(req.System, "You write the report"):
			return scripted.Say(a.report)
		}
		return scripted.Fail(&model.Error{Class: model.BadRequest, Message: "nobody plays this role"})
	})
	search := tool.FuncOfCall("search", "Searches.", func(context.Context, tool.Call, struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		b := item.Block{Type: item.TextBlock, Ref: 1, Text: "The Nile is 6650 km long. It ends in the Mediterranean Sea.", Name: "Nile", URL: "nile.md"}
		return item.ToolResult{Blocks: []item.Block{b}, Content: []item.Block{b}}, nil
	})
	builder, err := tributary.Research(tributary.ResearchOptions{
		Models: tributary.OneModel(play), Tools: []tool.Tool{search}, Retry: tributary.Retry{Backoff: time.Millisecond}, Settings: research.Settings{MaxPlanIterations: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: t.TempDir(), Graphs: map[string]tributary.Builder{tributary.ResearchGraph: builder}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rt
}

const (
	goodPlan   = `{"title":"Nile","steps":[{"title":"Its length","step_type":"research"},{"title":"Its end","step_type":"research"}]}`
	goodReport = "# Nile\n\nThe Nile is 6650 km long[^1]. It ends in the Mediterranean Sea[^1].\n"
)

// Whatever gets worse in what a model says shows as a worse score, and in the place where it got worse.
func TestWorseAnswersHaveWorseScores(t *testing.T) {
	score := func(a answers) eval.Score {
		return eval.All(t.Context(), a.runtime(t), rivers, nil, nil)[0]
	}
	good := score(answers{[]string{goodPlan}, goodReport})
	if good.Plan != 1 || good.Coverage != 1 || good.Truth != 1 || good.Citations != 2 || good.Tokens == 0 || good.Seconds <= 0 || good.Error != "" {
		t.Fatalf("a good answer is scored %+v", good)
	}
	for name, c := range map[string]struct {
		answers
		worse func(eval.Score) float64
		want  float64
	}{
		"a plan that must be asked for again": {answers{[]string{"I will look into it.", goodPlan}, goodReport}, func(s eval.Score) float64 { return s.Plan }, 0.5},
		"two steps that are the same": {
			answers{[]string{`{"title":"Nile","steps":[{"title":"Its length"},{"title":"its  length"}]}`}, goodReport}, func(s eval.Score) float64 { return s.Plan }, 0.5,
		},
		"half of the answer":      {answers{[]string{goodPlan}, "# Nile\n\nThe Nile is 6650 km long[^1].\n"}, func(s eval.Score) float64 { return s.Coverage }, 0.5},
		"a false citation":        {answers{[]string{goodPlan}, goodReport + "\nThe Nile is 7000 km long[^1]. It has 12 dams[^1].\n"}, func(s eval.Score) float64 { return s.Truth }, 0.5},
		"no citation":             {answers{[]string{goodPlan}, strings.ReplaceAll(goodReport, "[^1]", "")}, func(s eval.Score) float64 { return s.Truth }, 0},
		"what was not read":       {answers{[]string{goodPlan}, strings.ReplaceAll(goodReport, "[^1]", "[^7]")}, func(s eval.Score) float64 { return s.Truth }, 0},
		"nothing that is a plan":  {answers{[]string{"no"}, goodReport}, func(s eval.Score) float64 { return s.Plan + s.Coverage + s.Truth }, 0},
		"a report without a word": {answers{[]string{goodPlan}, ""}, func(s eval.Score) float64 { return s.Coverage + s.Truth }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := score(c.answers)
			if c.worse(got) != c.want || got.Total() >= good.Total() {
				t.Errorf("it is scored %+v (%.2f), want %.2f there and less than %.2f", got, got.Total(), c.want, good.Total())
			}
		})
	}
}

func TestAQuestionWithoutAnAnswerMustBeToldSo(t *testing.T) {
	q := eval.Question{ID: "x", Text: "What does it cost?", Unanswerable: true}
	plan := &event.PlanUpdated{}
	said := eval.Judge(q, eval.Outcome{Plan: plan, Report: "# Price\n\nThe price was not found in the sources.\n"})
	guessed := eval.Judge(q, eval.Outcome{Plan: plan, Report: "# Price\n\nIt costs ten dollars.\n\n## References\n\nnot found in the sources\n"})
	if said.Coverage != 1 || said.Truth != 1 || guessed.Coverage != 0 {
		t.Errorf("who says that there is none is scored %+v, who guesses %+v", said, guessed)
	}
}

func TestTheQuestionsThatAreBuiltIn(t *testing.T) {
	if n := len(eval.Questions()); n != 20 {
		t.Errorf("there are %d questions, want 20", n)
	}
	for bad, says := range map[string]string{
		`[]`: "no questions", `{}`: "cannot be read", `[{"id":"a","text":" "}]`: "needs an id and a text",
		`[{"id":"a","text":"x"}]`: "say what an answer must have",
		`[{"id":"a","text":"x","unanswerable":true},{"id":"a","text":"y","unanswerable":true}]`: "two questions",
	} {
		if _, err := eval.Read([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", bad, err, says)
		}
	}
}

func TestTheTableHasEveryQuestionAndTheMean(t *testing.T) {
	table := eval.Table{{ID: "a", Plan: 1, Coverage: 1, Truth: 1, Tokens: 10}, {ID: "b", Error: "it\nfailed"}}
	var out strings.Builder
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\na ", "\nb ", "it failed", "2 questions  0.50", "1 failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	raw, err := json.Marshal(table)
	var back struct {
		Questions []struct {
			ID    string
			Total float64
		}
		Mean struct {
			Total  float64
			Tokens int
		}
	}
	if err != nil || json.Unmarshal(raw, &back) != nil || len(back.Questions) != 2 || back.Mean.Total != 0.5 || back.Mean.Tokens != 10 {
		t.Errorf("%v: %s", err, raw)
	}
}
