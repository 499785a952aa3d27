package offline_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/offline"
)

const planSchema = `{"type":"object","properties":{"title":{"type":"string"},"has_enough_context":{"type":"boolean"},"steps":{"type":"array","items":{"type":"object","properties":{"title":{"type":"string"},"step_type":{"type":"string"}}}}}}`

const nile = "<referencable-item>\nID: 3\nSource: Rivers › The Nile (rivers.md#the-nile, line 4)\n\nThe Nile is 6650 km long. The Nile is a long river, 6650 km long in all. It ends in the Mediterranean Sea.\n</referencable-item>\n"

// told is what the model says to a task, and the tool that it has called.
func told(t *testing.T, req model.Request) (text, tool, arguments string) {
	t.Helper()
	for part, err := range offline.New(offline.Options{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch p := part.(type) {
		case model.Text:
			text += p.Text
		case model.ToolCall:
			tool += p.Name
			arguments += p.Arguments
		}
	}
	return text, tool, arguments
}

func task(text string) []item.Message { return []item.Message{item.UserText("u", text)} }

func TestAPlanIsMadeOfTheQuestionAndOfHeadings(t *testing.T) {
	type plan struct {
		Enough bool `json:"has_enough_context"`
		Steps  []struct {
			Title string
			Type  string `json:"step_type"`
		}
	}
	for _, c := range []struct {
		told   string
		steps  []string
		enough bool
	}{
		{"<question>\nHow long is the Nile?\n</question>\n<background>\n" + nile + "</background>", []string{"How long is the Nile?", "Rivers › The Nile"}, false},
		{"<question>\nHow long is the Nile, and who discovered it?\n</question>", []string{"How long is the Nile, and who discovered it?", "How long is the Nile?", "Who discovered it?"}, false},
		{"<question>\nHow long is the Nile?\n</question>\n<background>\n" + nile + "</background>\n<feedback>\nalso its floods\n</feedback>", []string{"How long is the Nile?", "also its floods", "Rivers › The Nile"}, false},
		{"<question>\nHow long is the Nile?\n</question>\n<background>\n" + nile + "</background>\n<feedback>\nnothing about rivers\n</feedback>", []string{"How long is the Nile?"}, false},
		{"<question>\n尼罗河有多长，谁发现了它？\n</question>", []string{"尼罗河有多长，谁发现了它？", "尼罗河有多长？", "谁发现了它？"}, false},
		{"<question>\nHow long is the Nile?\n</question>\n<finding step=\"s1\" title=\"a\">\nAbout Nile.\n\n“The Nile is long.” [^3]\n</finding>", nil, true},
		{"<question>\nWho discovered the Nile?\n</question>\n<finding step=\"s1\" title=\"a\">\nAbout it.\n\n“The Nile is long.” [^3]\n\nI found nothing about discovered.\n</finding>", []string{"discovered"}, false},
		{"<question>\nWho discovered the Nile?\n</question>\n<finding step=\"s1\" title=\"a\">\n“The Nile is long.” [^3]\n</finding>\n<failed step=\"s2\" title=\"discovered\">\nno\n</failed>", nil, true},
	} {
		text, _, _ := told(t, model.Request{Messages: task(c.told), Schema: json.RawMessage(planSchema)})
		var p plan
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var titles []string
		for _, s := range p.Steps {
			titles = append(titles, s.Title)
		}
		if strings.Join(titles, "|") != strings.Join(c.steps, "|") || p.Enough != c.enough {
			t.Errorf("told %q\ngot %q, enough %v; want %q, %v", c.told, titles, p.Enough, c.steps, c.enough)
		}
	}
}

func TestAReportQuotesEachThingOnceAndSaysWhatWasNotFound(t *testing.T) {
	text, _, _ := told(t, model.Request{Messages: task("<report>\n<question>\nHow long is the Nile, and who discovered it?\n</question>\n<title>\nThe Nile\n</title>\n" +
		"<finding step=\"s1\" title=\"x\">\n“The Nile is 6650 km long.” [^3]\n</finding>\n<failed step=\"s2\" title=\"Its discovery\">\nno key\n</failed>\n<passages>\n" + nile + "</passages>\n</report>")})
	for _, m := range regexp.MustCompile(`“([^”]+)” \[\^(\d+)\]`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(nile, m[1]) || m[2] != "3" {
			t.Errorf("%q is not in the passage", m[0])
		}
	}
	if n := strings.Count(text, "6650 km"); n != 1 {
		t.Errorf("the length is told %d times:\n%s", n, text)
	}
	for _, want := range []string{"# The Nile\n", "No language model was used", "## Not found in the sources", "mentions discovered", "Its discovery (no key)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

func TestWhatMustBeLookedUpIsHandedOver(t *testing.T) {
	tools := []model.Tool{{Name: "handoff_to_planner", Schema: json.RawMessage(`{"type":"object"}`)}}
	if text, tool, args := told(t, model.Request{Messages: task("How long is the Nile?"), Tools: tools}); text != "" || tool != "handoff_to_planner" || !strings.Contains(args, `"research_topic":"How long is the Nile?"`) {
		t.Errorf("got %q, %s %s", text, tool, args)
	}
	if text, tool, _ := told(t, model.Request{Messages: task("Hello!"), Tools: tools}); tool != "" || !strings.HasPrefix(text, "Hello!") {
		t.Errorf("got %q, %s", text, tool)
	}
}

func TestATaskIsSearchedAgainWithFewerWords(t *testing.T) {
	conv := append(task("<question>\nHow long is the Nile, and who discovered its sources?\n</question>"),
		item.Message{Role: item.Assistant, ToolCalls: []item.ToolCall{{CallID: "1", Name: "search", Arguments: `{"query":"long Nile discovered sources"}`}}},
		item.Message{Role: item.Tool, CallID: "1", Name: "search", Content: item.Text(`No passage of the documents matches "x". No document has: discovered, sources. Try other or fewer words.`)})
	tools := []model.Tool{{Name: "search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)}}
	if _, tool, args := told(t, model.Request{Messages: conv, Tools: tools}); tool != "search" || args != `{"query":"long Nile"}` {
		t.Errorf("got %s %s", tool, args)
	}
}
