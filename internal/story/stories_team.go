package story

import (
	"context"
	"fmt"

	"github.com/tributary-ai/tributary/agent"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/graph"
	"github.com/tributary-ai/tributary/internal/run"
	"github.com/tributary-ai/tributary/item"
	"github.com/tributary-ai/tributary/model"
	"github.com/tributary-ai/tributary/model/scripted"
)

var teamAndPlan = Story{
	Name: "team-and-plan",
	Tells: `A team of two experts works by a plan; one of them has to try twice.

The experts are child tasks that no tool call contains. Ben begins while Ada is speaking, fails, is begun again as a
second attempt, which voids all of the first, and is done before Ada goes on. What the first attempt had cost counts
for the run all the same. The plan is told whole whenever it changes. The team is dissolved before the run ends.
`,
	Happens: func(w *World) {
		team := &team{w: w, experts: map[string]*graph.Graph{
			"ada": expert("Ada", scripted.Always(scripted.Words("Rivers").Do(w.gate(ended("expert", "ben"))).Words(" rise."))),
			"ben": expert("Ben", scripted.Sequence(
				scripted.Words("Hm").Usage(item.Usage{InputTokens: 4, OutputTokens: 1}).Fail(errKey),
				scripted.Words("Seas fall."),
			)),
		}}
		w.serve(graph.New("team", messages, votes).
			Node("lead", team.lead).Node("expert", team.expert).Node("report", team.report).
			Edge(graph.Start, "lead").Edge("expert", "report").Edge("report", graph.End))
		w.ask("What does water do?", run.Success)
	},
}

// expert is an agent that can be a member of a team.
func expert(name string, m model.Model) *graph.Graph {
	g, err := agent.New(agent.Options{Name: name, Model: m})
	if err != nil {
		panic(err) // a mistake in the story
	}
	return g
}

type team struct {
	w       *World
	experts map[string]*graph.Graph
}

// assignment is what an expert is sent.
type assignment struct {
	Member string `json:"member"`
	Work   string `json:"work"`
}

func plan(status string, attempt int) event.PlanUpdated {
	return event.PlanUpdated{Plan: "plan-1", Team: "team-1", Title: "Water", Steps: []event.PlanStep{
		{ID: "1", Title: "rivers", Status: status, Kind: "research", Member: "ada"},
		{ID: "2", Title: "seas", Status: status, Kind: "research", Member: "ben", Attempt: attempt},
		{ID: "3", Title: "report", Status: "pending", DependsOn: []string{"1", "2"}},
	}}
}

// lead forms the team and hands out the work.
func (t *team) lead(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	err := s.Emit(ctx, event.TeamFormed{Team: "team-1", Title: "Water", Lead: "lead", Members: []event.Member{
		{ID: "ada", Name: "Ada", Role: "rivers"}, {ID: "ben", Name: "Ben", Role: "seas"},
	}}, plan("running", 0))
	return graph.Send("expert", assignment{"ada", "rivers"}).Send("expert", assignment{"ben", "seas"}), err
}

// expert works as one of the members, twice if need be.
func (t *team) expert(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	a, err := graph.InputAs[assignment](s)
	if err != nil {
		return graph.Command{}, err
	}
	if a.Member == "ben" {
		if err := t.w.until(ctx, said("Rivers")); err != nil {
			return graph.Command{}, err
		}
	}
	work := graph.Child{
		Task: "expert-" + a.Member, Agent: a.Member, Title: a.Work, Uncalled: true,
		Input: map[string]any{"messages": []item.Message{item.UserText("work-"+a.Member, "Tell of "+a.Work+".")}},
	}
	if _, err = s.Run(ctx, t.experts[a.Member], work); err != nil {
		if _, err = s.Run(ctx, t.experts[a.Member], work); err != nil {
			return graph.Command{}, err
		}
	}
	return graph.Update(votes.Add(a.Member + " is done")), nil
}

// report sums up and lets the team go.
func (t *team) report(ctx context.Context, s *graph.Scope) (graph.Command, error) {
	if n := len(votes.Get(s)); n != 2 {
		return graph.Command{}, fmt.Errorf("%d experts are done", n)
	}
	if err := s.Emit(ctx, plan("done", 2)); err != nil {
		return graph.Command{}, err
	}
	cmd, err := speaks("lead", scripted.Words("It rises and falls."))(ctx, s)
	if err != nil {
		return cmd, err
	}
	return cmd, s.Emit(ctx, event.TeamDissolved{Team: "team-1", Outcome: event.Success})
}

var spokenTo = Story{
	Name: "spoken-to",
	Tells: `A person says something to the agents while they work.

It is an event of the run as a whole, on disk before whoever said it is told so, and said once, whatever becomes of the process.
`,
	Happens: func(w *World) {
		node := func(ctx context.Context, s *graph.Scope) (graph.Command, error) {
			var before []event.Spoken
			if r, ok := s.Recall().(graph.RecallSpoken); ok {
				before = r.Spoken()
			}
			s.Listen(func(words event.Spoken, record func() error) error {
				if len(before) > 0 { // it has been said
					return nil
				}
				return record()
			})
			return speaks("agent", scripted.Words("Rivers").Do(w.gate(said("Rivers"))).Do(func(ctx context.Context) error {
				_, err := w.eng.Speak(ctx, reader, w.told[0].id, event.Spoken{ID: "words-1", Text: "Mind the tides."})
				return err
			}).Words(" rise."))(ctx, s)
		}
		w.serve(graph.New("agent", messages).Node("agent", node).Chain(graph.Start, "agent", graph.End))
		w.ask("What does water do?", run.Success)
	},
}
