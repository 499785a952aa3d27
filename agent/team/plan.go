package team

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/item"
)

// Phase is a step of a plan: some experts work at the same time.
type Phase struct {
	ID    string `json:"id" jsonschema:"a short word of its own"`
	Title string `json:"title"`
	// Task is what the experts are told beside the question; empty: each looks at what its role says.
	Task string `json:"task,omitempty" jsonschema:"what the experts of this phase do"`
	// Experts are the ids of those who work; none named: all.
	Experts []string `json:"experts,omitempty" jsonschema:"names of the experts who work in this phase"`
	// DependsOn are the phases whose findings the experts are shown.
	DependsOn []string `json:"depends_on,omitempty" jsonschema:"ids of phases that must be done before, whose findings are read"`

	Status Status `json:"status,omitempty" jsonschema:"leave it out"`
}

// Status is how a phase stands; the empty one is pending.
type Status string

const (
	Pending Status = "pending"
	Running Status = "running"
	Done    Status = "done"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Finding is what came of an expert in a phase.
type Finding struct {
	Phase  string       `json:"phase"`
	Expert string       `json:"expert"` // its id
	Status event.Status `json:"status"`
	Text   string       `json:"text,omitempty"`
	// Error says why there is none, or not the whole of it.
	Error string `json:"error,omitempty"`
	// Content is what other models read of it, with the passages that it cites, and Blocks what people see of those.
	Content []item.Block `json:"content,omitempty"`
	Blocks  []item.Block `json:"blocks,omitempty"`
}

func (p Phase) has(expert string) bool {
	return len(p.Experts) == 0 || slices.Contains(p.Experts, expert)
}

func (p Phase) settled() bool { return p.Status == Done || p.Status == Failed || p.Status == Skipped }

// checkPlan says what is wrong with a plan.
func (o *Options) checkPlan(experts []Expert, plan []Phase) error {
	if len(plan) == 0 || len(plan) > o.MaxPhases {
		return invalid("plan", "it has %d phases; have 1 to %d", len(plan), o.MaxPhases)
	}
	known := map[string]bool{}
	for _, e := range o.all(experts) {
		known[e.ID()] = true
	}
	ids := map[string]bool{}
	for _, p := range plan {
		if p.ID == "" || slug(p.ID) != p.ID || ids[p.ID] {
			return invalid("plan", "phase %q needs an id of its own, of small letters, digits and -", p.ID)
		}
		ids[p.ID] = true
		for _, e := range p.Experts {
			if !known[e] {
				return invalid("plan", "phase %q names the expert %q, who is not of the team", p.ID, e)
			}
		}
	}
	done := map[string]bool{}
	for range plan { // in every round one phase at least can be reached, unless they wait for each other
		for _, p := range plan {
			if !slices.ContainsFunc(p.DependsOn, func(id string) bool { return !done[id] }) {
				done[p.ID] = true
			}
		}
	}
	for _, p := range plan {
		for _, id := range p.DependsOn {
			if !ids[id] {
				return invalid("plan", "phase %q depends on %q, which is not in the plan", p.ID, id)
			}
		}
		if !done[p.ID] {
			return invalid("plan", "phase %q waits for itself; take a dependency out", p.ID)
		}
	}
	return nil
}

// usual is the plan that follows from the mode.
func (o *Options) usual(experts []Expert) []Phase {
	var ids []string
	for _, e := range experts {
		ids = append(ids, e.ID())
	}
	switch o.Mode {
	case Discuss:
		return o.rounds(ids, "Round", "Give your own view.", "Answer what the others have said: where they are right, where they are not, and what has changed in your view.")
	case Debate:
		plan := o.rounds(ids, "Round", "Hold the side that your role gives you, as strongly as the facts allow.", "Answer the other sides: refute what is wrong, and concede what is right.")
		if o.Judge != nil {
			plan = append(plan, Phase{ID: "verdict", Title: "Verdict", Experts: []string{o.Judge.ID()}, DependsOn: []string{plan[len(plan)-1].ID},
				Task: "Weigh what the sides have said, and decide."})
		}
		return plan
	case Divide:
	}
	return []Phase{{ID: "views", Title: "Views", Experts: ids}}
}

func (o *Options) rounds(ids []string, title, first, later string) []Phase {
	var plan []Phase
	for n := 1; n <= o.Rounds; n++ {
		p := Phase{ID: fmt.Sprintf("round-%d", n), Title: fmt.Sprintf("%s %d", title, n), Experts: ids, Task: later}
		if n == 1 {
			p.Task = first
		} else {
			p.DependsOn = []string{plan[n-2].ID}
		}
		plan = append(plan, p)
	}
	return plan
}

// due are the phases that can begin, after those that never will are skipped.
func (st *State) due() (due []int) {
	status := map[string]Status{}
	for range st.Phases { // a skipped phase may have others skipped that stand before it
		for i := range st.Phases {
			p := &st.Phases[i]
			if !p.settled() && slices.ContainsFunc(p.DependsOn, func(id string) bool { return status[id] == Failed || status[id] == Skipped }) {
				p.Status = Skipped
			}
			status[p.ID] = p.Status
		}
	}
	for i, p := range st.Phases {
		if !p.settled() && !slices.ContainsFunc(p.DependsOn, func(id string) bool { return status[id] != Done }) {
			due = append(due, i)
		}
	}
	return due
}

// skipRest gives up what has not begun.
func (st *State) skipRest() {
	for i := range st.Phases {
		if !st.Phases[i].settled() {
			st.Phases[i].Status = Skipped
		}
	}
}

// before are the findings that an expert of a phase is shown: those of the phases that it depends on, and of what these depend on.
func (st *State) before(p Phase) []Finding {
	wanted := map[string]bool{}
	var want func(ids []string)
	want = func(ids []string) {
		for _, id := range ids {
			if !wanted[id] {
				wanted[id] = true
				if i := slices.IndexFunc(st.Phases, func(p Phase) bool { return p.ID == id }); i >= 0 {
					want(st.Phases[i].DependsOn)
				}
			}
		}
	}
	want(p.DependsOn)
	var out []Finding
	for _, f := range st.Findings {
		if wanted[f.Phase] {
			out = append(out, f)
		}
	}
	return out
}

func (st *State) expert(o *Options, id string) (Expert, bool) {
	all := o.all(st.Experts)
	i := slices.IndexFunc(all, func(e Expert) bool { return e.ID() == id })
	if i < 0 {
		return Expert{Name: id}, false
	}
	return all[i], true
}

// clone is a copy whose lists may be changed.
func (st State) clone() State {
	st.Phases, st.Findings = slices.Clone(st.Phases), slices.Clone(st.Findings)
	return st
}

// formed and planned are what readers are told.
func (t *team) formed(st *State) event.TeamFormed {
	e := event.TeamFormed{Team: st.ID, Title: st.Title, Lead: t.Agent.Name}
	for _, x := range t.all(st.Experts) {
		e.Members = append(e.Members, event.Member{ID: x.ID(), Name: x.Name, Role: x.Role})
	}
	return e
}

func (t *team) planned(st *State) event.PlanUpdated {
	e := event.PlanUpdated{Plan: "plan-" + st.ID, Team: st.ID, Title: st.Title}
	for _, p := range st.Phases {
		step := event.PlanStep{ID: p.ID, Title: p.Title, Detail: p.Task, Status: string(cmp.Or(p.Status, Pending)), Kind: "phase", DependsOn: p.DependsOn}
		var ids, missing []string
		for _, x := range t.all(st.Experts) {
			if p.has(x.ID()) {
				ids = append(ids, x.ID())
			}
		}
		for _, f := range st.Findings {
			if f.Phase == p.ID && f.Status != event.Success {
				missing = append(missing, f.Expert)
			}
		}
		step.Member = strings.Join(ids, ",")
		if len(missing) > 0 {
			step.Result = "without " + strings.Join(missing, ", ")
		}
		e.Steps = append(e.Steps, step)
	}
	return e
}
