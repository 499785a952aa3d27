package agent

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/cite"
	"github.com/tributary-ai/tributary/item"
)

// Citable says which numbers [^n] the agents and nodes of a run may cite, for [CallOptions].
func Citable(s *graph.Scope) func(n int) bool { return trees.Get(s).pool.Has }

// Refer numbers what can be cited in a result that a node got by itself, as the results of an agent's tools are numbered:
// show the model the Content that it returns. The node writes the result into its state, so that a later run
// knows the numbers again; see [Remember].
func Refer(s *graph.Scope, res item.ToolResult) item.ToolResult { return trees.Get(s).add(res) }

// Remember makes known what can be cited in a conversation, under the numbers that it has there. An agent does so with its
// own messages; a node that cites calls it first.
func Remember(s *graph.Scope, msgs []item.Message) { trees.Get(s).remember(s, msgs) }

// Reference returns what people see of a numbered passage.
func Reference(s *graph.Scope, n int) (blocks []item.Block, ok bool) {
	g, ok := trees.Get(s).pool.Group(n)
	return g.Blocks, ok
}

// Quote is an agent's answer as another one is shown it: what it cites, and then the answer itself. It is what a caller reads of
// its sub-agent.
func Quote(s *graph.Scope, answer []item.Block) item.ToolResult {
	return quote(&trees.Get(s).pool, answer)
}

// trees are what the agents of a run have in common.
var trees = graph.NewLocal(func(s *graph.Scope) *tree {
	t := &tree{}
	for res := range s.Recall().ToolResults() {
		t.restore(&res)
	}
	return t
})

// tree is what the agents of one run share: the reference pool, and how much has been begun. It serves one attempt; after
// a crash the next one makes it out of the conversation and the journal.
type tree struct {
	pool cite.Pool

	mu         sync.Mutex // guards what follows
	last       int        // the highest number in the pool
	remembered map[string]bool
	children   int
	turns      int
	slots      map[string]chan struct{}
	gates      map[string]*semaphore.Weighted
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

// turn counts a model call of the run.
func (t *tree) turn(l Limits) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.Turns > 0 && t.turns >= l.Turns {
		return &event.Error{
			Code: "turn_limit", Name: "TurnLimitError",
			Message: fmt.Sprintf("the agents of this run have called their models %d times, which is the limit; raise Limits.Turns if it needs more", t.turns),
		}
	}
	t.turns++
	return nil
}

// everything is more than any number of calls side by side.
const everything = 1 << 30

// enter waits until a tool call may run beside the others of its agent: an exclusive one alone.
func (t *tree) enter(ctx context.Context, ns string, exclusive bool) (leave func(), err error) {
	t.mu.Lock()
	gate := t.gates[ns]
	if gate == nil {
		gate = semaphore.NewWeighted(everything)
		put(&t.gates, ns, gate)
	}
	t.mu.Unlock()
	weight := int64(1)
	if exclusive {
		weight = everything
	}
	if err := gate.Acquire(ctx, weight); err != nil {
		return nil, context.Cause(ctx)
	}
	return func() { gate.Release(weight) }, nil
}
