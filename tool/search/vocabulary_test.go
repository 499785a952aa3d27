package search

import (
	"fmt"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"
)

func TestWordsBeyondAVocabularyBeginAnotherAndAreFoundAllTheSame(t *testing.T) {
	files := fstest.MapFS{}
	ix, err := Open(t.Context(), Options{Sources: []Source{{FS: files}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	ix.mostWords = 10
	for i := range 20 {
		files[fmt.Sprintf("%02d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Shared heading\n\nword%da word%db word%dc, and shared words.\n", i, i, i)}
	}
	if _, err := ix.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	var segments int
	if err := ix.db.QueryRow("SELECT count(*) FROM segments").Scan(&segments); err != nil || segments < 2 {
		t.Fatalf("%d segments (%v), want several: the vocabulary was never changed", segments, err)
	}
	for i := range 20 {
		found, err := ix.Search(t.Context(), fmt.Sprintf("word%db", i), 5)
		if err != nil || len(found) != 1 || found[0].Path != fmt.Sprintf("%02d.md", i) || found[0].Title != "Shared heading" {
			t.Errorf("word%db: %v, %v; want %02d.md", i, found, err, i)
		}
	}
	if found, err := ix.Search(t.Context(), "shared words", 20); err != nil || len(found) != 20 {
		t.Errorf("what is in all documents is found in %d of them, %v; want 20", len(found), err)
	}
}

// An index that has followed its documents through additions, changes and removals answers as one that is made of what is there now.
func TestAnIndexThatFollowedItsDocumentsAnswersAsANewOne(t *testing.T) {
	names := []string{"a.md", "b.md", "c.md", "d.md", "e.md"}
	words := []string{"river", "stone", "light", "日志位置", "window", "paper"}
	rapid.Check(t, func(t *rapid.T) {
		files := fstest.MapFS{}
		open := func() *Index {
			ix, err := Open(t.Context(), Options{Sources: []Source{{FS: files}}})
			if err != nil {
				t.Fatal(err)
			}
			return ix
		}
		old := open()
		defer old.Close()
		old.mostWords = rapid.SampledFrom([]int{2, mostWords}).Draw(t, "vocabulary")
		for range rapid.IntRange(1, 6).Draw(t, "steps") { // small vocabularies make several segments each, enough for some to be put together
			for range rapid.IntRange(1, 3).Draw(t, "changes") {
				name := rapid.SampledFrom(names).Draw(t, "name")
				if rapid.Bool().Draw(t, "remove") {
					delete(files, name)
					continue
				}
				text := "# " + rapid.SampledFrom(words).Draw(t, "title") + "\n"
				for range rapid.IntRange(1, 3).Draw(t, "sections") {
					text += "\n## " + rapid.SampledFrom(words).Draw(t, "heading") + "\n\n" + rapid.SampledFrom(words).Draw(t, "first") + " " + rapid.SampledFrom(words).Draw(t, "second") + "\n"
				}
				files[name] = &fstest.MapFile{Data: []byte(text)}
			}
			if _, err := old.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		fresh := open()
		defer fresh.Close()
		for _, w := range words {
			got, err := old.Search(t.Context(), w, 20)
			if err != nil {
				t.Fatal(err)
			}
			want, err := fresh.Search(t.Context(), w, 20)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
				t.Fatalf("%s: got  %s\nwant %s", w, g, w)
			}
		}
	})
}
