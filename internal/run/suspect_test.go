package run_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
)

// A run that ends the process whenever it executes must not take those with it that happened to be there: it is found and given
// up, with the settings that we ship, and all others succeed.
func TestARunThatEndsTheProcessIsFoundAndItsNeighboursSucceed(t *testing.T) {
	const neighbours = 40
	dir := t.TempDir()
	var poison atomic.Pointer[string]
	var w *world
	var opened chan struct{}
	var poisonAlone, most atomic.Int32
	build := single(oneNode(func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
		<-opened
		if p := poison.Load(); p != nil && *p == s.Config().Run {
			if w.e.Active() == 1 {
				poisonAlone.Add(1)
			}
			most.Store(max(most.Load(), int32(w.e.Active())))
			w.faults.dieAfter(0, false)
			return graph.Command{}, s.Promise(ctx, event.Custom{Data: []byte(`"dies"`)})
		}
		select { // long enough to be there when the process dies
		case <-time.After(30 * time.Millisecond):
		case <-ctx.Done():
		}
		return graph.Command{}, context.Cause(ctx)
	}))
	var ids []string
	lives := 0
	for {
		if lives++; lives > 30 {
			t.Fatalf("the process died %d times", lives)
		}
		opened = make(chan struct{})
		w = open(t, dir, build, func(o *run.Options) { o.Lease = time.Hour })
		if ids == nil {
			for range neighbours / 2 {
				ids = append(ids, w.start(newThread()).ID)
			}
			bad := w.start(newThread()).ID
			for range neighbours / 2 {
				ids = append(ids, w.start(newThread()).ID)
			}
			poison.Store(&bad)
		}
		close(opened)
		waitFor(t, func() bool {
			left, err := w.db.RunsInFlight(context.Background(), me)
			return w.faults.dead() || err == nil && len(left) == 0
		})
		if !w.faults.dead() {
			break
		}
		w.stop(0)
	}
	defer w.stop(time.Second)
	for _, id := range ids {
		if r := w.wait(id); r.Status != run.Success {
			t.Errorf("a neighbour ended %s, %+v", r.Status, r.Error)
		}
	}
	if r := w.wait(*poison.Load()); r.Status != run.Failed || r.Error == nil || r.Error.Code != "too_many_attempts" {
		t.Errorf("the one that ends the process ended %s, %+v", r.Status, r.Error)
	}
	if lives != 11 || poisonAlone.Load() < 3 || most.Load() < neighbours {
		t.Errorf("%d lives, in which it was alone %d times, and with %d at most", lives, poisonAlone.Load(), most.Load())
	}
}

// Progress is what counts: a run may see any number of crashes if it gets further between them.
func TestARunThatGetsFurtherIsNotGivenUp(t *testing.T) {
	const steps = 25
	dir := t.TempDir()
	log := graph.List[string]("log")
	g := graph.New("g", log)
	var w *world
	opened := make(chan struct{})
	before := graph.Start
	for i := range steps {
		name := "n" + string(rune('a'+i))
		var tries atomic.Int32
		g.Node(name, func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			if tries.Add(1) == 1 { // each step ends the process once
				<-opened
				// What the step before saved is on disk when this returns.
				if err := s.Promise(ctx, event.Custom{Data: []byte(`"lives"`)}); err != nil {
					return graph.Command{}, err
				}
				w.faults.dieAfter(0, false)
				return graph.Command{}, s.Promise(ctx, event.Custom{Data: []byte(`"dies"`)})
			}
			return graph.Update(log.Set([]string{name})), nil
		})
		g.Edge(before, name)
		before = name
	}
	g.Edge(before, graph.End)
	var id string
	for lives := 1; ; lives++ {
		opened = make(chan struct{})
		w = open(t, dir, single(g), func(o *run.Options) { o.Lease = time.Hour })
		if id == "" {
			id = w.start(newThread(), func(r *run.Request) { r.Config = []byte(`{"recursion_limit":100}`) }).ID
		}
		close(opened)
		waitFor(t, func() bool { return w.faults.dead() || ended(w, id) })
		dead := w.faults.dead()
		if !dead {
			if r := w.wait(id); r.Status != run.Success || lives < steps {
				t.Errorf("after %d lives the run ended %s, %+v", lives, r.Status, r.Error)
			}
		}
		w.stop(0)
		if !dead {
			return
		}
	}
}
