package agent

import (
	"fmt"
	"iter"
	"sync"

	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/cite"
	"github.com/tributary-ai/tributary/item"
)

// ResultsRecall is a [graph.Recall] that can list the tool results of earlier attempts, of sub-agents too, in the order
// in which they were recorded. Without it the numbers of a sub-agent's results are known again only when that
// sub-agent goes on.
type ResultsRecall interface {
	ToolResults() iter.Seq[item.ToolResult]
}

// Shared keeps what the agents of a run have in common while it executes in this process: the reference pool, and how many
// sub-agents there are. It serves any number of runs. The zero value is ready.
type Shared struct {
	mu    sync.Mutex
	trees map[string]*tree
	order []string // runs, the oldest first
}

// mostTrees bounds what is kept of runs that stopped where no agent could notice, at a breakpoint for example. A run
// whose tree is dropped while it executes makes a new one out of its conversation.
const mostTrees = 1000

// of returns what the agents of the scope's run share.
func (h *Shared) of(s *graph.Scope) *tree {
	h.mu.Lock()
	defer h.mu.Unlock()
	run := s.Config().Run
	if t := h.trees[run]; t != nil {
		return t
	}
	t := &tree{}
	if r, ok := s.Recall().(ResultsRecall); ok {
		for res := range r.ToolResults() {
			t.restore(&res)
		}
	}
	if h.trees == nil {
		h.trees = map[string]*tree{}
	}
	if len(h.order) == mostTrees {
		delete(h.trees, h.order[0])
		h.order = h.order[1:]
	}
	h.trees[run] = t
	h.order = append(h.order, run)
	return t
}

// release forgets a run.
func (h *Shared) release(s *graph.Scope) {
	h.mu.Lock()
	defer h.mu.Unlock()
	run := s.Config().Run
	if h.trees[run] == nil {
		return
	}
	delete(h.trees, run)
	for i, r := range h.order {
		if r == run {
			h.order = append(h.order[:i], h.order[i+1:]...)
			return
		}
	}
}

// tree is what the agents of one run share.
type tree struct {
	pool cite.Pool

	mu         sync.Mutex // guards what follows
	last       int        // the highest number in the pool
	remembered map[string]bool
	children   int
	slots      map[string]chan struct{}
}

// remember takes the references of a conversation into the pool, once for each graph.
func (t *tree) remember(s *graph.Scope, msgs []item.Message) {
	t.mu.Lock()
	done := t.remembered[s.NS()]
	put(&t.remembered, s.NS(), true)
	t.mu.Unlock()
	if done {
		return
	}
	for _, m := range msgs {
		if m.Role == item.Tool {
			t.restore(&item.ToolResult{Content: m.Content, Blocks: m.Blocks})
		}
	}
}

// restore takes in a recorded result under the numbers that it has.
func (t *tree) restore(res *item.ToolResult) {
	if res == nil {
		return
	}
	t.pool.Restore(*res)
	t.note(*res)
}

// add numbers a fresh result.
func (t *tree) add(res item.ToolResult) item.ToolResult {
	res = t.pool.Add(res)
	t.note(res)
	return res
}

func (t *tree) note(res item.ToolResult) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range res.Content {
		if b.Ref > t.last && t.pool.Has(b.Ref) {
			t.last = b.Ref
		}
	}
}

// newest is the reference with the highest number, as a result that can be restored; nil if there is none.
func (t *tree) newest() *item.ToolResult {
	t.mu.Lock()
	defer t.mu.Unlock()
	g, ok := t.pool.Group(t.last)
	if !ok {
		return nil
	}
	return &item.ToolResult{Content: g.Content, Blocks: g.Blocks}
}

// admit makes room for a sub-agent of a task, or says why there is none. One that had begun before a crash must go on.
func (t *tree) admit(l Limits, task string, begun bool) (slot chan struct{}, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.children >= l.Count && !begun {
		return nil, fmt.Errorf("this run has started %d sub-agents, which is the limit; do the work yourself", l.Count)
	}
	t.children++
	slot = t.slots[task]
	if slot == nil {
		slot = make(chan struct{}, l.Concurrent)
		put(&t.slots, task, slot)
	}
	return slot, nil
}
