package team_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire"
	"github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
)

var update = flag.Bool("update", false, "write the generated parts of docs/wire/team.md")

const wirePage = "../../../docs/wire/team.md"

// part is what stands between two marks of the page; with -update it is written there.
func part(t *testing.T, name, want string) {
	t.Helper()
	raw, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->\n"
	before, rest, ok := strings.Cut(string(raw), begin)
	got, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("the page has no part %q", name)
	}
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("docs/wire/team.md is not true any more; go test ./internal/wire/team -update writes:\n%s\nand it says\n%s", want, got)
	}
	if err := os.WriteFile(wirePage, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestThePageSaysWhichEventGivesWhichFrame(t *testing.T) {
	var b strings.Builder
	b.WriteString("| event | of an expert | of nobody |\n|---|---|---|\n")
	word := func(s string) string {
		if s == "" {
			return "–"
		}
		return "`" + s + "`"
	}
	for _, kind := range event.Kinds() {
		fate, ok := fates[kind]
		if !ok {
			t.Errorf("nobody has said what becomes of %s", kind)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", kind, word(fate[0]), word(fate[1]))
	}
	part(t, "fates", b.String())
}

// The page names every type of frame that there is.
func TestThePageNamesAllFrames(t *testing.T) {
	raw, err := os.ReadFile(wirePage)
	if err != nil {
		t.Fatal(err)
	}
	table, _, _ := strings.Cut(string(raw), "<!-- fates -->")
	for _, name := range team.Types() {
		if !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/wire/team.md has no %s", name)
		}
	}
}

func TestTheExampleOfThePageIsWhatIsSent(t *testing.T) {
	ben := told{"views.ben", event.TaskStarted{Agent: "ben", Title: "Views"}}
	plan := func(status string) told {
		return told{"", event.PlanUpdated{Plan: "plan-t1", Team: "t1", Steps: []event.PlanStep{{ID: "views", Title: "Views", Status: status, Kind: "phase", Member: "ada,ben"}}}}
	}
	events := []told{
		{"", event.RunStarted{Graph: "team", Attempt: 1}},
		{"", event.TeamFormed{Team: "t1", Title: "What does water do?", Lead: "lead", Members: []event.Member{{ID: "ada", Name: "Ada", Role: "rivers"}, {ID: "ben", Name: "Ben", Role: "seas"}}}},
		plan("running"),
		{"views.ada", event.TaskStarted{Agent: "ada", Title: "Views"}}, ben,
	}
	events = append(events, turn("views.ada", "m1", "", "Riv")...)
	events = append(events, turn("views.ben", "m2", item.FinishStop, "Seas ", "fall.")...)
	events = append(events, told{"views.ada", event.TurnVoided{Turn: "m1", Cause: "model_network"}}, told{"", event.Spoken{ID: "w1", To: "ben", Text: "Mind the tides."}})
	events = append(events, turn("views.ada", "m3", item.FinishStop, "Rivers ", "rise.")...)
	events = append(events, told{"views.ada", event.TaskEnded{Status: event.Success, Usage: item.Usage{InputTokens: 9, OutputTokens: 2}}})
	events = append(events, turn("views.ben", "m4", item.FinishStop, "Twice a day.")...)
	events = append(events, told{"views.ben", event.TaskEnded{Status: event.Success, Usage: item.Usage{InputTokens: 20, OutputTokens: 5}}}, plan("done"))
	events = append(events, turn("", "m5", item.FinishStop, "It ", "moves.")...)
	events = append(events, told{"", event.TeamDissolved{Team: "t1", Outcome: event.Success}}, told{"", event.RunEnded{Status: event.Success, Usage: item.Usage{InputTokens: 60, OutputTokens: 9}}})
	p := team.New()
	var raw []wire.Frame
	for i, e := range events {
		var err error
		if raw, err = p.Project(raw, &event.Envelope{Seq: uint64(i + 1), Run: "r1", Task: e.task, Event: e.e}); err != nil {
			t.Fatal(err)
		}
	}
	var b strings.Builder
	b.WriteString("```json\n")
	for _, f := range raw {
		b.Write(f.Data)
		b.WriteString("\n")
	}
	b.WriteString("```\n")
	part(t, "example", b.String())
}

// The frames of tokens are written by hand, and must be those that encoding/json would write.
func TestAChunkIsWrittenAsAnyOtherFrame(t *testing.T) {
	hostile := "<b>\"a\\\n\u2028水\x01&"
	frames := project(t, begin, turn("p1.ada", "m1", "", hostile), turn("", "m2", "", hostile))
	p := team.New()
	var raw []wire.Frame
	for _, e := range append(append(append([]told{}, begin...), turn("p1.ada", "m1", "", hostile)...), turn("", "m2", "", hostile)...) {
		raw, _ = p.Project(raw, &event.Envelope{Run: "r", Task: e.task, Event: e.e})
	}
	for i, f := range frames {
		var want strings.Builder
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(f); err != nil {
			t.Fatal(err)
		}
		if got := string(raw[i].Data); strings.HasSuffix(f.Type, "_chunk") && got+"\n" != want.String() {
			t.Errorf("frame %d is\n%s\nwant\n%s", i, got, want.String())
		}
	}
}
