package team_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/wire/team"
	"github.com/tributary-ai/tributary/item"
)

// wireUnderTest makes frames of events.
type wireUnderTest func(t testing.TB, events []told) []team.Frame

// ours is the wire of this package, and theirs the logic that seed 004 found wrong, in its three places: the end of a message is told as
// another piece, a list of known types stands between sender and page, and only errors of some classes are caught.
func ours(t testing.TB, events []told) []team.Frame { return project(t, events) }

func theirs(_ testing.TB, events []told) (frames []team.Frame) {
	known := []string{"team_formed", "expert_step", "expert_result", "plan_update", "team_synthesis", "team_dissolved"} // without the chunks
	send := func(checked bool, f team.Frame) {
		if !checked || slices.Contains(known, f.Type) {
			frames = append(frames, f)
		}
	}
	text := ""
	for _, e := range events {
		switch e := e.e.(type) {
		case event.TextDelta:
			text += e.Text
			send(false, team.Frame{Type: "expert_result_chunk", Delta: e.Text})
		case event.ItemEnded:
			if m, ok := e.Item.(item.Message); ok {
				text += m.Text()
				send(false, team.Frame{Type: "expert_result_chunk", Delta: m.Text()})
			}
		case event.TurnVoided:
			send(true, team.Frame{Type: "expert_result_chunk_reset"})
		case event.TaskEnded:
			if e.Error != nil && e.Error.Name != "RuntimeError" && e.Error.Name != "TimeoutError" && e.Error.Name != "ConnectionError" {
				return frames // it passed everybody by, and with it whatever would have come
			}
			content := text
			send(true, team.Frame{Type: "expert_result", Status: e.Status, Content: &content})
		case event.RunEnded:
			send(true, team.Frame{Type: "team_dissolved"})
		}
	}
	return frames
}

// seedBugs are the three bugs, each as what a page must see.
var seedBugs = map[string]func(t testing.TB, w wireUnderTest) error{
	"HelloHello": func(t testing.TB, w wireUnderTest) error {
		frames := w(t, slices.Concat(begin, turn("p1.ada", "m1", item.FinishStop, "Hel", "lo"), []told{{"p1.ada", event.TaskEnded{Status: event.Success}}}))
		if got, _, _ := page(frames); got != "Hello" {
			return fmt.Errorf("the page says %q", got)
		}
		return nil
	},
	"an event type is dropped silently": func(t testing.TB, w wireUnderTest) error {
		frames := w(t, slices.Concat(begin, turn("p1.ada", "m1", "", "Hel"), []told{{"p1.ada", event.TurnVoided{Turn: "m1", Cause: "model_network"}}}))
		if !slices.ContainsFunc(frames, func(f team.Frame) bool { return f.Type == "expert_result_chunk_reset" }) {
			return fmt.Errorf("nobody was told that the text is void")
		}
		return nil
	},
	"a non-standard error leaves the cursor blinking": func(t testing.TB, w wireUnderTest) error {
		odd := &event.Error{Code: "node_error", Name: "ConfigValidationError", Message: "temperature"}
		frames := w(t, slices.Concat(begin, turn("p1.ada", "m1", "", "Hel"), []told{{"p1.ada", event.TaskEnded{Status: event.Failed, Error: odd}}, {"", event.RunEnded{Status: event.Success}}}))
		if _, _, blinking := page(frames); blinking {
			return fmt.Errorf("the cursor blinks after %d frames", len(frames))
		}
		return nil
	},
}

func TestTheThreeBugsOfSeed004AreGoneAndTheOldLogicHadThem(t *testing.T) {
	for name, bug := range seedBugs {
		if err := bug(t, ours); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if bug(t, theirs) == nil {
			t.Errorf("%s: the old logic passes, so that the test shows nothing", name)
		}
	}
}
