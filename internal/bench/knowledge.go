package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/event"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model/scripted"
	"github.com/tributary-ai/tributary/tool"
	"github.com/tributary-ai/tributary/tool/search"
)

// knowledge measures how long a run takes from its request to its first model call, with all that an agent can know and with nothing. Runs of
// both take turns, so that a machine that is busy for a while is so for both.
func knowledge(ctx context.Context, b *bench) (rows []row, err error) {
	much := amounts{documents: b.count(10_000), facts: 1000, skills: 200, agents: 100}
	var all [2]*knower
	for i, a := range []amounts{{}, much} {
		if all[i], err = newKnower(ctx, b, a); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, all[i].close()) }()
	}
	for i := range b.count(500) + 10 {
		for _, k := range all {
			if i == 10 { // the first ones read what the others remember
				k.took, k.used = nil, 0
			}
			if err := k.run(ctx); err != nil {
				return nil, err
			}
		}
	}
	none, many := all[0], all[1]
	more := max(many.took.at(0.5)-none.took.at(0.5), 0)
	return []row{{
		fmt.Sprintf("from the request to the first model call, with %s documents, %s facts, %d skills and %d agents, beyond the same with none (median)",
			thousands(much.documents), thousands(much.facts), much.skills, much.agents),
		short(more), short(none.took.at(0.5)), atMost(float64(more), float64(5*time.Millisecond), "5 ms"),
	}, {
		"CPU time of such a run", short(many.used / time.Duration(len(many.took))), short(none.used / time.Duration(len(none.took))), "–",
	}}, nil
}

// amounts say how much there is to know.
type amounts struct{ documents, facts, skills, agents int }

// knower is a runtime that knows something.
type knower struct {
	dir   string
	rt    *tributary.Runtime
	index *search.Index
	watch func()
	took  samples
	used  time.Duration // CPU time of all runs
}

func (k *knower) close() error {
	k.watch()
	return errors.Join(k.rt.Close(context.Background()), k.index.Close(), os.RemoveAll(k.dir))
}

func newKnower(ctx context.Context, b *bench, a amounts) (*knower, error) {
	dir, err := os.MkdirTemp(b.dir, "knowledge-")
	if err != nil {
		return nil, err
	}
	kept, known := tributary.AgentsIn(dir, nil), tributary.SkillsIn(dir)
	for i := range a.skills {
		name := fmt.Sprintf("skill-%d", i)
		if _, err := known.Change(ctx, "", name, func(files map[string][]byte) error {
			files["SKILL.md"] = fmt.Appendf(nil, "---\nname: %s\ndescription: Does what number %d does, in the way in which that is done.\n---\nDo it.\n", name, i)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	for i := range a.agents {
		if _, err := kept.Create(ctx, "", lead.Definition{Name: fmt.Sprintf("agent-%d", i), Description: "Knows a few things.", Soul: "You know a few things.", Skills: []string{"skill-1"}}); err != nil {
			return nil, err
		}
	}
	files, long := fstest.MapFS{}, time.Now().Add(-time.Hour)
	for i := range a.documents {
		files[fmt.Sprintf("%05d.md", i)] = &fstest.MapFile{Data: fmt.Appendf(nil, "# Document %d\n\nIt says what number %d says.\n", i, i), ModTime: long}
	}
	index, err := search.Open(ctx, search.Options{Path: filepath.Join(dir, "search.db"), Sources: []search.Source{{FS: files}}})
	if err != nil {
		return nil, err
	}
	f, err := lead.New(lead.Options{Agents: kept, Keeper: kept, Skills: known.Options(true, nil)})
	if err != nil {
		return nil, err
	}
	rt, err := tributary.Open(ctx, tributary.Options{
		Dir: dir, Agent: f.Graph, Files: true, Memory: &tributary.Memory{}, Tools: []tool.Tool{index.Tool()},
		Models: tributary.OneModel(scripted.Always(scripted.Say("ok"))),
	})
	if err != nil {
		return nil, err
	}
	var facts []memory.Fact
	for i := range a.facts {
		facts = append(facts, memory.Fact{Content: fmt.Sprintf("Once spoke of the thing with number %d, and liked it well enough.", i), Confidence: 0.8})
	}
	if _, err := rt.Memory().Import(ctx, memory.Whose{}, memory.Document{Facts: facts}); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		index.Watch(watching, 3*time.Second) // as the server does
	}()
	return &knower{dir: dir, rt: rt, index: index, watch: func() { stop(); <-done }}, nil
}

// run has one run, and notes what it took.
func (k *knower) run(ctx context.Context) error {
	begun, used := time.Now(), cpu()
	for env, err := range k.rt.Stream(ctx, tributary.Request{Assistant: tributary.LeadGraph, Text: "hi", Context: []byte(`{"subagent_enabled":true}`)}) {
		if err != nil {
			return err
		}
		if _, ok := env.Event.(event.TurnStarted); ok {
			k.took = append(k.took, time.Since(begun))
		}
	}
	k.used += cpu() - used
	return nil
}
