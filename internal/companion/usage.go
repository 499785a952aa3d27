package companion

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
)

// UsageQuery selects runs. Zero fields do not restrict.
type UsageQuery struct {
	Thread string
	// Since and Until bound when runs were created.
	Since, Until time.Time
}

// Usage is what runs have spent.
type Usage struct {
	Sum
	Threads, Agents, Models []Line // the costliest first
}

// Sum is what some runs have spent together.
type Sum struct {
	Runs  int
	Turns int // model calls
	Usage item.Usage
}

// Line is what was spent by or on one of something.
type Line struct {
	Name string
	Sum
}

// book adds up by name.
type book map[string]*Sum

func (b book) add(name string, turns int, u item.Usage, seen map[string]bool) {
	s := b[name]
	if s == nil {
		s = &Sum{}
		b[name] = s
	}
	if !seen[name] { // a run counts once, however many of its agents share a model
		seen[name] = true
		s.Runs++
	}
	s.Turns += turns
	s.Usage = s.Usage.Plus(u)
}

func (b book) lines() []Line {
	out := make([]Line, 0, len(b))
	for name, s := range b {
		out = append(out, Line{name, *s})
	}
	slices.SortFunc(out, func(x, y Line) int {
		return cmp.Or(cmp.Compare(y.Usage.CostMicros, x.Usage.CostMicros), cmp.Compare(y.Usage.Total(), x.Usage.Total()), cmp.Compare(x.Name, y.Name))
	})
	return out
}

// Used adds up what an owner's runs have spent. Runs that have not ended are not in it.
func (c *Companion) Used(ctx context.Context, who run.Identity, q UsageQuery) (Usage, error) {
	var u Usage
	threads, agents, models := book{}, book{}, book{}
	err := c.runs(ctx, who, q, func(r run.Run) {
		u.Runs++
		u.Usage = u.Usage.Plus(r.Usage)
		byAgent, byModel := map[string]bool{}, map[string]bool{}
		turns := 0
		for _, s := range r.Spent {
			agents.add(agentOf(r, s), s.Turns, s.Usage, byAgent)
			models.add(modelOf(s), s.Turns, s.Usage, byModel)
			turns += s.Turns
		}
		threads.add(r.Thread, turns, r.Usage, map[string]bool{})
		u.Turns += turns
	})
	u.Threads, u.Agents, u.Models = threads.lines(), agents.lines(), models.lines()
	return u, err
}

// runs visits the runs that a query selects and that have ended, newest first.
func (c *Companion) runs(ctx context.Context, who run.Identity, q UsageQuery, visit func(run.Run)) error {
	if q.Thread != "" {
		if _, err := c.Store.Thread(ctx, who, q.Thread); err != nil {
			return err
		}
	}
	const page = 500
	for at := 0; ; at += page {
		runs, _, err := c.Store.SearchRuns(ctx, who, run.RunQuery{Thread: q.Thread, Limit: page, Offset: at})
		if err != nil {
			return err
		}
		for _, r := range runs {
			if !q.Since.IsZero() && r.CreatedAt.Before(q.Since) {
				return nil // all others are older
			}
			if r.Status.Ended() && (q.Until.IsZero() || r.CreatedAt.Before(q.Until)) {
				visit(r)
			}
		}
		if len(runs) < page {
			return nil
		}
	}
}

// agentOf is the name of the agent that spent something: the custom agent, where the run has one in the place of the lead.
func agentOf(r run.Run, s run.Share) string {
	if leads(s) {
		if configurable, _, err := r.Request.Settings(); err == nil && len(configurable) > 0 {
			var said struct {
				Agent string `json:"agent_name"`
			}
			if json.Unmarshal(configurable, &said) == nil && said.Agent != "" {
				return said.Agent
			}
		}
	}
	return cmp.Or(s.Agent, r.Request.Graph)
}

// leads reports that it was the run's own agent.
func leads(s run.Share) bool { return s.Agent == "agent" || s.Agent == "" }

// aside are the agents that middleware calls.
var aside = []string{"summary", "goal", "title"}

func modelOf(s run.Share) string {
	switch {
	case s.Model == "":
		return "unknown"
	case s.Provider == "" || s.Provider == s.Model:
		return s.Model
	}
	return s.Provider + "/" + s.Model
}

// ThreadUsage is what a thread has spent, in the words of DeerFlow's page.
type ThreadUsage struct {
	Sum
	Models []Line
	// Lead, Subagents and Middleware are tokens, by who asked for them.
	Lead, Subagents, Middleware int
	// Context is how many tokens the last request of the thread's own agent had; 0 if that is not known.
	Context int
}

// ThreadUsed adds up what a thread has spent.
func (c *Companion) ThreadUsed(ctx context.Context, who run.Identity, thread string) (ThreadUsage, error) {
	var u ThreadUsage
	models := book{}
	err := c.runs(ctx, who, UsageQuery{Thread: thread}, func(r run.Run) {
		u.Runs++
		u.Usage = u.Usage.Plus(r.Usage)
		seen := map[string]bool{}
		for _, s := range r.Spent {
			models.add(modelOf(s), s.Turns, s.Usage, seen)
			u.Turns += s.Turns
			switch {
			case leads(s):
				u.Lead += s.Usage.Total()
			case slices.Contains(aside, s.Agent):
				u.Middleware += s.Usage.Total()
			default:
				u.Subagents += s.Usage.Total()
			}
		}
	})
	if err != nil {
		return u, err
	}
	u.Models = models.lines()
	msgs, err := c.messages(ctx, who, thread)
	for _, m := range slices.Backward(msgs) {
		if m.Role == item.Assistant && m.Usage != nil {
			u.Context = m.Usage.InputTokens
			break
		}
	}
	return u, err
}
