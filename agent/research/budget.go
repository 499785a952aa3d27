package research

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/item"
)

// Clock is how long there has been work on a plan. It stands still while the plan is made and a person looks at it.
type Clock struct {
	Seconds float64 `json:"seconds,omitempty"` // of earlier rounds
	// Since is when the round began that is worked on.
	Since time.Time `json:"since,omitzero"`
}

func (c Clock) worked(now time.Time) time.Duration {
	d := time.Duration(c.Seconds * float64(time.Second))
	if !c.Since.IsZero() {
		d += max(now.Sub(c.Since), 0)
	}
	return d
}

func (c Clock) started(now time.Time) Clock { return Clock{c.Seconds, now.UTC()} }

func (c Clock) stopped(now time.Time) Clock { return Clock{Seconds: c.worked(now).Seconds()} }

// spent says which budget of the steps is used up; empty if none is.
func (w *work) spent(s *graph.Scope) string {
	c, tokens := w.settings(s), 0
	for _, r := range results.Get(s) {
		tokens += r.Tokens
	}
	switch {
	case c.MaxTokens > 0 && tokens >= c.MaxTokens:
		return fmt.Sprintf("the steps have taken %d tokens, and %d are allowed (max_research_tokens)", tokens, c.MaxTokens)
	case c.MaxSeconds > 0 && clock.Get(s).worked(time.Now()) >= time.Duration(c.MaxSeconds)*time.Second:
		return fmt.Sprintf("the %d seconds that the steps may take are over (max_research_seconds)", c.MaxSeconds)
	}
	return ""
}

// limited ends with the time that the steps have.
func (w *work) limited(ctx context.Context, s *graph.Scope) (context.Context, context.CancelFunc) {
	most := w.settings(s).MaxSeconds
	if most == 0 {
		return context.WithCancel(ctx)
	}
	left := time.Duration(most)*time.Second - clock.Get(s).worked(time.Now())
	return context.WithTimeoutCause(ctx, left, &event.Error{
		Code: graph.CodeTimeout, Name: "TimeoutError", Message: fmt.Sprintf("the %d seconds that the steps may take are over (max_research_seconds)", most),
	})
}

// leaveOut ends the steps that have not been done, each with the reason.
func (w *work) leaveOut(ctx context.Context, s *graph.Scope, why string) (graph.Command, error) {
	p, all, left := plan.Get(s), maps.Clone(results.Get(s)), map[string]Result{}
	for _, step := range p.Steps {
		if _, over := all[step.ID]; !over {
			left[step.ID] = Result{Error: "it was left out: " + why}
		}
	}
	if len(left) == 0 {
		return graph.Goto(NodePlanner), nil
	}
	maps.Copy(all, left)
	err := s.Emit(ctx, event.Warned{Code: "research_budget", Message: fmt.Sprintf("%d steps were left out: %s", len(left), why)}, p.told(planID.Get(s), all, nil))
	return graph.Update(results.Set(left)).Go(NodePlanner), err
}

// tokensOf is what the answers of a conversation took.
func tokensOf(msgs []item.Message) (n int) {
	for _, m := range msgs {
		if m.Usage != nil {
			n += m.Usage.Total()
		}
	}
	return n
}
