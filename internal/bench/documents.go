package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/tributary-ai/tributary/tool/search"
)

// library makes documents of about ten kilobytes whose words are as unequally frequent as those of a language: the nth most
// frequent has one nth of the first one's share.
type library struct {
	rng   *rand.Rand
	words []string
}

func newLibrary() *library {
	l := &library{rng: rand.New(rand.NewPCG(1, 2))}
	for range 60_000 {
		b := make([]byte, 3+l.rng.IntN(8))
		for i := range b {
			b[i] = byte('a' + l.rng.IntN(26))
		}
		l.words = append(l.words, string(b))
	}
	return l
}

func (l *library) word() string {
	return l.words[int(math.Pow(float64(len(l.words)), l.rng.Float64()))-1]
}

func (l *library) document() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s %s\n\n", l.word(), l.word(), l.word())
	for b.Len() < 10_000 {
		if l.rng.IntN(6) == 0 {
			fmt.Fprintf(&b, "## %s %s\n\n", l.word(), l.word())
		}
		for range 60 {
			b.WriteString(l.word() + " ")
		}
		b.WriteString(".\n\n")
	}
	return b.String()
}

func documents(ctx context.Context, b *bench) ([]row, error) {
	lib, files := newLibrary(), fstest.MapFS{}
	size, at := 0, time.Now().Add(-time.Hour)
	for i := range b.count(10_000) {
		text := lib.document()
		size += len(text)
		files[fmt.Sprintf("%05d.md", i)] = &fstest.MapFile{Data: []byte(text), ModTime: at}
	}
	opt := search.Options{Path: filepath.Join(b.dir, uuid.NewString()+".db"), Sources: []search.Source{{FS: files}}}
	start, used := time.Now(), cpu()
	ix, err := search.Open(ctx, opt)
	if err != nil {
		return nil, err
	}
	defer ix.Close()
	took, used := time.Since(start), cpu()-used
	rate := float64(size) / 1e6 / took.Seconds()
	var all samples
	asked := cpu()
	for range b.count(2_000) {
		var words []string
		for range 3 + lib.rng.IntN(6) {
			words = append(words, lib.word())
		}
		start := time.Now()
		if _, err := ix.Search(ctx, strings.Join(words, " "), 6); err != nil {
			return nil, err
		}
		all = append(all, time.Since(start))
	}
	each := (cpu() - asked) / time.Duration(len(all))
	start = time.Now()
	if _, err := ix.Refresh(ctx); err != nil {
		return nil, err
	}
	again := time.Since(start)
	what := fmt.Sprintf("%d documents of 10 kB", len(files))
	return []row{
		{"indexing " + what, fmt.Sprintf("%.1f MB/s, %.2f CPU s per 10 MB", rate, used.Seconds()/float64(size)*1e7), "", atLeast(rate, 20, "20 MB/s")},
		{"a question of 3 to 8 words, in " + what, fmt.Sprintf("%v, CPU %s", all, short(each)), "", atMost(all.at(0.99).Seconds(), 0.020, "20 ms (p99)")},
		{"looking for changes in " + what, short(again), "", "–"},
	}, nil
}
