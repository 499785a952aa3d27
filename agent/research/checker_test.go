package research_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/agent/research"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
)

// told is a report with one claim that words confirm, one that they doubt, and two that they cannot decide.
const told = "# Rivers\n\nThe Nile is 6650 km long[^1]. The Nile is 9000 km long[^1]. The Mediterranean Sea takes up what the Nile carries along[^2]. 尼罗河很长[^1].\n"

func verified(t *testing.T, w *world, judge *scripted.Model, settings research.Settings) (graph.Result, error) {
	t.Helper()
	c, l := usual(), rivers()
	c.reporter = always(scripted.Say(told))
	c.researcher = looksUp("The Nile is 6650 km long [^1]. It ends in a sea [^2].")
	settings.AutoAccept = true
	g, err := research.New(research.Options{Model: c.model(), Checker: judge, Tools: setOf(t, l.tool()), Settings: settings, Policy: agent.Policy{Tries: 2, Backoff: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return w.say(t.Context(), g, "How long are the Nile and the Danube?")
}

// What a model is asked is what words cannot decide, and what it says is added: nothing of the report changes.
func TestAModelJudgesWhatWordsCannotDecide(t *testing.T) {
	var asked []model.Request
	judge := scripted.New(func(req model.Request) scripted.Script {
		asked = append(asked, req)
		return scripted.Say("```json\n" + `{"verdicts":[{"claim":1,"holds":false,"why":"It says that the Nile *ends* there.\n\nNothing else."},{"claim":2,"holds":true}]}` + "\n```")
	})
	w := newWorld()
	res, err := verified(t, w, judge, research.Settings{})
	if err != nil {
		t.Fatalf("%v\n%s", err, w.dump())
	}
	w.lawful(t)
	if len(asked) != 1 {
		t.Fatalf("it was asked %d times, want once", len(asked))
	}
	said := asked[0].Messages[0].Text()
	for _, want := range []string{`<claim number="1" passages="2">` + "\nThe Mediterranean Sea takes up", `<claim number="2" passages="1">` + "\n尼罗河很长", "The Nile ends in the Mediterranean Sea."} {
		if !strings.Contains(said, want) {
			t.Errorf("it is not told %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "6650 km long\n</claim>") || strings.Contains(said, "9000") {
		t.Errorf("it is asked about what words decide:\n%s", said)
	}
	report := value[string](t, res, "final_report")
	before, section, ok := strings.Cut(report, "\n\n## What a model says of the citations\n")
	if !ok || !strings.Contains(before, "The Mediterranean Sea takes up what the Nile carries along[^2]. 尼罗河很长[^1].") || !strings.Contains(before, "## References") {
		t.Fatalf("the report is\n%s", report)
	}
	const line = "- ⚠ number 2: “The Mediterranean Sea takes up what the Nile carries along” (It says that the Nile ends there. Nothing else.)\n"
	if !strings.Contains(section, "whether 2 of the citations are right. scripted was asked, and confirmed 1.\n") || !strings.HasSuffix(section, line) || strings.Contains(section, "很长") {
		t.Errorf("the section is\n%s", section)
	}
	found := value[[]research.Doubt](t, res, "doubts")
	if len(found) != 2 || found[0].Reason != research.NoNumber || found[1].Reason != research.NotSaid || !slices.Equal(found[1].Numbers, []int{2}) || found[1].Detail != "It says that the Nile ends there. Nothing else." {
		t.Errorf("doubts %+v", found)
	}
	msgs := value[[]item.Message](t, res, "messages")
	if last := msgs[len(msgs)-1]; last.Name != research.NodeChecker || !strings.HasSuffix(report, last.Text()) {
		t.Errorf("the last message is %+v", last)
	}
}

func TestAJudgementIsReadInChinese(t *testing.T) {
	judge := scripted.Always(scripted.Say(`{"verdicts":[{"claim":2,"holds":false}]}`))
	res, err := verified(t, newWorld(), judge, research.Settings{Locale: "zh-CN"})
	if err != nil {
		t.Fatal(err)
	}
	report := value[string](t, res, "final_report")
	_, section, ok := strings.Cut(report, "\n\n## 模型对引用的判断\n")
	if !ok || !strings.Contains(section, "- ⚠ 编号 2: “The Mediterranean Sea takes up what the Nile carries along” (没有作出判断)\n") || !strings.Contains(section, "- ⚠ 编号 1: “尼罗河很长” (没有说明理由)\n") {
		t.Errorf("the report is\n%s", report)
	}
	if found := value[[]research.Doubt](t, res, "doubts"); len(found) != 3 {
		t.Errorf("doubts %+v", found)
	}
}

// A checker that cannot be asked, or says nothing that can be read, costs nobody the report.
func TestAReportStandsWithoutItsJudge(t *testing.T) {
	for name, script := range map[string]scripted.Script{
		"fails":   scripted.Fail(&model.Error{Class: model.BadRequest, Message: "no such model"}),
		"rambles": scripted.Say("I think that all of these are fine."),
	} {
		w := newWorld()
		res, err := verified(t, w, scripted.Always(script), research.Settings{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		w.lawful(t)
		if report := value[string](t, res, "final_report"); !strings.HasPrefix(report, "# Rivers") || strings.Contains(report, "What a model says") {
			t.Errorf("%s: the report is\n%s", name, report)
		}
		if warned := eventsOf[event.Warned](w); len(warned) != 1 || warned[0].Code != "check_failed" {
			t.Errorf("%s: warnings %+v", name, warned)
		}
	}
}

// A process that dies at any record while the citations are judged leaves the same report as one that lives, and asks again only if
// the judgement was not recorded.
func TestAJudgementOutlivesACrash(t *testing.T) {
	judge := func(asked *int) *scripted.Model {
		return scripted.New(func(model.Request) scripted.Script {
			*asked++
			return scripted.Say(`{"verdicts":[{"claim":1,"holds":false,"why":"No."},{"claim":2,"holds":true}]}`)
		})
	}
	whole, n := newWorld(), 0
	want, err := verified(t, whole, judge(&n), research.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for left := whole.full - 8; left < whole.full; left++ {
		t.Run(fmt.Sprint(left), func(t *testing.T) {
			w, asked := newWorld(), 0
			w.restart(left)
			if _, err := verified(t, w, judge(&asked), research.Settings{}); !errors.Is(err, errDead) {
				t.Fatalf("it did not die: %v", err)
			}
			w.restart(-1)
			res, err := verified(t, w, judge(&asked), research.Settings{})
			if err != nil {
				t.Fatalf("%v\n%s", err, w.dump())
			}
			w.lawful(t)
			section := func(res graph.Result) string {
				_, after, _ := strings.Cut(value[string](t, res, "final_report"), "## What a model says")
				return after + fmt.Sprint(value[[]research.Doubt](t, res, "doubts"))
			}
			if got, want := section(res), section(want); got != want || !strings.Contains(got, "(No.)") {
				t.Errorf("got %s\nwant %s", got, want)
			}
			if asked > 2 {
				t.Errorf("the judge was asked %d times", asked)
			}
		})
	}
}

// finds is a search that always finds one passage.
func finds(b item.Block) tool.Tool {
	return tool.FuncOfCall("search", "Searches.", func(context.Context, tool.Call, struct {
		Query string `json:"query"`
	}) (item.ToolResult, error) {
		return item.ToolResult{Content: []item.Block{b}, Blocks: []item.Block{b}}, nil
	})
}

// The references tell who wrote a source and when, in both languages.
func TestReferencesSayWhoWroteASourceAndWhen(t *testing.T) {
	for locale, want := range map[string]string{
		"en-US": "[^1]: Rivers, by Maria Huber, rivers.example, 2024-05-31, <https://rivers.example/nile>, read ",
		"zh-CN": "[^1]: Rivers，作者：Maria Huber, rivers.example, 2024-05-31, <https://rivers.example/nile>, 查阅于 ",
	} {
		c, w := usual(), newWorld()
		block := item.Block{Type: item.TextBlock, Ref: 1, Text: "The Nile is 6650 km long.", Name: "Rivers — rivers.example, 2024-05-31", URL: "https://rivers.example/nile", Author: "Maria Huber", Date: "2024-05-31"}
		res, err := w.say(t.Context(), graphOf(t, c.model(), research.Settings{AutoAccept: true, Locale: locale}, finds(block)), "How long is the Nile?")
		if err != nil {
			t.Fatalf("%v\n%s", err, w.dump())
		}
		if report := value[string](t, res, "final_report"); !strings.Contains(report, want) {
			t.Errorf("%s: want %q in\n%s", locale, want, report)
		}
		refs := value[[]research.Reference](t, res, "citations")
		if len(refs) != 1 || refs[0].Title != "Rivers" || refs[0].Author != "Maria Huber" || refs[0].Date != "2024-05-31" || refs[0].Site != "rivers.example" {
			t.Errorf("citations %+v", refs)
		}
	}
}
