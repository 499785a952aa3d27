package main

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// watched is a view of a research in the middle of its first step.
func watched(out *strings.Builder, width int) *view {
	v := newView(&env{stdout: out, stderr: out}, reportFlags{})
	v.living = living{out: out, live: true, width: width}
	v.begin("run")
	for _, e := range []event.Envelope{
		{Event: event.PlanUpdated{Title: "What does water do?", Steps: []event.PlanStep{
			{ID: "s1", Title: "Rivers \x1b[2J\x1b[H and seas", Status: "running"}, {ID: "s2", Title: "Rain", Status: "pending"}}}},
		{Task: "step-s1", Event: event.ItemEnded{Item: item.ToolCall{Name: "search", Arguments: `{"query":"rivers 雨"}`}}},
		{Task: "step-s1", Event: event.ItemEnded{Item: item.ToolResult{Blocks: []item.Block{{Ref: 1, Name: "Atlas"}, {Ref: 2, Name: "The Nile — nile.md"}}}}},
	} {
		v.show(&e)
	}
	return v
}

// While a step works the terminal shows what it does, how much it has read and what it read last, in the columns there are. A
// stranger's words move nothing.
func TestTheTerminalShowsWhatAStepDoesAndReads(t *testing.T) {
	for _, width := range []int{20, 40, 80, 200} {
		lines := watched(new(strings.Builder), width).lines()
		for _, line := range lines {
			if n := wide(line); n > width {
				t.Errorf("width %d: %d columns: %q", width, n, line)
			}
			if strings.Contains(line, "\x1b[2J") || strings.Contains(line, "\x1b[H") {
				t.Errorf("a stranger moves the cursor: %q", line)
			}
		}
		all := strings.Join(lines, "\n")
		for _, want := range []string{"2 sources, search: rivers 雨", "[2] The Nile — nile.md", "· 2 Rain"} {
			if width >= 80 && !strings.Contains(all, want) {
				t.Errorf("width %d lacks %q:\n%s", width, want, all)
			}
		}
	}
}

// When a person leaves, the picture stands still: nothing in it turns, and nothing is left of the ^C that the terminal has shown.
func TestAPictureThatIsLeftStandsStill(t *testing.T) {
	var out strings.Builder
	v := watched(&out, 80)
	v.thinking = "planner"
	v.draw()
	out.Reset()
	v.rest()
	if got := out.String(); !strings.HasPrefix(got, "\x1b[5A\r") || strings.ContainsAny(got, string(spinner)) || strings.Contains(got, "Planning") {
		t.Errorf("it was left as %q", got)
	}
	out.Reset()
	v.overtyped("Cancelled.")
	if want := "\r\x1b[KCancelled.\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	v.plan.Steps = nil // nothing is left to draw
	v.draw()
	out.Reset()
	v.drawn = 1
	v.draw()
	if want := "\x1b[1A\r\x1b[J"; out.String() != want {
		t.Errorf("nothing was drawn as %q, want %q: the cursor may be anywhere in its line", out.String(), want)
	}
}
