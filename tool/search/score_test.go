package search

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// What the sieve keeps has the best scores in it, and is not much more than is wanted but for what is equally good, whatever the scores are:
// hundreds of thousands of passages may have the same one, or nearly none.
func TestTheSieveKeepsTheBest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		kinds := rapid.SliceOfN(rapid.Float32Range(0, 20), 1, 6).Draw(rt, "kinds")
		for i := range kinds {
			if kinds[i] < 1e-6 { // no word tells so little
				kinds[i] = 0
			}
		}
		tiny := rapid.SampledFrom([]float32{1, 1e-3, 1e-6, 0}).Draw(rt, "share of the last kind")
		kinds[len(kinds)-1] *= tiny
		spread := rapid.SampledFrom([]float32{0, 1e-7, 1e-4, 1e-2, 0.5}).Draw(rt, "spread")
		const wanted = 50
		l := &lookup{}
		for i := range rapid.IntRange(0, 3000).Draw(rt, "passages") {
			s := kinds[(i*i)%len(kinds)] * (1 + spread*float32(i%97)/97)
			l.score = append(l.score, s)
			l.highest = max(l.highest, s)
		}
		floor, sure := l.floor(wanted)
		var kept, certain, positive int
		for _, s := range l.score {
			if s > 0 {
				positive++
				if s >= floor {
					kept++
				}
				if s >= sure {
					certain++
				}
			}
		}
		if kept < min(wanted, positive) {
			rt.Errorf("%d of %d passages are kept, want %d: from %v on", kept, positive, wanted, floor)
		}
		if len(l.score) > wanted && certain > wanted {
			rt.Errorf("%d passages are kept whatever comes, want at most %d: from %v on", certain, wanted, sure)
		}
		if sorted := slices.Sorted(slices.Values(l.score)); kept > 2*wanted && certain < kept {
			if low, high := sorted[len(sorted)-kept], sorted[len(sorted)-certain-1]; high-low > high*1e-3+l.highest*1e-6 {
				rt.Errorf("%d passages are kept, with scores from %v to %v below those that are certain", kept, low, high)
			}
		}
	})
}
