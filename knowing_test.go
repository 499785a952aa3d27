package tributary_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/tributary-ai/tributary"
	"github.com/tributary-ai/tributary/agent/lead"
	"github.com/tributary-ai/tributary/memory"
	"github.com/tributary-ai/tributary/model/scripted"
)

// started is how many allocations a run takes where there are so many skills, agents and facts.
func started(t *testing.T, skills, agents, facts int) int {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range skills {
		write(fmt.Sprintf("skills/custom/local/skill-%d/SKILL.md", i), fmt.Sprintf("---\nname: skill-%d\ndescription: Does what number %d does.\n---\nDo it.\n", i, i))
	}
	for i := range agents {
		write(fmt.Sprintf("agents/local/agent-%d/config.yaml", i), "description: Knows a few things.\nskills: [skill-1]\n")
		write(fmt.Sprintf("agents/local/agent-%d/SOUL.md", i), "You know a few things.")
	}
	kept, known := tributary.AgentsIn(dir, nil), tributary.SkillsIn(dir)
	f, err := lead.New(lead.Options{Agents: kept, Keeper: kept, Skills: known.Options(true, nil)})
	if err != nil {
		t.Fatal(err)
	}
	m := scripted.Always(scripted.Say("ok"))
	m.Record = true
	rt, err := tributary.Open(t.Context(), tributary.Options{Dir: dir, Agent: f.Graph, Files: true, Memory: &tributary.Memory{}, Models: tributary.OneModel(m)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	var list []memory.Fact
	for i := range facts {
		list = append(list, memory.Fact{Content: fmt.Sprintf("Once spoke of the thing with number %d.", i), Confidence: 0.8})
	}
	if _, err := rt.Memory().Import(t.Context(), memory.Whose{}, memory.Document{Facts: list}); err != nil {
		t.Fatal(err)
	}
	run := func() {
		for _, err := range rt.Stream(t.Context(), tributary.Request{Assistant: tributary.LeadGraph, Text: "hi", Context: []byte(`{"subagent_enabled":true}`)}) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 { // what is read once
		run()
	}
	if told := m.Requests()[0].System; skills > 0 != strings.Contains(told, "skill-7") {
		t.Fatalf("with %d skills the model is told %q", skills, told)
	}
	const runs = 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range runs {
		run()
	}
	runtime.ReadMemStats(&after)
	return int(after.Mallocs-before.Mallocs) / runs
}

// Before a run the files of skills and agents are asked whether they changed, and not read again: reading one takes hundreds of allocations.
// Of what is remembered only the reminder is read.
func TestWhatAnAgentKnowsCostsTheStartOfARunLittle(t *testing.T) {
	const skills, agents, facts = 200, 100, 1000
	none, many := started(t, 0, 0, 0), started(t, skills, agents, facts)
	each := float64(many-none) / (skills + agents)
	t.Logf("a run takes %d allocations with nothing to know, and %d with much: %.1f for each skill and agent", none, many, each)
	if each > 35 {
		t.Errorf("each skill and agent costs a run %.1f allocations, want at most 35", each)
	}
}
