package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/model/scripted"
)

// knowledge measures how long a run takes from its request to its first model call, with and without 200 skills and 100 agents that it could
// delegate to.
func knowledge(ctx context.Context, b *bench) ([]row, error) {
	runs := 300
	if b.quick {
		runs = 30
	}
	none, err := startOf(ctx, 0, 0, runs)
	if err != nil {
		return nil, err
	}
	many, err := startOf(ctx, 200, 100, runs)
	if err != nil {
		return nil, err
	}
	more := max(many-none, 0)
	return []row{{
		"from the request to the first model call, with 200 skills and 100 agents, beyond the same with none (median)",
		short(more), short(none), atMost(float64(more), float64(5*time.Millisecond), "5 ms"),
	}}, nil
}

// startOf is the median time until the first model call.
func startOf(ctx context.Context, skills, agents, runs int) (time.Duration, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	kept, known := tributary.AgentsIn(dir, nil), tributary.SkillsIn(dir)
	for i := range skills {
		name := fmt.Sprintf("skill-%d", i)
		if _, err := known.Change(ctx, "", name, func(files map[string][]byte) error {
			files["SKILL.md"] = fmt.Appendf(nil, "---\nname: %s\ndescription: Does what number %d does, in the way in which that is done.\n---\nDo it.\n", name, i)
			return nil
		}); err != nil {
			return 0, err
		}
	}
	for i := range agents {
		if _, err := kept.Create(ctx, "", lead.Definition{Name: fmt.Sprintf("agent-%d", i), Description: "Knows a few things.", Soul: "You know a few things.", Skills: []string{"skill-1"}}); err != nil {
			return 0, err
		}
	}
	f, err := lead.New(lead.Options{Agents: kept, Keeper: kept, Skills: known.Options(true, nil)})
	if err != nil {
		return 0, err
	}
	rt, err := tributary.Open(ctx, tributary.Options{Dir: dir, Agent: f.Graph, Files: true, Models: tributary.OneModel(scripted.Always(scripted.Say("ok")))})
	if err != nil {
		return 0, err
	}
	defer rt.Close(ctx)
	var all []time.Duration
	for range runs + 5 {
		begun := time.Now()
		for env, err := range rt.Stream(ctx, tributary.Request{Assistant: tributary.LeadGraph, Text: "hi", Context: []byte(`{"subagent_enabled":true}`)}) {
			if err != nil {
				return 0, err
			}
			if _, ok := env.Event.(event.TurnStarted); ok {
				all = append(all, time.Since(begun))
			}
		}
	}
	all = all[5:] // the first ones read what the others remember
	slices.Sort(all)
	return all[len(all)/2], nil
}
