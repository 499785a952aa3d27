package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	teamwire "github.com/tributary-ai/tributary/internal/wire/team"
)

// frames for a screen of two experts, one of whom writes what would move the cursor.
func crowded(width int) *teamScreen {
	s := &teamScreen{printer: &printer{env: &env{}, quiet: true}, living: living{live: true, width: width}}
	for _, f := range []teamwire.Frame{
		{Type: "team_formed", Title: "What does water do?", Experts: []event.Member{{ID: "ada", Name: "Ada", Role: "rivers"}, {ID: "ben", Name: "Ben", Role: "seas"}}},
		{Type: "plan_update", Steps: []event.PlanStep{{ID: "one", Title: "One", Status: "running"}, {ID: "two", Title: "Two", Status: "pending"}}},
		{Type: "expert_step", Kind: "started", Expert: "ada", Phase: "one", Task: "one.ada"},
		{Type: "expert_step", Kind: "started", Expert: "ben", Phase: "one", Task: "one.ben"},
		{Type: "expert_step", Kind: "tool_call", Expert: "ben", Name: "search", Arguments: `{"query":"tides"}`},
		{Type: "expert_result_chunk", Expert: "ada", Delta: "Rivers \x1b[2J\x1b[H rise when 雨 falls, and they fall when it does not: so it has been said in all the books there are."},
	} {
		s.take(f)
	}
	return s
}

func TestATeamIsDrawnInColumnsWhereThereIsRoomAndInLinesWhereThereIsNot(t *testing.T) {
	for _, width := range []int{20, 40, 80, 200} {
		lines := crowded(width).picture()
		for _, line := range lines {
			if n := wide(line); n > width {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
			if strings.Contains(line, "\x1b[2J") || strings.Contains(line, "\x1b[H") {
				t.Errorf("a stranger moves the cursor: %q", line)
			}
		}
		all := strings.Join(lines, "\n")
		beside := false
		for _, line := range lines {
			beside = beside || strings.Contains(line, "Ada") && strings.Contains(line, "Ben")
		}
		if want := width >= 80; beside != want || !strings.Contains(all, "books") && width > 20 || !strings.Contains(all, "search: tides") && width > 20 {
			t.Errorf("width %d, side by side: %t, want %t:\n%s", width, beside, want, all)
		}
	}
	s := crowded(80)
	content := "Rivers rise."
	s.take(teamwire.Frame{Type: "expert_result", Expert: "ada", Phase: "one", Status: event.Success, Content: &content})
	s.take(teamwire.Frame{Type: "expert_result", Expert: "ben", Phase: "one", Status: event.Failed, Content: new(string), Error: &event.Error{Message: "the key is wrong"}})
	if all := strings.Join(s.picture(), "\n"); !strings.Contains(all, "✓ Ada") || !strings.Contains(all, "✗ Ben") || !strings.Contains(all, "the key is wrong") {
		t.Errorf("at the end:\n%s", all)
	}
}

func TestWhatIsDrawnIsDrawnOverAndTypedWordsStay(t *testing.T) {
	var out strings.Builder
	l := living{out: &out, live: true, width: 80}
	l.draw([]string{"one", "two"})
	out.Reset()
	l.draw([]string{"one", "three"})
	if got := out.String(); !strings.HasPrefix(got, "\x1b7\x1b[2A\r") || !strings.HasSuffix(got, "\x1b8") {
		t.Errorf("lines that are as many as before leave the cursor where it was: %q", got)
	}
	out.Reset()
	l.entered()
	l.draw([]string{"one", "three"})
	if got := out.String(); !strings.HasPrefix(got, "\x1b[3A\r") || !strings.HasSuffix(got, "\x1b[J") {
		t.Errorf("after Enter there is a line more to draw over: %q", got)
	}
	out.Reset()
	if l.draw([]string{"one", "three"}); out.Len() != 0 {
		t.Errorf("what has not changed is not drawn: %q", out.String())
	}
}

// A program reads the frames of the wire, speaks with lines, and answers with JSON.
func TestATeamForPrograms(t *testing.T) {
	t.Parallel()
	code, out, notes := invokeWith(t, "{\"type\":\"speak\",\"expert\":\"nobody\",\"text\":\"x\"}\n{\"accept\":true}\n", "--data", t.TempDir(), "team", "--json", "--review", "--experts", "skeptic", "What is a journal?")
	if code != 0 || notes != "" {
		t.Fatalf("exit %d, %s", code, notes)
	}
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		var f teamwire.Frame
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		seen[f.Type]++
	}
	if seen["refused"] != 1 || seen["team_review"] != 1 || seen["expert_result"] != 1 || seen["team_dissolved"] != 2 {
		t.Errorf("frames %v", seen)
	}
}

// The name of an agent of one's own is that agent: with its description, its soul and its tools.
func TestAnAgentOfOnesOwnIsAnExpert(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	soul := filepath.Join(t.TempDir(), "soul.md")
	if err := os.WriteFile(soul, []byte("You love the sea."), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, notes := invoke(t, "--data", data, "agents", "create", "Sailor", "--description", "journal and writers", "--soul", soul, "--tools", ""); code != 0 {
		t.Fatal(notes)
	}
	code, out, notes := invoke(t, "--data", data, "team", "--experts", "sailor,guide", "What is a journal?")
	if code != 0 || !strings.Contains(out, "## sailor (journal and writers)") || !strings.Contains(out, "## Guide (how it works, step by step)") {
		t.Errorf("exit %d: %s\n%s", code, notes, out)
	}
	if strings.Contains(notes, "→ sailor") || !strings.Contains(notes, "→ Guide") {
		t.Errorf("the sailor has no tools, and the guide has:\n%s", notes)
	}
}

// With a server on the folder the server does the work, and words go there.
func TestATeamInARunningServer(t *testing.T) {
	data := t.TempDir()
	if code, _, notes := invoke(t, "--data", data, "say", "hello"); code != 1 || !strings.Contains(notes, "type the words there") {
		t.Errorf("without a server: exit %d, %s", code, notes)
	}
	p := startProcess(t, data)
	if code, _, notes := invoke(t, "--data", data, "say", "hello"); code != 1 || !strings.Contains(notes, "no team yet") {
		t.Errorf("without a team: exit %d, %s", code, notes)
	}
	code, out, notes := invoke(t, "--data", data, "team", "How does a reader resume a stream?")
	if code != 0 || strings.Count(out, "\n## ")+strings.Count(out[:3], "## ") != 4 {
		t.Errorf("exit %d, %s\n%s\n%s", code, out, notes, p.log)
	}
	if code, _, notes := invoke(t, "--data", data, "say", "--to", "guide", "are you there?"); code != 1 || !strings.Contains(notes, "nobody of the run listens") {
		t.Errorf("after the end: exit %d, %s", code, notes)
	}
	p.stop(t)
}
