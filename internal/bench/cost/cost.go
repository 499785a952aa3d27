// Package cost counts what a piece of code allocates, and holds it to what it was when a test was written.
//
// Allocations and bytes are counted, not timed: they are the same on every machine, so that a fifth more is news and
// not noise. Tests that use it must not run in parallel with others.
package cost

import (
	"math"
	"runtime"
	"testing"
)

// Per is what one thing allocates: an event, a frame, a chunk, a step.
type Per struct{ Allocs, Bytes float64 }

// rounds is how often a measurement is repeated; the least counts, since others in the process can only add.
const rounds = 5

// Of runs f, which does n things, and returns what one of them allocates. The first run, which warms things up, does not
// count.
func Of(n int, f func()) Per {
	least := Per{math.Inf(1), math.Inf(1)}
	f()
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least.Allocs = min(least.Allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
		least.Bytes = min(least.Bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
	}
	return least
}

// Hold fails the test if one of the n things that f does allocates more than it did by over a fifth.
func Hold(t *testing.T, was Per, n int, f func()) {
	t.Helper()
	got := Of(n, f)
	if got.Allocs > limit(was.Allocs, 0.02) || got.Bytes > limit(was.Bytes, 4) {
		t.Errorf("%.2f allocations, %.0f bytes each; when this was written it was %.2f and %.0f, and a fifth more is the limit",
			got.Allocs, got.Bytes, was.Allocs, was.Bytes)
	}
}

// limit leaves a little room beside the fifth, for what the runtime itself allocates now and then.
func limit(was, room float64) float64 { return was*1.2 + room }
