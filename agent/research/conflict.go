package research

import (
	"strings"

	"github.com/tributary-ai/tributary/internal/prose"
)

// conflict is a pair of sentences that cannot both be true, as far as words can tell: they speak of the same thing with
// different figures, or one denies what the other says.
type conflict struct {
	one, other int // numbers of the sources
	a, b       string
}

const (
	mostSentences = 800 // that are compared; pairs grow with the square
	mostConflicts = 6
	sameSubject   = 0.75 // of the words that two sentences have together
)

// conflicts finds sentences of different documents that contradict each other.
func conflicts(read []Source) []conflict {
	type statement struct {
		source  int
		place   string
		text    string
		words   map[string]bool
		numbers map[string]bool
		denies  bool
	}
	var all []statement
	seen := map[string]bool{}
	for _, src := range read {
		place, _, _ := strings.Cut(src.Address, "#")
		for _, s := range prose.Sentences(src.Passage()) {
			if seen[s] || len(all) == mostSentences || len(s) > 400 {
				continue
			}
			seen[s] = true
			words := contentKeys(plain(s))
			if len(words) < 4 {
				continue
			}
			all = append(all, statement{src.Number, place, s, words, numbersIn(plain(s)), denies(s)})
		}
	}
	var out []conflict
	for i, a := range all {
		for _, b := range all[i+1:] {
			if len(out) == mostConflicts {
				return out
			}
			if a.place == b.place && a.place != "" || a.source == b.source {
				continue
			}
			figures := len(a.numbers) > 0 && len(b.numbers) > 0 && share(a.numbers, func(n string) bool { return b.numbers[n] }) < 1 && share(b.numbers, func(n string) bool { return a.numbers[n] }) < 1
			if (figures || a.denies != b.denies) && alike(a.words, b.words) >= sameSubject {
				out = append(out, conflict{a.source, b.source, a.text, b.text})
			}
		}
	}
	return out
}

// alike is the part of the words of two sentences that both have.
func alike(a, b map[string]bool) float64 {
	both := 0
	for k := range a {
		if b[k] {
			both++
		}
	}
	return float64(both) / float64(len(a)+len(b)-both)
}
