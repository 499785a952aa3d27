package search

import (
	"fmt"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// corpus is n documents of about 2 kB that share most of their words.
func corpus(n int) fstest.MapFS {
	files := fstest.MapFS{}
	for i := range n {
		text := fmt.Sprintf("# Document %d\n", i)
		for s := range 6 {
			text += fmt.Sprintf("\n## Section %d of topic%d\n\n", s, (i*7+s)%97)
			for k := range 6 {
				text += fmt.Sprintf("A reader of topic%d resumes at position %d of the journal, 日志的位置。 ", (i+k)%53, i*k)
			}
			text += "\n"
		}
		files[fmt.Sprintf("%05d.md", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return files
}

// go test -run - -bench . -benchtime 3x ./tool/search
func BenchmarkOpen(b *testing.B) {
	const n = 500
	files := corpus(n)
	for b.Loop() {
		ix, err := Open(b.Context(), Options{Path: filepath.Join(b.TempDir(), "i.db"), Sources: []Source{{FS: files}}})
		if err != nil {
			b.Fatal(err)
		}
		if err := ix.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkSearch(b *testing.B) {
	ix, err := Open(b.Context(), Options{Sources: []Source{{FS: corpus(500)}}})
	if err != nil {
		b.Fatal(err)
	}
	defer ix.Close()
	for _, query := range []string{"topic12", "topic12 topic40 nothing", "reader journal", "日志位置"} {
		b.Run("query="+query, func(b *testing.B) {
			for b.Loop() {
				if _, err := ix.Search(b.Context(), query, 6); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
