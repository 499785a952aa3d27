package journal_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/internal/journal"
)

// Whoever stored a run with the beginning of its journal can show it to readers without another look into the store.
func TestOpeningIsShownWithoutAskingTheStore(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{})
	defer j.Close()
	chunk, events, err := journal.Opening("r", "t", delta("a"), delta("b"))
	must(t, err)
	if chunk.First != 1 || chunk.Last != 2 || len(events) != 2 || events[1].Seq != 2 || events[1].Run != "r" || events[1].Epoch != 1 {
		t.Fatalf("got %+v and %+v", chunk, events)
	}
	l := j.Log(lease("r", 1), "t", chunk.Last)
	defer l.Close()
	l.Opened(events)
	c := j.Cursor("r", journal.Position{})
	defer c.Close()
	m.mu.Lock()
	m.gone = map[string]bool{"r": true} // the store would say that there is nothing
	m.mu.Unlock()
	got, err := c.Next(t.Context())
	must(t, err)
	if len(got) != 2 {
		t.Fatalf("got %v", got)
	}
	must(t, l.Append(t.Context(), journal.Batch{Events: []event.Envelope{delta("c")}, Promise: true}))
	if got, err = c.Next(t.Context()); err != nil || len(got) != 1 || got[0].Seq != 3 {
		t.Fatalf("got %v, %v", got, err)
	}
}

// Memory is lent for what is queued, and taken back when it is written: a store that has copied it must find each run's own
// events in it, however many runs there are and however much each says at once.
func TestLentMemoryHoldsEachRunsOwnEvents(t *testing.T) {
	m := newMemory()
	j := journal.Open(m, journal.Options{QueueBytes: 1 << 20})
	defer j.Close()
	var wg sync.WaitGroup
	const runs, batches = 8, 40
	for r := range runs {
		wg.Go(func() {
			name := fmt.Sprintf("r%d", r)
			l := j.Log(lease(name, 1), "t", 0)
			defer l.Close()
			for b := range batches {
				batch := journal.Batch{Promise: b%5 == 4}
				for i := range 1 + b*(r+1)%90 {
					batch.Events = append(batch.Events, delta(fmt.Sprintf("%s %d %d %s", name, b, i, strings.Repeat("x", b*r))))
				}
				must(t, l.Append(t.Context(), batch))
			}
			must(t, l.Append(t.Context(), journal.Batch{Promise: true}))
		})
	}
	wg.Wait()
	for r := range runs {
		name := fmt.Sprintf("r%d", r)
		var next uint64 = 1
		for env, err := range j.Read(t.Context(), name, 0) {
			must(t, err)
			d, ok := env.Event.(event.TextDelta)
			if !ok || env.Seq != next || !strings.HasPrefix(d.Text, name+" ") {
				t.Fatalf("run %s has %v at %d, want %d", name, env.Event, env.Seq, next)
			}
			next++
		}
		if next < batches {
			t.Errorf("run %s has %d events", name, next-1)
		}
	}
}
