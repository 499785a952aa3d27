package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// thousand makes a folder of a thousand documents that none of us wrote: what Go's own sources say in comments, a document for
// each file.
func thousand(t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("there is no go command to ask where its sources are:", err)
	}
	dir, made := t.TempDir(), 0
	src := filepath.Join(strings.TrimSpace(string(root)), "src")
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		switch name := filepath.Base(path); {
		case err != nil:
			return err
		case d.IsDir() && (name == "testdata" || name == "vendor" || name == "cmd"):
			return fs.SkipDir
		case made == 1000:
			return fs.SkipAll
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text := commentsOf(path)
		if len(text) < 400 {
			return nil
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		made++
		file := filepath.Join(dir, strings.TrimSuffix(rel, ".go")+".md")
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		return os.WriteFile(file, []byte("# "+rel+"\n\n"+text), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if made < 1000 {
		t.Skipf("Go's sources have only %d documents", made)
	}
	return dir
}

// commentsOf is the documentation in a file, a paragraph for each declaration.
func commentsOf(path string) string {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return ""
	}
	var b strings.Builder
	add := func(c *ast.CommentGroup) {
		if text := strings.TrimSpace(c.Text()); text != "" && b.Len() < 12_000 {
			b.WriteString(text + "\n\n")
		}
	}
	add(f.Doc)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(d.Doc)
		case *ast.GenDecl:
			add(d.Doc)
		}
	}
	return b.String()
}

var footnote = regexp.MustCompile(`(?m)^\[\^([0-9]+)\]: .*<([^>]+)>`)

// The report over a thousand documents that others wrote quotes what stands in the documents that it names, and each thing once.
func TestResearchOverAThousandDocumentsOfOthers(t *testing.T) {
	dir := thousand(t)
	path := filepath.Join(t.TempDir(), "report.md")
	code, _, notes := invoke(t, "--data", t.TempDir(), "research", "How does a context cancel the work of goroutines, and when must the cancel function be called?", "--auto-accept", "--docs", dir, "-o", path)
	raw, err := os.ReadFile(path)
	if code != 0 || err != nil {
		t.Fatalf("exit %d, %v, %s", code, err, notes)
	}
	report := string(raw)
	files := map[string]string{}
	for _, m := range footnote.FindAllStringSubmatch(report, -1) {
		place, _, _ := strings.Cut(m[2], "#")
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(place, filepath.Base(dir)+"/"))))
		if err != nil {
			t.Errorf("reference %s: %v", m[1], err)
		}
		files[m[1]] = strings.Join(strings.Fields(string(text)), " ")
	}
	seen := map[string]bool{}
	for _, m := range quotation.FindAllStringSubmatch(report, -1) {
		if !strings.Contains(files[m[2]], strings.Join(strings.Fields(m[1]), " ")) {
			t.Errorf("document %s does not say %q", m[2], m[1])
		}
		if seen[m[1]] {
			t.Errorf("%q is quoted twice", m[1])
		}
		seen[m[1]] = true
	}
	if len(seen) < 5 || !strings.Contains(report, "No language model was used") || !strings.Contains(strings.ToLower(report), "cancel") {
		t.Errorf("%d quotations, want 5 or more:\n%s", len(seen), report)
	}
	if testing.Verbose() {
		fmt.Println(report)
	}
}
