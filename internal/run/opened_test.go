package run_test

import (
	"math"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
)

// Whoever starts a run reads it from its first event at once. Of two hundred that start in the same moment, each would look into
// the database for the event that was just written there.
func TestTheFirstEventOfANewRunIsInMemoryWhenStartReturns(t *testing.T) {
	g := newGate()
	w := open(t, t.TempDir(), single(oneNode(g.node)))
	defer w.stop(0)
	defer close(g.pass)
	w.faults.old.Store(math.MaxUint64)
	for range 20 {
		r := w.start(newThread())
		c := w.j.Cursor(r.ID, journal.Position{})
		events, _, err := c.Poll(t.Context())
		c.Close()
		if err != nil || len(events) == 0 {
			t.Fatalf("%d events are at hand, %v", len(events), err)
		}
		if _, ok := events[0].Event.(event.RunStarted); !ok {
			t.Errorf("the first event is %T, want RunStarted", events[0].Event)
		}
	}
	if n := w.faults.reads.Load(); n > 0 {
		t.Errorf("the store was read %d times for what had just been written", n)
	}
}
