package protocol2

import (
	"testing"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
)

func TestRemovedRunsKeepTheirNumbers(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	gaps := []run.Gap{{At: at(10), Count: 5}, {At: at(20), Count: 7}}
	for _, c := range []struct {
		after, before int
		want          uint64
	}{{0, 30, 12}, {0, 15, 5}, {10, 30, 7}, {10, 20, 0}, {20, 30, 0}} {
		if got := between(gaps, at(c.after), at(c.before)); got != c.want {
			t.Errorf("between %d and %d: got %d, want %d", c.after, c.before, got, c.want)
		}
	}
}
