package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// go test is content with a pattern that no test has: a test that was given another name is then run by nobody.
func TestThePatternsOfTheMakefileNameTests(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	tests := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	variable := regexp.MustCompile(`\$\(\w+\)`)
	found := regexp.MustCompile(`go test \./(\S+) -run ('[^']+'|\S+)`).FindAllSubmatch(makefile, -1)
	if len(found) < 3 {
		t.Errorf("found %d commands with -run, want those of soak, nightly and docs", len(found))
	}
	for _, m := range found {
		files, err := filepath.Glob(filepath.Join("../..", string(m[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		var names [][]byte
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range tests.FindAllSubmatch(source, -1) {
				names = append(names, f[1])
			}
		}
		// Each alternative has a test of its own.
		for _, alternative := range regexp.MustCompile(`[^'|]+`).FindAllString(variable.ReplaceAllString(string(m[2]), ""), -1) {
			pattern, err := regexp.Compile(alternative)
			if err != nil {
				t.Errorf("%s: %v", m[0], err)
				continue
			}
			n := 0
			for _, name := range names {
				if pattern.Match(name) {
					n++
				}
			}
			if n == 0 {
				t.Errorf("%s: no test of %s is called %s", m[0], m[1], alternative)
			}
		}
	}
}
