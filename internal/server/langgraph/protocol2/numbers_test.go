package protocol2

import (
	"testing"
	"time"
)

func TestRemovedRunsKeepTheirNumbers(t *testing.T) {
	var g gaps
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	g.add("t", at(10), 5)
	g.add("t", at(10), 3) // another reader saw less of it
	g.add("t", at(20), 7)
	g.add("other", at(15), 100)
	for _, c := range []struct {
		after, before int
		want          uint64
	}{{0, 30, 12}, {0, 15, 5}, {10, 30, 7}, {10, 20, 0}, {20, 30, 0}} {
		if got := g.between("t", at(c.after), at(c.before)); got != c.want {
			t.Errorf("between %d and %d: got %d, want %d", c.after, c.before, got, c.want)
		}
	}
}
