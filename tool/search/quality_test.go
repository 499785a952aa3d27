package search

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"
)

// library is the corpus of testdata: 309 documents in English and Chinese.
func library(t testing.TB) fstest.MapFS {
	t.Helper()
	packed, err := os.ReadFile("testdata/corpus.txtar.gz")
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, f := range txtar.Parse(plain).Files {
		files[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	if len(files) < 300 {
		t.Fatalf("the corpus has %d documents, want 300", len(files))
	}
	return files
}

type asked struct{ kind, answer, question string }

func questions(t testing.TB) []asked {
	t.Helper()
	data, err := os.ReadFile("testdata/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out []asked
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 3 {
			t.Fatalf("line %q", line)
		}
		out = append(out, asked{f[0], f[1], f[2]})
	}
	return out
}

// The questions were written before any of them was tried. Half of those with an answer are paraphrased: none of their words
// stands in the title of the document that answers.
func TestQuality(t *testing.T) {
	files := library(t)
	ix := opened(t, Options{Sources: []Source{{FS: files}}})
	type tally struct {
		asked, within int
		reciprocal    float64
	}
	sum := map[string]*tally{"direct": {}, "paraphrase": {}, "none": {}}
	for _, q := range questions(t) {
		found, err := ix.Search(t.Context(), q.question, 10)
		if err != nil {
			t.Fatal(err)
		}
		s := sum[q.kind]
		s.asked++
		if q.kind == "none" {
			if len(found) == 0 {
				s.within++
			} else {
				t.Logf("answered though nothing does: %s: %s", q.question, found[0].Location())
			}
			continue
		}
		title, _, _ := strings.Cut(string(files[q.answer].Data), "\n")
		if q.kind == "paraphrase" {
			if w := shared(q.question, title); len(w) > 0 {
				t.Errorf("%q says %q, as the title of its answer does", q.question, w)
			}
		}
		var paths []string // a document counts once, where its best passage is
		for _, p := range found {
			if !slices.Contains(paths, p.Path) {
				paths = append(paths, p.Path)
			}
		}
		at := slices.Index(paths, q.answer)
		if at >= 0 {
			s.reciprocal += 1 / float64(at+1)
		}
		if at >= 0 && at < 5 {
			s.within++
		}
		if at != 0 {
			t.Logf("%s at %d: %s: %q", q.answer, at+1, q.question, paths[:min(3, len(paths))])
		}
	}
	for kind, s := range sum {
		t.Logf("%-10s asked %d, within five %d (%.3f), mean reciprocal rank %.3f", kind, s.asked, s.within, float64(s.within)/float64(s.asked), s.reciprocal/float64(s.asked))
	}
	d, p, n := sum["direct"], sum["paraphrase"], sum["none"]
	if total := d.asked + p.asked; total < 80 || 2*p.asked < total || n.asked < 10 {
		t.Errorf("%d questions, %d of them paraphrased, and %d without an answer: want 80, half, and 10", total, p.asked, n.asked)
	}
	if recall := float64(d.within+p.within) / float64(d.asked+p.asked); recall < 0.9 {
		t.Errorf("recall at five is %.3f, want 0.9", recall)
	}
	if rank := (d.reciprocal + p.reciprocal) / float64(d.asked+p.asked); rank < 0.75 {
		t.Errorf("mean reciprocal rank is %.3f, want 0.75", rank)
	}
	if share := float64(n.within) / float64(n.asked); share < 0.8 {
		t.Errorf("%.2f of the questions that nothing answers get no answer, want 0.8", share)
	}
}

// shared are the words of a question, but for those that say nothing, that a title has too.
func shared(question, title string) []string {
	have := map[string]bool{}
	eachWord(title, func(w string, _, _, _ int) { have[term(w)] = true })
	var out []string
	for _, g := range parse(question).groups {
		if have[g.terms[0].term] && !g.common {
			out = append(out, g.word)
		}
	}
	return out
}
