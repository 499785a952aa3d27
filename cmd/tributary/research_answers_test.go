package main

import (
	"os"
	"strings"
	"testing"
)

// A report over a few documents that share most of their words quotes what is asked for and nothing else: not what has the
// words of the question in another connection, and no question without an answer gets one.
func TestAReportQuotesWhatIsAskedForAndNothingElse(t *testing.T) {
	const dir = "testdata/answers"
	data := t.TempDir()
	for _, c := range []struct {
		question string
		must     []string
		never    []string
	}{
		{"When do the gates of a lock open?",
			[]string{"The gates of a lock open only when the water is equal on both sides."},
			[]string{"paint", "The bakery opens", "weekend", "Equal parts"}},
		{"Why is the canal drained in winter?",
			[]string{"In winter the canal is drained, so that ice does not press against the gates."},
			[]string{"in winter at six", "ground at night", "A boat pays", "museum"}},
		{"How much toll does a boat pay, and who pays half of it?",
			[]string{"A boat pays a toll at every third lock.", "Boats that carry grain pay half of the toll."},
			[]string{"museum", "Equal parts"}},
		{"How long does a repair of the axle take?",
			[]string{"A repair of the axle takes nine days; the miller hires two carpenters for it."},
			[]string{"March", "paint", "boat"}},
		{"Which airline flies to the harbour on Sundays?",
			[]string{"No sentence of the documents answers the question.", "mentions airline"},
			[]string{"“The boats stay", "“The paintings"}},
		{"船闸的闸门什么时候打开？",
			[]string{"闸门只有在两侧水位相等时才能打开。"},
			[]string{"“面包房早上五点开门", "“面粉每周一"}},
		{"运河冬季为什么放空？",
			[]string{"冬季运河会被放空，以免冰块挤压闸门。"},
			[]string{"“面包房早上", "“船闸把船"}},
	} {
		code, report, notes := invoke(t, "--data", data, "research", c.question, "-y", "--docs", dir)
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", c.question, code, notes)
		}
		body, _, _ := strings.Cut(report, "\n## References\n")
		body, _, _ = strings.Cut(body, "\n## 参考资料\n")
		quotations(t, report, os.DirFS(dir))
		for _, want := range c.must {
			if strings.Count(body, want) != 1 {
				t.Errorf("%s\nthe report has %q %d times, want once:\n%s", c.question, want, strings.Count(body, want), body)
			}
		}
		for _, other := range c.never {
			if strings.Contains(body, other) {
				t.Errorf("%s\nthe report quotes %q:\n%s", c.question, other, body)
			}
		}
	}
}

// The report of the first minute quotes what our own documentation says of its question, and not a decision about something else.
func TestTheFirstReportKeepsToItsQuestion(t *testing.T) {
	code, report, notes := invoke(t, "--data", t.TempDir(), "research", resumeQuestion, "-y")
	if code != 0 {
		t.Fatalf("exit %d, %s", code, notes)
	}
	for _, want := range []string{"it asks again with the id of the last frame it saw", "wire/README.md#after-a-crash"} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q:\n%s", want, report)
		}
	}
	for _, other := range []string{"adr/0028", "adr/0007", "3-people", "configuration.md"} {
		if strings.Contains(report, other) {
			t.Errorf("the report cites %s:\n%s", other, report)
		}
	}
}
