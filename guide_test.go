package tributary_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The guide shows code of programs that are run, and what they print: every block stands in a file of examples, as code or
// as what its tests want to be printed.
func TestTheGuideShowsProgramsThatAreRun(t *testing.T) {
	var code, printed []string // the files of examples, as code and without the marks of comments
	err := filepath.WalkDir("examples", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		code = append(code, "\n"+unindented(string(text)))
		if strings.HasSuffix(path, "_test.go") {
			printed = append(printed, unindented(strings.ReplaceAll(string(text), "\t// ", "")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range guide(t) {
		parts := strings.Split(text, "\n```")
		if len(parts) < 3 && page != "README.md" {
			t.Errorf("%s shows no code", page)
		}
		for i := 1; i < len(parts); i += 2 {
			language, shown, _ := strings.Cut(parts[i]+"\n", "\n")
			shown = unindented(shown)
			there := false
			switch language {
			case "go":
				there = slices.ContainsFunc(code, func(file string) bool { return strings.Contains(file, "\n"+shown) })
			case "text":
				there = slices.ContainsFunc(printed, func(file string) bool { return strings.Contains(file, shown) })
			}
			if !there {
				t.Errorf("%s shows as %q what is not in examples:\n%s", page, language, shown)
			}
		}
	}
}

func TestTheGuideHasNoDeadLinks(t *testing.T) {
	pages := guide(t)
	link := regexp.MustCompile(`\]\(([\w./-]*\.[\w./-]*)[)#]`)
	for page, text := range pages {
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("docs/guide", l[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, l[1], err)
			}
		}
		if page != "README.md" && !strings.Contains(pages["README.md"], "("+page+")") {
			t.Errorf("docs/guide/README.md does not lead to %s", page)
		}
	}
	if text, err := os.ReadFile("README.md"); err != nil || !strings.Contains(string(text), "(docs/guide/README.md)") {
		t.Errorf("README.md does not lead to the guide (%v)", err)
	}
}

// guide returns the pages by name.
func guide(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	paths, err := filepath.Glob("docs/guide/*.md")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages[filepath.Base(path)] = string(text)
	}
	if err != nil || len(pages) != 9 {
		t.Fatalf("the guide has %q (%v), want eight pages and their list", paths, err)
	}
	return pages
}
