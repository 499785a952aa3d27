package search

import (
	"math"
	"testing"
)

// A passage that has a third of a question may be its answer among a few hundred, and is there by chance among many thousands.
func TestMoreOfAQuestionIsAskedForWhereThereIsMore(t *testing.T) {
	for passages, want := range map[int]float64{0: 0.3, 1: 0.3, 740: 0.3, 2_000: 0.355, 13_000: 0.458, 100_000: 0.5, 10_000_000: 0.5} {
		if got := enough(passages); math.Abs(got-want) > 0.001 {
			t.Errorf("of %d passages: got %.3f, want %.3f", passages, got, want)
		}
	}
}
