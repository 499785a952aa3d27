package tributary_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of the front page leads somewhere, and every test that it names as a proof is there.
func TestTheFrontPageLeadsSomewhere(t *testing.T) {
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(page, -1) {
		path, anchor, _ := strings.Cut(m[1], "#")
		if strings.Contains(path, "://") {
			continue
		}
		text, err := os.ReadFile(path)
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			err = nil
		}
		if err != nil {
			t.Errorf("the front page leads to %s: %v", m[1], err)
		}
		if anchor != "" && !strings.Contains(strings.ToLower(string(text)), "## "+strings.ReplaceAll(anchor, "-", " ")) &&
			!strings.Contains(strings.ReplaceAll(strings.ToLower(string(text)), ",", ""), "## "+strings.ReplaceAll(anchor, "-", " ")) {
			t.Errorf("%s has no heading for #%s", path, anchor)
		}
	}
	proofs := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(page, -1)
	if len(proofs) < 5 {
		t.Errorf("only %d promises name their proof", len(proofs))
	}
	var tests strings.Builder
	err = filepath.WalkDir("internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		tests.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range proofs {
		if !strings.Contains(tests.String(), "\nfunc "+m[1]+"(") {
			t.Errorf("the front page names %s as a proof, which is not there", m[1])
		}
	}
	rest := page
	for _, station := range []string{"testdata/runs/hello.txtar", "(example_test.go)", "event/visitor.go", "The life of a token"} {
		_, after, ok := strings.Cut(rest, station)
		if !ok {
			t.Fatalf("the way of a newcomer does not lead to %s, or not in this order", station)
		}
		rest = after
	}
}
