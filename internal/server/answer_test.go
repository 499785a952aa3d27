package server_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/server"
)

// hesitant is a store in which whoever looks first at what is asked waits for a second to have looked too; and the second is held
// until the first has its answer.
type hesitant struct {
	server.Store
	armed    atomic.Bool
	first    atomic.Bool
	second   chan struct{} // closed when two have looked
	answered chan struct{} // closed when the first has its answer
	both     atomic.Bool
}

func (s *hesitant) Load(ctx context.Context, thread, ns, id string) (*graph.Snapshot, error) {
	snap, err := s.Store.Load(ctx, thread, ns, id)
	if !s.armed.Load() {
		return snap, err
	}
	if s.first.CompareAndSwap(false, true) {
		select {
		case <-s.second:
		case <-time.After(300 * time.Millisecond): // nobody else gets here
			s.armed.Store(false)
		}
		return snap, err
	}
	if s.both.CompareAndSwap(false, true) {
		close(s.second)
		<-s.answered
	}
	return snap, err
}

// Two answers to one question that look at the same moment whether it is still asked: the second must not become a run of
// its own when the first has ended already.
func TestAnAnswerThatLookedTooEarlyIsRefused(t *testing.T) {
	s := &hesitant{second: make(chan struct{}), answered: make(chan struct{})}
	w := newTasks(t, allGraphs(), func(o *server.Options) { s.Store, o.Store = o.Store, s })
	task := w.must(200, "POST", "/tasks", `{"input":"hi","assistant":"ask"}`).object(t)
	q := task["interrupts"].([]any)[0].(map[string]any)["id"].(string)
	s.armed.Store(true)
	status := make(chan int, 2)
	for i := range 2 {
		go func() {
			status <- w.do("POST", "/tasks/"+task["task_id"].(string)+"/input", fmt.Sprintf(`{"interrupt_id":%q,"value":"%d"}`, q, i)).status
		}()
	}
	one := <-status
	close(s.answered)
	two := <-status
	if min(one, two) != 200 || max(one, two) != 409 {
		t.Errorf("two answers to one question got %d and %d, want 200 and 409", one, two)
	}
	if total := w.must(200, "GET", "/tasks", "").object(t)["total"]; total != 2.0 {
		t.Errorf("there are %v tasks, want 2", total)
	}
}
