package search

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestSplitting(t *testing.T) {
	files, err := filepath.Glob("testdata/split/*")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		tried++
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, p := range Split(filepath.Base(file), string(data)) {
				fmt.Fprintf(&b, "== %s | %s | line %d\n%s\n", p.Heading(), p.Location(), p.Line, p.Text)
			}
			if *update {
				if err := os.WriteFile(file+".golden", []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if b.String() != string(want) {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
	if tried == 0 {
		t.Error("no documents to split")
	}
}

func TestLongBlocksBecomeSeveralPassages(t *testing.T) {
	for name, text := range map[string]string{
		"sentences": strings.Repeat("A sentence of some length stands here. ", 200),
		"chinese":   strings.Repeat("这是一个比较长的句子。", 500),
		"lines":     "```\n" + strings.Repeat("a line of code\n", 300) + "```",
		"no breaks": strings.Repeat("x", 5000),
	} {
		ps := Split("a.md", text)
		if len(ps) < 3 {
			t.Errorf("%s: %d passages", name, len(ps))
		}
		for _, p := range ps[:len(ps)-1] {
			if name == "sentences" && !strings.HasSuffix(p.Text, ".") || name == "chinese" && !strings.HasSuffix(p.Text, "。") {
				t.Errorf("%s: cut inside a sentence: …%q", name, p.Text[len(p.Text)-20:])
			}
		}
	}
	ps := Split("a.md", "```\n"+strings.Repeat("a line of code\n", 300)+"```")
	if ps[0].Line != 1 || ps[1].Line != 1+strings.Count(ps[0].Text, "\n")+1 {
		t.Errorf("lines %d and %d; the first has %d line breaks", ps[0].Line, ps[1].Line, strings.Count(ps[0].Text, "\n"))
	}
}

// squeezed is text without its white space.
func squeezed(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// Whatever the document: a passage is a stretch of it, apart from white space, and never too long.
func FuzzSplit(f *testing.F) {
	for _, name := range []string{"guide.md", "notes.txt"} {
		data, err := os.ReadFile("testdata/split/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("---\ntitle: x\n# a\n===\n~~~\n")
	f.Add("a <!-- b\n--> c `<!--` d\n<!-- e")
	f.Add("\ufeff- a\n\n    b\n***\n\xff日\n志")
	f.Fuzz(func(t *testing.T, text string) {
		whole := squeezed(strings.Join(uncommented(strings.Split(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n"), "\n")), "\n"))
		for _, p := range Split("d.md", text) {
			if !utf8.ValidString(p.Text) || strings.TrimSpace(p.Text) == "" || p.Title == "" && strings.TrimSpace(text) != "" {
				t.Fatalf("passage %+v", p)
			}
			if !strings.Contains(whole, squeezed(p.Text)) {
				t.Fatalf("%q is not in the document", p.Text)
			}
			if n := utf8.RuneCountInString(p.Text); n > longest {
				t.Fatalf("passage of %d characters", n)
			}
			if p.Line < 1 || p.Line > strings.Count(text, "\n")+1 {
				t.Fatalf("line %d of %d", p.Line, strings.Count(text, "\n")+1)
			}
		}
	})
}

func TestFrontMatterSaysWhoWroteADocumentAndWhen(t *testing.T) {
	for name, c := range map[string]struct{ top, author, date string }{
		"plain":    {"title: Fees\nauthor: Maria Huber\ndate: 2024-05-31", "Maria Huber", "2024-05-31"},
		"quoted":   {"title: \"Fees\"\nauthor: 'Maria Huber'\ndate: \"2024-05-31T08:00:00Z\"", "Maria Huber", "2024-05-31"},
		"several":  {"title: Fees\nauthors: [\"Maria Huber\", 'Max Meyer']", "Maria Huber, Max Meyer", ""},
		"a list":   {"title: Fees\nauthors:\n  - Maria Huber\n  - name: Max Meyer\ntags:\n  - money\ndate: May 2024", "Maria Huber, Max Meyer", "2024-05"},
		"nothing":  {"title: Fees\nauthor:\ndate: soon", "", ""},
		"nested":   {"title: Fees\nextra:\n  author: Nobody\n  date: 2024-05-31", "", ""},
		"no title": {"Author: Maria Huber", "Maria Huber", ""},
	} {
		got := Split("Fees.md", "---\n"+c.top+"\n---\nA berth costs 25 euros.\n")
		if len(got) != 1 || got[0].Title != "Fees" || got[0].Author != c.author || got[0].Date != c.date || got[0].Text != "A berth costs 25 euros." {
			t.Errorf("%s: got %+v, want %q of %q", name, got, c.author, c.date)
		}
	}
	if got := Split("a.md", "---\nauthor: Maria Huber\n\nA ruler was above.\n"); len(got) == 0 || got[0].Author != "" {
		t.Errorf("settings that are never closed are none: %+v", got)
	}
}
