package cost

import "testing"

var kept []byte

func TestAllocationsAreCounted(t *testing.T) {
	got := Of(100, func() {
		for range 100 {
			kept = make([]byte, 1000)
		}
	})
	if got.Allocs < 1 || got.Allocs > 1.1 || got.Bytes < 1000 || got.Bytes > 1200 {
		t.Errorf("100 slices of 1000 bytes count as %.2f allocations of %.0f bytes each", got.Allocs, got.Bytes)
	}
	if limit(2, 0) <= 2.3 || limit(2, 0) >= 2.5 || limit(0, 0.02) > 0.02 {
		t.Errorf("two allocations may become %.2f, none %.2f", limit(2, 0), limit(0, 0.02))
	}
}
