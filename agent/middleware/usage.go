package middleware

import (
	"context"
	"strings"
	"sync"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// UsageOptions are settings of [Usage].
type UsageOptions struct{}

// Used is what a thread's answers have cost.
type Used struct {
	Run    item.Usage `json:"run"`    // since the person last spoke, with sub-agents that count theirs
	Thread item.Usage `json:"thread"` // all answers in it, and the sub-agents' of Run's before
	// Through is the last answer that is counted.
	Through string `json:"through"`
}

// UsageField holds it in the state.
var UsageField = graph.LastValue[Used]("usage")

// Usage adds up what answers cost, for the run and for the thread, when the agent has given its answer. It counts what the
// providers say. Tries that were void are not in it; the end of the run tells the sum with them.
func Usage(UsageOptions) agent.Middleware {
	return agent.Middleware{
		Name: "usage", Fields: []graph.AnyField{UsageField},
		Model: func(next agent.ModelFunc) agent.ModelFunc {
			return func(ctx context.Context, c *agent.ModelCall) (item.Message, error) {
				spent(c.Step) // so that it is known to the agents above
				return next(ctx, c)
			}
		},
		After: agent.Hook{
			Due: func(s *agent.Step) bool {
				a, ok := s.Answer()
				return ok && len(a.ToolCalls) == 0 && a.Finish != item.FinishPause && UsageField.Get(s.Scope).Through != a.ID
			},
			Do: func(_ context.Context, s *agent.Step) (graph.Command, error) {
				a, _ := s.Answer()
				used := UsageField.Get(s.Scope)
				now := spent(s)
				fresh := now
				if q := question(s.Messages); used.Through != "" && after(s.Messages, used.Through) > after(s.Messages, q) {
					fresh = minus(now, used.Run) // one more answer to the same question
				}
				return graph.Update(UsageField.Set(Used{Run: now, Thread: used.Thread.Plus(fresh), Through: a.ID})), nil
			},
		},
	}
}

func minus(a, b item.Usage) item.Usage {
	return a.Plus(item.Usage{
		InputTokens: -b.InputTokens, OutputTokens: -b.OutputTokens, CachedTokens: -b.CachedTokens,
		CacheWriteTokens: -b.CacheWriteTokens, ReasoningTokens: -b.ReasoningTokens, CostMicros: -b.CostMicros,
	})
}

// purses are what the agents of a run have spent. After a crash they are made again from the conversations that go on.
var purses = graph.NewLocal(func(*graph.Scope) *purse { return &purse{by: map[string]*account{}} })

type purse struct {
	mu sync.Mutex
	by map[string]*account // by namespace
}

type account struct {
	in  []item.Message
	sum item.Usage
}

// spent is what the answers since the person last spoke have cost, with those of the agents below that count theirs.
func spent(s *agent.Step) item.Usage {
	p := purses.Get(s.Scope)
	p.mu.Lock()
	defer p.mu.Unlock()
	ns := s.NS()
	a := p.by[ns]
	if a == nil {
		a = &account{}
		p.by[ns] = a
	}
	if !begins(s.Messages, a.in) {
		*a = account{}
	}
	for i := len(a.in); i < len(s.Messages); i++ {
		switch m := &s.Messages[i]; {
		case m.Role == item.User:
			a.sum = item.Usage{}
		case m.Role == item.Assistant && m.Usage != nil:
			a.sum = a.sum.Plus(*m.Usage)
		}
	}
	a.in = s.Messages
	total := a.sum
	for name, other := range p.by {
		if name != ns && (ns == "" || strings.HasPrefix(name, ns+"|")) {
			total = total.Plus(other.sum)
		}
	}
	return total
}
