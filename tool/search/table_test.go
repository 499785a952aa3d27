package search

import (
	"testing"

	"pgregory.net/rapid"
)

// A table finds what a map finds, however many words there are.
func TestATableIsAMapOfWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-c]{1,6}|a{1,20}|[a-c]{7,18}|潮.|`), 0, 4000).Draw(rt, "words")
		tab, want := newTable(), map[string]int32{}
		for i, w := range words {
			got := tab.find(w)
			n, ok := want[w]
			if !ok {
				n = -1
			}
			if got != n {
				rt.Fatalf("%q is found as %d, want %d", w, got, n)
			}
			if got < 0 {
				tab.put(w, int32(i))
				want[w] = int32(i)
			}
		}
		for w, n := range want {
			if got := tab.find(w); got != n {
				rt.Fatalf("%q is found as %d, want %d", w, got, n)
			}
		}
	})
}
