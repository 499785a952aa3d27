package eventdoc

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary/event"
)

var update = flag.Bool("update", false, "write docs/events.md anew")

const file = "../../docs/events.md"

func TestEventsPageIsCurrent(t *testing.T) {
	want, err := Page("../..")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("docs/events.md is not what the comments of package event say; run make docs\n%s", firstDifference(string(got), string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := 0; i < len(g) && i < len(w); i++ {
		if g[i] != w[i] {
			return "is:     " + g[i] + "\nshould: " + w[i]
		}
	}
	return "one of the two is longer"
}

func TestPageExplainsEveryKindAndEveryTypeThatItLinksTo(t *testing.T) {
	page, err := Page("../..")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, kind := range event.Kinds() {
		if !strings.Contains(text, "\n### "+kind+"\n") || !strings.Contains(text, `"kind":"`+kind+`"`) {
			t.Errorf("%s has no section with an example", kind)
		}
	}
	headings := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		headings[strings.ToLower(strings.NewReplacer(".", "", " ", "-").Replace(h[1]))] = true
	}
	for _, link := range regexp.MustCompile(`\]\(#([^)]+)\)`).FindAllStringSubmatch(text, -1) {
		if !headings[link[1]] {
			t.Errorf("a link leads to #%s, which is no heading", link[1])
		}
	}
	for _, law := range []string{"## Laws", "without holes", "A kind keeps its meaning for ever"} {
		if !strings.Contains(text, law) {
			t.Errorf("the page does not say %q", law)
		}
	}
}
