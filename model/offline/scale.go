package offline

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/internal/prose"
)

// nearBest is how much of the best sentence's worth another one must have to stand in the same report.
const nearBest = 0.45

// scale weighs sentences by the words that they share with a question, rare ones more.
type scale struct {
	wanted []string
	weight map[string]float64
	best   float64 // of all sentences
	most   int     // words that one of them shares
}

func newScale(found []passage, about []string) scale {
	s := scale{wanted: slices.Sorted(maps.Keys(prose.Keys(strings.Join(about, " ")))), weight: map[string]float64{}}
	var all []map[string]bool
	spread := map[string]int{}
	for _, p := range found {
		for _, text := range prose.Sentences(p.text) {
			if !quotable(text) {
				continue
			}
			keys := prose.Keys(text)
			all = append(all, keys)
			for _, k := range s.wanted {
				if keys[k] {
					spread[k]++
				}
			}
		}
	}
	for k, n := range spread {
		s.weight[k] = 1 + math.Log(float64(len(all))/float64(n))
	}
	for _, keys := range all {
		shared, worth := s.weigh(keys)
		s.best, s.most = max(s.best, worth), max(s.most, shared)
	}
	return s
}

// weigh tells how many words a sentence shares, and what they are worth.
func (s scale) weigh(keys map[string]bool) (shared int, worth float64) {
	for _, k := range s.wanted { // in order: sums of floats depend on it
		if keys[k] {
			shared++
			worth += s.weight[k]
		}
	}
	return shared, worth
}

// vague reports that no sentence has half of what was asked.
func (s scale) vague() bool { return len(s.wanted) > 2 && 2*s.most < len(s.wanted) }
