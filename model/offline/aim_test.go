package offline_test

import (
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/model"
)

const gates = "<referencable-item>\nID: 5\nSource: Gates › Locks (gates.md#locks, line 9)\n\nThe lock of the canal opens when the level is equal on both sides. A gate often needs paint. Boats pay at the office.\n</referencable-item>\n" +
	"<referencable-item>\nID: 6\nSource: Kitchens (kitchens.md, line 2)\n\nA good cook opens a tin in seconds. Soup is often served first.\n</referencable-item>\n"

// A sentence that has one common word of the question says nothing about it, and is left out where there is a better one.
func TestAReportLeavesOutWhatIsAboutSomethingElse(t *testing.T) {
	text, _, _ := told(t, model.Request{Messages: task("<report>\n<question>\nHow often does the lock of the canal open?\n</question>\n" +
		"<finding step=\"s1\" title=\"a\">\n“x” [^5] “y” [^6]\n</finding>\n<passages>\n" + gates + "</passages>\n</report>")})
	if !strings.Contains(text, "“The lock of the canal opens when the level is equal on both sides.” [^5]") {
		t.Errorf("the report lacks what fits:\n%s", text)
	}
	for _, other := range []string{"paint", "tin in seconds", "Soup", "Boats"} {
		if strings.Contains(text, other) {
			t.Errorf("the report speaks of %q:\n%s", other, text)
		}
	}
}

// Where no sentence has enough of the question nothing is quoted, and the report says so, and says once what is missing.
func TestAReportSaysWhenNothingAnswers(t *testing.T) {
	text, _, _ := told(t, model.Request{Messages: task("<report>\n<question>\nWhich engineer repaired the lock before the flood of winter?\n</question>\n" +
		"<finding step=\"s1\" title=\"a\">\n“x” [^5]\n</finding>\n<finding step=\"s2\" title=\"engineer\">\nNothing.\n</finding>\n<passages>\n" + gates + "</passages>\n</report>")})
	if !strings.Contains(text, "No sentence of the documents answers the question.") || !strings.Contains(text, "nearest to it stands under: Gates › Locks") || strings.Contains(text, "“") ||
		strings.Count(text, "engineer,") != 1 || strings.Contains(text, "\n- engineer\n") {
		t.Errorf("the report is\n%s", text)
	}
}
